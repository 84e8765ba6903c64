// {{name}}: the claim mentions every file that changed.
import { defineSubmissionVerifier, error, notApplicable, place, rule, verdict } from './gatehost.js';
import type { Submission, Verdict } from './gatehost.js';

interface Settings {
  ignore?: string;
}

function check({ claim, changes }: Submission, { ignore }: Settings): Verdict {
  if (changes.length === 0) return notApplicable('no file changed');
  if (claim == null) return verdict([error('no-claim', 'there is no claim', undefined, 'say what was done')]);
  const missing = changes
    .map((change) => change.path)
    .filter((path) => !(ignore && path.startsWith(ignore)) && !claim.text.includes(path));
  const hint = 'say what was done to it, or take the change back';
  return verdict(
    missing.map((path) => error('not-mentioned', `the claim does not mention \`${path}\``, place(path), hint)),
  );
}

export const { about, submissionVerifier } = defineSubmissionVerifier<Settings>({
  name: '{{name}}',
  version: '0.1.0',
  summary: 'The claim mentions every file that changed.',
  rules: [
    rule('no-claim', 'There is no claim.'),
    rule('not-mentioned', 'The claim does not mention a changed file.'),
  ],
  settings: {
    ignore: { description: 'Paths that start with this need no mention.', type: 'string', minLength: 1 },
  },
  check,
});
