#include "network/persistent_collective.hpp"

#include <string>

#include "network/mpi_four.hpp"

namespace assay {

#if defined(ASSAY_HAVE_MPI_4)

void require_persistent(const Collective&) {}

int begin_persistent(const Collective& op, const Shape& s, const Buffers& b, MPI_Comm comm,
                     MPI_Request* request) {
  const std::string name = op.name;
  const int bytes = static_cast<int>(s.bytes);
  const int numbers = static_cast<int>(s.elements());
  const MPI_Info none = MPI_INFO_NULL;
  if (name == "barrier") return MPI_Barrier_init(comm, none, request);
  if (name == "bcast") {
    void* const buffer = s.is_root() ? const_cast<unsigned char*>(b.out) : b.in;
    return MPI_Bcast_init(buffer, bytes, MPI_BYTE, s.root, comm, none, request);
  }
  if (name == "reduce") {
    return MPI_Reduce_init(b.out, b.in, numbers, MPI_DOUBLE, MPI_SUM, s.root, comm, none, request);
  }
  if (name == "allreduce") {
    return MPI_Allreduce_init(b.out, b.in, numbers, MPI_DOUBLE, MPI_SUM, comm, none, request);
  }
  if (name == "allgather") {
    return MPI_Allgather_init(b.out, bytes, MPI_BYTE, b.in, bytes, MPI_BYTE, comm, none, request);
  }
  if (name == "allgatherv") {
    return MPI_Allgatherv_init(b.out, static_cast<int>(s.block(s.rank)), MPI_BYTE, b.in,
                               b.counts.data(), b.places.data(), MPI_BYTE, comm, none, request);
  }
  if (name == "alltoall") {
    return MPI_Alltoall_init(b.out, bytes, MPI_BYTE, b.in, bytes, MPI_BYTE, comm, none, request);
  }
  if (name == "alltoallv") {
    return MPI_Alltoallv_init(b.out, b.counts.data(), b.places.data(), MPI_BYTE, b.in,
                              b.counts_in.data(), b.places_in.data(), MPI_BYTE, comm, none,
                              request);
  }
  if (name == "gather") {
    return MPI_Gather_init(b.out, bytes, MPI_BYTE, b.in, bytes, MPI_BYTE, s.root, comm, none,
                           request);
  }
  if (name == "scatter") {
    return MPI_Scatter_init(b.out, bytes, MPI_BYTE, b.in, bytes, MPI_BYTE, s.root, comm, none,
                            request);
  }
  return MPI_Reduce_scatter_init(b.out, b.in, b.counts.data(), MPI_DOUBLE, MPI_SUM, comm, none,
                                 request);
}

#else

void require_persistent(const Collective& op) {
  throw_no_mpi_4(std::string("call = persistent (") + op.name + ")");
}

int begin_persistent(const Collective&, const Shape&, const Buffers&, MPI_Comm, MPI_Request*) {
  return MPI_ERR_UNSUPPORTED_OPERATION;
}

#endif

}  // namespace assay
