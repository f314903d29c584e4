#include "npb/is/ranking.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <span>
#include <string>

#include "npb/common/random.hpp"
#include "npb/common/shared.hpp"
#include "npb/is/key_split.hpp"

namespace assay::npb {
namespace {

constexpr int kNumbersPerKey = 4;
// Room for received keys, as a multiple of an equal share: more than is likely. Reserved but unused
// memory costs nothing.
constexpr double kUnevenness = 1.25;
// Up to this many ranks keys are split for one rank after the other. With more, looking up the
// receiver of each key is cheaper (CPU time of class A on 6, 8, 12 ranks: 0.39, 0.45, 0.67 s by
// splits in vectors; 0.44, 0.47, 0.63 s by the table. On 3, 4, 6 ranks without vectors 0.36, 0.42,
// 0.52; 0.39, 0.42, 0.47).
constexpr int kFewRanks = kSplitsVectors ? 8 : 4;
// Log2 of the values per block of cumulative counts.
constexpr int kBlockBits = 10;

std::size_t buckets_of(const IsClass& problem, int ranks) {
  using namespace shared;
  const double values = std::ldexp(1.0, problem.log2_max_key);
#include "npb/is/buckets.def"
  return static_cast<std::size_t>(buckets);
}

}  // namespace

double is_bytes_per_rank(const IsClass& problem, int ranks, int threads, Code code) {
  using namespace shared;
  const double plain = code == Code::kPlain ? 1 : 0;
  const double keys = std::ldexp(1.0, problem.log2_keys);
  const double values = std::ldexp(1.0, problem.log2_max_key);
#include "npb/is/memory.def"
  return bytes;
}

IsRanking::IsRanking(const IsClass& problem, MPI_Comm comm, int threads, Code code,
                     std::int64_t most)
    : problem_(problem), comm_(comm), threads_(threads), plain_(code == Code::kPlain), most_(most) {
  MPI_Comm_rank(comm, &rank_);
  MPI_Comm_size(comm, &ranks_);
  exchanges_ = plain_ || ranks_ > 1;
  const auto count = static_cast<std::size_t>(ranks_);
  mine_ = share_of({0, std::uint64_t{1} << problem.log2_keys}, static_cast<std::uint64_t>(rank_),
                   count);
  buckets_ = buckets_of(problem, ranks_);
  bucket_shift_ = problem.log2_max_key - std::countr_zero(buckets_);
  keys_ = HugeArray<Key>(mine_.end - mine_.begin);
  bucket_counts_.assign(static_cast<std::size_t>(threads), std::vector<std::uint32_t>(buckets_));
  totals_.resize(buckets_ + problem.tests.size());
  first_bucket_.assign(count + 1, 0);
  owner_.resize(buckets_);
  for (int rank = 0; rank < ranks_ && ranks_ <= kFewRanks; ++rank) {
    if (rank != rank_) others_.push_back(static_cast<std::size_t>(rank));
  }
  places_.assign(static_cast<std::size_t>(threads),
                 std::vector<std::size_t>(plain_ ? buckets_ : count));
  for (auto* each : {&send_counts_, &send_places_, &receive_counts_, &receive_places_}) {
    each->assign(count, 0);
  }
  counts_.resize(static_cast<std::size_t>(threads));
}

// A key is the sum of four numbers in (0, 1) times a quarter of the greatest key, truncated: exact
// in integers, because the sum of four 46-bit states has 48 bits.
void IsRanking::generate(std::uint64_t seed) {
  const int cut = kStateBits - (problem_.log2_max_key - 2);
#pragma omp parallel num_threads(threads_)
  {
    const auto part = static_cast<std::uint64_t>(omp_get_thread_num());
    const Share share = share_of(mine_, part, static_cast<std::uint64_t>(threads_));
    Random46 random(seed);
    random.skip(kNumbersPerKey * share.begin);
    for (std::uint64_t i = share.begin; i < share.end; ++i) {
      std::uint64_t sum = 0;
      for (int k = 0; k < kNumbersPerKey; ++k) {
        random.next();
        sum += random.state();
      }
      keys_[i - mine_.begin] = static_cast<Key>(sum >> cut);
    }
  }
}

std::size_t IsRanking::room() const {
  const double moving = plain_ ? 1.0 : (ranks_ - 1.0) / ranks_;
  return static_cast<std::size_t>(kUnevenness * static_cast<double>(keys_.size()) * moving);
}

void IsRanking::change(std::uint64_t index, Key key) {
  if (index < mine_.begin || index >= mine_.end) return;
  Key& place = keys_[index - mine_.begin];
  changed_.push_back({index - mine_.begin, place});
  place = key;
}

void IsRanking::restore() {
  for (auto each = changed_.rbegin(); each != changed_.rend(); ++each)
    keys_[each->index] = each->key;
  changed_.clear();
}

int IsRanking::rank_keys(int iteration, Phases& phases) {
  const auto step = static_cast<std::uint64_t>(iteration);
  phases.in(kIsCompute, [&] {
    change(step, static_cast<Key>(step));
    change(step + kIsIterations,
           static_cast<Key>((std::uint64_t{1} << problem_.log2_max_key) - step));
    if (exchanges_) count_buckets();
    for (std::size_t i = 0; i < problem_.tests.size(); ++i) {
      const std::uint64_t index = problem_.tests[i].index;
      const bool here = index >= mine_.begin && index < mine_.end;
      totals_[buckets_ + i] = here ? keys_[index - mine_.begin] : 0;
    }
  });
  if (exchanges_) {
    phases.in(kIsAllreduce, [&] {
      MPI_Allreduce(MPI_IN_PLACE, totals_.data(), static_cast<int>(totals_.size()), MPI_INT64_T,
                    MPI_SUM, comm_);
    });
    phases.in(kIsCompute, [&] {
      divide();
      find_values();
      if (plain_) {
        sort_into_buckets();
      } else {
        partition();
      }
    });
    exchange(phases);
  } else {
    first_bucket_ = {0, buckets_};
    find_values();
  }
  int failed = 0;
  phases.in(kIsCompute, [&] {
    cumulate();
    failed = failed_tests(iteration);
  });
  return failed;
}

void IsRanking::count_buckets() {
#pragma omp parallel num_threads(threads_)
  {
    const auto part = static_cast<std::size_t>(omp_get_thread_num());
    auto& counts = bucket_counts_[part];
    std::fill(counts.begin(), counts.end(), 0);
    const Share share = share_of({0, keys_.size()}, part, static_cast<std::uint64_t>(threads_));
    for (std::uint64_t i = share.begin; i < share.end; ++i) ++counts[keys_[i] >> bucket_shift_];
  }
  std::fill(totals_.begin(), totals_.begin() + static_cast<std::ptrdiff_t>(buckets_), 0);
  for (const auto& counts : bucket_counts_) {
    for (std::size_t bucket = 0; bucket < buckets_; ++bucket) totals_[bucket] += counts[bucket];
  }
}

// Rank r ends with the first bucket at which (r + 1) equal shares are reached.
void IsRanking::divide() {
  const std::uint64_t all = std::uint64_t{1} << problem_.log2_keys;
  const auto ranks = static_cast<std::uint64_t>(ranks_);
  std::uint64_t sum = 0;
  std::uint64_t part = 0;
  for (std::size_t bucket = 0; bucket < buckets_; ++bucket) {
    owner_[bucket] = static_cast<std::uint32_t>(part);
    sum += static_cast<std::uint64_t>(totals_[bucket]);
    while (part + 1 < ranks && sum >= share_of({0, all}, part, ranks).end) {
      first_bucket_[++part] = bucket + 1;
    }
  }
  while (part + 1 <= ranks) first_bucket_[++part] = buckets_;
  lesser_ = 0;
  for (std::size_t bucket = 0; bucket < first_bucket_[static_cast<std::size_t>(rank_)]; ++bucket) {
    lesser_ += static_cast<std::uint64_t>(totals_[bucket]);
  }
}

auto IsRanking::lowest_of(std::size_t rank) const -> Key {
  return static_cast<Key>(first_bucket_[rank] << bucket_shift_);
}

auto IsRanking::values_of(std::size_t rank) const -> Key {
  return static_cast<Key>((first_bucket_[rank + 1] - first_bucket_[rank]) << bucket_shift_);
}

void IsRanking::find_values() {
  lowest_ = lowest_of(static_cast<std::size_t>(rank_));
  values_ = values_of(static_cast<std::size_t>(rank_));
  for (auto& counts : counts_) {
    if (counts.size() < values_) counts = HugeArray<std::uint32_t>(values_ + values_ / 8);
  }
}

// Counts the keys that stay by value, and gathers the others by receiving rank; each thread
// processes its own share.
void IsRanking::partition() {
  const auto self = static_cast<std::size_t>(rank_);
  std::size_t place = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
    send_places_[rank] = static_cast<std::int64_t>(place);
    if (rank != self) {
      for (std::size_t thread = 0; thread < places_.size(); ++thread) {
        places_[thread][rank] = place;
        const auto& counts = bucket_counts_[thread];
        for (std::size_t b = first_bucket_[rank]; b < first_bucket_[rank + 1]; ++b)
          place += counts[b];
      }
    }
    send_counts_[rank] = static_cast<std::int64_t>(place) - send_places_[rank];
  }
  if (sorted_.size() < place) sorted_ = HugeArray<Key>(std::max(place, room()));
#pragma omp parallel num_threads(threads_)
  {
    const auto part = static_cast<std::size_t>(omp_get_thread_num());
    std::size_t* places = places_[part].data();
    const std::uint32_t* owner = owner_.data();
    std::uint32_t* counts = counts_[part].data();
    Key* sorted = sorted_.data();
    const auto values = static_cast<Key>(values_);
    std::fill(counts, counts + values_, 0);
    const Share share = share_of({0, keys_.size()}, part, static_cast<std::uint64_t>(threads_));
    const auto gather = [&](const Key* keys, std::size_t count, std::size_t rank) {
      std::copy(keys, keys + count, sorted + places[rank]);
      places[rank] += count;
    };
    SplitKeys mine, theirs;
    for (std::uint64_t i = share.begin; i < share.end; i += kSplitKeys) {
      split(keys_.data() + i, std::min<std::uint64_t>(share.end - i, kSplitKeys), lowest_, values,
            mine);
      for (std::size_t k = 0; k < mine.insides; ++k) ++counts[mine.inside[k] - lowest_];
      if (others_.empty()) {
        for (std::size_t k = 0; k < mine.outsides; ++k) {
          const Key key = mine.outside[k];
          sorted[places[owner[key >> bucket_shift_]]++] = key;
        }
        continue;
      }
      const Key* left = mine.outside;
      std::size_t count = mine.outsides;
      for (std::size_t k = 0; k + 1 < others_.size(); ++k) {
        // The output of keys outside overwrites no key that is still to be read.
        split(left, count, lowest_of(others_[k]), values_of(others_[k]), theirs);
        gather(theirs.inside, theirs.insides, others_[k]);
        left = theirs.outside;
        count = theirs.outsides;
      }
      gather(left, count, others_.back());
    }
  }
}

