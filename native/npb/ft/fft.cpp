#include "npb/ft/fft.hpp"

#include <bit>
#include <cmath>

namespace assay::npb {
namespace {

// e^(-2 pi i k / n), correct to about the last place: the angle is reduced to the first octant in
// integers, and is computed there with additional digits.
void append_root(std::vector<double>& roots, std::uint64_t k, std::uint64_t n) {
  constexpr long double kPi = 3.14159265358979323846264338327950288L;
  std::uint64_t eighths = 8 * (k % n);
  const bool lower = eighths > 4 * n;  // conjugate of the angle in the upper half
  if (lower) eighths = 8 * n - eighths;
  const bool left = eighths > 2 * n;
  if (left) eighths = 4 * n - eighths;
  const bool steep = eighths > n;
  if (steep) eighths = 2 * n - eighths;
  const long double angle = kPi * static_cast<long double>(eighths) / (4 * n);
  auto cosine = static_cast<double>(std::cos(angle));
  auto sine = static_cast<double>(std::sin(angle));
  if (steep) std::swap(cosine, sine);
  roots.push_back(left ? -cosine : cosine);
  roots.push_back(lower ? sine : -sine);
}

}  // namespace

Fft::Fft(std::uint32_t size) : size_(size) {
  const int twos = std::countr_zero(size);
  first_radix_ = twos % 3 == 0 ? 8 : 1U << twos % 3;
  std::size_t radix = first_radix_;
  for (std::size_t length = size_; length > kRadix; length /= radix, radix = kRadix) {
    for (std::size_t place = 0; place < length / radix; ++place) {
      for (std::size_t power = 1; power < radix; ++power) {
        append_root(roots_, place * power, length);
      }
    }
  }
  // The digits of a group's number, the highest of which is the lowest digit of the frequency.
  groups_.resize(size_ / kRadix);
  for (std::uint32_t group = 0; group < groups_.size(); ++group) {
    std::uint32_t digits = group;
    std::uint32_t frequency = 0;
    std::uint32_t below = static_cast<std::uint32_t>(groups_.size());
    for (; below > first_radix_; digits /= kRadix) {
      below /= kRadix;
      frequency += digits % kRadix * below;
    }
    frequency += digits;
    groups_[frequency] = group * kRadix;
  }
}

}  // namespace assay::npb
