#include "gpu/square_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/numbers.hpp"
#include "memory/draws.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay::gpu {

struct ProductType {
  const char* name;
  device::MatrixType type;
  std::size_t factor_bytes;
  std::size_t result_bytes;  // of the vendor's library
  int bits;                  // of a significand, or of a magnitude
  // Unit roundoff of sums, and of the result's type if it is shorter.
  double sum_roundoff, result_roundoff;
};

namespace {

// Sums of fp32 matrices are rounded to single precision (2^-24). Matrix units truncate the sums of
// tf32, fp16 and bf16 to single precision (2^-23; Fasi, Higham, Mikaitis & Pranesh, 2021). Sums of
// fp8 have 14 bits on NVIDIA's Hopper (2^-13; DeepSeek-AI, 2024, 3.3.2).
constexpr ProductType kTypes[] = {{"fp64", device::MatrixType::fp64, 8, 8, 53, 0x1p-53, 0.0},
                                  {"fp32", device::MatrixType::fp32, 4, 4, 24, 0x1p-24, 0.0},
                                  {"tf32", device::MatrixType::tf32, 4, 4, 11, 0x1p-23, 0.0},
                                  {"fp16", device::MatrixType::fp16, 2, 2, 11, 0x1p-23, 0x1p-11},
                                  {"bf16", device::MatrixType::bf16, 2, 2, 8, 0x1p-23, 0x1p-8},
                                  {"fp8", device::MatrixType::fp8, 1, 2, 4, 0x1p-13, 0x1p-8},
                                  {"int8", device::MatrixType::int8, 1, 4, 7, 0.0, 0.0}};

constexpr std::size_t kAVectors = 61, kBVectors = 59;  // primes: no size of a tile divides them
constexpr std::size_t kSquareBytes = std::size_t{32} << 20;
// Neither a number of the data nor of their products, in each type.
constexpr std::byte kSpoiled{0x7F};
// The terms of second order of a bound.
constexpr double kSecondOrder = 1.01;
// Standard deviations of a sum of random rounding errors that are allowed (Higham & Mary, 2019): it
// is exceeded by chance in one of 10^14 entries.
constexpr double kDeviations = 8.0;

const ProductType& product_type(const std::string& name) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const ProductType& each) { return name == each.name; });
}

}  // namespace

std::vector<std::string> SquareProduct::types() {
  std::vector<std::string> names;
  for (const ProductType& each : kTypes) names.emplace_back(each.name);
  return names;
}

std::size_t SquareProduct::bytes_of_entries(const std::string& type, bool own) {
  const ProductType& found = product_type(type);
  return 2 * found.factor_bytes +
         (own ? std::max<std::size_t>(found.result_bytes, 4) : found.result_bytes);
}

SquareProduct::SquareProduct(device::Device& device, device::Queue& queue, const std::string& type,
                             std::size_t n, bool own, std::uint64_t seed)
    : queue_(queue),
      type_(product_type(type)),
      n_(n),
      own_(own),
      fnuz_(device::fp8_without_negative_zero(device.info())),
      seed_(seed),
      library_("own"),
      a_count_(std::min(kAVectors, n)),
      b_count_(std::min(kBVectors, n)) {
  if (own_) {
    own_product_ = std::make_unique<OwnProduct>(device, type);
  } else {
    vendor_ = device::load_matrix_library(device);
    library_ = vendor_->name();
  }
  a_ = device.allocate(n_ * n_ * type_.factor_bytes);
  b_ = device.allocate(n_ * n_ * type_.factor_bytes);
  d_ = device.allocate(n_ * n_ * result_bytes());
  if (!own_) vendor_product_ = vendor_->product(type_.type, type_.name, n_, *a_, *b_, *d_);
}

SquareProduct::~SquareProduct() = default;

std::size_t SquareProduct::result_bytes() const {
  return bytes_of_entries(type_.name, own_) - 2 * type_.factor_bytes;
}

