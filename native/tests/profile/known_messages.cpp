// Sends the messages that tests/native/test_mpi_counts.py expects, through each sending
// function: message number k has k elements, in the order of the functions in this
// file. Two runs are marked; messages outside of them are sent too.
#include <mpi.h>

#include <vector>

namespace {

constexpr int kRoot = 1;

class Messages {
 public:
  Messages() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    next_ = (rank_ + 1) % size_;
    before_ = (rank_ + size_ - 1) % size_;
  }

  // One message to the next rank in the ring by each send function.
  void one_to_one() {
    int count = 0;
    for (const auto send : {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend}) {
      receive(++count);
      MPI_Barrier(MPI_COMM_WORLD);  // a ready send needs its receive
      send(out_.data(), count, MPI_INT, next_, 0, MPI_COMM_WORLD);
      wait();
    }
    for (const auto send : {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend}) {
      receive(++count);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Request request = MPI_REQUEST_NULL;
      send(out_.data(), count, MPI_INT, next_, 0, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      wait();
    }
    ++count;
    MPI_Sendrecv(out_.data(), count, MPI_INT, next_, 0, in_.data(), count, MPI_INT, before_, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ++count;
    MPI_Sendrecv_replace(out_.data(), count, MPI_INT, next_, 0, before_, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    MPI_Send(out_.data(), 100, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // not counted
  }

  // 11 and 12 elements by MPI_Startall, then 12 by MPI_Start; starts of receives send nothing.
  void persistent() {
    std::vector<MPI_Request> requests(4, MPI_REQUEST_NULL);
    MPI_Send_init(out_.data(), 11, MPI_INT, next_, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(out_.data(), 12, MPI_INT, next_, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(in_.data(), 11, MPI_INT, before_, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(in_.data() + 11, 12, MPI_INT, before_, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Startall(4, requests.data());
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Start(&requests[1]);
    MPI_Start(&requests[3]);
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    for (MPI_Request& request : requests) MPI_Request_free(&request);
  }

  void collectives() {
    int* const out = out_.data();
    int* const in = in_.data();
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Bcast(out, 1, MPI_INT, kRoot, world);
    MPI_Reduce(out, in, 2, MPI_INT, MPI_MAX, kRoot, world);
    MPI_Allreduce(MPI_IN_PLACE, in, 3, MPI_INT, MPI_MAX, world);
    MPI_Scan(out, in, 4, MPI_INT, MPI_MAX, world);
    MPI_Exscan(out, in, 5, MPI_INT, MPI_MAX, world);
    MPI_Reduce_scatter_block(out, in, 6, MPI_INT, MPI_MAX, world);
    MPI_Reduce_scatter(out, in, rising(7).data(), MPI_INT, MPI_MAX, world);
    MPI_Allgather(out, 8, MPI_INT, in, 8, MPI_INT, world);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 8, MPI_INT, world);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, rising(9).data(), places().data(),
                   MPI_INT, world);
    MPI_Gather(out, 10, MPI_INT, in, 10, MPI_INT, kRoot, world);
    MPI_Gatherv(out, 11 + rank_, MPI_INT, in, rising(11).data(), places().data(), MPI_INT, kRoot,
                world);
    MPI_Scatter(out, 12, MPI_INT, in, 12, MPI_INT, kRoot, world);
    MPI_Scatterv(out, rising(13).data(), places().data(), MPI_INT, in, 13 + rank_, MPI_INT, kRoot,
                 world);
    MPI_Alltoall(out, 14, MPI_INT, in, 14, MPI_INT, world);
    // To each rank: 15 plus both rank numbers.
    MPI_Alltoallv(out, rising(15 + rank_).data(), places().data(), MPI_INT, in,
                  rising(15 + rank_).data(), places().data(), MPI_INT, world);
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size_), MPI_INT);
    MPI_Alltoallw(out, rising(16 + rank_).data(), places(sizeof(int)).data(), types.data(), in,
                  rising(16 + rank_).data(), places(sizeof(int)).data(), types.data(), world);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(out, in, 17, MPI_DOUBLE, MPI_MAX, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ialltoall(out, 18, MPI_INT, in, 18, MPI_INT, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  void receive(int count) {
    MPI_Irecv(in_.data(), count, MPI_INT, before_, 0, MPI_COMM_WORLD, &pending_);
  }
  void wait() { MPI_Wait(&pending_, MPI_STATUS_IGNORE); }

  // first, first + 1, ...: one count per rank.
  std::vector<int> rising(int first) const {
    std::vector<int> counts;
    for (int rank = 0; rank < size_; ++rank) counts.push_back(first + rank);
    return counts;
  }
  std::vector<int> places(std::size_t unit = 1) const {
    std::vector<int> places;
    for (int rank = 0; rank < size_; ++rank) places.push_back(50 * rank * static_cast<int>(unit));
    return places;
  }

  int rank_ = 0;
  int size_ = 1;
  int next_ = 0;
  int before_ = 0;
  MPI_Request pending_ = MPI_REQUEST_NULL;
  std::vector<int> out_ = std::vector<int>(1000);
  std::vector<int> in_ = std::vector<int>(1000);
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  std::vector<char> buffer(1 << 16);
  MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  {
    Messages messages;
    messages.collectives();
    for (int run = 0; run < 2; ++run) {
      MPI_Pcontrol(1);
      messages.one_to_one();
      messages.persistent();
      messages.collectives();
      MPI_Pcontrol(0);
      messages.one_to_one();
    }
    messages.persistent();
  }
  void* detached = nullptr;
  int size = 0;
  MPI_Buffer_detach(&detached, &size);
  MPI_Finalize();
}
