// The transpose of a distributed array: whole in one dimension on every rank and cut among the
// ranks in another, it becomes cut in the first and whole in the second.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "npb/common/share.hpp"

namespace assay::npb {

// Positions of the elements of one index of the whole dimension on this rank: `offset` belongs
// to the first, in elements, and `strides` to all dimensions. Indices of the other
// dimensions count from this rank's own first.
struct Place {
  std::size_t offset = 0;
  std::array<std::size_t, 3> strides{};
  int rank = 0;  // the rank whose block holds it
};

// The array is stored in blocks, one for each rank of the group in order of ranks: the data that
// this rank sends to the other one, or receives from it. A block is an ordinary array in row order
// of the same three dimensions. The code that computes the elements writes each where places()
// says, and the code that uses them reads them there: there is no separate packing.
//
// There are two arrays, one for each state of the distribution: "before" the transpose and "after".
class Transpose {
 public:
  struct Options {
    std::size_t element_bytes = 0;
    // The block that a rank sends to itself is stored only in the array after, also before the
    // transpose: it is not moved. Otherwise it is in both arrays, and is copied.
    bool own_stays = false;
  };

  // extents: of the array on all ranks of the group together. Before the transpose dimension
  // `whole` is whole and dimension `cut` is distributed by cut_shares, one share per rank; after it
  // `whole` is distributed by whole_shares and `cut` is whole. The third dimension doesn't change.
  Transpose(MPI_Comm group, std::array<std::uint64_t, 3> extents, int whole, int cut,
            const std::vector<Share>& whole_shares, const std::vector<Share>& cut_shares,
            Options options);
  ~Transpose();
  Transpose(const Transpose&) = delete;
  Transpose& operator=(const Transpose&) = delete;

  // Elements of each array on this rank.
  std::size_t size_before() const { return size_before_; }
  std::size_t size_after() const { return size_after_; }

  // A place for each index of the dimension that is whole before, or after. If own_stays, the
  // offset of places of this rank is always into the array after.
  const std::vector<Place>& places_before() const { return places_before_; }
  const std::vector<Place>& places_after() const { return places_after_; }

  int rank() const { return rank_; }
  bool alone() const { return ranks_ == 1; }
  bool own_stays() const { return own_stays_; }

  // Collective over the group, for the thread that calls MPI; the arrays do not overlap.
  void exchange(const void* before, void* after) const;
  void exchange_back(const void* after, void* before) const;

 private:
  struct Side {
    std::vector<int> counts;   // elements exchanged with each rank
    std::vector<int> offsets;  // of its block
  };

  MPI_Comm group_;
  int rank_ = 0;
  int ranks_ = 1;
  bool own_stays_;
  MPI_Datatype element_ = MPI_DATATYPE_NULL;
  Side before_, after_;
  std::size_t size_before_ = 0;
  std::size_t size_after_ = 0;
  std::vector<Place> places_before_, places_after_;
};

}  // namespace assay::npb
