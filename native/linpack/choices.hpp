// Names of matrices and schemes in parameters and facts.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linpack/settings.hpp"

namespace assay::linpack {

template <typename T, std::size_t Count>
using Choices = std::array<std::pair<std::string_view, T>, Count>;

inline constexpr Choices<BroadcastScheme, 6> kBroadcasts{{
    {"library", BroadcastScheme::library},
    {"ring", BroadcastScheme::ring},
    {"modified-ring", BroadcastScheme::modified_ring},
    {"two-rings", BroadcastScheme::two_rings},
    {"modified-two-rings", BroadcastScheme::modified_two_rings},
    {"bandwidth", BroadcastScheme::bandwidth},
}};

inline constexpr Choices<SwapScheme, 3> kSwaps{{
    {"auto", SwapScheme::automatic},
    {"exchange", SwapScheme::exchange},
    {"spread", SwapScheme::spread},
}};

inline constexpr Choices<MatrixKind, 4> kMatrices{{
    {"random", MatrixKind::random},
    {"graded", MatrixKind::graded},
    {"nearly-singular", MatrixKind::nearly_singular},
    {"singular", MatrixKind::singular},
}};

template <typename T, std::size_t Count>
std::vector<std::string> names(const Choices<T, Count>& choices) {
  std::vector<std::string> all;
  for (const auto& [word, value] : choices) all.emplace_back(word);
  return all;
}

// `word` must be one of the names of the choices.
template <typename T, std::size_t Count>
T choice_of(const Choices<T, Count>& choices, std::string_view word) {
  for (const auto& [each, value] : choices) {
    if (each == word) return value;
  }
  return choices.front().second;
}

template <typename T, std::size_t Count>
std::string word_of(const Choices<T, Count>& choices, T value) {
  for (const auto& [word, each] : choices) {
    if (each == value) return std::string(word);
  }
  return {};
}

}  // namespace assay::linpack
