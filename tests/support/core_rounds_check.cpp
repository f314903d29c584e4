// Plans of memory.core_to_core for tests/native/test_core_rounds.py, on CPUs that this machine need
// not have: reads questions on stdin, one per line, and answers each with a line.
#include <algorithm>
#include <cstdio>
#include <istream>
#include <set>
#include <vector>

#include "check_questions.hpp"
#include "memory/core_rounds.hpp"

using namespace assay;

namespace {

// cpus most launch longest seconds: the number of pairs that a pass keeps if each of them takes
// that time, the seconds of the pass, the number of different pairs, the fewest and the most pairs
// of a CPU.
void plan(std::istream& in) {
  int cpus = 0;
  std::size_t most = 0;
  std::uint64_t launch = 0;
  double longest = 0.0;
  double pair_seconds = 0.0;
  in >> cpus >> most >> launch >> longest >> pair_seconds;
  std::vector<Round> rounds = core_rounds(cpus, most, launch);
  double clock = 100.0;
  const auto measure = [&](const Round& round) {
    clock += pair_seconds * static_cast<double>(round.size());
  };
  keep_within(longest, rounds, measure, [&] { return clock; });
  std::set<PairOfRanks> different;
  std::vector<int> of_cpu(static_cast<std::size_t>(cpus));
  std::size_t pairs = 0;
  for (const Round& round : rounds) {
    for (const auto& [one, other] : round) {
      if (one < other) different.emplace(one, other);
      ++of_cpu[static_cast<std::size_t>(one)];
      ++of_cpu[static_cast<std::size_t>(other)];
      ++pairs;
    }
  }
  const auto [fewest, largest] = std::minmax_element(of_cpu.begin(), of_cpu.end());
  std::printf("%zu %.9g %zu %d %d\n", pairs, clock - 100.0, different.size(), *fewest, *largest);
}

// cpus most launch: the pairs of a pass that has all the time.
void pairs(std::istream& in) {
  int cpus = 0;
  std::size_t most = 0;
  std::uint64_t launch = 0;
  in >> cpus >> most >> launch;
  for (const Round& round : core_rounds(cpus, most, launch)) {
    for (const auto& [one, other] : round) std::printf("%d-%d ", one, other);
  }
  std::printf("\n");
}

const assay::check::Questions questions = {{"plan", plan}, {"pairs", pairs}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
