#include "harness/agreement.hpp"

#include <exception>
#include <new>

namespace assay {

Complaint agree(MPI_Comm comm, const Complaint& mine) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  // The lowest complaining rank, and whether all complain.
  int lowest[] = {mine ? rank : size, mine ? 1 : 0};
  MPI_Allreduce(MPI_IN_PLACE, lowest, 2, MPI_INT, MPI_MIN, comm);
  if (lowest[0] == size) return std::nullopt;
  std::string words = mine.value_or("");
  broadcast(comm, lowest[0], words);
  return lowest[1] == 1 ? words : "rank " + std::to_string(lowest[0]) + ": " + words;
}

std::string words_of_exception() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "unknown exception";
  }
}

void broadcast(MPI_Comm comm, int root, std::string& text) {
  unsigned long long length = text.size();
  MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, root, comm);
  text.resize(length);
  MPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, root, comm);
}

}  // namespace assay
