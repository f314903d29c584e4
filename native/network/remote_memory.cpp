#include "network/remote_memory.hpp"

namespace assay {
namespace {

// A communicator of only the pair; the rank that begins is rank 0.
MPI_Comm communicator_of(const Pair& pair) {
  const int ranks[] = {pair.first ? pair.rank : pair.partner,
                       pair.first ? pair.partner : pair.rank};
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group two = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_group(pair.comm, &all);
  MPI_Group_incl(all, 2, ranks, &two);
  MPI_Comm_create_group(pair.comm, two, kMeeting, &made);
  MPI_Group_free(&two);
  MPI_Group_free(&all);
  return made;
}

bool is_unified(MPI_Win window) {
  int* model = nullptr;
  int found = 0;
  MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &found);
  return found && *model == MPI_WIN_UNIFIED;
}

}  // namespace

RemoteMemory::RemoteMemory(const Pair& pair, std::size_t bytes, bool ready, Open open)
    : partner_(pair.first ? 1 : 0), open_(open) {
  two_ = communicator_of(pair);
  MPI_Comm_set_errhandler(two_, MPI_ERRORS_RETURN);
  int all_ready = ready ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all_ready, 1, MPI_INT, MPI_MIN, two_);
  if (!all_ready) {
    release();
    throw KernelError("one of the two ranks can't get the memory for its messages");
  }
  int made = MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, two_, &own_,
                              &window_) == MPI_SUCCESS;
  MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_INT, MPI_MIN, two_);
  if (!made) {
    release();
    throw KernelError("MPI can't allocate a window of " + std::to_string(bytes) + " bytes");
  }
  // Only in this model may a rank read its own window's bytes after MPI_Win_sync alone.
  if (!is_unified(window_)) {
    release();
    throw KernelError("this MPI has no windows of the unified memory model");
  }
  if (open_ == Open::kAlways) MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
}

RemoteMemory::~RemoteMemory() {
  if (window_ != MPI_WIN_NULL && open_ == Open::kAlways) MPI_Win_unlock_all(window_);
  release();
}

void RemoteMemory::release() {
  if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  if (two_ != MPI_COMM_NULL) MPI_Comm_free(&two_);
}

}  // namespace assay
