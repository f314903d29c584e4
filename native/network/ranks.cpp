#include "network/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace assay {

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<int> shuffled(std::vector<int> members, std::uint64_t seed) {
  // Fisher and Yates written out: std::shuffle draws differently in each library. The remainder's
  // bias, members / 2^64, is negligible.
  std::mt19937_64 draw(seed);
  for (std::size_t left = members.size(); left > 1; --left) {
    std::swap(members[left - 1], members[draw() % left]);
  }
  return members;
}

std::vector<int> read_ranks(const std::string& parameter, const std::string& text, int size) {
  std::vector<int> ranks;
  std::vector<bool> seen(static_cast<std::size_t>(size), false);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("-, ", at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool digits = word.find_first_not_of("0123456789") == std::string::npos;
    const int rank = digits && word.size() < 10 ? std::stoi(word) : size;
    if (rank >= size) {
      throw KernelError("parameter '" + parameter + "' names '" + word +
                        "', but ranks go from 0 to " + std::to_string(size - 1));
    }
    if (seen[static_cast<std::size_t>(rank)]) {
      throw KernelError("parameter '" + parameter + "' names rank " + word + " twice");
    }
    seen[static_cast<std::size_t>(rank)] = true;
    ranks.push_back(rank);
  }
  return ranks;
}

double rounded(double seconds) { return std::round(seconds * 1e12) / 1e12; }

}  // namespace assay
