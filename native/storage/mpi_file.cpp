#include "storage/mpi_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "harness/values.hpp"
#include "storage/descriptor.hpp"

namespace assay {

#ifdef ASSAY_WITHOUT_MPI_IO

namespace {

const char* const kMissing = "this MPI library was built without MPI-IO: use api=posix";

}  // namespace

void require_mpi_io() { throw KernelError(kMissing); }

std::string MpiFile::open(MPI_Comm, int, const std::string&, Mode) { return kMissing; }
std::string MpiFile::close() { return {}; }
std::string MpiFile::sync() { return kMissing; }
std::string MpiFile::write_at(const unsigned char*, std::size_t, std::uint64_t, bool) {
  return kMissing;
}
std::string MpiFile::read_at(unsigned char*, std::size_t, std::uint64_t, bool) { return kMissing; }

#else

namespace {

// One line. ROMIO's text is a stack of calls, whose last line ends with the system's message; other
// libraries have classes for a full disk and a quota.
std::string message(const std::string& doing, int failed) {
  if (failed == MPI_SUCCESS) return {};
  const std::string what = "MPI-IO could not " + doing + ": ";
  std::array<char, MPI_MAX_ERROR_STRING> buffer{};
  int length = 0;
  int error_class = MPI_SUCCESS;
  MPI_Error_string(failed, buffer.data(), &length);
  MPI_Error_class(failed, &error_class);
  const std::string text(buffer.data(), static_cast<std::size_t>(length));
  if (error_class == MPI_ERR_QUOTA) return what + reason_and_fix(EDQUOT);
  if (error_class == MPI_ERR_NO_SPACE) return what + reason_and_fix(ENOSPC);
  for (const int error : {EDQUOT, ENOSPC, EFBIG}) {
    if (text.find(std::strerror(error)) != std::string::npos) return what + reason_and_fix(error);
  }
  return what + text.substr(text.find_last_of('\n') + 1);
}

std::string whole(const std::string& doing, int failed, const MPI_Status& status,
                  std::size_t bytes) {
  if (failed != MPI_SUCCESS) return message(doing, failed);
  int moved = 0;
  MPI_Get_count(&status, MPI_BYTE, &moved);
  return static_cast<std::size_t>(moved) == bytes ? "" : message(doing, MPI_ERR_IO);
}

}  // namespace

void require_mpi_io() {}

std::string MpiFile::open(MPI_Comm comm, int directory, const std::string& name, Mode mode) {
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + name;
  int flags = mode == Mode::read ? MPI_MODE_RDONLY : MPI_MODE_RDWR;
  if (mode == Mode::create) flags |= MPI_MODE_CREATE;
  return message("open the file", MPI_File_open(comm, path.c_str(), flags, MPI_INFO_NULL, &file_));
}

std::string MpiFile::close() {
  if (file_ == MPI_FILE_NULL) return {};
  return message("close the file", MPI_File_close(&file_));
}

std::string MpiFile::sync() { return message("flush the file", MPI_File_sync(file_)); }

std::string MpiFile::write_at(const unsigned char* from, std::size_t bytes, std::uint64_t offset,
                              bool collective) {
  const auto call = collective ? MPI_File_write_at_all : MPI_File_write_at;
  MPI_Status status;
  const int failed = call(file_, static_cast<MPI_Offset>(offset), from, static_cast<int>(bytes),
                          MPI_BYTE, &status);
  return whole("write", failed, status, bytes);
}

std::string MpiFile::read_at(unsigned char* to, std::size_t bytes, std::uint64_t offset,
                             bool collective) {
  const auto call = collective ? MPI_File_read_at_all : MPI_File_read_at;
  MPI_Status status;
  const int failed =
      call(file_, static_cast<MPI_Offset>(offset), to, static_cast<int>(bytes), MPI_BYTE, &status);
  return whole("read", failed, status, bytes);
}

#endif

}  // namespace assay