// Of the plain code: all keys in the order of their buckets; each thread moves its own share.
void IsRanking::sort_into_buckets() {
  std::size_t place = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
    send_places_[rank] = static_cast<std::int64_t>(place);
    for (std::size_t b = first_bucket_[rank]; b < first_bucket_[rank + 1]; ++b) {
      for (std::size_t thread = 0; thread < places_.size(); ++thread) {
        places_[thread][b] = place;
        place += bucket_counts_[thread][b];
      }
    }
    send_counts_[rank] = static_cast<std::int64_t>(place) - send_places_[rank];
  }
  if (sorted_.size() < place) sorted_ = HugeArray<Key>(std::max(place, room()));
#pragma omp parallel num_threads(threads_)
  {
    const auto part = static_cast<std::size_t>(omp_get_thread_num());
    std::size_t* places = places_[part].data();
    Key* sorted = sorted_.data();
    const Share share = share_of({0, keys_.size()}, part, static_cast<std::uint64_t>(threads_));
    for (std::uint64_t i = share.begin; i < share.end; ++i) {
      const Key key = keys_[i];
      sorted[places[key >> bucket_shift_]++] = key;
    }
  }
}

void IsRanking::exchange(Phases& phases) {
  phases.in(kIsAlltoall, [&] {
    MPI_Alltoall(send_counts_.data(), 1, MPI_INT64_T, receive_counts_.data(), 1, MPI_INT64_T,
                 comm_);
  });
  std::size_t place = 0;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks_); ++rank) {
    receive_places_[rank] = static_cast<std::int64_t>(place);
    place += static_cast<std::size_t>(receive_counts_[rank]);
  }
  if (received_.size() < place) received_ = HugeArray<Key>(std::max(place, room()));
  arrived_ = place;
  phases.in(kIsAlltoallv, [&] {
    // Based on values known to all ranks, because all must make the same decision.
    const double share = std::ldexp(kUnevenness, problem_.log2_keys) / ranks_;
    if (share < static_cast<double>(most_)) {
      send_at_once();
    } else {
      send_in_pieces();
    }
  });
}

