/** Types of the contract (`wit/`), and the helpers of `gatehost.js`. An option that is not there is undefined or null. */

export type Option<T> = T | null | undefined;

/** What a verifier decides. */
export type Status = 'fail' | 'pass' | 'abstain';
/** How much a finding weighs. */
export type Level = 'error' | 'warning' | 'note';

/** Where a finding is. Lines and columns count from 1; a column counts Unicode characters. */
export interface Place {
  path: string;
  line?: Option<number>;
  column?: Option<number>;
  endLine?: Option<number>;
  endColumn?: Option<number>;
}

/** One thing that a verifier reports. */
export interface Finding {
  /** A stable name for this kind of finding: lower-case words joined by `-`. */
  code: string;
  level: Level;
  message: string;
  place?: Option<Place>;
  hint?: Option<string>;
}

/** The answer of one call. */
export interface Verdict {
  status: Status;
  /** How sure it is, from 0 to 1. */
  confidence?: Option<number>;
  summary: string;
  findings: Finding[];
  class?: Option<string>;
}

/** One file, whole. */
export interface File {
  path: string;
  content: { tag: 'text'; val: string } | { tag: 'binary'; val: Uint8Array };
}

export interface Task {
  id: string;
  title: string;
  description: string;
  acceptanceCriteria: string[];
  doneCriteria: string[];
  verify?: Option<string>;
  phase?: Option<string>;
  previousPhase?: Option<string>;
  index?: Option<number>;
  total?: Option<number>;
  expectedOutputs: string[];
  files: string[];
  tier?: Option<number>;
}

/** What the executor says that it did. */
export interface Claim {
  text: string;
  /** Its structured report, as JSON text. */
  report?: Option<string>;
}

export interface ToolCall {
  tool: string;
  success: boolean;
  error?: Option<string>;
  input?: Option<string>;
  output?: Option<string>;
  filesChanged: string[];
}

export interface Hunk {
  oldStart: number;
  newStart: number;
  lines: { kind: 'context' | 'added' | 'removed'; text: string }[];
}

/** One changed file. */
export interface Change {
  path: string;
  kind: 'added' | 'modified' | 'deleted' | 'renamed';
  state: 'committed' | 'staged' | 'unstaged' | 'untracked';
  oldPath?: Option<string>;
  size?: Option<bigint>;
  hunks?: Option<Hunk[]>;
}

export interface Executor {
  name?: Option<string>;
  model?: Option<string>;
  family?: Option<string>;
  session?: Option<string>;
}

/** What an earlier check of the same run established. */
export interface Evidence {
  check: string;
  verifier: string;
  outcome: Status | 'error';
  summary: string;
  findings: Finding[];
  commands: { argv: string[]; exitCode?: Option<number>; output: string }[];
}

/** The whole submission. */
export interface Submission {
  task?: Option<Task>;
  claim?: Option<Claim>;
  toolCalls: ToolCall[];
  changes: Change[];
  attempt: number;
  executor: Executor;
  priorFindings: { attempt: number; check: string; finding: Finding }[];
  evidence: Evidence[];
  evaluator?: Option<{ completed: boolean; text: string }>;
  base?: Option<string>;
}

/** A JSON Schema for each setting; the host checks the settings against them. */
export type SettingsSchema = Record<string, object>;

export interface About {
  name: string;
  version: string;
  summary: string;
  settings?: SettingsSchema;
}

/** A whole file, or the place of the code unit at `offset` of its text. */
export function place(path: string, text?: string, offset?: number): Place;
/** Something that must not pass. */
export function error(code: string, message: string, at?: Place, hint?: string): Finding;
/** Something worth repairing, and no reason to stop. */
export function warning(code: string, message: string, at?: Place, hint?: string): Finding;
/** Information. */
export function note(code: string, message: string, at?: Place, hint?: string): Finding;
/** The verdict that rests on these findings: a failure if one of them is an error. */
export function verdict(findings: Finding[], summary?: string): Verdict;
/** The work is acceptable. */
export function pass(): Verdict;
/** This verifier cannot judge. */
export function abstain(why: string): Verdict;
/** The text of a file, or undefined where it is not UTF-8. */
export function textOf(file: File): string | undefined;

/** What a file verifier exports: `export const { about, fileVerifier } = defineFileVerifier({ … })`. */
export function defineFileVerifier<Settings>(
  it: About & { files: string[]; check: (file: File, settings: Settings) => Verdict },
): { about: object; fileVerifier: object };
/** What a submission verifier exports: `export const { about, submissionVerifier } = defineSubmissionVerifier({ … })`. */
export function defineSubmissionVerifier<Settings>(
  it: About & { check: (submission: Submission, settings: Settings) => Verdict },
): { about: object; submissionVerifier: object };