void SquareProduct::fill(bool rough) {
  rough_ = rough;
  draw(a_vectors_, a_count_, seed_, rough);
  draw(b_vectors_, b_count_, ~seed_, rough);
  write(*a_, a_vectors_, a_count_);
  write(*b_, b_vectors_, b_count_);
}

void SquareProduct::add() {
  if (own_) {
    own_product_->add(queue_, *a_, *b_, *d_, n_);
  } else {
    vendor_product_->add(queue_);
  }
}

void SquareProduct::spoil() {
  const std::size_t bytes = n_ * n_ * result_bytes();
  const std::vector<std::byte> piece(std::min(bytes, kSquareBytes), kSpoiled);
  for (std::size_t at = 0; at < bytes; at += piece.size()) {
    queue_.write(*d_, at, piece.data(), std::min(piece.size(), bytes - at));
  }
  queue_.finish();
}

void SquareProduct::draw(std::vector<double>& vectors, std::size_t count, std::uint64_t seed,
                         bool rough) const {
  const bool whole = type_.type == device::MatrixType::int8;
  const double step = rough ? std::ldexp(1.0, whole ? 0 : -type_.bits) : whole ? 1.0 : 0.5;
  vectors.resize(count * n_);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::uint64_t random = mixed(seed + (i + 1) * kDrawStep);
    const std::uint64_t magnitude = rough ? random >> (64 - type_.bits) : (random >> 8) % 3;
    const double value = static_cast<double>(magnitude) * step;
    vectors[i] = (random & 1) != 0 && magnitude != 0 ? -value : value;
  }
}

void SquareProduct::write(device::Buffer& to, const std::vector<double>& vectors,
                          std::size_t count) {
  const std::vector<std::byte> bytes = encoded(vectors);
  const std::size_t column = n_ * type_.factor_bytes;
  for (std::size_t first = 0; first < n_; first += count) {
    queue_.write(to, first * column, bytes.data(), std::min(count, n_ - first) * column);
  }
  queue_.finish();
}

std::vector<std::byte> SquareProduct::encoded(const std::vector<double>& vectors) const {
  std::vector<std::byte> bytes(vectors.size() * type_.factor_bytes);
  const auto store = [&](std::size_t place, auto number) {
    std::memcpy(bytes.data() + place * sizeof number, &number, sizeof number);
  };
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const double value = vectors[i];
    switch (type_.type) {
      case device::MatrixType::fp64:
        store(i, value);
        break;
      case device::MatrixType::fp32:
      case device::MatrixType::tf32:
        store(i, static_cast<float>(value));
        break;
      case device::MatrixType::fp16:
        store(i, static_cast<std::uint16_t>(bits_of(value, kHalf)));
        break;
      case device::MatrixType::bf16:
        store(i, static_cast<std::uint16_t>(bits_of(value, kBrain)));
        break;
      case device::MatrixType::fp8:
        store(i,
              static_cast<std::uint8_t>(bits_of(value, fnuz_ ? kEightBitsBiasedBy8 : kEightBits)));
        break;
      case device::MatrixType::int8:
        store(i, static_cast<std::int8_t>(value));
        break;
    }
  }
  return bytes;
}

double SquareProduct::decoded(const std::byte* at) const {
  const auto read = [&](auto number) {
    std::memcpy(&number, at, sizeof number);
    return number;
  };
  switch (type_.type) {
    case device::MatrixType::fp64:
      return read(double{});
    case device::MatrixType::int8:
      return read(std::int32_t{});
    case device::MatrixType::fp16:
      return own_ ? static_cast<double>(read(float{})) : number_of(read(std::uint16_t{}), kHalf);
    case device::MatrixType::bf16:
    case device::MatrixType::fp8:
      return number_of(read(std::uint16_t{}), kBrain);
    case device::MatrixType::fp32:
    case device::MatrixType::tf32:
      break;
  }
  return static_cast<double>(read(float{}));
}

