// {{name}}: the claim mentions every file that changed.
#include "gatehost.hpp"
#include <span>

extern "C" void exports_gatehost_verifier_about_describe(gatehost_description *about) {
  static const gatehost_rule rules[] = {
      {"no-claim", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "There is no claim."},
      {"not-mentioned", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "The claim does not mention a changed file."}};
  gatehost_describe(about, "{{name}}", "0.1.0", "The claim mentions every file that changed.", R"({
    "type": "object",
    "properties": {
      "ignore": {
        "description": "Paths that start with this need no mention.",
        "type": "string",
        "minLength": 1
      }
    },
    "additionalProperties": false
  })");
  gatehost_describe_rules(about, rules, 2);
}

extern "C" void exports_gatehost_verifier_submission_verifier_check(gatehost_verifier_submission_submission_t *submission,
                                                                    gatehost_text *settings, gatehost_verdict *verdict) {
  if (submission->changes.len == 0) {
    gatehost_not_applicable(verdict, "no file changed");
    return;
  }
  gatehost_pass(verdict);
  if (!submission->claim.is_some) {
    gatehost::error(verdict, "no-claim", "there is no claim", "say what was done");
    return;
  }
  const auto claim = gatehost::view(submission->claim.val.text);
  const auto ignore = gatehost::setting(*settings, "ignore");
  for (const auto &change : std::span(submission->changes.ptr, submission->changes.len)) {
    const auto path = gatehost::view(change.path);
    if ((ignore && path.starts_with(*ignore)) || claim.find(path) != claim.npos) continue;
    auto *finding = gatehost::error(verdict, "not-mentioned", "the claim does not mention `" + std::string(path) + "`",
                                    "say what was done to it, or take the change back");
    gatehost_at_file(finding, change.path);
  }
}
