// Ghost layers: copies of the outermost points of a block's neighbours.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/huge_array.hpp"
#include "npb/common/process_grid.hpp"

namespace assay::npb {

// Positions of the doubles of a block: component c of the point (x, y, z) is at origin[c *
// component + z * plane + y * row + x], x contiguous, origin pointing to the block's own first
// point. Ghost points have indices below 0 and from `extents` on. Components are separate arrays:
// CFD's fields are [component][z][y][x].
struct BlockLayout {
  PerDimension<int> extents{};  // the block's own points, without ghosts
  std::size_t row = 0;          // doubles from y to y + 1
  std::size_t plane = 0;        // from z to z + 1
  std::size_t component = 0;    // from a component to the next
};

// Which ghosts are exchanged.
struct Ghosts {
  PerDimension<int> depth{};  // layers on either side of each dimension; 0: none
  // Ghosts beyond edges and corners too: dimensions are done one after the other, each one's layers
  // including the ghosts of those before. Without, faces only, all concurrently.
  bool corners = false;
};

// Exchanges the ghosts of blocks with one layout. If the neighbour is the rank itself (periodic,
// not cut), layers are copied; without a neighbour, ghosts do not change. A block must be at least
// as thick as the ghosts are deep, on every rank.
//
// Layers are sent from the block and received into it if they are contiguous (whole planes of a
// single component), else through buffers that are allocated once.
class Halo {
 public:
  // `tag`: its messages use this tag and the five after it; other halos on the grid need different
  // tags if two exchanges may be active concurrently.
  Halo(const ProcessGrid& grid, const BlockLayout& layout, const Ghosts& ghosts, int components = 1,
       int tag = 0);

  // Fills the ghosts of the block at `origin`. Called by all threads of the innermost parallel
  // region, or outside of one; all pack and unpack, the master thread sends. It begins with a
  // barrier, so that earlier writes of all threads are sent, and ends with one.
  void exchange(double* origin);

  // Of this rank, per exchange: messages sent, and their bytes.
  int messages() const { return messages_; }
  std::int64_t bytes() const { return bytes_; }

  // Bytes of its buffers.
  std::int64_t buffer_bytes() const {
    return static_cast<std::int64_t>(buffer_.size() * sizeof(double));
  }

 private:
  // A box of points, the end not included.
  struct Region {
    PerDimension<int> begin{};
    PerDimension<int> end{};
    std::size_t points() const;
    std::size_t rows() const;
  };

  // One side of one dimension: the layers sent to the neighbour there, and those received from it.
  struct Side {
    int neighbour = MPI_PROC_NULL;
    Region own;    // the outermost layers, sent
    Region ghost;  // received
    int send_tag = 0;
    int receive_tag = 0;
    bool direct = false;      // in one piece, no buffers
    std::size_t sent_at = 0;  // in buffer_
    std::size_t received_at = 0;
  };

  void add_dimension(const ProcessGrid& grid, const Ghosts& ghosts, int dimension, int tag);
  bool in_one_piece(const Region& region) const;
  double* first_of(double* origin, const Region& region) const;
  std::size_t count(const Region& region) const;

  // Distributes the rows of a region to the threads: action(row's first double in the block, its
  // offset among the region's doubles, its length).
  template <typename Action>
  void for_my_rows(double* origin, const Region& region, Action action) const;
  void pack(double* origin, const Side& side);
  void unpack(double* origin, const Side& side);
  void copy_from_other_side(double* origin, const Side& side, const Side& other);
  void communicate(double* origin, std::size_t begin, std::size_t end);

  MPI_Comm comm_;
  int rank_ = 0;
  BlockLayout layout_;
  int components_;
  std::vector<Side> sides_;         // in pairs, low and high
  std::vector<std::size_t> steps_;  // ends of the sides that are exchanged concurrently
  HugeArray<double> buffer_;
  std::vector<MPI_Request> requests_;
  int messages_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace assay::npb
