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

function finding(level, code, message, at, hint) {
  return { code, level, message, place: at, hint };
}

/** Something that must not pass. `code` is a stable name: lower-case words joined by `-`. */
export const error = (code, message, at, hint) => finding('error', code, message, at, hint);

/** Something worth repairing, and no reason to stop. */
export const warning = (code, message, at, hint) => finding('warning', code, message, at, hint);

/** Information. */
export const note = (code, message, at, hint) => finding('note', code, message, at, hint);

/** The verdict that rests on these findings: a failure if one of them is an error. */
export function verdict(findings, summary = '') {
  const wrong = findings.some((each) => each.level === 'error');
  return { status: wrong ? 'fail' : 'pass', summary, findings };
}

/** The work is acceptable. */
export const pass = () => verdict([]);

/** This verifier cannot judge. */
export const abstain = (why) => ({ status: 'abstain', summary: why, findings: [] });

/** The text of a file, or undefined where it is not UTF-8. */
export const textOf = (file) => (file.content.tag === 'text' ? file.content.val : undefined);

function about({ name, version, summary, files = [], settings }) {
  const schema = settings && { type: 'object', properties: settings, additionalProperties: false };
  const description = { name, version, summary, files, settingsSchema: schema ? JSON.stringify(schema) : '' };
  return { describe: () => description };
}

const checking = (check) => ({ check: (judged, settings) => check(judged, JSON.parse(settings)) });

/** What a file verifier exports. */
export const defineFileVerifier = (it) => ({ about: about(it), fileVerifier: checking(it.check) });

/** What a submission verifier exports. */
export const defineSubmissionVerifier = (it) => ({ about: about(it), submissionVerifier: checking(it.check) });
