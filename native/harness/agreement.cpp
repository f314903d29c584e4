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
  std::string message = mine.value_or("");
  broadcast(comm, lowest[0], message);
  return lowest[1] == 1 ? message : "rank " + std::to_string(lowest[0]) + ": " + message;
}

std::string exception_message() {
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

std::vector<std::string> gather_texts(MPI_Comm comm, const std::string& mine) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int length = static_cast<int>(mine.size());
  std::vector<int> lengths(static_cast<std::size_t>(size));
  MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm);
  std::vector<int> places(lengths.size(), 0);
  for (std::size_t i = 1; i < places.size(); ++i) places[i] = places[i - 1] + lengths[i - 1];
  std::string all;
  if (rank == 0) all.resize(static_cast<std::size_t>(places.back() + lengths.back()));
  MPI_Gatherv(mine.data(), length, MPI_CHAR, all.data(), lengths.data(), places.data(), MPI_CHAR, 0,
              comm);
  std::vector<std::string> texts;
  if (rank != 0) return texts;
  for (std::size_t i = 0; i < places.size(); ++i) {
    texts.push_back(
        all.substr(static_cast<std::size_t>(places[i]), static_cast<std::size_t>(lengths[i])));
  }
  return texts;
}

}  // namespace assay
