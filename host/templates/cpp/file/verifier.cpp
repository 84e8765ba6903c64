// {{name}}: no text contains a word that marks unfinished work.
#include "gatehost.hpp"

extern "C" void exports_gatehost_verifier_about_describe(gatehost_description *about) {
  static const char *const files[] = {"**/*.md", "**/*.txt"};
  static const gatehost_rule rules[] = {
      {"word-found", GATEHOST_VERIFIER_TYPES_LEVEL_ERROR, "A text contains the word."}};
  gatehost_describe(about, "{{name}}", "0.1.0", "No text contains a word that marks unfinished work.", R"({
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
  })");
  gatehost_describe_files(about, files, 2);
  gatehost_describe_rules(about, rules, 1);
}

extern "C" void exports_gatehost_verifier_file_verifier_check(exports_gatehost_verifier_file_verifier_file_t *file,
                                                              gatehost_text *settings, gatehost_verdict *verdict) {
  if (file->content.tag != EXPORTS_GATEHOST_VERIFIER_FILE_VERIFIER_CONTENT_TEXT) {
    gatehost_abstain(verdict, "the file is not UTF-8 text");
    return;
  }
  gatehost_pass(verdict);
  const auto text = gatehost::view(file->content.val.text);
  const auto word = gatehost::setting(*settings, "word").value_or("TODO");
  const auto message = "found `" + std::string(word) + "`";
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    auto *finding = gatehost::error(verdict, "word-found", message, "finish it, or take it out");
    gatehost_at_offset(finding, file->path, file->content.val.text, at);
  }
}
