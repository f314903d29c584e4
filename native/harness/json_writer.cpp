#include "harness/json_writer.hpp"

#include <charconv>
#include <cmath>

namespace assay {
namespace {

// Length of the valid UTF-8 sequence at the start of `text` (RFC 3629, section 4), 0 if there is
// none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  std::size_t length = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;   // shorter forms exist
    if (lead == 0xED) high = 0x9F;  // surrogates
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;  // beyond U+10FFFF
  }
  if (length == 0 || text.size() < length) return 0;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return length;
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  const std::string_view written(digits, static_cast<std::size_t>(end - digits));
  text_ += written;
  // A real stays a real for readers that distinguish 5 from 5.0.
  if (written.find_first_of(".e") == std::string_view::npos) text_ += ".0";
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(const Value& any) {
  std::visit([this](const auto& held) { value(held); }, any);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

void JsonWriter::quote(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  text_ += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text[0];
    if (length == 0) {
      text_ += "\uFFFD";
      text.remove_prefix(1);
      continue;
    }
    if (first == '"' || first == '\\') {
      text_ += '\\';
      text_ += first;
    } else if (length == 1 && static_cast<unsigned char>(first) < 0x20) {
      text_ += "\\u00";
      text_ += kHex[static_cast<unsigned char>(first) >> 4];
      text_ += kHex[static_cast<unsigned char>(first) & 15];
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  text_ += '"';
}

}  // namespace assay
