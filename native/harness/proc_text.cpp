#include "harness/proc_text.hpp"

#include <algorithm>
#include <charconv>

namespace assay {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

std::vector<double> numbers_after(std::string_view text, std::string_view label) {
  std::vector<double> numbers;
  std::size_t at = 0;
  while (!text.substr(at).starts_with(label)) {
    at = text.find('\n', at);
    if (at == std::string_view::npos) return numbers;
    ++at;
  }
  at += label.size();
  while (at < text.size() && text[at] != '\n') {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc{}) break;
    numbers.push_back(value);
    at = static_cast<std::size_t>(end - text.data());
  }
  return numbers;
}

std::vector<std::vector<double>> ticks_of_cpus(std::string_view text, const std::set<int>& cpus) {
  std::vector<std::vector<double>> found;
  for (const std::string_view line : lines_of(text)) {
    int id = -1;
    if (!line.starts_with("cpu")) break;  // they come first
    const auto [end, error] = std::from_chars(line.data() + 3, line.data() + line.size(), id);
    if (error != std::errc{} || !cpus.contains(id)) continue;
    found.push_back(numbers_after(line.substr(static_cast<std::size_t>(end - line.data())), ""));
  }
  return found;
}

double busy_ticks_in(const std::vector<double>& numbers) {
  return numbers[0] + numbers[1] + numbers[2] + numbers[5] + numbers[6];
}

std::optional<double> busy_ticks(std::string_view text, const std::set<int>& cpus) {
  const auto found = ticks_of_cpus(text, cpus);
  double busy = 0.0;
  for (const auto& numbers : found) {
    if (numbers.size() < 7) return std::nullopt;
    busy += busy_ticks_in(numbers);
  }
  return found.size() == cpus.size() ? std::optional(busy) : std::nullopt;
}

std::optional<double> cpus_listed(std::string_view text) {
  double count = 0.0;
  for (const std::string_view line : lines_of(text)) {
    // They come first. Without a line after them the text was cut.
    if (!line.starts_with("cpu")) return count > 0.0 ? std::optional(count) : std::nullopt;
    if (line.size() > 3 && line[3] >= '0' && line[3] <= '9') ++count;
  }
  return std::nullopt;
}

std::optional<double> first_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<double> tcp_retransmits(std::string_view text) {
  constexpr std::string_view kLabel = "Tcp:";
  const std::size_t names = text.find(kLabel);
  if (names == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find('\n', names);
  const std::size_t wanted = text.find(" RetransSegs", names);
  if (end == std::string_view::npos || wanted > end) return std::nullopt;
  // Names are separated by one space each: the number of spaces before the wanted name is its
  // column.
  const std::string_view before =
      text.substr(names + kLabel.size(), wanted - names - kLabel.size());
  const auto column = static_cast<std::size_t>(std::count(before.begin(), before.end(), ' '));
  const auto numbers = numbers_after(text.substr(end + 1), kLabel);
  return column < numbers.size() ? std::optional(numbers[column]) : std::nullopt;
}

std::optional<double> pressure_seconds(std::string_view text) {
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234", in microseconds.
  constexpr std::string_view kTotal = " total=";
  if (!text.starts_with("some ")) return std::nullopt;
  const std::string_view line = text.substr(0, text.find('\n'));
  const std::size_t at = line.find(kTotal);
  if (at == std::string_view::npos) return std::nullopt;
  const auto microseconds = first_number(line.substr(at + kTotal.size()));
  return microseconds ? std::optional(1e-6 * *microseconds) : std::nullopt;
}

}  // namespace assay
