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
typedef exports_gatehost_verifier_about_description_t gatehost_description;

// A copy of a C string. An instance lives for one call, so nothing needs to be freed.
gatehost_text gatehost_copy(const char *text);

// Several texts as one; the list ends with NULL.
gatehost_text gatehost_join(const gatehost_text *const *parts);

// Where `needle` is in `text` at or behind `from`; `text.len` where it is not.
size_t gatehost_find(gatehost_text text, gatehost_text needle, size_t from);

bool gatehost_starts_with(gatehost_text text, gatehost_text start);

// Read a setting that is a string. The settings are a JSON object that fits the schema. False where it is not said.
bool gatehost_setting(gatehost_text settings, const char *name, gatehost_text *value);

// What the verifier says of itself.
void gatehost_describe(gatehost_description *about, const char *name, const char *version, const char *summary,
                       const char *const *files, size_t file_count, const char *settings_schema);

void gatehost_pass(gatehost_verdict *verdict);
void gatehost_abstain(gatehost_verdict *verdict, const char *why);

// Add a finding of level error, which makes the verdict a failure. `hint` may be NULL. It has no place yet.
gatehost_verifier_types_finding_t *gatehost_error(gatehost_verdict *verdict, const char *code, gatehost_text message,
                                                  const char *hint);

// Give a finding the place of a whole file.
void gatehost_at_file(gatehost_verifier_types_finding_t *finding, gatehost_text path);

// Give a finding the place of the byte at `offset`. Lines and columns count from 1; a column counts characters.
void gatehost_at_offset(gatehost_verifier_types_finding_t *finding, gatehost_text path, gatehost_text text, size_t offset);

#ifdef __cplusplus
}
#endif
#endif
