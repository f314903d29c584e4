#include "call.hpp"

#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>

#include "alone.hpp"
#include "call_site.hpp"
#include "clocks.hpp"
#include "functions.hpp"
#include "node.hpp"
#include "process.hpp"
#include "sampled.hpp"
#include "steps.hpp"

namespace assay::trace {
namespace {

thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;

// Whether a request that is freed was cancelled, as far as MPI knows yet.
bool is_cancelled(MPI_Request request) {
  MPI_Status status;
  int done = 0, cancelled = 1;
  ASSAY_MPI(Request_get_status)(request, &done, &status);
  if (done) ASSAY_MPI(Test_cancelled)(&status, &cancelled);
  return cancelled != 0;
}

// World ranks of the most recently used peers in other communicators.
struct Translated {
  std::uint64_t comm = 0;
  std::int32_t rank = -1;
  std::int32_t world = kUnknownPeer;
};
constexpr std::uint32_t kTranslated = 4096;
Translated translated[kTranslated];

// Pushes what a call uses out of the first caches, as the program's own data does between calls.
class Eviction {
 public:
  Eviction()
      : data_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Eviction() {
    if (data_ != MAP_FAILED) munmap(data_, kSize);
  }
  Eviction(const Eviction&) = delete;
  Eviction& operator=(const Eviction&) = delete;

  void run() const {
    if (data_ == MAP_FAILED) return;
    auto* const bytes = static_cast<volatile char*>(data_);
    for (std::size_t i = 0; i < kSize; i += kLine) bytes[i] = 1;
  }

