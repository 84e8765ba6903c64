/** Types of the contract (`wit/`), and the helpers of `gatehost.js`. An option that is not there is undefined or null. */

export type Option<T> = T | null | undefined;

/** What a verifier decides. */
export type Status = 'fail' | 'pass' | 'abstain' | 'not-applicable';
/** How much a finding weighs. */
export type Level = 'error' | 'warning' | 'note';
/** What a finding is about, and so who has to act on it. */
export type Category = 'work' | 'specification' | 'manual';

/** Where a finding is. Lines and columns count from 1; a column counts Unicode characters. */
export interface Place {
  path: string;
  line?: Option<number>;
  column?: Option<number>;
  endLine?: Option<number>;
  endColumn?: Option<number>;
}

/** A replacement of a part of a file. Lines and columns count from 1; a column counts Unicode characters. */
export interface Edit {
  startLine: number;
  startColumn: number;
  endLine: number;
  endColumn: number;
  replacement: string;
}

/** A repair of a finding: edits of the file of its place, in the order of the file. */
export interface Fix {
  description: string;
  edits: Edit[];
}

/** One thing that a verifier reports. */
export interface Finding {
  /** A stable name for this kind of finding: lower-case words joined by `-`. */
  code: string;
  level: Level;
  message: string;
  place?: Option<Place>;
  hint?: Option<string>;
  category: Category;
  /** What identifies it besides its code and its file, such as the name of a test. */
  key?: Option<string>;
  /** A page that explains it. */
  url?: Option<string>;
  fix?: Option<Fix>;
}

/** Which kind of failure it is, for whoever decides about a retry. */
export type FailureClass =
  | { tag: 'execution-failure' | 'verify-failure' | 'review-rejection' | 'blocked' | 'timeout' | 'malformed' }
  | { tag: 'other'; val: string };

/** The answer of one call. */
export interface Verdict {
  status: Status;
  /** How sure it is, from 0 to 1. */
  confidence?: Option<number>;
  summary: string;
  findings: Finding[];
  class?: Option<FailureClass>;
  /** Whether a person must decide, whatever the status says. */
  needsPerson: boolean;
  metrics: { name: string; value: number }[];
}

/** One file, whole. */
export interface File {
  path: string;
  /** `missing` for a link that leads nowhere. */
  content: { tag: 'text'; val: string } | { tag: 'binary'; val: Uint8Array } | { tag: 'missing' };
  executable: boolean;
  /** Where the path is a symbolic link: its target. */
  linkTarget?: Option<string>;
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
  /** Who vouches for the task. */
  source: 'author' | 'caller' | 'plan';
  group?: Option<string>;
  dependsOn: string[];
  size?: Option<number>;
  commit?: Option<string>;
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
  /** The modes before and now, as git writes them: 0o100644, 0o100755, 0o120000, 0o160000. */
  oldMode?: Option<number>;
  newMode?: Option<number>;
}

export interface Executor {
  name?: Option<string>;
  model?: Option<string>;
  family?: Option<string>;
  session?: Option<string>;
  ended?: Option<'error' | 'killed' | 'timed-out' | 'out-of-turns' | 'finished'>;
}

/** What an earlier check of the same run established. */
export interface Evidence {
  check: string;
  verifier: string;
  outcome: Status | 'error';
  summary: string;
  findings: Finding[];
  commands: CommandEvidence[];
  digest: string;
  class?: Option<FailureClass>;
  confidence?: Option<number>;
  models: ModelEvidence[];
}

/** A command that the host ran for an earlier check. */
export interface CommandEvidence {
  name: string;
  argv: string[];
  exitCode?: Option<number>;
  signal?: Option<number>;
  timedOut: boolean;
  output: string;
  stdoutLength: bigint;
  stdoutSha256: string;
  stderrLength: bigint;
  stderrSha256: string;
  started: string;
  durationMs: bigint;
  sandbox: string;
  onBase: boolean;
  replayed: boolean;
}

/** A question that an earlier check asked a model. */
export interface ModelEvidence {
  name: string;
  model?: Option<string>;
  family?: Option<string>;
  ended: string;
  questionSha256: string;
  answerSha256?: Option<string>;
  replayed: boolean;
}

/** What a separate evaluator said of the work. */
export interface Evaluator {
  completed: boolean;
  text: string;
  name?: Option<string>;
  model?: Option<string>;
  session?: Option<string>;
}

/** The whole submission. `wit/submission.wit` says who vouches for each field. */
export interface Submission {
  task?: Option<Task>;
  claim?: Option<Claim>;
  toolCalls: ToolCall[];
  changes: Change[];
  attempt: number;
  executor: Executor;
  priorFindings: { attempt: number; check: string; finding: Finding; fingerprint: string }[];
  evidence: Evidence[];
  evaluator?: Option<Evaluator>;
  base?: Option<string>;
  attemptsAllowed?: Option<number>;
  review?: Option<{ number: number; allowed: number }>;
  treeDigest?: Option<string>;
}

/** A kind of finding that a verifier can report. */
export interface Rule {
  /** The code of its findings; `*` for all that come from the settings. */
  code: string;
  level: Level;
  summary: string;
  help: string;
  url?: Option<string>;
}

/** A JSON Schema for each setting; the host checks the settings against them. */
export type SettingsSchema = Record<string, object>;

export interface About {
  name: string;
  version: string;
  summary: string;
  /** Every kind of finding that `check` can report. */
  rules: Rule[];
  settings?: SettingsSchema;
}

/** A whole file, or the place of the code unit at `offset` of its text. */
export function place(path: string, text?: string, offset?: number): Place;
/** What few findings have. */
export type More = Partial<Pick<Finding, 'category' | 'key' | 'url' | 'fix'>>;

/** Something that must not pass. */
export function error(code: string, message: string, at?: Place, hint?: string, more?: More): Finding;
/** Something worth repairing, and no reason to stop. */
export function warning(code: string, message: string, at?: Place, hint?: string, more?: More): Finding;
/** Information. */
export function note(code: string, message: string, at?: Place, hint?: string, more?: More): Finding;
/** Replace the code units from `start` to `end` of a text. */
export function edit(text: string, start: number, end: number, replacement: string): Edit;
/** A repair of a finding that has a place. */
export function fix(description: string, ...edits: Edit[]): Fix;
/** The verdict that rests on these findings: a failure if one of them is an error. */
export function verdict(
  findings: Finding[],
  summary?: string,
  more?: { needsPerson?: boolean; metrics?: Record<string, number> },
): Verdict;
/** The work is acceptable. */
export function pass(): Verdict;
/** This verifier should judge and cannot. */
export function abstain(why: string): Verdict;
/** The input is none of this verifier's business. */
export function notApplicable(why: string): Verdict;
/** A kind of finding that the verifier can report. */
export function rule(code: string, summary: string, more?: Partial<Pick<Rule, 'level' | 'help' | 'url'>>): Rule;
/** The text of a file, or undefined where it is not UTF-8 or the path is a link that leads nowhere. */
export function textOf(file: File): string | undefined;

/** What a file verifier exports: `export const { about, fileVerifier } = defineFileVerifier({ … })`. */
export function defineFileVerifier<Settings>(
  it: About & { files: string[]; check: (file: File, settings: Settings) => Verdict },
): { about: object; fileVerifier: object };
/** What a submission verifier exports: `export const { about, submissionVerifier } = defineSubmissionVerifier({ … })`. */
export function defineSubmissionVerifier<Settings>(
  it: About & { check: (submission: Submission, settings: Settings) => Verdict },
): { about: object; submissionVerifier: object };
