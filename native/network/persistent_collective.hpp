// Persistent collective operations (MPI-4.1, 6.13), where the MPI library has them.
#pragma once

#include <mpi.h>

#include "network/collective_ops.hpp"

namespace assay {

// Owns a persistent request; it must be inactive at the end.
struct PersistentRequest {
  MPI_Request handle = MPI_REQUEST_NULL;

  PersistentRequest() = default;
  PersistentRequest(const PersistentRequest&) = delete;
  PersistentRequest& operator=(const PersistentRequest&) = delete;
  ~PersistentRequest() {
    if (handle != MPI_REQUEST_NULL) MPI_Request_free(&handle);
  }
};

// Throws KernelError if this build has no persistent form of the operation.
void require_persistent(const Collective& op);

// Makes the request, which keeps pointers into `buffers`. Collective. Returns MPI's error code.
int begin_persistent(const Collective& op, const Shape& shape, const Buffers& buffers,
                     MPI_Comm comm, MPI_Request* request);

}  // namespace assay
