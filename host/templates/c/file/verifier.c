// {{name}}: no text contains a word that marks unfinished work.
#include "gatehost.h"

void exports_gatehost_verifier_about_describe(gatehost_description *about) {
  static const char *const files[] = {"**/*.md", "**/*.txt"};
  static const gatehost_rule rules[] = {
      {"word-found", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "A text contains the word."}};
  gatehost_describe(about, "{{name}}", "0.1.0", "No text contains a word that marks unfinished work.",
                    "{\"type\": \"object\", \"properties\": {\"word\": {"
                    "\"description\": \"The word that no file may contain.\","
                    "\"type\": \"string\", \"minLength\": 1, \"default\": \"TODO\"}},"
                    "\"additionalProperties\": false}");
  gatehost_describe_files(about, files, 2);
  gatehost_describe_rules(about, rules, 1);
}

void exports_gatehost_verifier_file_verifier_check(exports_gatehost_verifier_file_verifier_file_t *file,
                                                   gatehost_text *settings, gatehost_verdict *verdict) {
  if (file->content.tag != EXPORTS_GATEHOST_VERIFIER_FILE_VERIFIER_CONTENT_TEXT) {
    gatehost_abstain(verdict, "the file is not UTF-8 text");
    return;
  }
  gatehost_text text = file->content.val.text;
  gatehost_text word = gatehost_copy("TODO");
  gatehost_setting(*settings, "word", &word);

  gatehost_pass(verdict);
  const gatehost_text before = gatehost_copy("found `"), after = gatehost_copy("`");
  const gatehost_text *const message[] = {&before, &word, &after, NULL};
  for (size_t at = gatehost_find(text, word, 0); at < text.len; at = gatehost_find(text, word, at + word.len)) {
    gatehost_at_offset(gatehost_error(verdict, "word-found", gatehost_join(message), "finish it, or take it out"),
                       file->path, text, at);
  }
}
