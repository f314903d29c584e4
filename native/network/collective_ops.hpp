// The collective operations: how each is called, and what it must leave where.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

// Who takes part in an operation, and with how much. `bytes`: of a block of one rank for another;
// of the whole vector where vectors are added up or broadcast.
struct Shape {
  int rank = 0;
  int size = 1;
  int root = 0;
  std::size_t bytes = 0;

  bool is_root() const { return rank == root; }
  std::size_t ranks() const { return static_cast<std::size_t>(size); }
  std::size_t elements() const { return bytes / sizeof(double); }
};

// What a call is given. `counts` and `places`: of the operations that take a list of them, a number
// a rank, in elements of their type.
struct Buffers {
  const unsigned char* out = nullptr;
  unsigned char* in = nullptr;
  std::vector<int> counts;
  std::vector<int> places;
};

// Where a byte comes from: the sending rank, and the index in its buffer.
struct Origin {
  int source = 0;
  std::size_t index = 0;
};

// One operation. All functions speak of the rank that the shape is of.
struct Collective {
  const char* name;
  bool rooted;
  // Doubles are added up; else bytes are moved.
  bool reduces;
  // Bytes that this rank gives, and that it gets.
  std::size_t (*gives)(const Shape&);
  std::size_t (*gets)(const Shape&);
  // Where the byte with that index of what it gets comes from. Of a reduction the index in every
  // rank's buffer, and the source means nothing.
  Origin (*origin)(const Shape&, std::size_t index);
  int (*call)(const Shape&, const Buffers&, MPI_Comm);
};

const std::vector<Collective>& collectives();
std::vector<std::string> collective_names();
// It must exist.
const Collective& find_collective(const std::string& name);

// The lists of counts and places for that operation; empty for most.
Buffers lists_of(const Collective& op, const Shape& shape);

// The byte that the rank `source` has at that index of its buffer in that round: differs between
// sources, rounds, and places a power of two apart, so that misplaced pieces show.
unsigned char byte_of(int source, std::size_t index, std::size_t round);

// The number that a rank adds at that element, and what all of `size` ranks come to. Small whole
// numbers: the sum is exact in doubles, in whatever order, for up to half a million ranks.
double term_of(int source, std::size_t element, std::size_t round);
double sum_of(int size, std::size_t element, std::size_t round);

}  // namespace assay
