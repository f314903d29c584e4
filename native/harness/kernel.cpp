#include "harness/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace assay {
namespace {

std::map<std::string, KernelFactory, std::less<>>& registry() {
  static std::map<std::string, KernelFactory, std::less<>> kernels;
  return kernels;
}

// As few digits as tell a bound.
std::string plain(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

[[noreturn]] void wrong_kind(const std::string& name, const std::string& wanted) {
  throw KernelError("parameter '" + name + "' must be " + wanted);
}

}  // namespace

Registration::Registration(std::string_view name, KernelFactory factory) {
  registry().emplace(name, factory);
}

KernelFactory find_kernel(std::string_view name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : found->second;
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : registry()) names.push_back(name);
  return names;
}

std::int64_t Parameters::integer(const std::string& name, std::int64_t fallback) {
  read_.insert(name);
  std::int64_t value = fallback;
  if (const auto found = given_.find(name); found != given_.end()) {
    if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
      value = *whole;
    } else if (const auto* number = std::get_if<double>(&found->second);
               number && std::trunc(*number) == *number && std::abs(*number) <= 0x1p53) {
      value = static_cast<std::int64_t>(*number);
    } else {
      wrong_kind(name, "an integer");
    }
  }
  resolved_[name] = value;
  return value;
}

std::int64_t Parameters::integer(const std::string& name, std::int64_t fallback, std::int64_t low,
                                 std::int64_t high) {
  const std::int64_t value = integer(name, fallback);
  if (value < low || value > high) {
    throw KernelError("parameter '" + name + "' must be between " + std::to_string(low) + " and " +
                      std::to_string(high) + ", not " + std::to_string(value));
  }
  return value;
}

double Parameters::real(const std::string& name, double fallback) {
  read_.insert(name);
  double value = fallback;
  if (const auto found = given_.find(name); found != given_.end()) {
    if (const auto* number = std::get_if<double>(&found->second)) {
      value = *number;
    } else if (const auto* whole = std::get_if<std::int64_t>(&found->second)) {
      value = static_cast<double>(*whole);
    } else {
      wrong_kind(name, "a number");
    }
  }
  resolved_[name] = value;
  return value;
}

double Parameters::real(const std::string& name, double fallback, double low, double high) {
  const double value = real(name, fallback);
  if (!(value >= low && value <= high)) {
    throw KernelError("parameter '" + name + "' must be between " + plain(low) + " and " +
                      plain(high) + ", not " + plain(value));
  }
  return value;
}

double Parameters::positive(const std::string& name, double fallback, double most) {
  const double value = real(name, fallback);
  if (!(value > 0.0 && value <= most)) {
    throw KernelError("parameter '" + name + "' must be above 0 and at most " + plain(most) +
                      ", not " + plain(value));
  }
  return value;
}

std::string Parameters::text(const std::string& name, const std::string& fallback) {
  read_.insert(name);
  std::string value = fallback;
  if (const auto found = given_.find(name); found != given_.end()) {
    const auto* word = std::get_if<std::string>(&found->second);
    if (!word) wrong_kind(name, "a word");
    value = *word;
  }
  resolved_[name] = value;
  return value;
}

std::string Parameters::choice(const std::string& name, const std::string& fallback,
                               const std::vector<std::string>& choices) {
  std::string value = text(name, fallback);
  if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
    std::string valid;
    for (const auto& each : choices) valid += (valid.empty() ? "" : ", ") + each;
    throw KernelError("parameter '" + name + "' can't be '" + value + "'; valid are: " + valid);
  }
  return value;
}

std::vector<std::string> Parameters::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : given_) {
    if (!read_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace assay
