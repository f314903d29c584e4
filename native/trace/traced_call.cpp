// The facts of a call that are recorded in the trace.
#include <stdio.h>
#include <stdlib.h>

#include "call.hpp"
#include "clocks.hpp"
#include "functions.hpp"

namespace assay::trace {
namespace {

// Messages that a matched probe found.
struct Probed {
  std::uint64_t message = 0;
  std::uint64_t comm = 0;
  std::int32_t source = kUnknownPeer;
  std::int32_t tag = -1;
};
// World ranks of the most recently used targets in windows.
struct Target {
  std::uint64_t window = 0;
  std::int32_t rank = -1;
  std::int32_t world = kUnknownPeer;
};
constexpr std::uint32_t kTargets = 1024;
Target targets[kTargets];

constexpr std::uint32_t kProbed = 251;
Probed probed_messages[kProbed];

std::int64_t this_thread() {
  static std::atomic<std::int64_t> threads{0};
  static thread_local std::int64_t mine __attribute__((tls_model("initial-exec"))) = -1;
  if (mine < 0) mine = threads++;
  return mine;
}

// World ranks as the model has them: -1 none, -2 MPI_PROC_NULL, -3 unknown.
std::int64_t traced_peer(std::int32_t peer) { return peer <= kAny ? -3 : peer; }

std::int64_t traced_comm(std::uint64_t handle) {
  return handle ? tracer().number_of(handle) : kNoCommunicator;
}

std::int64_t bytes_of(const MPI_Status& status) {
  MPI_Count bytes = 0;
  ASSAY_MPI(Get_elements_x)(&status, MPI_BYTE, &bytes);
  return bytes < 0 ? -1 : static_cast<std::int64_t>(bytes);
}

// Runs of world ranks as JSON: [first, step, count], ...; false: without room.
bool print_runs(MPI_Group group, MPI_Group world, char* text, std::size_t size) {
  int count = 0;
  ASSAY_MPI(Group_size)(group, &count);
  int* numbers = static_cast<int*>(malloc(2 * sizeof(int) * static_cast<std::size_t>(count + 1)));
  if (!numbers) return false;
  int* ranks = numbers + count;
  for (int i = 0; i < count; ++i) numbers[i] = i;
  ASSAY_MPI(Group_translate_ranks)(group, count, numbers, world, ranks);
  std::size_t used = 1;
  text[0] = '[';
  text[1] = 0;
  bool all = true;
  for (int i = 0; i < count;) {
    all = all && ranks[i] != MPI_UNDEFINED;
    const int step = i + 1 < count ? ranks[i + 1] - ranks[i] : 1;
    int last = i;
    while (last + 1 < count && ranks[last + 1] - ranks[last] == step) ++last;
    const int length = snprintf(text + used, size - used, "%s[%d,%d,%d]", i ? "," : "", ranks[i],
                                step, last - i + 1);
    if (length < 0 || static_cast<std::size_t>(length) + 2 >= size - used) all = false;
    if (!all) break;
    used += static_cast<std::size_t>(length);
    i = last + 1;
  }
  free(numbers);
  text[used] = ']';
  text[used + 1] = 0;
  return all;
}

}  // namespace

MPI_Status* Call::statuses(int count, MPI_Status* theirs) {
  if (!traced_ || count < 0) return theirs;
  trace_.statuses = theirs;
  if (theirs != MPI_STATUSES_IGNORE && theirs != MPI_STATUS_IGNORE) return theirs;
  trace_.statuses = few_statuses_;
  if (count > kFew) {
    trace_.statuses =
        static_cast<MPI_Status*>(malloc(sizeof(MPI_Status) * static_cast<std::size_t>(count)));
    trace_.own_statuses = trace_.statuses != nullptr;
  }
  return trace_.statuses ? trace_.statuses : theirs;
}

void Call::arrived(const MPI_Status* status) {
  if (!traced_ || !trace_.expects) return;
  const auto comm = current_comm_;
  if (trace_.source == kAny) trace_.source = world_rank(status->MPI_SOURCE, comm);
  if (trace_.source_tag < 0 && trace_.source != kNull) trace_.source_tag = status->MPI_TAG;
  trace_.received = trace_.source == kNull ? 0 : bytes_of(*status);
  trace_.room = 0;
}

// A message that is longer than its receive is received, too.
void Call::not_arrived(int error, const MPI_Status* status) {
  if (!traced_ || !trace_.expects) return;
  int kind = MPI_SUCCESS;
  ASSAY_MPI(Error_class)(error, &kind);
  if (kind == MPI_ERR_TRUNCATE && status) arrived(status);
  trace_.received = -1;
}

void Call::probed(const MPI_Status* status, bool found) {
  if (!traced_ || !found || !status) return;
  if (peer_ == kAny) trace_.source = world_rank(status->MPI_SOURCE, current_comm_);
  trace_.tag = status->MPI_TAG;
}

void Call::message(const MPI_Message* message) {
  if (!traced_ || *message == MPI_MESSAGE_NULL || *message == MPI_MESSAGE_NO_PROC) return;
  Store::Lock lock(store());
  Probed& slot = probed_messages[number(*message) % kProbed];
  slot = {number(*message), trace_.comm, trace_.source != kNoPeer ? trace_.source : peer_,
          trace_.tag};
}

void Call::expect_message(std::uint64_t message, std::int64_t room) {
  Store::Lock lock(store());
  const Probed& slot = probed_messages[message % kProbed];
  const bool known = slot.message == message;
  expect(known ? slot.source : kUnknownPeer, known ? slot.tag : MPI_ANY_TAG, room, false);
  if (known) trace_.comm = slot.comm;
}

void Call::cancelled(const MPI_Request* request) {
  if (!outermost_) return;
  Store::Lock lock(store());
  if (ActiveRequest* found = tracer().requests().find(number(*request))) found->cancelled = true;
}

void Call::made_object(std::uint64_t handle) {
  if (!tracer().active()) return;
  Store::Lock lock(store());
  tracer().alias(object(handle), tracer().number_of(trace_.comm));
}

void Call::unmade_object(std::uint64_t handle) {
  if (!tracer().active()) return;
  Store::Lock lock(store());
  if (traced_) trace_.number = tracer().number_of(object(handle));
  tracer().forget(object(handle));
  // The next window may get the same handle.
  for (Target& one : targets) one = Target{};
}

void Call::target(int rank, MPI_Win win) {
  if (!traced_ || !profile().has_world) return;
  if (rank == MPI_PROC_NULL) {
    trace_.root_world = kNull;
    trace_.root = 0;
    return;
  }
  trace_.root = rank;
  const std::uint64_t window = number(win);
  Target& slot = targets[(window ^ window >> 12 ^ static_cast<std::uint32_t>(rank)) % kTargets];
  {
    Store::Lock lock(store());
    if (slot.window == window && slot.rank == rank) {
      trace_.root_world = slot.world;
      return;
    }
  }
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int found = MPI_UNDEFINED;
  ASSAY_MPI(Win_get_group)(win, &group);
  ASSAY_MPI(Comm_group)(MPI_COMM_WORLD, &world);
  ASSAY_MPI(Group_translate_ranks)(group, 1, &rank, world, &found);
  ASSAY_MPI(Group_free)(&group);
  ASSAY_MPI(Group_free)(&world);
  trace_.root_world = found == MPI_UNDEFINED ? kUnknownPeer : found;
  Store::Lock lock(store());
  slot = {window, rank, trace_.root_world};
}

void Call::group(MPI_Group group) {
  if (!traced_ || !profile().has_world) return;
  constexpr std::size_t kRoom = 1U << 14;
  char* text = static_cast<char*>(malloc(kRoom));
  if (!text) return;
  MPI_Group world = MPI_GROUP_NULL;
  ASSAY_MPI(Comm_group)(MPI_COMM_WORLD, &world);
  const bool known = print_runs(group, world, text, kRoom - 2);
  ASSAY_MPI(Group_free)(&world);
  if (known) {
    Store::Lock lock(store());
    trace_.epoch = tracer().group(text);
  }
  free(text);
}

void Call::keep_handles(int count, const MPI_Request* requests) {
  if (count <= 0) return;
  const auto size = static_cast<std::size_t>(count);
  trace_.waited = few_waited_;
  trace_.completions = few_completions_;
  if (count > kFew) {
    trace_.waited = static_cast<Waited*>(malloc(size * sizeof(Waited)));
    trace_.completions = static_cast<Completion*>(malloc(size * sizeof(Completion)));
  }
  trace_.handle_count = trace_.waited && trace_.completions ? count : 0;
  Store::Lock lock(store());
  for (int i = 0; i < trace_.handle_count; ++i) {
    const bool none = requests[i] == MPI_REQUEST_NULL;
    trace_.waited[i] = {requests[i], none ? 0 : tracer().requests().claim(number(requests[i]))};
  }
}

void Call::release_claims() {
  if (trace_.handle_count > 0) {
    Store::Lock lock(store());
    for (int i = 0; i < trace_.handle_count; ++i) {
      if (trace_.waited[i].place > 0) tracer().requests().release(trace_.waited[i].place);
    }
  }
  if (trace_.waited != few_waited_) free(trace_.waited);
}

void Call::complete(int request, int status, bool whole) {
  if (request >= trace_.handle_count || trace_.waited[request].place == 0) return;
  ActiveRequest taken;
  {
    Store::Lock lock(store());
    taken = tracer().requests().take(trace_.waited[request].place);
  }
  trace_.waited[request].place = 0;
  Completion one;
  one.age = static_cast<std::int64_t>(taken.id);  // until it is recorded
  const MPI_Status* known = status >= 0 && trace_.statuses ? trace_.statuses + status : nullptr;
  int cancelled = 0;
  if (taken.cancelled && known) ASSAY_MPI(Test_cancelled)(known, &cancelled);
  if (cancelled) {  // it had no partner
    one.source = kNull;
    one.tag = taken.tag;
    one.actual = true;
  } else if (taken.receives && taken.source != kNull) {
    one.bytes = known && whole ? bytes_of(*known) : -1;
    one.source = traced_peer(taken.source);
    one.tag = taken.tag;
    if (known && taken.source == kAny) {
      one.source = traced_peer(world_rank_of(known->MPI_SOURCE, taken.comm));
    }
    if (known && taken.tag < 0) one.tag = known->MPI_TAG;
    one.actual =
        one.bytes != taken.bytes || one.source != traced_peer(taken.source) || one.tag != taken.tag;
  }
  trace_.completions[trace_.completion_count++] = one;
}

Event Call::blank(std::int32_t function) const {
  Event event;
  auto& field = event.signature.field;
  tracer().function(function);
  field[kFunctionField] = function;
  field[kThreadField] = this_thread();
  field[kSiteField] = tracer().site(site_);
  field[kPeerField] = field[kSourceField] = -1;
  field[kTagField] = field[kSourceTagField] = -1;
  event.begin = begin_;
  event.end = begin_ + time_;
  return event;
}

void Call::record() {
  const Kind kind = kFunctions[function_].kind;
  Store::Lock lock(store());
  Event event = blank(function_);
  auto& field = event.signature.field;
  field[kCommunicatorField] = trace_.number >= 0 ? trace_.number : traced_comm(trace_.comm);
  std::int64_t flags = 0;
  if (kind == kPoint) {
    field[kSentField] = trace_.sent;
    if (sent_ || !trace_.expects) {
      field[kPeerField] = traced_peer(peer_);
      field[kTagField] = trace_.tag;
    }
    if (trace_.expects && trace_.half) {
      field[kSourceField] = traced_peer(trace_.source);
      field[kSourceTagField] = trace_.source_tag;
      field[kPeerField] = traced_peer(peer_);
      field[kTagField] = trace_.tag;
      flags |= kBothWays;
    } else if (trace_.expects) {
      field[kPeerField] = traced_peer(trace_.source);
      field[kTagField] = trace_.source_tag;
    }
    if (trace_.expects && trace_.begins) flags |= kPosted;
    field[kReceivedField] = trace_.begins ? trace_.room : trace_.received;
  } else if (kind == kProbe) {
    field[kPeerField] = traced_peer(trace_.source != kNoPeer ? trace_.source : peer_);
    field[kTagField] = trace_.tag;
  } else if (kind == kCollective || kind == kStartKind) {
    field[kPeerField] = trace_.root >= 0 ? traced_peer(trace_.root_world) : -1;
    field[kSentField] = silent_ ? 0 : bytes_;
    field[kReceivedField] = kind == kCollective ? -1 : 0;
  } else if (kind == kOneSided || kind == kFile) {
    field[kPeerField] = trace_.root >= 0 ? traced_peer(trace_.root_world) : -1;
    field[kSentField] = trace_.sends ? bytes_ : 0;
    field[kReceivedField] = trace_.receives ? bytes_ : 0;
    field[kTagField] = trace_.epoch;
  } else if (kind == kCommunicator) {
    field[kTagField] = trace_.made;
  }
  if (failed_) field[kReceivedField] = -1;  // a test or probe that found nothing
  if (trace_.begins && begin_request(trace_.request)) flags |= kBegins;
  field[kFlagsField] = flags;
  for (std::uint32_t i = 0; i < trace_.completion_count; ++i) {
    auto& age = trace_.completions[i].age;
    age = static_cast<std::int64_t>(tracer().requests_begun()) - age;
  }
  event.completions = trace_.completions;
  event.completion_count = trace_.completion_count;
  tracer().add(event, failed_);
}

bool Call::begin_request(std::uint64_t handle) {
  ActiveRequest* made = tracer().begin_request(handle);
  if (!made) return false;
  made->receives = trace_.expects;
  made->source = trace_.source;
  made->tag = trace_.source_tag;
  made->bytes = trace_.room;
  made->comm = trace_.comm;
  return true;
}

// With the lock. The first of several events has the call's time, the others have none.
void Call::record_started(std::uint64_t handle, const Persistent& slot, bool first) {
  const bool receives = slot.kind == Persistent::kReceive;
  const bool collective = slot.kind == Persistent::kCollective;
  const std::int32_t plain = receives ? kMpiStart_receive : kMpiStart_send;
  const std::int32_t parts = receives ? kMpiStart_precv : kMpiStart_psend;
  std::int32_t function = slot.partitioned ? parts : plain;
  if (collective) function = kMpiStart_collective;
  Event event = blank(function);
  if (!first) event.begin = event.end;
  auto& field = event.signature.field;
  field[kCommunicatorField] = tracer().number_of(slot.comm);
  field[kPeerField] = traced_peer(collective ? slot.root : slot.peer);
  field[kTagField] = collective ? slot.number : slot.tag;
  field[receives ? kReceivedField : kSentField] = slot.bytes;
  trace_.expects = receives;
  trace_.source = slot.peer;
  trace_.source_tag = slot.tag;
  trace_.room = slot.bytes;
  trace_.comm = slot.comm;
  std::int64_t flags = receives ? std::int64_t{kPosted} : 0;
  if (begin_request(handle)) flags |= kBegins;
  field[kFlagsField] = flags;
  tracer().add(event, false);
}

void Call::trace_communicator(MPI_Comm like, MPI_Comm comm) {
  constexpr std::size_t kRoom = 1U << 15;
  char* text = static_cast<char*>(malloc(2 * kRoom + 16));
  if (!text) return;
  char* remote_text = text + kRoom;
  bool known = false, both = false;
  if (profile().has_world) {
    MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
    int inter = 0;
    ASSAY_MPI(Comm_test_inter)(like, &inter);
    ASSAY_MPI(Comm_group)(MPI_COMM_WORLD, &world);
    ASSAY_MPI(Comm_group)(like, &group);
    known = print_runs(group, world, text, kRoom);
    if (inter && known) {
      MPI_Group remote = MPI_GROUP_NULL;
      ASSAY_MPI(Comm_remote_group)(like, &remote);
      both = print_runs(remote, world, remote_text, kRoom);
      known = both;
      ASSAY_MPI(Group_free)(&remote);
    }
    ASSAY_MPI(Group_free)(&group);
    ASSAY_MPI(Group_free)(&world);
  }
  {
    Store::Lock lock(store());
    const std::uint32_t parent = trace_.comm ? tracer().number_of(trace_.comm) : kNoCommunicator;
    trace_.made = tracer().communicator(number(comm), parent, function_, known ? text : nullptr,
                                        both ? remote_text : nullptr);
  }
  free(text);
}

}  // namespace assay::trace
