// Counts the messages of each rank through MPI's profiling interface (MPI 4.0, section 14.2):
// preloaded into a program, or linked into it. Counting is active between MPI_Pcontrol(1) and
// MPI_Pcontrol(0), which the harness calls around each sample. At the end each rank writes its
// counts to the file $ASSAY_MPI_COUNTS.<rank of the world>: a line "runs N", a line "NAME CALLS
// BYTES" for each function that was called, and a line "to RANK BYTES" for each rank of the world
// that was sent data individually: in a send, or as its part of an all-to-all with counts.
//
// A point-to-point send counts as one call, with its payload; one to MPI_PROC_NULL isn't counted. A
// collective call counts once on each rank that calls it, with the bytes in that rank's own send
// buffer: only the root's for a broadcast or a scatter; for an all-to-all without the part for the
// rank itself.
//
// For threads that call MPI one at a time, as under MPI_THREAD_FUNNELED.
#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace {

struct Count {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
};

// The message of each start of a persistent send, and its receiver's rank of the world.
struct Persistent {
  std::int64_t bytes = 0;
  int peer = 0;
};

struct Counter {
  bool on = false;
  std::int64_t runs = 0;
  std::map<std::string, Count> counts;
  std::map<int, std::int64_t> peers;  // bytes by rank of the world
  std::map<MPI_Request, Persistent> persistent;

  void add(const char* name, std::int64_t bytes) {
    if (!on) return;
    Count& count = counts[name];
    ++count.calls;
    count.bytes += bytes;
  }
};

Counter& counter() {
  static Counter counter;
  return counter;
}

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

int world_rank_of(int rank, MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  int found = MPI_UNDEFINED;
  PMPI_Group_translate_ranks(group, 1, &rank, world, &found);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return found;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  PMPI_Comm_size(comm, &size);
  return size;
}

std::int64_t sum(const int* counts, MPI_Comm comm) {
  std::int64_t total = 0;
  for (int rank = 0; rank < size_of(comm); ++rank) total += counts[rank];
  return total;
}

// Counts bytes to a rank of a communicator by its rank of the world.
std::int64_t to_peer(int rank, std::int64_t bytes, MPI_Comm comm) {
  if (bytes > 0) counter().peers[world_rank_of(rank, comm)] += bytes;
  return bytes;
}

// The bytes that a rank sends to the others in an all-to-all with counts; they are counted as its
// peers.
std::int64_t others(const int* counts, MPI_Datatype type, MPI_Comm comm) {
  std::int64_t total = 0;
  for (int rank = 0; rank < size_of(comm); ++rank) {
    if (rank != rank_in(comm)) total += to_peer(rank, bytes_of(counts[rank], type), comm);
  }
  return total;
}

// The same with one type per rank.
std::int64_t others(const int* counts, const MPI_Datatype* types, MPI_Comm comm) {
  std::int64_t total = 0;
  for (int rank = 0; rank < size_of(comm); ++rank) {
    if (rank != rank_in(comm)) total += to_peer(rank, bytes_of(counts[rank], types[rank]), comm);
  }
  return total;
}

void send(const char* name, int count, MPI_Datatype type, int to, MPI_Comm comm) {
  if (!counter().on || to == MPI_PROC_NULL) return;
  counter().add(name, bytes_of(count, type));
  to_peer(to, bytes_of(count, type), comm);
}

void remember(MPI_Request request, int count, MPI_Datatype type, int to, MPI_Comm comm) {
  if (to == MPI_PROC_NULL) {
    counter().persistent.erase(request);
  } else {
    counter().persistent[request] = {bytes_of(count, type), world_rank_of(to, comm)};
  }
}

void start(MPI_Request request) {
  const auto found = counter().persistent.find(request);
  if (!counter().on || found == counter().persistent.end()) return;
  counter().add("Start", found->second.bytes);
  counter().peers[found->second.peer] += found->second.bytes;
}

void write_counts() {
  const char* path = std::getenv("ASSAY_MPI_COUNTS");
  if (!path) return;
  const std::string mine = std::string(path) + "." + std::to_string(rank_in(MPI_COMM_WORLD));
  std::FILE* file = std::fopen(mine.c_str(), "w");
  if (!file) {
    std::perror(mine.c_str());
    return;
  }
  std::fprintf(file, "runs %lld\n", static_cast<long long>(counter().runs));
  for (const auto& [name, count] : counter().counts) {
    std::fprintf(file, "%s %lld %lld\n", name.c_str(), static_cast<long long>(count.calls),
                 static_cast<long long>(count.bytes));
  }
  for (const auto& [peer, bytes] : counter().peers) {
    std::fprintf(file, "to %d %lld\n", peer, static_cast<long long>(bytes));
  }
  std::fclose(file);
}

}  // namespace

