// Rows of a sparse matrix, eight at a time (sliced ELLPACK; Monakov, Lokhmotov & Avetisyan, HiPEAC
// 2010). Where the columns of eight rows follow each other, only the first one is stored.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "hpcg/vectors.hpp"

namespace assay::hpcg {

inline constexpr std::int64_t kLanes = 8;

// Slices of eight rows, the lanes. Their entries are kept in strips of eight values, one of each
// lane, 0 where a lane has none. By their columns there are three kinds of strips, in this order in
// each slice:
//   runs      the columns follow each other: the column of lane 0 is stored
//   pairs     they lie in two windows of eight elements: the first element of each is stored, and
//             for each lane, in a byte, its place in the two windows
//   others    the eight columns are stored
struct Slices {
  // Numbers of a strip in `column`.
  static constexpr std::int64_t kRun = 1;
  static constexpr std::int64_t kPair = 4;
  static constexpr std::int64_t kOther = kLanes;

  struct Strips {
    std::int64_t value;   // the first strip's place
    std::int64_t column;  // the place in `column`
    std::uint16_t runs;
    std::uint16_t pairs;
    std::uint16_t others;

    std::int64_t count() const { return std::int64_t{runs} + pairs + others; }
    std::int64_t columns() const { return runs * kRun + pairs * kPair + others * kOther; }
  };

  HugeArray<Strips> of;  // each slice
  HugeArray<double> value;
  HugeArray<std::int32_t> column;
};

// Eight numbers in registers; functions on them are always inlined, because the calling convention
// of a baseline build can't pass wide vectors.
typedef double Eight __attribute__((vector_size(8 * kLanes)));

#define ASSAY_HPCG_INLINE inline __attribute__((always_inline))

ASSAY_HPCG_INLINE Eight load_lanes(const double* from) {
  Eight values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

ASSAY_HPCG_INLINE void store_lanes(double* to, const Eight& values) {
  std::memcpy(to, &values, sizeof values);
}

#if defined(__AVX2__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define ASSAY_HPCG_GATHER
#endif
#endif

// Two gathers of four: one of eight took 1.4 times as long on a Zen 5, eight scalar loads 1.5
// times.
ASSAY_HPCG_INLINE Eight load_other(const double* x, const std::int32_t* c) {
#if defined(ASSAY_HPCG_GATHER)
  __m128i first;
  __m128i second;
  std::memcpy(&first, c, sizeof first);
  std::memcpy(&second, c + 4, sizeof second);
  // The mask of all lanes is hidden from the compiler: GCC would leave the destination as it is, so
  // that each gather waits for the one before.
  __m256d all = (__m256d)_mm256_set1_epi64x(-1);
  __asm__("" : "+x"(all));
  const __m256d low = _mm256_mask_i32gather_pd(__m256d{}, x, first, all, sizeof(double));
  const __m256d high = _mm256_mask_i32gather_pd(__m256d{}, x, second, all, sizeof(double));
  return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#else
  return Eight{x[c[0]], x[c[1]], x[c[2]], x[c[3]], x[c[4]], x[c[5]], x[c[6]], x[c[7]]};
#endif
}

ASSAY_HPCG_INLINE Eight load_pair(const double* x, const std::int32_t* c) {
#if defined(__AVX512F__)
  const __m512i places =
      _mm512_maskz_cvtepu8_epi64(0xff, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(c + 2)));
  return (Eight)_mm512_permutex2var_pd((__m512d)load_lanes(x + c[0]), places,
                                       (__m512d)load_lanes(x + c[1]));
#else
  double both[2 * kLanes];
  std::memcpy(both, x + c[0], sizeof(Eight));
  std::memcpy(both + kLanes, x + c[1], sizeof(Eight));
  std::uint8_t p[kLanes];
  std::memcpy(p, c + 2, sizeof p);
  return Eight{both[p[0]], both[p[1]], both[p[2]], both[p[3]],
               both[p[4]], both[p[5]], both[p[6]], both[p[7]]};
#endif
}

// Values are fetched this many strips ahead, 4 KiB, into the nearest cache alone, so that the
// vectors stay in the others. On a Zen 5 64 and 128 differed by less than the noise; 24 and 256
// were slower.
inline constexpr std::int64_t kAhead = 64;

// GCC 12 would keep some pointers of the loops in vector registers, and move them back and forth in
// each turn: a sweep within the caches took 1.4 times as long.
#define ASSAY_HPCG_IN_REGISTERS(a, b, c, d) __asm__("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))

// Adds the products of a slice's entries with x.
ASSAY_HPCG_INLINE void add_products(const Slices& m, std::int64_t slice, const double* x,
                                    Eight& sum) {
  const Slices::Strips strips = m.of.data()[slice];
  const double* v = m.value.data() + strips.value * kLanes;
  const std::int32_t* c = m.column.data() + strips.column;
  // A prefetch does nothing for what doesn't exist.
  __builtin_prefetch(c + kAhead, 0, 0);
  const auto add = [&](int count, std::int64_t columns, const auto& load) {
    for (; count > 0; --count, v += kLanes, c += columns) {
      ASSAY_HPCG_IN_REGISTERS(v, c, x, count);
      __builtin_prefetch(v + kAhead * kLanes, 0, 0);
      sum += load_lanes(v) * load();
    }
  };
  add(strips.runs, Slices::kRun, [&] { return load_lanes(x + *c); });
  add(strips.pairs, Slices::kPair, [&] { return load_pair(x, c); });
  add(strips.others, Slices::kOther, [&] { return load_other(x, c); });
}

// The same from the last strip to the first: a sweep backward then reads memory in one direction,
// which the prefetchers of processors follow.
ASSAY_HPCG_INLINE void add_products_backward(const Slices& m, std::int64_t slice, const double* x,
                                             Eight& sum) {
  const Slices::Strips strips = m.of.data()[slice];
  const double* v = m.value.data() + (strips.value + strips.count()) * kLanes;
  const std::int32_t* c = m.column.data() + strips.column + strips.columns();
  __builtin_prefetch(c - kAhead, 0, 0);
  const auto add = [&](int count, std::int64_t columns, const auto& load) {
    for (; count > 0; --count) {
      v -= kLanes;
      c -= columns;
      ASSAY_HPCG_IN_REGISTERS(v, c, x, count);
      __builtin_prefetch(v - kAhead * kLanes, 0, 0);
      sum += load_lanes(v) * load();
    }
  };
  add(strips.others, Slices::kOther, [&] { return load_other(x, c); });
  add(strips.pairs, Slices::kPair, [&] { return load_pair(x, c); });
  add(strips.runs, Slices::kRun, [&] { return load_lanes(x + *c); });
}

// Calls entry(column, value) for each nonzero of a row.
template <class Entry>
void for_entries(const Slices& m, std::int64_t row, const Entry& entry) {
  const Slices::Strips& strips = m.of.data()[row / kLanes];
  const std::int64_t lane = row % kLanes;
  const double* v = m.value.data() + strips.value * kLanes + lane;
  const std::int32_t* c = m.column.data() + strips.column;
  const auto each = [&](int count, std::int64_t columns, const auto& column) {
    for (; count > 0; --count, v += kLanes, c += columns) {
      if (*v != 0.0) entry(static_cast<std::int32_t>(column()), *v);
    }
  };
  each(strips.runs, Slices::kRun, [&] { return *c + lane; });
  each(strips.pairs, Slices::kPair, [&] {
    std::uint8_t place[kLanes];
    std::memcpy(place, c + 2, sizeof place);
    return c[place[lane] / kLanes] + place[lane] % kLanes;
  });
  each(strips.others, Slices::kOther, [&] { return c[lane]; });
}

// The strips of one slice while they are made.
class SliceStrips {
 public:
  // Elements of x exist below `length`, eight at least. Those in `busy` may be written while the
  // slice is read, so they are only read for entries that need them.
  void begin(std::int64_t length, const Part& busy);
  // Entries of a lane follow each other.
  void add(int lane, std::int32_t column, double value);
  // Sorts the entries into strips.
  void end();

