#include "check/device_fma.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace assay::check {
namespace {

constexpr std::size_t kGroupSize = 256;
constexpr std::size_t kGroupsPerUnit = 8;
// Chains of an item, and their steps: sums stay exact in single precision.
constexpr std::int64_t kChains = 8, kSteps = 1024;

// Factor and term are arguments, so that no compiler knows their values.
constexpr const char* kText = R"(
FUNCTION multiply_add(GLOBAL float* RESTRICT out, LONG steps, float factor, float term) {
  float a = (float)(ITEM % 8), b = a + 1.0f, c = a + 2.0f, d = a + 3.0f;
  float e = a + 4.0f, f = a + 5.0f, g = a + 6.0f, h = a + 7.0f;
  for (LONG i = 0; i < steps; ++i) {
    a = a * factor + term;
    b = b * factor + term;
    c = c * factor + term;
    d = d * factor + term;
    e = e * factor + term;
    f = f * factor + term;
    g = g * factor + term;
    h = h * factor + term;
  }
  out[INDEX] = a + b + c + d + e + f + g + h;
}
)";

// The sum of an item's chains: 0 to 7 above its place, and a step adds 1 to each.
float expected(std::size_t item) {
  return static_cast<float>(kChains * (kSteps + static_cast<std::int64_t>(item % 8)) + 28);
}

}  // namespace

double FmaWork::operations_of_group() {
  return 2.0 * static_cast<double>(kChains * kSteps) * static_cast<double>(kGroupSize);
}

std::size_t FmaWork::choose(const device::Info& info) const {
  return kGroupsPerUnit * static_cast<std::size_t>(std::max(info.units, 1));
}

void FmaWork::allocate(device::Device& device, std::size_t groups) {
  groups_ = groups;
  program_ = device.build(kText, std::vector<std::string>{});
  queue_ = device.queue();
  out_ = device.allocate(groups_ * kGroupSize * sizeof(float));
  function_ = program_->function("multiply_add");
}

void FmaWork::pass(std::int64_t count) {
  const std::vector<device::Argument> arguments{out_.get(), kSteps, 1.0F, 1.0F};
  for (std::int64_t k = 0; k < count; ++k) {
    queue_->launch(*function_, groups_, kGroupSize, arguments);
  }
  queue_->finish();
}

double FmaWork::error() {
  std::vector<float> found(groups_ * kGroupSize);
  queue_->read(*out_, 0, found.data(), found.size() * sizeof(float));
  queue_->finish();
  double wrong = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(found[i] == expected(i % kGroupSize))) wrong += 1.0;
  }
  // The next launches must write every number.
  const std::vector<float> zeros(found.size());
  queue_->write(*out_, 0, zeros.data(), zeros.size() * sizeof(float));
  queue_->finish();
  return wrong;
}

void FmaWork::damage() {
  const float other = -1.0F;
  queue_->write(*out_, 0, &other, sizeof other);
  queue_->finish();
}

}  // namespace assay::check
