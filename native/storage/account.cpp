#include "storage/account.hpp"

#include <algorithm>

#include "storage/filesystem.hpp"

namespace assay {

void CacheAccount::before_reading() { fetched_before_ = bytes_fetched(); }

void CacheAccount::after_reading(std::uint64_t asked) {
  const std::optional<std::uint64_t> fetched = bytes_fetched();
  requested_ += static_cast<double>(asked);
  if (!fetched || !fetched_before_) {
    unknown_ += 1.0;
    return;
  }
  on_device_ += static_cast<double>(*fetched - *fetched_before_);
}

void CacheAccount::after_writing(std::uint64_t written, std::optional<std::uint64_t> pending) {
  requested_ += static_cast<double>(written);
  if (!pending) unknown_ += 1.0;
  on_device_ += static_cast<double>(written - std::min(pending.value_or(0), written));
}

void CacheAccount::add_up(MPI_Comm comm) {
  double sums[] = {requested_, on_device_, unknown_};
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm);
  requested_ = sums[0];
  on_device_ = sums[1];
  unknown_ = sums[2];
}

std::map<std::string, Value> CacheAccount::facts() const {
  if (requested_ <= 0.0 || unknown_ > 0.0) return {};
  // Read-ahead may fetch more than was requested; of a file that ranks share, one rank may fetch
  // what another requested.
  return {{"from_cache", std::max(0.0, 1.0 - on_device_ / requested_)}};
}

}  // namespace assay