extern "C" {

int MPI_Pcontrol(const int level, ...) {
  if (level != 0) ++counter().runs;
  counter().on = level != 0;
  return MPI_SUCCESS;
}

int MPI_Finalize() {
  write_counts();
  return PMPI_Finalize();
}

// ---- One to one ---------------------------------------------------------------------------------

#define ASSAY_SEND(Name)                                                                           \
  int MPI_##Name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) { \
    send(#Name, count, type, to, comm);                                                            \
    return PMPI_##Name(data, count, type, to, tag, comm);                                          \
  }
ASSAY_SEND(Send)
ASSAY_SEND(Ssend)
ASSAY_SEND(Bsend)
ASSAY_SEND(Rsend)

#define ASSAY_ISEND(Name)                                                                        \
  int MPI_##Name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                 MPI_Request* request) {                                                         \
    send(#Name, count, type, to, comm);                                                          \
    return PMPI_##Name(data, count, type, to, tag, comm, request);                               \
  }
ASSAY_ISEND(Isend)
ASSAY_ISEND(Issend)
ASSAY_ISEND(Ibsend)
ASSAY_ISEND(Irsend)

int MPI_Sendrecv(const void* data, int count, MPI_Datatype type, int to, int tag, void* received,
                 int received_count, MPI_Datatype received_type, int from, int received_tag,
                 MPI_Comm comm, MPI_Status* status) {
  send("Sendrecv", count, type, to, comm);
  return PMPI_Sendrecv(data, count, type, to, tag, received, received_count, received_type, from,
                       received_tag, comm, status);
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int tag, int from,
                         int received_tag, MPI_Comm comm, MPI_Status* status) {
  send("Sendrecv_replace", count, type, to, comm);
  return PMPI_Sendrecv_replace(data, count, type, to, tag, from, received_tag, comm, status);
}

#define ASSAY_SEND_INIT(Name)                                                                    \
  int MPI_##Name(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, \
                 MPI_Request* request) {                                                         \
    const int result = PMPI_##Name(data, count, type, to, tag, comm, request);                   \
    remember(*request, count, type, to, comm);                                                   \
    return result;                                                                               \
  }
ASSAY_SEND_INIT(Send_init)
ASSAY_SEND_INIT(Ssend_init)
ASSAY_SEND_INIT(Bsend_init)
ASSAY_SEND_INIT(Rsend_init)

// A receive may get the handle of a send that was freed.
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int result = PMPI_Recv_init(data, count, type, from, tag, comm, request);
  counter().persistent.erase(*request);
  return result;
}

int MPI_Start(MPI_Request* request) {
  start(*request);
  return PMPI_Start(request);
}

int MPI_Startall(int count, MPI_Request requests[]) {
  for (int i = 0; i < count; ++i) start(requests[i]);
  return PMPI_Startall(count, requests);
}

int MPI_Request_free(MPI_Request* request) {
  counter().persistent.erase(*request);
  return PMPI_Request_free(request);
}

// ---- Collectives: each blocking one and its nonblocking twin ------------------------------------

// `bytes` is an expression in the parameters; `parameters` and `arguments` are in parentheses.
#define ASSAY_LIST(...) __VA_ARGS__
#define ASSAY_COLLECTIVE(Name, Iname, bytes, parameters, arguments) \
  int MPI_##Name(ASSAY_LIST parameters) {                           \
    if (counter().on) counter().add(#Name, bytes);                  \
    return PMPI_##Name(ASSAY_LIST arguments);                       \
  }                                                                 \
  int MPI_##Iname(ASSAY_LIST parameters, MPI_Request* request) {    \
    if (counter().on) counter().add(#Iname, bytes);                 \
    return PMPI_##Iname(ASSAY_LIST arguments, request);             \
  }

ASSAY_COLLECTIVE(Barrier, Ibarrier, 0, (MPI_Comm comm), (comm))

ASSAY_COLLECTIVE(Bcast, Ibcast, (rank_in(comm) == root ? bytes_of(count, type) : 0),
                 (void* data, int count, MPI_Datatype type, int root, MPI_Comm comm),
                 (data, count, type, root, comm))

ASSAY_COLLECTIVE(Reduce, Ireduce, bytes_of(count, type),
                 (const void* data, void* result, int count, MPI_Datatype type, MPI_Op op, int root,
                  MPI_Comm comm),
                 (data, result, count, type, op, root, comm))

