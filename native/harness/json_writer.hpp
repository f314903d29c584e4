// Writes JSON text: the shortest doubles that read back exactly, NaN and infinities as null,
// strings as valid UTF-8 for any input bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/values.hpp"

namespace assay {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(double number);
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(int number) { return value(static_cast<std::int64_t>(number)); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const Value& any);
  JsonWriter& null();
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <typename T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }

  template <typename T>
  JsonWriter& value(const std::vector<T>& list) {
    begin_array();
    for (const T& each : list) value(each);
    return end_array();
  }

  template <typename T>
  JsonWriter& value(const std::map<std::string, T>& entries) {
    begin_object();
    for (const auto& [name, entry] : entries) field(name, entry);
    return end_object();
  }

  template <typename T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();
  void quote(std::string_view text);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace assay
