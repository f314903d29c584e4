#include "gpu/stream_work.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::gpu {
namespace {

constexpr std::size_t kGroupSize = 256;
// Groups of the dot product: each item adds up many elements before the group does.
constexpr int kGroupsPerUnit = 16;
constexpr int kMostGroups = 1 << 14;
constexpr std::size_t kLeastBytes = std::size_t{1} << 26;
constexpr double kTimesCache = 4.0;
constexpr double kPartOfMemory = 0.25;
constexpr std::size_t kPiece = std::size_t{1} << 20;  // elements that are checked at a time
constexpr std::int64_t kPeriod = 8;                   // passes until the scalar is the same again

// Arrays are whole groups long, so that no item has to ask whether there is an element for it: some
// drivers for processors vectorise only without the question.
// All values and products are multiples of 2^-9 below 2^3: exact in single precision, too.
constexpr const char* kText = R"(
FUNCTION fill(GLOBAL REAL* RESTRICT x, GLOBAL REAL* RESTRICT y, LONG n) {
  LONG i = INDEX;
  x[i] = (REAL)1 + (REAL)(i % 64) / (REAL)64;
  y[i] = (REAL)1 + (REAL)(i % 61) / (REAL)64;
}
FUNCTION spoil(GLOBAL REAL* RESTRICT z, LONG n, REAL value) {
  LONG i = INDEX;
  if (i < n) z[i] = value;
}
FUNCTION stream_copy(GLOBAL const REAL* RESTRICT x, GLOBAL const REAL* RESTRICT y,
              GLOBAL REAL* RESTRICT z, LONG n, REAL s) {
  LONG i = INDEX;
  z[i] = x[i];
}
FUNCTION stream_scale(GLOBAL const REAL* RESTRICT x, GLOBAL const REAL* RESTRICT y,
               GLOBAL REAL* RESTRICT z, LONG n, REAL s) {
  LONG i = INDEX;
  z[i] = s * x[i];
}
FUNCTION stream_sum(GLOBAL const REAL* RESTRICT x, GLOBAL const REAL* RESTRICT y,
             GLOBAL REAL* RESTRICT z, LONG n, REAL s) {
  LONG i = INDEX;
  z[i] = x[i] + y[i];
}
FUNCTION stream_triad(GLOBAL const REAL* RESTRICT x, GLOBAL const REAL* RESTRICT y,
               GLOBAL REAL* RESTRICT z, LONG n, REAL s) {
  LONG i = INDEX;
  z[i] = x[i] + s * y[i];
}
FUNCTION stream_dot(GLOBAL const REAL* RESTRICT x, GLOBAL const REAL* RESTRICT y,
             GLOBAL REAL* RESTRICT z, LONG n, REAL s, GROUP_ARGUMENT(REAL, shared)) {
  GROUP_ARRAY(REAL, shared);
  REAL mine = (REAL)0;
  for (LONG i = INDEX; i < n; i += GROUPS * GROUP_SIZE) mine += x[i] * y[i];
  shared[ITEM] = mine;
  for (LONG reach = GROUP_SIZE / 2; reach > 0; reach /= 2) {
    SYNCHRONISE;
    if (ITEM < reach) shared[ITEM] += shared[ITEM + reach];
  }
  if (ITEM == 0) z[GROUP] = s * shared[0];
}
)";

double x_of(std::size_t i) { return 1.0 + static_cast<double>(i % 64) / 64.0; }
double y_of(std::size_t i) { return 1.0 + static_cast<double>(i % 61) / 64.0; }
double scalar_of(std::int64_t pass) { return 1.0 + static_cast<double>(pass % kPeriod) / 8.0; }

std::int64_t count_of(std::size_t n) { return static_cast<std::int64_t>(n); }

