// The collective operations: how each is called, and its expected result.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

// The participants and size of an operation. `bytes`: of the block that one rank sends to another;
// of the whole vector for reductions and broadcasts.
struct Shape {
  int rank = 0;
  int size = 1;
  int root = 0;
  std::size_t bytes = 0;
  // The largest block over the mean block, for operations with blocks of different sizes; `bytes`
  // is then the mean.
  double imbalance = 1.0;
  // Where the block of each rank begins among all blocks, and where the last one ends; only of
  // these operations (`with_blocks`).
  std::vector<std::size_t> starts;

  bool is_root() const { return rank == root; }
  std::size_t block(int of) const {
    const auto place = static_cast<std::size_t>(of);
    return starts[place + 1] - starts[place];
  }
  std::size_t ranks() const { return static_cast<std::size_t>(size); }
  std::size_t elements() const { return bytes / sizeof(double); }
};

// Arguments of a call. `counts` and `places`: for operations with such lists, one number per rank,
// in elements of their type.
struct Buffers {
  const unsigned char* out = nullptr;
  unsigned char* in = nullptr;
  std::vector<int> counts;
  std::vector<int> places;
  // Of what is received, where this differs.
  std::vector<int> counts_in;
  std::vector<int> places_in;
};

// Where a byte comes from: the sending rank, and the index in its buffer.
struct Origin {
  int source = 0;
  std::size_t index = 0;
};

// The shape with the blocks of its ranks: their sizes fall geometrically from rank 0 on, with the
// given largest one over their mean; all together have ranks * bytes.
Shape with_blocks(Shape shape);

// One operation. All functions refer to the rank of the shape.
struct Collective {
  const char* name;
  bool rooted;
  // Whether doubles are added up; otherwise bytes are moved.
  bool reduces;
  // Whether its blocks may differ in size.
  bool varies;
  // Bytes that this rank contributes, and that it receives.
  std::size_t (*gives)(const Shape&);
  std::size_t (*gets)(const Shape&);
  // The origin of the byte with that index of the result. For a reduction the index in every rank's
  // buffer; the source is meaningless.
  Origin (*origin)(const Shape&, std::size_t index);
  int (*call)(const Shape&, const Buffers&, MPI_Comm);
};

const std::vector<Collective>& collectives();
std::vector<std::string> collective_names();
// The operation of that name must exist.
const Collective& find_collective(const std::string& name);

// The lists of counts and displacements for that operation; empty for most.
Buffers lists_of(const Collective& op, const Shape& shape);

// The byte at that index of the buffer of rank `source` in that round: differs between sources,
// rounds, and positions a power of two apart, so that misplaced pieces show.
unsigned char byte_of(int source, std::size_t index, std::size_t round);

// A rank's summand at that element, and the sum over `size` ranks. Small whole numbers: the sum is
// exact in doubles, in any order, for up to half a million ranks.
double term_of(int source, std::size_t element, std::size_t round);
double sum_of(int size, std::size_t element, std::size_t round);

}  // namespace assay
