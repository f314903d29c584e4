// The orders on standard input, one per line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace assay::check {

// "measure COMPONENT SECONDS"; in a build for tests a planted fault may follow.
struct Order {
  std::string component;
  double seconds = 0.0;
  std::string fault;
};

constexpr double kMostSeconds = 60.0;

// The order, or a sentence that says what is wrong with the line (without its end).
std::variant<Order, std::string> parse_order(std::string_view line);

// Reads lines from a descriptor.
class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  // The next line without its end; nothing at the end of the input or after an error. A last line
  // without an end was cut, and is left out. Of a line that is too long only the beginning is
  // returned, which is still too long for an order.
  std::optional<std::string> next();

  static constexpr std::size_t kLongest = 1024;

 private:
  int descriptor_;
  std::string text_;
  std::size_t used_ = 0;
};

}  // namespace assay::check
