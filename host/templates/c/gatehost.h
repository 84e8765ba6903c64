// Helpers for Gatehost verifiers in C and C++: settings, places, findings. The types are those of `bindings/verifier.h`.
#ifndef GATEHOST_H
#define GATEHOST_H

#include "bindings/verifier.h"
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef verifier_string_t gatehost_text;
typedef gatehost_verifier_types_verdict_t gatehost_verdict;
typedef gatehost_verifier_types_finding_t gatehost_finding;
typedef exports_gatehost_verifier_about_description_t gatehost_description;

// A kind of finding that the verifier can report. The code `*` stands for all that come from the settings.
typedef struct {
  const char *code;
  gatehost_verifier_types_level_t level;
  const char *summary;
} gatehost_rule;

// A copy of a C string. An instance lives for one call, so nothing needs to be freed.
gatehost_text gatehost_copy(const char *text);

// Several texts as one; the list ends with NULL.
gatehost_text gatehost_join(const gatehost_text *const *parts);

// Where `needle` is in `text` at or behind `from`; `text.len` where it is not.
size_t gatehost_find(gatehost_text text, gatehost_text needle, size_t from);

bool gatehost_starts_with(gatehost_text text, gatehost_text start);

// Read a setting that is a string. The settings are a JSON object that fits the schema. False where it is not said.
bool gatehost_setting(gatehost_text settings, const char *name, gatehost_text *value);

// How the verifier describes itself: its name, version and summary, and the schema of its settings.
void gatehost_describe(gatehost_description *about, const char *name, const char *version, const char *summary,
                       const char *settings_schema);

// The globs of the files that a file verifier wants by default.
void gatehost_describe_files(gatehost_description *about, const char *const *files, size_t count);

// Every kind of finding that the verifier can report.
void gatehost_describe_rules(gatehost_description *about, const gatehost_rule *rules, size_t count);

// The work is acceptable.
void gatehost_pass(gatehost_verdict *verdict);

// This verifier should judge and cannot.
void gatehost_abstain(gatehost_verdict *verdict, const char *why);

// The input is none of this verifier's business.
void gatehost_not_applicable(gatehost_verdict *verdict, const char *why);

// Add a number that was measured. `verdict->needs_person` is a field to set.
void gatehost_metric(gatehost_verdict *verdict, const char *name, double value);

// Add a finding of level error, which makes the verdict a failure. `hint` may be NULL. It has no place yet, and stays where
// it is until the next finding is added. `finding->level` and `finding->category` are fields to set.
gatehost_finding *gatehost_error(gatehost_verdict *verdict, const char *code, gatehost_text message, const char *hint);

// Give a finding the place of a whole file.
void gatehost_at_file(gatehost_finding *finding, gatehost_text path);

// Give a finding the place of the byte at `offset`. Lines and columns count from 1; a column counts characters.
void gatehost_at_offset(gatehost_finding *finding, gatehost_text path, gatehost_text text, size_t offset);

// Say what identifies a finding besides its code and its file, such as the name of a test.
void gatehost_key(gatehost_finding *finding, gatehost_text key);

// Give a finding that has a place a repair: the bytes from `start` to `end` of the text are replaced.
void gatehost_fix(gatehost_finding *finding, const char *description, gatehost_text text, size_t start, size_t end,
                  gatehost_text replacement);

#ifdef __cplusplus
}
#endif
#endif
