/**
 * Helpers for Gatehost verifiers in JavaScript: say what the verifier is, and answer.
 * The types are in `gatehost.d.ts`; they are those of the contract (`wit/`).
 */

/** A whole file, or the place of the code unit at `offset` of its text. Lines and columns count from 1. */
export function place(path, text, offset = 0) {
  if (text === undefined) return { path };
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at >= 0; at = before.indexOf('\n', at + 1)) line += 1;
  // A column counts characters, and a string is spread into those.
  return { path, line, column: [...before.slice(lineStart)].length + 1 };
}

function finding(level, code, message, at, hint, more = {}) {
  return { code, level, message, place: at, hint, category: 'work', ...more };
}

/**
 * Something that must not pass. `code` is a stable name: lower-case words joined by `-`. `more` is any of `category`,
 * `key` (what identifies the finding besides its code and file), `url` and `fix`.
 */
export const error = (code, message, at, hint, more) => finding('error', code, message, at, hint, more);

/** Something worth repairing, and no reason to stop. */
export const warning = (code, message, at, hint, more) => finding('warning', code, message, at, hint, more);

/** Information. */
export const note = (code, message, at, hint, more) => finding('note', code, message, at, hint, more);

/** Replace the code units from `start` to `end` of a text. */
export function edit(text, start, end, replacement) {
  const [first, last] = [place('', text, start), place('', text, end)];
  return {
    startLine: first.line, startColumn: first.column, endLine: last.line, endColumn: last.column, replacement,
  };
}

/** A repair of a finding that has a place: edits of its file, in the order of the file. */
export const fix = (description, ...edits) => ({ description, edits });

/** The verdict that rests on these findings: a failure if one of them is an error. */
export function verdict(findings, summary = '', { needsPerson = false, metrics = {} } = {}) {
  const wrong = findings.some((each) => each.level === 'error');
  const measured = Object.entries(metrics).map(([name, value]) => ({ name, value }));
  return { status: wrong ? 'fail' : 'pass', summary, findings, needsPerson, metrics: measured };
}

/** The work is acceptable. */
export const pass = () => verdict([]);

/** This verifier should judge and cannot. */
export const abstain = (why) => ({ ...verdict([], why), status: 'abstain' });

/** The input is none of this verifier's business. */
export const notApplicable = (why) => ({ ...verdict([], why), status: 'not-applicable' });

/** A kind of finding that the verifier can report. The code `*` stands for all that come from the settings. */
export const rule = (code, summary, { level = 'error', help = '', url } = {}) => ({ code, level, summary, help, url });

/** The text of a file, or undefined where it is not UTF-8 or the path is a link that leads nowhere. */
export const textOf = (file) => (file.content.tag === 'text' ? file.content.val : undefined);

function about({ name, version, summary, files = [], rules, settings }) {
  const schema = settings && { type: 'object', properties: settings, additionalProperties: false };
  const description = { name, version, summary, files, settingsSchema: schema ? JSON.stringify(schema) : '', rules };
  return { describe: () => description };
}

const checking = (check) => ({ check: (judged, settings) => check(judged, JSON.parse(settings)) });

/** What a file verifier exports. */
export const defineFileVerifier = (it) => ({ about: about(it), fileVerifier: checking(it.check) });

/** What a submission verifier exports. */
export const defineSubmissionVerifier = (it) => ({ about: about(it), submissionVerifier: checking(it.check) });
