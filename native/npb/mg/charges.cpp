#include "npb/mg/charges.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <limits>

#include "npb/common/random.hpp"
#include "npb/common/share.hpp"

namespace assay::npb {
namespace {

constexpr std::size_t kOfEachSign = 10;
constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

struct Candidate {
  std::uint64_t key;  // the smaller, the better
  std::uint64_t index;
};

// The best so far, sorted.
using Best = std::array<Candidate, kOfEachSign>;

void enter(Best& best, Candidate candidate) {
  std::size_t place = best.size() - 1;
  for (; place > 0 && candidate.key < best[place - 1].key; --place) best[place] = best[place - 1];
  best[place] = candidate;
}

struct Extremes {
  Best smallest;
  Best greatest;  // keys are complements

  Extremes() {
    smallest.fill({kNobody, 0});
    greatest.fill({kNobody, 0});
  }

  void enter_all(const Best& low, const Best& high) {
    for (const Candidate& each : low) {
      if (each.key < smallest.back().key) enter(smallest, each);
    }
    for (const Candidate& each : high) {
      if (each.key < greatest.back().key) enter(greatest, each);
    }
  }
};

Extremes search(Share share, std::uint64_t seed) {
  Extremes found;
  Random46 random(seed);
  random.skip(share.begin);
  for (std::uint64_t i = share.begin; i < share.end; ++i) {
    random.next();
    const std::uint64_t state = random.state();
    const std::uint64_t complement = kStateMask - state;
    if (state < found.smallest.back().key) enter(found.smallest, {state, i});
    if (complement < found.greatest.back().key) enter(found.greatest, {complement, i});
  }
  return found;
}

}  // namespace

std::vector<Charge> find_charges(std::uint64_t points, std::uint64_t seed, MPI_Comm comm,
                                 int threads) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const Share mine =
      share_of({0, points}, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(ranks));
  Extremes of_rank;
#pragma omp parallel num_threads(threads)
  {
    const Extremes of_thread =
        search(share_of(mine, static_cast<std::uint64_t>(omp_get_thread_num()),
                        static_cast<std::uint64_t>(omp_get_num_threads())),
               seed);
#pragma omp critical(assay_npb_mg_charges)
    of_rank.enter_all(of_thread.smallest, of_thread.greatest);
  }
  static_assert(sizeof(Extremes) == 2 * 2 * kOfEachSign * sizeof(std::uint64_t));
  std::vector<Extremes> of_all(static_cast<std::size_t>(ranks));
  constexpr int words = sizeof(Extremes) / sizeof(std::uint64_t);
  MPI_Allgather(&of_rank, words, MPI_UINT64_T, of_all.data(), words, MPI_UINT64_T, comm);
  Extremes extremes;
  for (const Extremes& each : of_all) extremes.enter_all(each.smallest, each.greatest);
  std::vector<Charge> charges;
  for (const Candidate& each : extremes.greatest) charges.push_back({each.index, 1.0});
  for (const Candidate& each : extremes.smallest) charges.push_back({each.index, -1.0});
  return charges;
}

}  // namespace assay::npb