void IsRanking::send_at_once() {
  const auto narrow = [](const std::vector<std::int64_t>& wide) {
    return std::vector<int>(wide.begin(), wide.end());
  };
  MPI_Alltoallv(sorted_.data(), narrow(send_counts_).data(), narrow(send_places_).data(),
                MPI_UINT32_T, received_.data(), narrow(receive_counts_).data(),
                narrow(receive_places_).data(), MPI_UINT32_T, comm_);
}

// Exchanges keys with one rank after the other, in pieces. A rank sends and receives different
// amounts: the partner of a completed direction is MPI_PROC_NULL until the other is complete.
void IsRanking::send_in_pieces() {
  for (int step = plain_ ? 0 : 1; step < ranks_; ++step) {
    const int to = (rank_ + step) % ranks_;
    const int from = (rank_ - step + ranks_) % ranks_;
    const auto target = static_cast<std::size_t>(to);
    const auto source = static_cast<std::size_t>(from);
    const Key* out = sorted_.data() + send_places_[target];
    Key* in = received_.data() + receive_places_[source];
    std::int64_t sending = send_counts_[target];
    std::int64_t receiving = receive_counts_[source];
    while (sending > 0 || receiving > 0) {
      const std::int64_t sent = std::min(sending, most_);
      const std::int64_t received = std::min(receiving, most_);
      MPI_Sendrecv(out, static_cast<int>(sent), MPI_UINT32_T, sent > 0 ? to : MPI_PROC_NULL, 0, in,
                   static_cast<int>(received), MPI_UINT32_T, received > 0 ? from : MPI_PROC_NULL, 0,
                   comm_, MPI_STATUS_IGNORE);
      out += sent;
      in += received;
      sending -= sent;
      receiving -= received;
    }
  }
}

