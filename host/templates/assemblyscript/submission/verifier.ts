// {{name}}: the claim mentions every file that changed.
import { Finding, Submission, about, abstain, setting, verdict } from "./gatehost";
export { cabi_realloc } from "./gatehost";

export function describe(): usize {
  return about(
    "{{name}}",
    "0.1.0",
    "The claim mentions every file that changed.",
    [],
    `{
  "type": "object",
  "properties": {
    "ignore": {
      "description": "Paths that start with this need no mention.",
      "type": "string",
      "minLength": 1
    }
  },
  "additionalProperties": false
}`,
  );
}

export function check_submission(at: usize): usize {
  const submission = new Submission(at);
  const changed = submission.changed;
  if (changed.length == 0) return abstain("no file changed");
  const claim = submission.claim;
  if (claim === null) return verdict([new Finding("no-claim", "there is no claim", "say what was done")]);
  const ignore = setting(submission.settings, "ignore");
  const findings: Finding[] = [];
  for (let i = 0; i < changed.length; i++) {
    const path = changed[i];
    if ((ignore !== null && path.startsWith(ignore)) || claim.includes(path)) continue;
    const missing = new Finding(
      "not-mentioned",
      "the claim does not mention `" + path + "`",
      "say what was done to it, or take the change back",
    );
    findings.push(missing.atFile(path));
  }
  return verdict(findings);
}
