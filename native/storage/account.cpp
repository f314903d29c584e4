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
  // Read ahead, more may have been fetched than was asked for.
  const std::uint64_t from_storage = std::min(*fetched - *fetched_before_, asked);
  cached_ += static_cast<double>(asked - from_storage);
}

void CacheAccount::after_writing(std::uint64_t written, std::optional<std::uint64_t> pending) {
  asked_ += static_cast<double>(written);
  if (!pending) unknown_ += 1.0;
  cached_ += static_cast<double>(std::min(pending.value_or(0), written));
}

void CacheAccount::add_up(MPI_Comm comm) {
  double sums[] = {asked_, cached_, unknown_};
  MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm);
  asked_ = sums[0];
  cached_ = sums[1];
  unknown_ = sums[2];
}

std::map<std::string, Value> CacheAccount::facts() const {
  if (asked_ <= 0.0 || unknown_ > 0.0) return {};
  return {{"from_cache", cached_ / asked_}};
}

}  // namespace assay
