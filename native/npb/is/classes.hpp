// IS's problem classes: sizes and official verification values.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "npb/common/classes.hpp"

namespace assay::npb {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/is/constants.def"
#undef NPB_CONSTANT

// 2^log2_keys keys below 2^log2_max_key, and the keys that every iteration checks: the key of that
// index has rank `rank` + slope * (iteration - since), less one for each of `less` that the
// iteration is after: from then on a changed key had been below that one already.
struct IsTest {
  std::uint64_t index;
  std::int64_t rank;
  int slope;
  int since;
  std::array<int, 2> less{kNever, kNever};

  static constexpr int kNever = 1 << 30;
};

struct IsClass {
  std::string_view name;
  int log2_keys;
  int log2_max_key;
  std::array<IsTest, kIsTestKeys> tests;
};

inline constexpr IsClass kIsClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/is/classes.def"
#undef NPB_CLASS
};

constexpr std::int64_t expected_rank(const IsClass& problem, std::size_t test, int iteration) {
  const IsTest& of = problem.tests[test];
  std::int64_t rank = of.rank + of.slope * (iteration - of.since);
  for (const int after : of.less) rank -= iteration > after ? 1 : 0;
  return rank;
}

}  // namespace assay::npb