// The bound of an entry's error. With u the unit roundoff of the sums, an inner product of n terms
// is within gamma_n |a||b| of the exact one in whatever order it is summed, gamma_n = n u / (1 - n
// u) (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 3.5). The result may be rounded
// once more. This bound says nothing about fp8, where n u is 1 or more. Its sums are random walks.
// Each of the n rounding errors is at most about u times the standard deviation of the sum, and
// their sum is within `kDeviations` sqrt(n) times that (Higham & Mary, SIAM J. Sci. Comput. 41,
// 2019). Smooth data are summed without rounding: the bound is half of the step of the products.
std::vector<SquareProduct::Inner> SquareProduct::inner_products() const {
  const bool whole = type_.type == device::MatrixType::int8;
  const double reference = type_.type == device::MatrixType::fp64 ? 2.0 : 1.0;  // its own rounding
  const auto terms = static_cast<double>(n_);
  const double roundoffs = terms * type_.sum_roundoff;
  const double result_roundoff = own_ ? 0.0 : type_.result_roundoff;
  std::vector<Inner> found(a_count_ * b_count_);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const double* const a = a_vectors_.data() + at % a_count_ * n_;
    const double* const b = b_vectors_.data() + at / a_count_ * n_;
    long double sum = 0.0L;
    double size = 0.0;
    double squares = 0.0;
    for (std::size_t k = 0; k < n_; ++k) {
      const double product = a[k] * b[k];
      sum += static_cast<long double>(a[k]) * b[k];
      size += std::abs(product);
      squares += product * product;
    }
    const auto value = static_cast<double>(sum);
    double bound = whole ? 0.5 : 0.125;
    if (rough_ && type_.type == device::MatrixType::fp8) {
      bound = kDeviations * std::sqrt(terms) * type_.sum_roundoff * std::sqrt(squares);
    } else if (rough_ && !whole) {
      bound = reference * roundoffs / (1.0 - roundoffs) * size;
    }
    found[at] = {value, kSecondOrder * (bound + result_roundoff * std::abs(value))};
  }
  return found;
}

double SquareProduct::worst_error() {
  const std::vector<Inner> inner = inner_products();
  const std::size_t element = result_bytes();
  const std::size_t columns = std::clamp<std::size_t>(kSquareBytes / (n_ * element), 1, n_);
  std::vector<std::byte> piece(columns * n_ * element);
  double worst = 0.0;
  for (std::size_t first = 0; first < n_; first += columns) {
    const std::size_t count = std::min(columns, n_ - first);
    queue_.read(*d_, first * n_ * element, piece.data(), count * n_ * element);
    queue_.finish();
    for (std::size_t i = 0; i < count * n_; ++i) {
      const Inner& expected = inner[i % n_ % a_count_ + (first + i / n_) % b_count_ * a_count_];
      const double found = decoded(piece.data() + i * element);
      const double difference = std::abs(found - expected.value);
      const double ratio = difference == 0.0 ? 0.0 : difference / expected.bound;
      if (std::isnan(ratio)) return ratio;
      worst = std::max(worst, ratio);
    }
  }
  return worst;
}

void SquareProduct::plant_value() {
  // The highest bit below the sign of an entry's exponent or magnitude.
  const std::size_t element = result_bytes();
  const std::size_t at = n_ * n_ / 3 * element;
  std::vector<std::byte> entry(element);
  queue_.read(*d_, at, entry.data(), element);
  queue_.finish();
  entry.back() ^= std::byte{0x40};
  queue_.write(*d_, at, entry.data(), element);
  queue_.finish();
}

void SquareProduct::plant_nan() {
  const std::vector<std::byte> entry(result_bytes(), std::byte{0xFF});
  queue_.write(*d_, n_ * n_ / 3 * entry.size(), entry.data(), entry.size());
  queue_.finish();
}

void SquareProduct::plant_factor() {
  std::vector<double> changed(a_vectors_.begin(), a_vectors_.begin() + 1);
  changed[0] = changed[0] > 0 ? -1.0 : 1.0;
  const std::vector<std::byte> bytes = encoded(changed);
  queue_.write(*a_, 0, bytes.data(), bytes.size());
  queue_.finish();
}

}  // namespace assay::gpu
