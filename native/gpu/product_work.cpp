#include "gpu/product_work.hpp"

#include <algorithm>
#include <cmath>

#include "device/blas.hpp"

namespace assay::gpu {
namespace {

// A chosen size has this many tiles of 128 x 128 entries per compute unit, and takes this part of
// the memory at most.
constexpr std::size_t kChosenTile = 128;
constexpr double kTilesPerUnit = 32.0;
constexpr double kChosenPart = 0.25;
constexpr double kLargestPart = 0.9;

// NaN is the greatest.
double greater_error(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

ProductWork::ProductWork(const std::string& type, const std::string& library, std::size_t n,
                         std::uint64_t seed, const PlantedFault& fault)
    : type_(type), library_(library), n_(n), seed_(seed), fault_(fault) {}

bool ProductWork::is_own(const device::Info& info) const {
  return library_ == "own" || (library_ == "auto" && !device::has_matrix_library(info.backend));
}

std::size_t ProductWork::choose(const device::Info& info) const {
  const auto entry = static_cast<double>(SquareProduct::bytes_of_entries(type_, is_own(info)));
  // The largest matrix has entries of 8 B at most.
  const double largest = info.largest_buffer == 0
                             ? static_cast<double>(kLargest)
                             : std::sqrt(static_cast<double>(info.largest_buffer) / 8.0);
  const auto most = [&](double part) {
    const double fits = std::sqrt(part * static_cast<double>(info.memory) / entry);
    return static_cast<std::size_t>(
        std::min(std::min(fits, largest), static_cast<double>(kLargest)));
  };
  if (n_ == 0) {
    const double tiles = kTilesPerUnit * std::max(1, info.units);
    const auto wanted = kChosenTile * static_cast<std::size_t>(std::sqrt(tiles));
    const std::size_t chosen = std::min(wanted, most(kChosenPart));
    return chosen >= kChosenTile ? chosen - chosen % kChosenTile : chosen;
  }
  if (n_ > most(kLargestPart)) {
    throw device::DeviceError("3 matrices with n=" + std::to_string(n_) + " don't fit into " +
                              info.name + ": n can be at most " +
                              std::to_string(most(kLargestPart)));
  }
  return n_;
}

void ProductWork::allocate(device::Device& device, std::size_t n) {
  queue_ = device.queue();
  product_ =
      std::make_unique<SquareProduct>(device, *queue_, type_, n, is_own(device.info()), seed_);
  product_->fill(true);
  product_->spoil();
}

void ProductWork::pass(std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) product_->add();
  queue_->finish();
}

double ProductWork::error() {
  if (fault_.is("value")) product_->plant_value();
  if (fault_.is("nan")) product_->plant_nan();
  const double timed = product_->worst_error();
  product_->fill(false);
  product_->spoil();
  if (fault_.is("factor")) product_->plant_factor();
  if (!fault_.is("skip")) pass(1);
  return greater_error(timed, product_->worst_error());
}

}  // namespace assay::gpu
