// The phases of IO500, and its score: the square root of the product of two geometric means, of
// four bandwidths in GiB/s and of eight rates in thousands of files per second.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

// In the order of the rules: all data and files are written before the search, and what a phase
// wrote is read after others have written.
enum Phase : std::size_t {
  kIorEasyWrite,
  kMdtestEasyWrite,
  kIorHardWrite,
  kMdtestHardWrite,
  kFind,
  kIorEasyRead,
  kMdtestEasyStat,
  kIorHardRead,
  kMdtestHardStat,
  kMdtestEasyDelete,
  kMdtestHardRead,
  kMdtestHardDelete
};
inline constexpr std::size_t kPhases = kMdtestHardDelete + 1;
inline constexpr std::array<const char*, kPhases> kPhaseNames = {"ior_easy_write",
                                                                 "mdtest_easy_write",
                                                                 "ior_hard_write",
                                                                 "mdtest_hard_write",
                                                                 "find",
                                                                 "ior_easy_read",
                                                                 "mdtest_easy_stat",
                                                                 "ior_hard_read",
                                                                 "mdtest_hard_stat",
                                                                 "mdtest_easy_delete",
                                                                 "mdtest_hard_read",
                                                                 "mdtest_hard_delete"};

// Rates are per gibibyte, and per thousand files.
inline constexpr double kBytesOfRate = 1024.0 * 1024.0 * 1024.0;
inline constexpr double kFilesOfRate = 1000.0;

// Costs of the phases in each sample: seconds per gibibyte, or per thousand files. Rates are their
// inverse, so that the score's cost is the same mean of costs.
class Io500Scores {
 public:
  // `work`: gibibytes, or thousands of files, above 0.
  void add(Phase phase, double seconds, double work) { costs_[phase].push_back(seconds / work); }
  // After all phases of a sample.
  void end_sample();

  std::vector<Series> series() const;

 private:
  std::array<std::vector<double>, kPhases> costs_;
  std::vector<double> of_data_;
  std::vector<double> of_files_;
  std::vector<double> of_both_;
};

}  // namespace assay
