// The ranks of integer keys that are distributed over all ranks of MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "harness/phases.hpp"
#include "memory/huge_array.hpp"
#include "npb/common/code.hpp"
#include "npb/common/share.hpp"
#include "npb/is/classes.hpp"

namespace assay::npb {

inline constexpr std::uint64_t kIsSeed = 314159265;

enum IsPhase : std::size_t { kIsCompute, kIsAllreduce, kIsAlltoall, kIsAlltoallv };

// Bytes that a rank allocates.
double is_bytes_per_rank(const IsClass& problem, int ranks, int threads, Code code);

// The keys stay where they were generated. Each ranking counts them by bucket (their upper bits),
// assigns every MPI rank a contiguous run of buckets with about the same number of keys, sends each
// key whose bucket belongs to another MPI rank there, and counts the kept and received keys by
// value: the number of keys below a value is the rank of a key of that value. On one rank there are
// no buckets, and all keys are counted where they are.
//
// The plain code has buckets on any number of ranks: all keys are put in the order of their buckets
// and exchanged, those that stay too, and only received keys are counted by value.
class IsRanking {
 public:
  static constexpr std::int64_t kMost = std::numeric_limits<int>::max();

  // `most`: maximum number of keys that one call of MPI may send or receive; if a rank may have
  // more, they are sent in pieces.
  IsRanking(const IsClass& problem, MPI_Comm comm, int threads, Code code,
            std::int64_t most = kMost);

  // Draws this rank's share of the keys, by all threads.
  void generate(std::uint64_t seed);

  // One iteration, 1 to kIsIterations: two keys change, all are ranked, five are checked. Returns
  // the number of those on this rank with a wrong rank.
  int rank_keys(int iteration, Phases& phases);

  // Restores the keys that the iterations changed.
  void restore();

  // Collective. The number of all faults of the last ranking: keys that would be out of order or
  // out of place if each were put where its rank says, and lost or additional keys. 0 if correct.
  std::int64_t faults();

  // Adds one to the count of the lowest value on this rank: a planted fault.
  void spoil();

 private:
  using Key = std::uint32_t;

  void change(std::uint64_t index, Key key);
  void count_buckets();
  void divide();
  void partition();
  void sort_into_buckets();
  void exchange(Phases& phases);
  void send_at_once();
  void send_in_pieces();
  void cumulate();
  std::uint64_t below(std::size_t value) const;  // keys of values before lowest_ + value
  void find_values();
  Key lowest_of(std::size_t rank) const;  // the lowest value of its buckets
  Key values_of(std::size_t rank) const;  // the number of values in them
  int failed_tests(int iteration) const;
  std::size_t room() const;  // for the keys that this rank may send or receive

  const IsClass& problem_;
  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 1;
  int threads_ = 1;
  bool plain_;
  bool exchanges_ = true;  // whether keys are put into buckets and exchanged
  std::int64_t most_;
  Share mine_{};  // global indices of the keys kept here
  int bucket_shift_ = 0;
  std::size_t buckets_ = 0;

  HugeArray<Key> keys_;
  // Not used unless keys are exchanged; of other ranks only, or of all in the plain code:
  HugeArray<Key> sorted_;    // by receiving rank, or by bucket in the plain code
  HugeArray<Key> received_;  // from the ranks
  std::size_t arrived_ = 0;  // how many

  struct Changed {
    std::uint64_t index;
    Key key;
  };
  std::vector<Changed> changed_;

  std::vector<std::vector<std::uint32_t>> bucket_counts_;  // one per thread
  std::vector<std::int64_t> totals_;                       // per bucket, then test keys
  std::vector<std::size_t> first_bucket_;                  // of each rank, and the end
  std::vector<std::uint32_t> owner_;                       // of each bucket
  std::vector<std::size_t> others_;                        // all other ranks, if they are few
  std::vector<std::vector<std::size_t>> places_;           // [thread][receiving rank]
  std::vector<std::int64_t> send_counts_, send_places_, receive_counts_, receive_places_;
  std::uint64_t lesser_ = 0;  // keys on ranks before this one
  Key lowest_ = 0;            // value that counts_ begins with
  // One per thread; [0] becomes that of all keys, cumulative within each block of values.
  std::vector<HugeArray<std::uint32_t>> counts_;
  std::vector<std::uint64_t> before_;  // keys on this rank before each block: may exceed 2^32
  std::size_t values_ = 0;             // of this rank's buckets
};

}  // namespace assay::npb
