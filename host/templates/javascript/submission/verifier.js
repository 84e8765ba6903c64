// {{name}}: the claim mentions every file that changed.
import { defineSubmissionVerifier, error, notApplicable, place, rule, verdict } from './gatehost.js';

/**
 * @param {import('./gatehost.js').Submission} submission
 * @param {{ ignore?: string }} settings
 */
function check({ claim, changes }, { ignore }) {
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

export const { about, submissionVerifier } = defineSubmissionVerifier({
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
