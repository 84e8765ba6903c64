// Helpers for Gatehost verifiers in C++: the texts of `gatehost.h` as views, and findings. See `gatehost.h` for the rest.
#pragma once

#include "gatehost.h"
#include <optional>
#include <string>
#include <string_view>

namespace gatehost {

inline std::string_view view(gatehost_text text) { return {reinterpret_cast<const char *>(text.ptr), text.len}; }

// A copy that the verdict can keep.
inline gatehost_text copy(std::string_view text) {
  gatehost_text given{reinterpret_cast<uint8_t *>(const_cast<char *>(text.data())), text.size()};
  const gatehost_text *const parts[] = {&given, nullptr};
  return gatehost_join(parts);
}

// A setting that is a string, if it is said.
inline std::optional<std::string_view> setting(gatehost_text settings, const char *name) {
  gatehost_text value;
  if (!gatehost_setting(settings, name, &value)) return std::nullopt;
  return view(value);
}

// Add a finding of level error, which makes the verdict a failure.
inline gatehost_finding *error(gatehost_verdict *verdict, const char *code, std::string_view message,
                               const char *hint) {
  return gatehost_error(verdict, code, copy(message), hint);
}

} // namespace gatehost
