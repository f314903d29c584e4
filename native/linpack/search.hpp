// The search for block size, process grid and schemes: which candidates are tried, how often, and
// at what order. Without MPI and clock; the caller provides the measurement.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "linpack/broadcast.hpp"
#include "linpack/row_swaps.hpp"

namespace assay::linpack {

// The settings of a solution that a search chooses.
struct Candidate {
  std::int64_t nb = 1;
  int p = 1;
  BroadcastScheme broadcast = BroadcastScheme::modified_ring;
  SwapScheme swap = SwapScheme::automatic;
  int depth = 1;

  bool operator==(const Candidate&) const = default;
};

// Limits of a search.
struct SearchLimits {
  int ranks = 1;
  double seconds = 20.0;
  std::int64_t n = 0;  // order of all trials; 0: chosen by the time, up to `largest`
  std::int64_t largest = 1;
  std::uint64_t seed = 0;
};

// Trials of one candidate at one order: seconds of each.
struct Trials {
  Candidate candidate;
  std::int64_t n = 0;
  std::vector<double> seconds;

  // The minimum: disturbances only lengthen a trial.
  double best() const;
};

struct SearchOutcome {
  Candidate choice;
  std::int64_t n = 0;          // the order of the last trials
  std::vector<Trials> trials;  // per candidate and order, in order of first trial
};

// Panel widths that are tried for an order: those that leave at least ten panels, and one in any
// case. Ascending.
std::vector<std::int64_t> widths_to_try(std::int64_t n);

// Numbers of process grid rows that are tried, ascending: divisors of the ranks for grids whose
// columns are at most 64 times the rows, and whose rows are at most 4 times the columns.
std::vector<int> grids_to_try(int ranks);

// Broadcast schemes that differ from each other on that number of grid columns, and interchange
// schemes that differ on that number of grid rows.
std::vector<BroadcastScheme> broadcasts_to_try(int columns);
std::vector<SwapScheme> swaps_to_try(int rows);

// A search in four stages, each of which starts from the best so far: the width, the grid, the
// schemes one by one, and then the best few again, with the best schemes together, at an order
// whose trials take several times as long, because the best width grows with the order. A stage
// tries its candidates in rounds of random order and drops the slower half after each round
// (sequential halving: Karnin, Koren & Somekh, Almost optimal exploration in multi-armed bandits,
// ICML 2013), as long as time remains. Of final widths within one per cent the greatest is chosen.
class Search {
 public:
  // Seconds of a trial, and seconds since the search began; both are the same on all ranks, which
  // therefore make the same decisions.
  using Measure = std::function<double(const Candidate& candidate, std::int64_t n)>;
  using Clock = std::function<double()>;

  Search(const SearchLimits& limits, Measure measure, Clock clock);

  SearchOutcome run();

 private:
  double measure(const Candidate& candidate, std::int64_t n);
  std::int64_t find_order(const Candidate& candidate);
  // Candidates, the best first, after rounds until that time; at least one round as long as the
  // whole search has time.
  std::vector<Candidate> race(std::vector<Candidate> candidates, std::int64_t n, double until);
  Candidate best_schemes(const Candidate& from, std::int64_t n, double until);
  Candidate best_width(const Candidate& from, std::int64_t n);
  // The minimum of its trials at that order; infinite without any.
  double fastest(const Candidate& candidate, std::int64_t n) const;

  SearchLimits limits_;
  Measure measure_;
  Clock clock_;
  std::mt19937_64 draw_;
  std::vector<Trials> trials_;
};

}  // namespace assay::linpack
