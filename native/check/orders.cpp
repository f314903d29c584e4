#include "check/orders.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <vector>

#include "harness/test_build.hpp"

namespace assay::check {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) return words;
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
}

}  // namespace

std::variant<Order, std::string> parse_order(std::string_view line) {
  if (line.size() >= LineReader::kLongest) return std::string("the order is too long");
  const auto words = words_of(line);
  const std::size_t most = kTestFaults ? 4 : 3;
  if (words.size() < 3 || words.size() > most || words[0] != "measure") {
    return std::string("an order is 'measure COMPONENT SECONDS'");
  }
  Order order{std::string(words[1]), 0.0, words.size() > 3 ? std::string(words[3]) : ""};
  const char* const end = words[2].data() + words[2].size();
  const auto [stop, error] = std::from_chars(words[2].data(), end, order.seconds);
  if (error != std::errc{} || stop != end || !(order.seconds > 0.0) ||
      !(order.seconds <= kMostSeconds)) {
    return std::string("the seconds of an order are a number above 0, at most 60");
  }
  return order;
}

std::optional<std::string> LineReader::next() {
  std::string line;
  for (;;) {
    const std::size_t end = text_.find('\n', used_);
    const std::size_t stop = std::min(end, text_.size());
    const std::size_t room = kLongest - std::min(line.size(), kLongest);
    line.append(text_, used_, std::min(stop - used_, room));
    used_ = stop;
    if (end != std::string::npos) {
      ++used_;
      return line;
    }
    std::array<char, 4096> part{};
    const ssize_t got = read(descriptor_, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    text_.assign(part.data(), static_cast<std::size_t>(got));
    used_ = 0;
  }
}

}  // namespace assay::check