// The greater error; NaN is the greatest.
double worse(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

StreamWork::StreamWork(const std::string& operation, bool single, std::size_t elements,
                       const PlantedFault& fault)
    : operation_(operation), single_(single), elements_(elements), fault_(fault) {}

std::size_t StreamWork::choose(const device::Info& info) const {
  if (!single_ && !info.doubles) {
    throw device::DeviceError(info.name + " has no double precision; use type=float");
  }
  const auto share = static_cast<double>(info.memory) * kPartOfMemory;
  double most = share / static_cast<double>(element());
  if (info.largest_buffer > 0) {
    most = std::min(most, static_cast<double>(info.largest_buffer / element()));
  }
  most = std::floor(most / kGroupSize) * kGroupSize;
  if (elements_ == 0) {
    const double wanted =
        std::max(kTimesCache * static_cast<double>(info.cache), static_cast<double>(kLeastBytes));
    return static_cast<std::size_t>(std::min(wanted / static_cast<double>(element()), most));
  }
  if (static_cast<double>(elements_) > most) {
    throw device::DeviceError("3 arrays of " + std::to_string(elements_) +
                              " elements don't fit into " + info.name +
                              ": elements can be at most " + std::to_string(std::llround(most)));
  }
  return elements_;
}

void StreamWork::allocate(device::Device& device, std::size_t elements) {
  elements_ = elements;
  dot_groups_ =
      static_cast<std::size_t>(std::clamp(kGroupsPerUnit * device.info().units, 1, kMostGroups));
  program_ = device.build(kText, std::vector<std::string>{single_ ? "REAL=float" : "REAL=double"});
  queue_ = device.queue();
  const std::size_t whole_groups = (elements_ + kGroupSize - 1) / kGroupSize * kGroupSize;
  x_ = device.allocate(whole_groups * element());
  y_ = device.allocate(whole_groups * element());
  z_ = device.allocate((is_dot() ? dot_groups_ : whole_groups) * element());
  function_ = program_->function("stream_" + operation_);
  spoil_ = program_->function("spoil");
  const auto fill = program_->function("fill");
  launch(*fill, elements_, {x_.get(), y_.get(), count_of(elements_)});
}

double StreamWork::error() {
  plant();
  const double timed = greatest_error();
  spoil();
  if (!fault_.is("skip")) pass(1);
  return worse(timed, greatest_error());
}

const char* StreamWork::what() const {
  return is_dot() ? "relative error of the dot product" : "greatest relative error of an element";
}

device::Argument StreamWork::real(double value) const {
  return single_ ? device::Argument(static_cast<float>(value)) : device::Argument(value);
}

void StreamWork::launch(device::Function& function, std::size_t items,
                        const std::vector<device::Argument>& arguments) {
  queue_->launch(function, (items + kGroupSize - 1) / kGroupSize, kGroupSize, arguments);
}

void StreamWork::pass(std::int64_t count) {
  std::vector<device::Argument> arguments{x_.get(), y_.get(), z_.get(), count_of(elements_),
                                          real(0.0)};
  if (is_dot()) arguments.emplace_back(device::GroupMemory{kGroupSize * element()});
  const std::size_t items = is_dot() ? dot_groups_ * kGroupSize : elements_;
  for (std::int64_t k = 0; k < count; ++k) {
    arguments[4] = real(scalar_of(passes_++));
    launch(*function_, items, arguments);
  }
  queue_->finish();
}

void StreamWork::spoil() {
  launch(*spoil_, results(),
         {z_.get(), count_of(results()), real(std::numeric_limits<double>::quiet_NaN())});
  queue_->finish();
}

void StreamWork::plant() {
  if (!fault_.is("value") && !fault_.is("nan")) return;
  const double wrong =
      fault_.is("nan") ? std::numeric_limits<double>::quiet_NaN() : expected(results() / 2) + 1.0;
  const auto wrong_single = static_cast<float>(wrong);
  const void* const from = single_ ? static_cast<const void*>(&wrong_single) : &wrong;
  queue_->write(*z_, results() / 2 * element(), from, element());
  queue_->finish();
}

double StreamWork::scalar() const { return scalar_of(passes_ - 1); }

double StreamWork::expected(std::size_t i) const {
  if (operation_ == "copy") return x_of(i);
  if (operation_ == "scale") return scalar() * x_of(i);
  if (operation_ == "sum") return x_of(i) + y_of(i);
  if (operation_ == "triad") return x_of(i) + scalar() * y_of(i);
  return 0.0;
}

template <typename Real>
double StreamWork::error_of() {
  std::vector<Real> piece(std::min(kPiece, results()));
  double greatest = 0.0;
  double added = 0.0;
  for (std::size_t begin = 0; begin < results(); begin += piece.size()) {
    const std::size_t size = std::min(piece.size(), results() - begin);
    queue_->read(*z_, begin * sizeof(Real), piece.data(), size * sizeof(Real));
    queue_->finish();
    for (std::size_t i = 0; i < size; ++i) {
      const auto found = static_cast<double>(piece[i]);
      added += found;
      const double right = expected(begin + i);
      if (right != 0.0) greatest = worse(greatest, std::abs(found - right) / right);
    }
  }
  if (!is_dot()) return greatest;
  const double right = scalar() * dot_on_the_processor();
  return std::abs(added - right) / right;
}

// Exact: products are multiples of 2^-12, and their sum is below 2^52 of them.
double StreamWork::dot_on_the_processor() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < elements_; ++i) sum += x_of(i) * y_of(i);
  return sum;
}

double StreamWork::greatest_error() { return single_ ? error_of<float>() : error_of<double>(); }

// Elements are exact. The sum of a dot product of positive numbers has a relative error of at
// most n u for the n additions that a number passes through (Higham 2002, 4.2): those of an item,
// of its group, and the product with the scalar.
double StreamWork::tolerance() const {
  if (!is_dot()) return 0.0;
  const double unit = single_ ? 0x1p-24 : 0x1p-53;
  const double additions =
      std::ceil(static_cast<double>(elements_) / static_cast<double>(dot_groups_ * kGroupSize)) +
      8.0 + 2.0;
  return 1.01 * additions * unit;
}

}  // namespace assay::gpu