// In place, the data sent are the receive buffer's: the same number of bytes.
#define ASSAY_COLLECTIVE_REDUCTION(Name, Iname)                                                 \
  ASSAY_COLLECTIVE(                                                                             \
      Name, Iname, bytes_of(count, type),                                                       \
      (const void* data, void* result, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm), \
      (data, result, count, type, op, comm))
ASSAY_COLLECTIVE_REDUCTION(Allreduce, Iallreduce)
ASSAY_COLLECTIVE_REDUCTION(Scan, Iscan)
ASSAY_COLLECTIVE_REDUCTION(Exscan, Iexscan)

ASSAY_COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, bytes_of(count, type) * size_of(comm),
                 (const void* data, void* result, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm),
                 (data, result, count, type, op, comm))

ASSAY_COLLECTIVE(Reduce_scatter, Ireduce_scatter, bytes_of(1, type) * sum(counts, comm),
                 (const void* data, void* result, const int counts[], MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm),
                 (data, result, counts, type, op, comm))

// In place, the rank's part of the receive buffer is its send buffer.
ASSAY_COLLECTIVE(Allgather, Iallgather,
                 (data == MPI_IN_PLACE ? bytes_of(received_count, received_type)
                                       : bytes_of(count, type)),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, MPI_Comm comm),
                 (data, count, type, received, received_count, received_type, comm))

ASSAY_COLLECTIVE(Allgatherv, Iallgatherv,
                 (data == MPI_IN_PLACE ? bytes_of(received_counts[rank_in(comm)], received_type)
                                       : bytes_of(count, type)),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  const int received_counts[], const int places[], MPI_Datatype received_type,
                  MPI_Comm comm),
                 (data, count, type, received, received_counts, places, received_type, comm))

ASSAY_COLLECTIVE(Gather, Igather,
                 (data == MPI_IN_PLACE ? bytes_of(received_count, received_type)
                                       : bytes_of(count, type)),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, int root, MPI_Comm comm),
                 (data, count, type, received, received_count, received_type, root, comm))

ASSAY_COLLECTIVE(Gatherv, Igatherv,
                 (data == MPI_IN_PLACE ? bytes_of(received_counts[root], received_type)
                                       : bytes_of(count, type)),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  const int received_counts[], const int places[], MPI_Datatype received_type,
                  int root, MPI_Comm comm),
                 (data, count, type, received, received_counts, places, received_type, root, comm))

ASSAY_COLLECTIVE(Scatter, Iscatter,
                 (rank_in(comm) == root ? bytes_of(count, type) * size_of(comm) : 0),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, int root, MPI_Comm comm),
                 (data, count, type, received, received_count, received_type, root, comm))

ASSAY_COLLECTIVE(Scatterv, Iscatterv,
                 (rank_in(comm) == root ? bytes_of(1, type) * sum(counts, comm) : 0),
                 (const void* data, const int counts[], const int places[], MPI_Datatype type,
                  void* received, int received_count, MPI_Datatype received_type, int root,
                  MPI_Comm comm),
                 (data, counts, places, type, received, received_count, received_type, root, comm))

ASSAY_COLLECTIVE(Alltoall, Ialltoall,
                 ((size_of(comm) - 1) * (data == MPI_IN_PLACE
                                             ? bytes_of(received_count, received_type)
                                             : bytes_of(count, type))),
                 (const void* data, int count, MPI_Datatype type, void* received,
                  int received_count, MPI_Datatype received_type, MPI_Comm comm),
                 (data, count, type, received, received_count, received_type, comm))

ASSAY_COLLECTIVE(Alltoallv, Ialltoallv,
                 (data == MPI_IN_PLACE ? others(received_counts, received_type, comm)
                                       : others(counts, type, comm)),
                 (const void* data, const int counts[], const int places[], MPI_Datatype type,
                  void* received, const int received_counts[], const int received_places[],
                  MPI_Datatype received_type, MPI_Comm comm),
                 (data, counts, places, type, received, received_counts, received_places,
                  received_type, comm))

ASSAY_COLLECTIVE(Alltoallw, Ialltoallw,
                 (data == MPI_IN_PLACE ? others(received_counts, received_types, comm)
                                       : others(counts, types, comm)),
                 (const void* data, const int counts[], const int places[],
                  const MPI_Datatype types[], void* received, const int received_counts[],
                  const int received_places[], const MPI_Datatype received_types[], MPI_Comm comm),
                 (data, counts, places, types, received, received_counts, received_places,
                  received_types, comm))

}  // extern "C"
