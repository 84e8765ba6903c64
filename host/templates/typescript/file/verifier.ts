// {{name}}: no text contains a word that marks unfinished work.
import { abstain, defineFileVerifier, error, place, rule, textOf, verdict } from './gatehost.js';
import type { File, Finding, Verdict } from './gatehost.js';

interface Settings {
  word?: string;
}

function check(file: File, { word = 'TODO' }: Settings): Verdict {
  const text = textOf(file);
  if (text === undefined) return abstain('the file is not UTF-8 text');
  const findings: Finding[] = [];
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
    findings.push(error('word-found', `found \`${word}\``, place(file.path, text, at), 'finish it, or take it out'));
  }
  return verdict(findings);
}

export const { about, fileVerifier } = defineFileVerifier<Settings>({
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
