#include "storage/account.hpp"

#include <algorithm>

#include "storage/filesystem.hpp"

namespace assay {

void CacheAccount::before_reading() { fetched_before_ = bytes_fetched(); }

void CacheAccount::after_reading(std::uint64_t asked) {
  const std::optional<std::uint64_t> fetched = bytes_fetched();
  asked_ += static_cast<double>(asked);
  if (!fetched || !fetched_before_) {
    unknown_ += 1.0;
    return;
  }
  on_device_ += static_cast<double>(*fetched - *fetched_before_);
}

void CacheAccount::after_writing(std::uint64_t written, std::optional<std::uint64_t> pending) {
  asked_ += static_cast<double>(written);
  if (!pending) unknown_ += 1.0;
  on_device_ += static_cast<double>(written - std::min(pending.value_or(0), written));
}

void CacheAccount::add_up(MPI_Comm comm) {
  double sums[] = {asked_, on_device_, unknown_};
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm);
  asked_ = sums[0];
  on_device_ = sums[1];
  unknown_ = sums[2];
}

std::map<std::string, Value> CacheAccount::facts() const {
  if (asked_ <= 0.0 || unknown_ > 0.0) return {};
  // Read ahead, more may have been fetched than was asked for; of a file that ranks share, one rank
  // may have fetched what another asked for.
  return {{"from_cache", std::max(0.0, 1.0 - on_device_ / asked_)}};
}

}  // namespace assay
