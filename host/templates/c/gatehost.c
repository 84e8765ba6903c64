#include "gatehost.h"
#include <stdlib.h>
#include <string.h>

static void *take(size_t size) {
  void *block = calloc(1, size ? size : 1);
  // Without memory there is no verdict.
  if (!block) abort();
  return block;
}

static gatehost_text copy_of(const uint8_t *bytes, size_t length) {
  gatehost_text copy = {(uint8_t *)take(length), length};
  memcpy(copy.ptr, bytes, length);
  return copy;
}

gatehost_text gatehost_copy(const char *text) { return copy_of((const uint8_t *)text, strlen(text)); }

gatehost_text gatehost_join(const gatehost_text *const *parts) {
  size_t length = 0;
  for (size_t i = 0; parts[i]; i++) length += parts[i]->len;
  gatehost_text whole = {(uint8_t *)take(length), 0};
  for (size_t i = 0; parts[i]; i++) {
    memcpy(whole.ptr + whole.len, parts[i]->ptr, parts[i]->len);
    whole.len += parts[i]->len;
  }
  return whole;
}

size_t gatehost_find(gatehost_text text, gatehost_text needle, size_t from) {
  for (size_t at = from; at + needle.len <= text.len; at++) {
    if (memcmp(text.ptr + at, needle.ptr, needle.len) == 0) return at;
  }
  return text.len;
}

bool gatehost_starts_with(gatehost_text text, gatehost_text start) {
  return text.len >= start.len && memcmp(text.ptr, start.ptr, start.len) == 0;
}

// --- Settings: as much JSON as an object needs that is known to be valid.

static unsigned four_digits(const uint8_t *at) {
  unsigned value = 0;
  for (int i = 0; i < 4; i++) {
    unsigned digit = at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10;
    value = value * 16 + digit;
  }
  return value;
}

static size_t encode(uint8_t *out, unsigned code) {
  if (code < 0x80) return out[0] = (uint8_t)code, 1;
  if (code < 0x800) return out[0] = (uint8_t)(0xC0 | code >> 6), out[1] = (uint8_t)(0x80 | (code & 63)), 2;
  if (code < 0x10000) {
    out[0] = (uint8_t)(0xE0 | code >> 12);
    out[1] = (uint8_t)(0x80 | (code >> 6 & 63));
    return out[2] = (uint8_t)(0x80 | (code & 63)), 3;
  }
  out[0] = (uint8_t)(0xF0 | code >> 18);
  out[1] = (uint8_t)(0x80 | (code >> 12 & 63));
  out[2] = (uint8_t)(0x80 | (code >> 6 & 63));
  return out[3] = (uint8_t)(0x80 | (code & 63)), 4;
}

// The string whose opening quotation mark is at `*at`; moves `*at` past the closing one.
static gatehost_text string_at(gatehost_text json, size_t *at) {
  // What is written is never shorter than what it stands for.
  gatehost_text text = {(uint8_t *)take(json.len - *at), 0};
  size_t i = *at + 1;
  while (i < json.len && json.ptr[i] != '"') {
    if (json.ptr[i] != '\\') {
      text.ptr[text.len++] = json.ptr[i++];
      continue;
    }
    uint8_t escaped = json.ptr[i + 1];
    i += 2;
    switch (escaped) {
    case 'b': text.ptr[text.len++] = '\b'; break;
    case 'f': text.ptr[text.len++] = '\f'; break;
    case 'n': text.ptr[text.len++] = '\n'; break;
    case 'r': text.ptr[text.len++] = '\r'; break;
    case 't': text.ptr[text.len++] = '\t'; break;
    case 'u': {
      unsigned code = four_digits(json.ptr + i);
      i += 4;
      if (code >= 0xD800 && code < 0xDC00) {
        code = 0x10000 + ((code - 0xD800) << 10) + (four_digits(json.ptr + i + 2) - 0xDC00);
        i += 6;
      }
      text.len += encode(text.ptr + text.len, code);
      break;
    }
    default: text.ptr[text.len++] = escaped;
    }
  }
  *at = i + 1;
  return text;
}

bool gatehost_setting(gatehost_text settings, const char *name, gatehost_text *value) {
  int depth = 0;
  bool is_key = false;
  for (size_t i = 0; i < settings.len;) {
    uint8_t byte = settings.ptr[i];
    if (byte == '"') {
      gatehost_text text = string_at(settings, &i);
      bool found = is_key && depth == 1 && text.len == strlen(name) && memcmp(text.ptr, name, text.len) == 0;
      is_key = false;
      while (found && i < settings.len && settings.ptr[i] != '"') i++;
      if (found) return *value = string_at(settings, &i), true;
      continue;
    }
    if (byte == '{' || byte == '[') depth++;
    if (byte == '}' || byte == ']') depth--;
    if (byte == '{' || byte == ',') is_key = true;
    i++;
  }
  return false;
}

// --- Answers.

