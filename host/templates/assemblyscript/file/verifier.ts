// {{name}}: no text contains a word that marks unfinished work.
import { Finding, about, abstain, setting, text, verdict } from "./gatehost";
export { cabi_realloc } from "./gatehost";

export function describe(): usize {
  return about(
    "{{name}}",
    "0.1.0",
    "No text contains a word that marks unfinished work.",
    ["**/*.md", "**/*.txt"],
    `{
  "type": "object",
  "properties": {
    "word": {
      "description": "The word that no file may contain.",
      "type": "string",
      "minLength": 1,
      "default": "TODO"
    }
  },
  "additionalProperties": false
}`,
  );
}

// The path, the content (0 for text, with where it is), and the settings.
export function check_file(
  pathAt: usize, pathLength: i32, kind: i32, at: usize, length: i32, settingsAt: usize, settingsLength: i32,
): usize {
  if (kind != 0) return abstain("the file is not UTF-8 text");
  return check(text(pathAt, pathLength), text(at, length), text(settingsAt, settingsLength));
}

function check(path: string, content: string, settings: string): usize {
  const said = setting(settings, "word");
  const word = said === null ? "TODO" : said;
  const findings: Finding[] = [];
  for (let at = content.indexOf(word); at >= 0; at = content.indexOf(word, at + word.length)) {
    const found = new Finding("word-found", "found `" + word + "`", "finish it, or take it out");
    findings.push(found.atOffset(path, content, at));
  }
  return verdict(findings);
}
