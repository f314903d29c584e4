// Reads JSON text (RFC 8259). A job has few and small values, so a value is a plain structure,
// which compiles faster than a JSON library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// The text is not JSON, or a real number is out of range.
class JsonError : public std::runtime_error {
 public:
  JsonError(const char* what, std::size_t byte) : std::runtime_error(what), byte(byte) {}

  const std::size_t byte;  // the position of the error, from 1
};

struct Json {
  enum class Kind { kNull, kBoolean, kInteger, kReal, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  // As written, in the text that was read.
  std::string_view source;
  std::int64_t integer = 0;  // 1 for true
  bool fits = true;          // whether an integer has at most 64 bits
  double real = 0.0;         // of integers, too
  std::string text;
  std::vector<Json> items;         // of an array, or the values of an object
  std::vector<std::string> names;  // of these values

  bool is(Kind other) const { return kind == other; }
  bool is_number() const { return is(Kind::kInteger) || is(Kind::kReal); }
  // The value of this name; the last one if a name occurs twice, nullptr if there is none.
  const Json* find(std::string_view name) const;
};

// Throws JsonError.
Json parse_json(std::string_view text);

}  // namespace assay
