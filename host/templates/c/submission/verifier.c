// {{name}}: the claim mentions every file that changed.
#include "gatehost.h"

void exports_gatehost_verifier_about_describe(gatehost_description *about) {
  static const gatehost_rule rules[] = {
      {"no-claim", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "There is no claim."},
      {"not-mentioned", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "The claim does not mention a changed file."}};
  gatehost_describe(about, "{{name}}", "0.1.0", "The claim mentions every file that changed.",
                    "{\"type\": \"object\", \"properties\": {\"ignore\": {"
                    "\"description\": \"Paths that start with this need no mention.\","
                    "\"type\": \"string\", \"minLength\": 1}},"
                    "\"additionalProperties\": false}");
  gatehost_describe_rules(about, rules, 2);
}

void exports_gatehost_verifier_submission_verifier_check(gatehost_verifier_submission_submission_t *submission,
                                                         gatehost_text *settings, gatehost_verdict *verdict) {
  if (submission->changes.len == 0) {
    gatehost_not_applicable(verdict, "no file changed");
    return;
  }
  gatehost_pass(verdict);
  if (!submission->claim.is_some) {
    gatehost_error(verdict, "no-claim", gatehost_copy("there is no claim"), "say what was done");
    return;
  }
  gatehost_text claim = submission->claim.val.text, ignore;
  bool ignores = gatehost_setting(*settings, "ignore", &ignore);
  const gatehost_text before = gatehost_copy("the claim does not mention `"), after = gatehost_copy("`");
  for (size_t i = 0; i < submission->changes.len; i++) {
    gatehost_text path = submission->changes.ptr[i].path;
    if (ignores && gatehost_starts_with(path, ignore)) continue;
    if (gatehost_find(claim, path, 0) < claim.len) continue;
    const gatehost_text *const message[] = {&before, &path, &after, NULL};
    gatehost_at_file(gatehost_error(verdict, "not-mentioned", gatehost_join(message),
                                    "say what was done to it, or take the change back"),
                     path);
  }
}
