#include "linpack/broadcast.hpp"

namespace assay::linpack {

PanelBroadcast::PanelBroadcast(MPI_Comm row, BroadcastScheme) { MPI_Comm_dup(row, &row_); }

PanelBroadcast::~PanelBroadcast() {
  finish();
  MPI_Comm_free(&row_);
}

void PanelBroadcast::start(double* buffer, std::size_t count, int root) {
  MPI_Ibcast(buffer, static_cast<int>(count), MPI_DOUBLE, root, row_, &request_);
}

bool PanelBroadcast::progress() {
  int done = 0;
  MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void PanelBroadcast::finish() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

}  // namespace assay::linpack
