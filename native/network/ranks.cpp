#include "network/ranks.hpp"

#include <algorithm>
#include <cmath>

namespace assay {

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