// Counts the keys not counted yet by value, and makes the counts cumulative.
void IsRanking::cumulate() {
  const std::uint64_t blocks = (values_ + (1U << kBlockBits) - 1) >> kBlockBits;
  before_.resize(blocks);
  std::vector<std::uint64_t> of_thread(static_cast<std::size_t>(threads_));
  const std::span<const Key> keys = exchanges_ ? std::span<const Key>(received_.data(), arrived_)
                                               : std::span<const Key>(keys_.data(), keys_.size());
  const bool counts_all = plain_ || ranks_ == 1;  // else partition() has counted those that stay
#pragma omp parallel num_threads(threads_)
  {
    const auto part = static_cast<std::size_t>(omp_get_thread_num());
    const auto parts = static_cast<std::uint64_t>(threads_);
    std::uint32_t* counts = counts_[part].data();
    if (counts_all) std::fill(counts, counts + values_, 0);
    const Share share = share_of({0, keys.size()}, part, parts);
    for (std::uint64_t i = share.begin; i < share.end; ++i) ++counts[keys[i] - lowest_];
#pragma omp barrier
    // Each thread cumulates a share of the blocks over all threads' counts.
    const Share range = share_of({0, blocks}, part, parts);
    std::uint32_t* all = counts_[0].data();
    std::uint64_t sum = 0;
    for (std::uint64_t block = range.begin; block < range.end; ++block) {
      before_[block] = sum;
      const std::uint64_t end = std::min<std::uint64_t>((block + 1) << kBlockBits, values_);
      std::uint32_t within = 0;
      for (std::uint64_t v = block << kBlockBits; v < end; ++v) {
        for (std::size_t thread = 1; thread < parts; ++thread) all[v] += counts_[thread][v];
        within += all[v];
        all[v] = within;
      }
      sum += within;
    }
    of_thread[part] = sum;
#pragma omp barrier
    std::uint64_t offset = 0;
    for (std::size_t thread = 0; thread < part; ++thread) offset += of_thread[thread];
    for (std::uint64_t block = range.begin; block < range.end; ++block) before_[block] += offset;
  }
}

