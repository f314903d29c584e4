// Memory that the two ranks of a pair can write to and read from each other (MPI-4.1, chapter 12).
#pragma once

#include <mpi.h>

#include <cstddef>

#include "network/pair.hpp"

namespace assay {

// An MPI window over the two ranks. Construction and destruction are collective over the pair.
class RemoteMemory {
 public:
  // When the window is open to both: for the lifetime of the object (passive target:
  // MPI_Win_lock_all), or only while its user opens it.
  enum class Open { kAlways, kByUser };

  // `bytes` may differ between the two. Throws KernelError on both if either can't get its memory,
  // or if this rank is not `ready`.
  RemoteMemory(const Pair& pair, std::size_t bytes, bool ready, Open open = Open::kAlways);
  ~RemoteMemory();
  RemoteMemory(const RemoteMemory&) = delete;
  RemoteMemory& operator=(const RemoteMemory&) = delete;

  unsigned char* own() const { return own_; }
  MPI_Win window() const { return window_; }
  int partner() const { return partner_; }  // by its rank in the window

  // What either side wrote before both met is visible to both afterwards. Only of a window that is
  // always open.
  void synchronise() const { MPI_Win_sync(window_); }

 private:
  void release();

  MPI_Comm two_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  unsigned char* own_ = nullptr;
  int partner_ = 0;
  Open open_;
};

}  // namespace assay