  std::uint16_t runs() const { return static_cast<std::uint16_t>(runs_.size()); }
  std::uint16_t pairs() const { return static_cast<std::uint16_t>(rest_.pairs.size()); }
  std::uint16_t others() const { return static_cast<std::uint16_t>(rest_.others.size()); }
  void write(double* value, std::int32_t* column) const;

 private:
  struct Strip {
    std::int32_t first = 0;  // column of lane 0, if it has one; of a pair the first window
    std::int32_t second = 0;
    unsigned lanes = 0;  // that have an entry
    std::array<std::int32_t, kLanes> column{};
    std::array<double, kLanes> value{};
  };
  // Strips that aren't full runs.
  struct Rest {
    std::vector<Strip> runs;
    std::vector<Strip> pairs;
    std::vector<Strip> others;

    void clear();
    std::size_t cost() const;
  };

  bool may_read(std::int32_t first) const;
  void add_strip(const Strip& strip, Rest& to) const;
  void pair_diagonals();
  void take_by_lanes();

  std::int64_t length_ = 0;
  Part busy_;
  // Entries whose columns are consecutive: each column minus its lane is equal.
  std::vector<Strip> diagonals_;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  int lane_ = 0;
  std::vector<const Strip*> runs_;
  std::vector<const Strip*> partial_;
  Rest rest_;
  Rest by_lanes_;
};

}  // namespace assay::hpcg