std::uint64_t IsRanking::below(std::size_t value) const {
  return value == 0 ? 0 : before_[(value - 1) >> kBlockBits] + counts_[0][value - 1];
}

int IsRanking::failed_tests(int iteration) const {
  int failed = 0;
  for (std::size_t i = 0; i < problem_.tests.size(); ++i) {
    const auto key = static_cast<std::uint64_t>(totals_[buckets_ + i]);
    if (key < lowest_ || key >= lowest_ + values_) continue;
    const std::uint64_t rank = (exchanges_ ? lesser_ : 0) + below(key - lowest_);
    if (static_cast<std::int64_t>(rank) != expected_rank(problem_, i, iteration)) ++failed;
  }
  return failed;
}

// If each key were put where its rank says, the places would be taken once each and the keys in
// order if, and only if, the cumulative counts grow at each value by the number of its keys.
std::int64_t IsRanking::faults() {
  std::vector<std::uint32_t> found(values_, 0);
  // The number of keys, their sum and their sum of squares, as generated and as ranked: a lost or
  // an additional key changes them.
  std::array<std::uint64_t, 6> sums{};
  std::int64_t wrong = 0;
  const auto add = [&sums](std::size_t first, std::uint64_t key) {
    sums[first] += 1;
    sums[first + 1] += key;
    sums[first + 2] += key * key;
  };
  const auto is_here = [this](Key key) { return key - lowest_ < values_; };
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Key key = keys_[i];
    add(0, key);
    if (plain_ || !is_here(key)) continue;
    add(3, key);
    ++found[key - lowest_];
  }
  for (std::size_t i = 0; i < arrived_; ++i) {
    const Key key = received_[i];
    add(3, key);
    if (is_here(key)) {
      ++found[key - lowest_];
    } else {
      ++wrong;
    }
  }
  for (std::size_t value = 0; value < values_; ++value) {
    const auto counted = static_cast<std::int64_t>(below(value + 1) - below(value));
    wrong += std::abs(counted - static_cast<std::int64_t>(found[value]));
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 6, MPI_UINT64_T, MPI_SUM, comm_);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, comm_);
  for (std::size_t i = 0; i < 3; ++i) wrong += sums[i] == sums[i + 3] ? 0 : 1;
  return wrong;
}

void IsRanking::spoil() {
  for (std::uint64_t& keys : before_) ++keys;
}

}  // namespace assay::npb