 private:
  static constexpr std::size_t kSize = std::size_t{2} << 20, kLine = 64;
  void* data_;
};

}  // namespace

Call::Call(std::int32_t function, void* site, void* frame) noexcept
    : function_(function),
      address_(site),
      site_(0),
      outermost_(depth++ == 0),
      counted_(outermost_ && (profile().on.load(std::memory_order_relaxed) ||
                              kFunctions[function].kind == kLife)),
      traced_(counted_ && kFunctions[function].kind != kLife && tracer().active()) {
  if (outermost_ && step_wanted && program_site(site, frame) == step_site) mark_step();
  if (!counted_) return;
  if (profile().begin == 0) profile().fortran = find_libraries();
  site_ = program_site(site, frame);
}

Call::~Call() {
  if (counted_ && !started_) {
    Store::Lock lock(store());
    add(function_, peer_, silent_ ? 0 : bytes_, time_, device_);
    if (sent_) store().sent(peer_, static_cast<std::uint64_t>(bytes_));
  }
  if (traced_ && !started_) record();
  if (outermost_ && trace_.everybody) after_world_collective();
  release_claims();
  if (trace_.statuses && trace_.statuses != few_statuses_ && trace_.own_statuses) {
    free(trace_.statuses);
  }
  if (trace_.completions && trace_.completions != few_completions_) free(trace_.completions);
  --depth;
}

bool Call::is_inside() noexcept { return depth > 0; }

std::uint64_t Call::cost(bool traced, void* site) noexcept {
  constexpr int kCalls = 15;
  std::uint64_t times[kCalls];
  const int outer = depth;
  const bool on = profile().on.exchange(true);
  depth = 0;
  void* const frame = __builtin_frame_address(0);
  const Eviction eviction;
  for (int i = -1; i < kCalls; ++i) {  // the first one takes page faults
    eviction.run();
    const std::uint64_t from = now();
    {
      Call call(kMpiSend, site, frame);
      call.on(MPI_COMM_WORLD);
      call.send(1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
      call.begin();
      call.end();
    }
    if (traced) tracer().practise(static_cast<std::uint64_t>(i + 1));
    if (i >= 0) times[i] = now() - from;
  }
  depth = outer;
  profile().on = on;
  {
    Store::Lock lock(store());
    store().forget(kMpiSend, program_site(site, frame), 0, 1);
  }
  std::nth_element(times, times + kCalls / 2, times + kCalls);
  return times[kCalls / 2];
}

void Call::begin() noexcept {
  if (!counted_) return;
  enter_mpi();
  begin_ = now();
  give_token();
}

void Call::end() noexcept {
  // Waiting for the token counts as time in MPI.
  if (counted_ && kFunctions[function_].kind != kLife) take_token();
  if (counted_) {
    time_ = now() - begin_;
    leave_mpi();
  }
  if (buffer_) device_ = in_device_memory(buffer_, counted_ ? begin_ + time_ : now());
}

void Call::add(std::int32_t function, std::int32_t peer, std::int64_t bytes, std::uint64_t time,
               bool device) {
  const auto size = static_cast<std::uint64_t>(bytes > 0 ? bytes : 0);
  Entry& entry = store().entry(function, site_, peer, size);
  entry.least = entry.calls == 0 || time < entry.least ? time : entry.least;
  entry.most = time > entry.most ? time : entry.most;
  ++entry.calls;
  entry.failed += failed_;
  entry.bytes += size;
  if (device && size > 0) {
    ++entry.device_calls;
    entry.device_bytes += size;
  }
  entry.total += time;
}

void Call::part(std::int64_t bytes, int rank, MPI_Comm comm) {
  bytes_ += bytes;
  if (!counted_ || silent_ || bytes == 0) return;  // a part without data isn't a message
  const std::int32_t peer = world_rank(rank, comm);
  Store::Lock lock(store());
  store().sent(peer, static_cast<std::uint64_t>(bytes));
}

// ---- Requests -----------------------------------------------------------------------------------

void Call::begun(const MPI_Request* request) {
  if (!outermost_ || *request == MPI_REQUEST_NULL) return;
  ++profile().unfinished;
  trace_.begins = true;
  trace_.request = number(*request);
}

void Call::remember(MPI_Request request, std::int64_t bytes, std::int32_t peer, int tag,
                    MPI_Comm comm, Persistent::Kind kind) {
  if (!outermost_) return;
  Store::Lock lock(store());
  if (Persistent* slot = persistent_of(number(request), true)) {
    slot->bytes = peer == kNull ? 0 : bytes;
    slot->peer = peer;
    slot->tag = tag == MPI_ANY_TAG ? -1 : tag;
    slot->comm = number(comm);
    slot->kind = kind;
    slot->active = false;
    slot->partitioned = is_partitioned(function_);
    slot->device = device_;
    slot->root = trace_.root >= 0 ? trace_.root_world : kNoPeer;
    slot->number = kind == Persistent::kCollective && traced_ ? tracer().next_collective() : -1;
  } else {
    profile().persistent_lost = true;
  }
}

// Each request counts as one call of Start or, if it receives, of Start_receive, with its part of
// the time.
void Call::start(int count, const MPI_Request* requests) {
  if (!outermost_) return;
  started_ = true;
  const std::uint64_t each = count > 0 ? time_ / static_cast<std::uint64_t>(count) : 0;
  Store::Lock lock(store());
  for (int i = 0; i < count; ++i) {
    Persistent* slot = persistent_of(number(requests[i]), false);
    if (slot && !slot->active) {
      slot->active = true;
      ++profile().unfinished;
    }
    if (!counted_) continue;
    const bool receives = slot && slot->kind == Persistent::kReceive;
    add(receives ? kMpiStart_receive : kMpiStart, slot ? slot->peer : kUnknownPeer,
        slot ? slot->bytes : 0, each, slot && slot->device);
    if (slot && slot->kind == Persistent::kSend) {
      store().sent(slot->peer, static_cast<std::uint64_t>(slot->bytes));
    }
    if (traced_ && slot) record_started(number(requests[i]), *slot, i == 0);
  }
}

void Call::freed(const MPI_Request* request) {
  if (!outermost_ || *request == MPI_REQUEST_NULL) return;
  Store::Lock lock(store());
  Persistent* slot = persistent_of(number(*request), false);
  if (!slot || slot->active) --profile().unfinished;
  if (slot) slot->kind = Persistent::kRemoved;
  const std::uint32_t place = tracer().requests().claim(number(*request));
  if (place == 0) return;
  const ActiveRequest removed = tracer().requests().take(place);
  // A request that is freed without cancellation takes part in the matching, though no call
  // completes it.
  if (!traced_ || !removed.cancelled || !is_cancelled(*request)) return;
  trace_.completions = few_completions_;
  trace_.completion_count = 1;
  few_completions_[0] = Completion{};
  few_completions_[0].age = static_cast<std::int64_t>(removed.id);
  few_completions_[0].actual = true;
  few_completions_[0].source = kNull;
  few_completions_[0].tag = removed.tag;
}

void Call::pending(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i) pending_ += requests[i] != MPI_REQUEST_NULL;
  if (traced_) keep_handles(count, requests);
}

// MPI sets the handles of completed requests to null, except of persistent ones.
void Call::completed_all(int count, const MPI_Request* requests, bool done) {
  if (!outermost_ || !done) return;
  int left = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    ++left;
    completed_persistent(requests[i]);
  }
  profile().unfinished -= pending_ - left;
  if (traced_) {
    for (int i = 0; i < count; ++i) complete(i, i);
  }
}

