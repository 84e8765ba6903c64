// {{name}}: the claim mentions every file that changed.
import { abstain, defineSubmissionVerifier, error, place, verdict } from './gatehost.js';
import type { Submission, Verdict } from './gatehost.js';

interface Settings {
  ignore?: string;
}

function check({ claim, changes }: Submission, { ignore }: Settings): Verdict {
  if (changes.length === 0) return abstain('no file changed');
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
  settings: {
    ignore: { description: 'Paths that start with this need no mention.', type: 'string', minLength: 1 },
  },
  check,
});
