// Counts the keys of npb.is for tests/native/npb/test_is.py: reads questions on stdin, one per
// line, and answers each with a line. It stores no keys: class E takes two minutes on one core, and
// no memory.
#include <array>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/common/random.hpp"
#include "npb/is/classes.hpp"
#include "npb/is/key_split.hpp"
#include "npb/is/ranking.hpp"

using namespace assay::npb;

namespace {

constexpr int kLanes = 16;
constexpr int kNumbers = 4;

// The sum of four numbers, in steps of 2^-46.
std::uint64_t sum_at(std::uint64_t key) {
  Random46 random(kIsSeed);
  random.skip(kNumbers * key);
  std::uint64_t sum = 0;
  for (int k = 0; k < kNumbers; ++k) {
    random.next();
    sum += random.state();
  }
  return sum;
}

// class: for each test key after each iteration, the number of keys below it and its official rank.
void ranks(std::istream& in) {
  std::string name;
  in >> name;
  const IsClass& problem = find_class(kIsClasses, name);
  const int cut = kStateBits - (problem.log2_max_key - 2);
  const std::uint64_t most = std::uint64_t{1} << problem.log2_max_key;
  const std::uint64_t share = (std::uint64_t{1} << problem.log2_keys) / kLanes;
  std::array<std::uint64_t, std::tuple_size_v<decltype(problem.tests)>> keys;
  for (std::size_t test = 0; test < keys.size(); ++test)
    keys[test] = sum_at(problem.tests[test].index) >> cut;

  std::uint64_t states[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    Random46 random(kIsSeed);
    random.skip(kNumbers * share * static_cast<std::uint64_t>(lane));
    states[lane] = random.state();
  }
  std::uint64_t below[keys.size()][kLanes] = {};
  for (std::uint64_t i = 0; i < share; ++i) {
    std::uint64_t sums[kLanes] = {};
    for (int k = 0; k < kNumbers; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        states[lane] = multiply_mod46(states[lane], kMultiplier);
        sums[lane] += states[lane];
      }
    }
    for (std::size_t test = 0; test < keys.size(); ++test) {
      for (int lane = 0; lane < kLanes; ++lane) below[test][lane] += sums[lane] >> cut < keys[test];
    }
  }
  for (std::size_t test = 0; test < keys.size(); ++test) {
    std::int64_t count = 0;
    for (const std::uint64_t each : below[test]) count += static_cast<std::int64_t>(each);
    // Iteration i makes the key of index i be i, and that of index i + 10 the greatest less i.
    for (std::uint64_t i = 1; i <= kIsIterations; ++i) {
      for (const std::uint64_t index : {i, i + kIsIterations})
        count -= sum_at(index) >> cut < keys[test];
      for (const std::uint64_t key : {i, most - i}) count += key < keys[test];
      std::printf("%lld %lld ", static_cast<long long>(count),
                  static_cast<long long>(expected_rank(problem, test, static_cast<int>(i))));
    }
  }
  std::printf("\n");
}

// lowest values key...: the keys in the range, "and", the others.
void split_keys(std::istream& in) {
  std::uint32_t lowest = 0;
  std::uint32_t values = 0;
  in >> lowest >> values;
  std::vector<std::uint32_t> keys;
  for (std::uint32_t key = 0; in >> key;) keys.push_back(key);
  SplitKeys found;
  split(keys.data(), keys.size(), lowest, values, found);
  for (std::size_t k = 0; k < found.insides; ++k) std::printf("%u ", found.inside[k]);
  std::printf("and");
  for (std::size_t k = 0; k < found.outsides; ++k) std::printf(" %u", found.outside[k]);
  std::printf("\n");
}

const assay::check::Questions questions = {{"ranks", ranks}, {"split", split_keys}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