void gatehost_describe(gatehost_description *about, const char *name, const char *version, const char *summary,
                       const char *settings_schema) {
  memset(about, 0, sizeof *about);
  about->name = gatehost_copy(name);
  about->version = gatehost_copy(version);
  about->summary = gatehost_copy(summary);
  about->settings_schema = gatehost_copy(settings_schema);
}

void gatehost_describe_files(gatehost_description *about, const char *const *files, size_t count) {
  about->files.ptr = (verifier_string_t *)take(count * sizeof *about->files.ptr);
  about->files.len = count;
  for (size_t i = 0; i < count; i++) about->files.ptr[i] = gatehost_copy(files[i]);
}

void gatehost_describe_rules(gatehost_description *about, const gatehost_rule *rules, size_t count) {
  about->rules.ptr = (exports_gatehost_verifier_about_rule_t *)take(count * sizeof *about->rules.ptr);
  about->rules.len = count;
  for (size_t i = 0; i < count; i++) {
    about->rules.ptr[i].code = gatehost_copy(rules[i].code);
    about->rules.ptr[i].level = rules[i].level;
    about->rules.ptr[i].summary = gatehost_copy(rules[i].summary);
  }
}

void gatehost_pass(gatehost_verdict *verdict) {
  memset(verdict, 0, sizeof *verdict);
  verdict->status = GATEHOST_VERIFIER_TYPES_STATUS_PASS;
}

void gatehost_abstain(gatehost_verdict *verdict, const char *why) {
  gatehost_pass(verdict);
  verdict->status = GATEHOST_VERIFIER_TYPES_STATUS_ABSTAIN;
  verdict->summary = gatehost_copy(why);
}

void gatehost_not_applicable(gatehost_verdict *verdict, const char *why) {
  gatehost_abstain(verdict, why);
  verdict->status = GATEHOST_VERIFIER_TYPES_STATUS_NOT_APPLICABLE;
}

// A list with room for one more item, which is zero.
static void *one_more(void *list, size_t count, size_t size) {
  uint8_t *all = (uint8_t *)realloc(list, (count + 1) * size);
  if (!all) abort();
  memset(all + count * size, 0, size);
  return all;
}

void gatehost_metric(gatehost_verdict *verdict, const char *name, double value) {
  size_t count = verdict->metrics.len++;
  gatehost_verifier_types_metric_t *all =
      (gatehost_verifier_types_metric_t *)one_more(verdict->metrics.ptr, count, sizeof *all);
  all[count].name = gatehost_copy(name);
  all[count].value = value;
  verdict->metrics.ptr = all;
}

gatehost_finding *gatehost_error(gatehost_verdict *verdict, const char *code, gatehost_text message, const char *hint) {
  size_t count = verdict->findings.len++;
  gatehost_finding *all = (gatehost_finding *)one_more(verdict->findings.ptr, count, sizeof *all);
  all[count].code = gatehost_copy(code);
  all[count].level = GATEHOST_VERIFIER_TYPES_LEVEL_ERROR;
  all[count].message = message;
  if (hint) {
    all[count].hint.is_some = true;
    all[count].hint.val = gatehost_copy(hint);
  }
  verdict->status = GATEHOST_VERIFIER_TYPES_STATUS_FAIL;
  verdict->findings.ptr = all;
  return &all[count];
}

void gatehost_at_file(gatehost_finding *finding, gatehost_text path) {
  finding->place.is_some = true;
  finding->place.val.path = copy_of(path.ptr, path.len);
}

static void position(gatehost_text text, size_t offset, uint32_t *line, uint32_t *column) {
  *line = *column = 1;
  for (size_t i = 0; i < offset && i < text.len; i++) {
    if (text.ptr[i] == '\n') {
      ++*line;
      *column = 1;
    } else if ((text.ptr[i] & 0xC0) != 0x80) {
      // Bytes that continue a character do not count.
      ++*column;
    }
  }
}

void gatehost_at_offset(gatehost_finding *finding, gatehost_text path, gatehost_text text, size_t offset) {
  gatehost_at_file(finding, path);
  finding->place.val.line.is_some = finding->place.val.column.is_some = true;
  position(text, offset, &finding->place.val.line.val, &finding->place.val.column.val);
}

void gatehost_key(gatehost_finding *finding, gatehost_text key) {
  finding->key.is_some = true;
  finding->key.val = copy_of(key.ptr, key.len);
}

void gatehost_fix(gatehost_finding *finding, const char *description, gatehost_text text, size_t start, size_t end,
                  gatehost_text replacement) {
  gatehost_verifier_types_edit_t *edit = (gatehost_verifier_types_edit_t *)take(sizeof *edit);
  position(text, start, &edit->start_line, &edit->start_column);
  position(text, end, &edit->end_line, &edit->end_column);
  edit->replacement = copy_of(replacement.ptr, replacement.len);
  finding->fix.is_some = true;
  finding->fix.val.description = gatehost_copy(description);
  finding->fix.val.edits.ptr = edit;
  finding->fix.val.edits.len = 1;
}
