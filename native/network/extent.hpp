// The count and the type of a message, which may have more bytes than an MPI int can count.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace assay {

// A message of up to kBlock bytes consists of elements of type MPI_BYTE. A longer one is a single
// element of a type of its own: blocks of kBlock bytes and the rest (Hammond, Schaefer and Latham:
// To INT_MAX... and beyond! ExaMPI 2014). Movable, not copyable: it owns that type.
class Extent {
 public:
  Extent() = default;
  Extent(std::size_t bytes, std::size_t block);
  ~Extent();
  Extent(Extent&& other) noexcept;
  Extent& operator=(Extent&& other) noexcept;
  Extent(const Extent&) = delete;
  Extent& operator=(const Extent&) = delete;

  int count() const { return count_; }
  MPI_Datatype type() const { return own_ == MPI_DATATYPE_NULL ? MPI_BYTE : own_; }

 private:
  int count_ = 0;
  MPI_Datatype own_ = MPI_DATATYPE_NULL;
};

}  // namespace assay
