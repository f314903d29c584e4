#include "npb/ft/transpose.hpp"

#include "harness/kernel.hpp"

namespace assay::npb {
namespace {

std::array<std::size_t, 3> row_order(const std::array<std::uint64_t, 3>& extents) {
  return {extents[1] * extents[2], extents[2], 1};
}

}  // namespace

Transpose::Transpose(MPI_Comm group, std::array<std::uint64_t, 3> extents, int whole, int cut,
                     const std::vector<Share>& whole_shares, const std::vector<Share>& cut_shares,
                     Options options)
    : group_(group), own_stays_(options.own_stays) {
  MPI_Comm_rank(group, &rank_);
  MPI_Comm_size(group, &ranks_);
  MPI_Type_contiguous(static_cast<int>(options.element_bytes), MPI_BYTE, &element_);
  MPI_Type_commit(&element_);

  // The blocks of one state: dimension `open` is whole, and the block of rank q holds q's share of
  // it; of dimension `closed` it holds this rank's.
  const auto lay_out = [&](int open, const std::vector<Share>& open_shares, int closed,
                           const std::vector<Share>& closed_shares, bool own_apart,
                           std::size_t own_offset, Side& side, std::vector<Place>& places) {
    places.resize(extents[open]);
    std::size_t offset = 0;
    for (int q = 0; q < ranks_; ++q) {
      auto box = extents;
      box[open] = size_of(open_shares[q]);
      box[closed] = size_of(closed_shares[rank_]);
      const std::size_t count = box[0] * box[1] * box[2];
      const bool apart = own_apart && q == rank_;
      if (ranks_ > 1 && offset + count > INT32_MAX)
        throw KernelError("a rank's array is too large to transpose");
      side.offsets.push_back(static_cast<int>(offset));
      side.counts.push_back(own_stays_ && q == rank_ ? 0 : static_cast<int>(count));
      const auto strides = row_order(box);
      const std::size_t begin = apart ? own_offset : offset;
      for (std::uint64_t i = 0; i < box[open]; ++i) {
        places[open_shares[q].begin + i] = {begin + i * strides[open], strides, q};
      }
      if (!apart) offset += count;
    }
    return offset;
  };
  size_after_ = lay_out(cut, cut_shares, whole, whole_shares, false, 0, after_, places_after_);
  size_before_ = lay_out(whole, whole_shares, cut, cut_shares, own_stays_,
                         static_cast<std::size_t>(after_.offsets[rank_]), before_, places_before_);
}

Transpose::~Transpose() { MPI_Type_free(&element_); }

void Transpose::exchange(const void* before, void* after) const {
  MPI_Alltoallv(before, before_.counts.data(), before_.offsets.data(), element_, after,
                after_.counts.data(), after_.offsets.data(), element_, group_);
}

void Transpose::exchange_back(const void* after, void* before) const {
  MPI_Alltoallv(after, after_.counts.data(), after_.offsets.data(), element_, before,
                before_.counts.data(), before_.offsets.data(), element_, group_);
}

}  // namespace assay::npb
