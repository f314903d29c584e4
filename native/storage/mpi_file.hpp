// A file opened through MPI-IO, and transfers by it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#if defined(OMPI_PROVIDE_MPI_FILE_INTERFACE) && !OMPI_PROVIDE_MPI_FILE_INTERFACE
#define ASSAY_WITHOUT_MPI_IO
#elif defined(MPICH_VERSION) && !defined(ROMIO_VERSION)
#define ASSAY_WITHOUT_MPI_IO
#endif

namespace assay {

// Throws KernelError if this program's MPI library was built without MPI-IO.
void require_mpi_io();

// Closes itself. Closing is collective, as are construction and destruction of a kernel. The
// functions that return text return the failure in words, or nothing: other ranks may wait in a
// collective call, which an exception would miss.
class MpiFile {
 public:
  MpiFile() = default;
  MpiFile(const MpiFile&) = delete;
  MpiFile& operator=(const MpiFile&) = delete;
  ~MpiFile() { close(); }

  enum class Mode { read, read_and_write, create };

  // Collective over `comm`. Of a file in an open directory: a directory moved or replaced by name
  // doesn't redirect MPI.
  std::string open(MPI_Comm comm, int directory, const std::string& name, Mode mode);
  std::string close();
  // Writes data through to the device; collective over the communicator of open().
  std::string sync();

  std::string write_at(const unsigned char* from, std::size_t bytes, std::uint64_t offset,
                       bool collective = false);
  std::string read_at(unsigned char* to, std::size_t bytes, std::uint64_t offset,
                      bool collective = false);

 private:
#ifndef ASSAY_WITHOUT_MPI_IO
  MPI_File file_ = MPI_FILE_NULL;
#endif
};

}  // namespace assay