void Call::completed_one(const MPI_Request* requests, int index, int place) {
  if (!outermost_ || failed_ || index == MPI_UNDEFINED || index < 0) return;
  if (traced_) complete(index, place);
  if (requests[index] == MPI_REQUEST_NULL) {
    --profile().unfinished;
    return;
  }
  completed_persistent(requests[index]);
}

void Call::completed_persistent(MPI_Request request) {
  Store::Lock lock(store());
  Persistent* slot = persistent_of(number(request), false);
  if (slot && slot->active) {
    slot->active = false;
    --profile().unfinished;
  }
}

void Call::erroneous(int error, bool in_order, int count, const MPI_Request* requests) {
  if (!outermost_) return;
  int left = 0, kind = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) left += requests[i] != MPI_REQUEST_NULL;
  if (pending_ > left) profile().unfinished -= pending_ - left;
  if (!traced_) return;
  ASSAY_MPI(Error_class)(error, &kind);
  const bool known = in_order && (kind == MPI_ERR_IN_STATUS || kind == MPI_ERR_TRUNCATE);
  for (int i = 0; i < trace_.handle_count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL || trace_.waited[i].handle == MPI_REQUEST_NULL) continue;
    if (!in_order) --profile().unfinished;
    complete(i, known ? i : -1, false);
  }
}

void Call::completed_some(const MPI_Request* requests, int count, const int* indices) {
  if (count == MPI_UNDEFINED) {
    failed_ = false;  // there was nothing to wait for
    return;
  }
  for (int i = 0; i < count; ++i) completed_one(requests, indices[i], i);
}

// ---- Communicators and the life of MPI ----------------------------------------------------------

void Call::made_like(MPI_Comm like, MPI_Comm comm) {
  if (!outermost_ || comm == MPI_COMM_NULL) return;
  if (tracer().active()) trace_communicator(like, comm);
  if (like != comm) return;  // not yet to be used
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0, size = 0;
  ASSAY_MPI(Comm_get_name)(comm, name, &length);
  ASSAY_MPI(Comm_size)(comm, &size);
  Store::Lock lock(store());
  store().made(number(comm), function_, size, name);
}

void Call::unmade(MPI_Comm comm) {
  if (!outermost_) return;
  Store::Lock lock(store());
  if (traced_) trace_.number = tracer().number_of(number(comm));
  tracer().forget(number(comm));
  if (Communicator* found = store().communicator(number(comm))) found->freed = true;
  // The next communicator may get the same handle.
  for (Translated& one : translated) one = Translated{};
}

void Call::named(MPI_Comm comm, const char* name) {
  if (!outermost_) return;
  Store::Lock lock(store());
  Communicator* found = store().communicator(number(comm));
  if (!found) return;
  std::uint32_t i = 0;
  for (; name[i] && i + 1 < sizeof found->name; ++i) found->name[i] = name[i];
  found->name[i] = 0;
}

void Call::initialised() {
  if (!outermost_) return;
  Profile& mine = profile();
  begin_node();
  begin_profile();
  mine.has_world = true;
  ASSAY_MPI(Comm_rank)(MPI_COMM_WORLD, &mine.rank);
  ASSAY_MPI(Comm_size)(MPI_COMM_WORLD, &mine.size);
  ASSAY_MPI(Query_thread)(&mine.level);
  if (!mine.fortran && mine.rank == 0) say_fortran();
  MPI_Comm parent = MPI_COMM_NULL;
  ASSAY_MPI(Comm_get_parent)(&parent);
  note_parent(parent != MPI_COMM_NULL);
  claim_files(mine.rank);
  process_fields();
  attach_sampling();
  if (mine.cost == 0) mine.cost = cost(Tracer::asked_for(), address_);
  {
    Store::Lock lock(store());
    store().made(number(MPI_COMM_WORLD), function_, mine.size, "MPI_COMM_WORLD");
    tracer().start(mine.begin, mine.begin_wall, mine.rank, mine.size);
  }
  if (!tracer().wanted()) return;
  trace_communicator(MPI_COMM_WORLD, MPI_COMM_WORLD);
  trace_communicator(MPI_COMM_SELF, MPI_COMM_SELF);
  compare_clocks(true);
}

