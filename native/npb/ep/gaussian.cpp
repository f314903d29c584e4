#include "npb/ep/gaussian.hpp"

#include <algorithm>
#include <cmath>

#include "compute/lanes.hpp"
#include "npb/common/random.hpp"

namespace assay::npb {
namespace {

// States are kept in the top 46 bits of a word: the word's own overflow is the reduction mod 2^46.
constexpr int kSpareBits = 64 - kStateBits;

// Annuli above this are so rare (one pair in 10^4) that their deviates are counted one by one.
constexpr int kCommonAnnuli = 4;

// Partial sums end after this many vectors, which keeps rounding far below the tolerance.
constexpr std::uint64_t kVectorsPerPartialSum = 1 << 13;

// 2r - 1 exactly: the state's bits are the fraction of 1 + r.
ASSAY_LANES_INLINE Doubles symmetric(Words state) {
  constexpr std::uint64_t kOne = 0x3ff0000000000000;
  return 2.0 * as_doubles((state >> 12) | kOne) - 3.0;
}

ASSAY_LANES_INLINE Doubles magnitude(Doubles x) {
  constexpr std::uint64_t kAllButSign = ~(std::uint64_t{1} << 63);
  return as_doubles(as_words(x) & kAllButSign);
}

void count_deviate(GaussianSums& sums, double x, double y) {
  const double greater = std::max(std::fabs(x), std::fabs(y));
  ++sums.counts[std::min(static_cast<int>(greater), kAnnuli - 1)];
}

// Each lane processes every kLanes-th pair.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint64_t first_pair)
      : step_(broadcast(power_mod46(kMultiplier, 2 * kLanes))) {
    Random46 random(seed);
    random.skip(2 * first_pair);
    for (int lane = 0; lane < kLanes; ++lane) {
      random.next();
      odd_[lane] = random.state() << kSpareBits;
      random.next();
      even_[lane] = random.state() << kSpareBits;
    }
  }

  // The lanes' next pair of numbers in (-1, 1).
  __attribute__((always_inline)) void next(Doubles& x, Doubles& y) {
    x = symmetric(odd_);
    y = symmetric(even_);
    odd_ *= step_;
    even_ *= step_;
  }

 private:
  Words step_;
  Words odd_{};
  Words even_{};
};

GaussianSums partial_sums(Stream& stream, std::uint64_t vectors) {
  GaussianSums rare;
  Doubles sum_x{};
  Doubles sum_y{};
  Words accepted{};
  Words at_least[kCommonAnnuli]{};  // [l]: deviates of l or more
  for (std::uint64_t i = 0; i < vectors; ++i) {
    Doubles x, y;
    stream.next(x, y);
    const Doubles t = x * x + y * y;
    const Mask inside = t <= 1.0;
    // Outside the circle the factor is the root of a negative number; those lanes are set to 0.
    const Doubles factor = square_root(-2.0 * logarithm(t) / t);
    const Doubles deviate_x = inside ? x * factor : Doubles{};
    const Doubles deviate_y = inside ? y * factor : Doubles{};
    sum_x += deviate_x;
    sum_y += deviate_y;
    accepted -= (Words)inside;
    const Doubles size_x = magnitude(deviate_x);
    const Doubles size_y = magnitude(deviate_y);
    const Doubles greater = size_x > size_y ? size_x : size_y;
    for (int l = 1; l < kCommonAnnuli; ++l) at_least[l] -= (Words)(greater >= double(l));
    if (any(greater >= double(kCommonAnnuli))) {
      for (int lane = 0; lane < kLanes; ++lane) {
        if (greater[lane] >= kCommonAnnuli) count_deviate(rare, deviate_x[lane], deviate_y[lane]);
      }
    }
  }

  GaussianSums sums = rare;
  sums.x = sum_of_lanes(sum_x);
  sums.y = sum_of_lanes(sum_y);
  std::uint64_t above = 0;
  for (const std::uint64_t count : rare.counts) above += count;
  for (int l = kCommonAnnuli - 1; l >= 0; --l) {
    const std::uint64_t from_here = sum_of_lanes(l == 0 ? accepted : at_least[l]);
    sums.counts[l] = from_here - above;
    above = from_here;
  }
  return sums;
}

}  // namespace

GaussianSums& GaussianSums::operator+=(const GaussianSums& other) {
  x += other.x;
  y += other.y;
  for (int l = 0; l < kAnnuli; ++l) counts[l] += other.counts[l];
  return *this;
}

GaussianSums gaussian_pairs(std::uint64_t seed, std::uint64_t first, std::uint64_t count) {
  GaussianSums sums;
  Stream stream(seed, first);
  const std::uint64_t vectors = count / kLanes;
  for (std::uint64_t done = 0; done < vectors; done += kVectorsPerPartialSum) {
    sums += partial_sums(stream, std::min(kVectorsPerPartialSum, vectors - done));
  }
  const std::uint64_t in_vectors = vectors * kLanes;
  sums += gaussian_pairs_plain(seed, first + in_vectors, count - in_vectors);
  return sums;
}

GaussianSums gaussian_pairs_plain(std::uint64_t seed, std::uint64_t first, std::uint64_t count) {
  GaussianSums sums;
  Random46 random(seed);
  random.skip(2 * first);
  for (std::uint64_t pair = 0; pair < count; ++pair) {
    const double x = 2.0 * random.next() - 1.0;
    const double y = 2.0 * random.next() - 1.0;
    const double t = x * x + y * y;
    if (t > 1.0) continue;
    const double factor = std::sqrt(-2.0 * std::log(t) / t);
    sums.x += x * factor;
    sums.y += y * factor;
    count_deviate(sums, x * factor, y * factor);
  }
  return sums;
}

}  // namespace assay::npb
