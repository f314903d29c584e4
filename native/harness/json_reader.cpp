#include "harness/json_reader.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "harness/utf8.hpp"

namespace assay {
namespace {

// A job nests four values; a limit keeps hostile text from using up the stack.
constexpr int kDeepest = 64;

class JsonParser {
 public:
  explicit JsonParser(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = read(0);
    skip_blanks();
    if (place_ < text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what = "it is not JSON") const {
    throw JsonError(what, place_ + 1);
  }

  char here() const { return place_ < text_.size() ? text_[place_] : '\0'; }

  bool take(char expected) {
    if (here() != expected) return false;
    ++place_;
    return true;
  }

  void require(char expected) {
    if (!take(expected)) fail();
  }

  void skip_blanks() {
    while (here() == ' ' || here() == '\t' || here() == '\n' || here() == '\r') ++place_;
  }

  Json read(int depth) {
    if (depth > kDeepest) fail("its values are nested too deeply");
    skip_blanks();
    const std::size_t begin = place_;
    Json value;
    if (here() == '{') {
      read_object(value, depth);
    } else if (here() == '[') {
      read_array(value, depth);
    } else if (here() == '"') {
      value.kind = Json::Kind::kString;
      value.text = quoted();
    } else if (here() == '-' || is_digit()) {
      read_number(value);
    } else {
      read_word(value);
    }
    value.source = text_.substr(begin, place_ - begin);
    return value;
  }

  void read_object(Json& value, int depth) {
    value.kind = Json::Kind::kObject;
    require('{');
    skip_blanks();
    if (take('}')) return;
    do {
      skip_blanks();
      value.names.push_back(quoted());
      skip_blanks();
      require(':');
      value.items.push_back(read(depth + 1));
      skip_blanks();
    } while (take(','));
    require('}');
  }

  void read_array(Json& value, int depth) {
    value.kind = Json::Kind::kArray;
    require('[');
    skip_blanks();
    if (take(']')) return;
    do {
      value.items.push_back(read(depth + 1));
      skip_blanks();
    } while (take(','));
    require(']');
  }

  void read_word(Json& value) {
    const std::string_view rest = text_.substr(place_);
    const auto begins = [&](std::string_view word) { return rest.substr(0, word.size()) == word; };
    if (begins("null")) {
      place_ += 4;
    } else if (begins("true") || begins("false")) {
      value.kind = Json::Kind::kBoolean;
      value.integer = begins("true");
      place_ += value.integer ? 4 : 5;
    } else {
      fail();
    }
  }

  bool is_digit() const { return here() >= '0' && here() <= '9'; }

  void digits() {
    if (!is_digit()) fail();
    while (is_digit()) ++place_;
  }

  void read_number(Json& value) {
    const std::size_t begin = place_;
    take('-');
    if (!take('0')) digits();
    bool whole = true;
    if (take('.')) {
      whole = false;
      digits();
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('-')) take('+');
      digits();
    }
    const std::string number(text_.substr(begin, place_ - begin));
    value.kind = whole ? Json::Kind::kInteger : Json::Kind::kReal;
    errno = 0;
    if (whole) value.integer = std::strtoll(number.c_str(), nullptr, 10);
    value.fits = errno == 0;
    value.real = std::strtod(number.c_str(), nullptr);
    if (std::isinf(value.real)) fail("a number is out of range");
  }

  std::string quoted() {
    require('"');
    std::string content;
    while (!take('"')) {
      const auto first = static_cast<unsigned char>(here());
      if (first < 0x20) fail();  // or the end
      if (take('\\')) {
        escaped(content);
        continue;
      }
      const std::size_t length = utf8_length(text_.substr(place_));
      if (length == 0) fail();
      content += text_.substr(place_, length);
      place_ += length;
    }
    return content;
  }

  void escaped(std::string& content) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    const std::size_t which = here() ? kLetters.find(here()) : std::string_view::npos;
    if (which != std::string_view::npos) {
      content += kMeanings[which];
      ++place_;
      return;
    }
    require('u');
    unsigned code = hexadecimal();
    if (code >= 0xD800 && code < 0xDC00) {  // the first of a pair (RFC 8259, section 7)
      require('\\');
      require('u');
      const unsigned low = hexadecimal();
      if (low < 0xDC00 || low > 0xDFFF) fail();
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code <= 0xDFFF) {
      fail();
    }
    append(content, code);
  }

  unsigned hexadecimal() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++place_) {
      const char digit = here();
      const char lower = static_cast<char>(digit | 0x20);
      if (digit >= '0' && digit <= '9') {
        code = code * 16 + static_cast<unsigned>(digit - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code * 16 + static_cast<unsigned>(lower - 'a' + 10);
      } else {
        fail();
      }
    }
    return code;
  }

  // A code point in UTF-8.
  static void append(std::string& content, unsigned code) {
    const auto tail = [&](unsigned shift) {
      content += static_cast<char>(0x80 | (code >> shift & 0x3F));
    };
    if (code < 0x80) {
      content += static_cast<char>(code);
    } else if (code < 0x800) {
      content += static_cast<char>(0xC0 | code >> 6);
    } else if (code < 0x10000) {
      content += static_cast<char>(0xE0 | code >> 12);
      tail(6);
    } else {
      content += static_cast<char>(0xF0 | code >> 18);
      tail(12);
      tail(6);
    }
    if (code >= 0x80) tail(0);
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (std::size_t i = names.size(); i > 0; --i) {
    if (names[i - 1] == name) return &items[i - 1];
  }
  return nullptr;
}

Json parse_json(std::string_view text) { return JsonParser(text).whole(); }

}  // namespace assay
