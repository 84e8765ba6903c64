// {{name}}: no text contains a word that marks unfinished work.
import { abstain, defineFileVerifier, error, place, rule, textOf, verdict } from './gatehost.js';

/**
 * @param {import('./gatehost.js').File} file
 * @param {{ word?: string }} settings
 */
function check(file, { word = 'TODO' }) {
  const text = textOf(file);
  if (text === undefined) return abstain('the file is not UTF-8 text');
  const findings = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    findings.push(error('word-found', `found \`${word}\``, place(file.path, text, at), 'finish it, or take it out'));
  }
  return verdict(findings);
}

export const { about, fileVerifier } = defineFileVerifier({
  name: '{{name}}',
  version: '0.1.0',
  summary: 'No text contains a word that marks unfinished work.',
  files: ['**/*.md', '**/*.txt'],
  rules: [rule('word-found', 'A text contains the word.')],
  settings: {
    word: { description: 'The word that no file may contain.', type: 'string', minLength: 1, default: 'TODO' },
  },
  check,
});