void Call::finalising() {
  if (!outermost_) return;
  compare_clocks(false);
  end_clocks();
  profile().has_world = false;
  if (profile().sessions == 0) write_profile("finalize");
}

void Call::aborting() {
  if (outermost_) write_profile("abort");
}

void Call::session(int change) {
  if (!outermost_) return;
  if (change > 0) {
    begin_profile();
    profile().has_sessions = !profile().has_world;
    claim_files(profile().rank);
    process_fields();
    attach_sampling();
    Store::Lock lock(store());
    tracer().start(profile().begin, profile().begin_wall, profile().rank, profile().size);
  }
  profile().sessions += change;
  if (change < 0 && profile().sessions == 0 && !profile().has_world) write_profile("finalize");
}

// ---- Quantities ---------------------------------------------------------------------------------

int Call::own(MPI_Comm comm) {
  int rank = 0;
  ASSAY_MPI(Comm_rank)(comm, &rank);
  return rank;
}

int Call::ranks(MPI_Comm comm) {
  int inter = 0, size = 0;
  ASSAY_MPI(Comm_test_inter)(comm, &inter);
  if (inter) {
    ASSAY_MPI(Comm_remote_size)(comm, &size);
  } else {
    ASSAY_MPI(Comm_size)(comm, &size);
  }
  return size;
}

int Call::others(MPI_Comm comm) {
  int inter = 0;
  ASSAY_MPI(Comm_test_inter)(comm, &inter);
  return ranks(comm) - (inter ? 0 : 1);
}

int Call::neighbours(MPI_Comm comm) {
  int topology = MPI_UNDEFINED, in = 0, out = 0, weighted = 0;
  ASSAY_MPI(Topo_test)(comm, &topology);
  if (topology == MPI_CART) {
    ASSAY_MPI(Cartdim_get)(comm, &out);
    return 2 * out;
  }
  if (topology == MPI_GRAPH) {
    ASSAY_MPI(Graph_neighbors_count)(comm, own(comm), &out);
  } else if (topology == MPI_DIST_GRAPH) {
    ASSAY_MPI(Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
  }
  return out;
}

std::int64_t Call::size_of(MPI_Datatype type) {
  int size = 0;
  ASSAY_MPI(Type_size)(type, &size);
  return size;
}

bool Call::is_partitioned(std::int32_t function) {
  return function == kMpiPsend_init || function == kMpiPrecv_init;
}

std::int32_t Call::world_rank(int rank, MPI_Comm comm) {
  if (rank == MPI_PROC_NULL) return kNull;
  if (rank == MPI_ANY_SOURCE) return kAny;
  if (comm == MPI_COMM_WORLD) return rank;
  if (!profile().has_world) return kUnknownPeer;
  const std::uint64_t handle = number(comm);
  const auto place = (handle ^ handle >> 12 ^ static_cast<std::uint32_t>(rank)) % kTranslated;
  {
    Store::Lock lock(store());
    if (translated[place].comm == handle && translated[place].rank == rank) {
      return translated[place].world;
    }
  }
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int inter = 0, found = MPI_UNDEFINED;
  ASSAY_MPI(Comm_test_inter)(comm, &inter);
  if (inter) {
    ASSAY_MPI(Comm_remote_group)(comm, &group);
  } else {
    ASSAY_MPI(Comm_group)(comm, &group);
  }
  ASSAY_MPI(Comm_group)(MPI_COMM_WORLD, &world);
  ASSAY_MPI(Group_translate_ranks)(group, 1, &rank, world, &found);
  ASSAY_MPI(Group_free)(&group);
  ASSAY_MPI(Group_free)(&world);
  const std::int32_t result = found == MPI_UNDEFINED ? kUnknownPeer : found;
  Store::Lock lock(store());
  translated[place] = {handle, rank, result};
  return result;
}

}  // namespace assay::trace
