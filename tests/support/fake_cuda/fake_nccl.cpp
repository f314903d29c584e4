// An NCCL between processes of one machine: ranks move data through shared memory, in threads of
// their own, as a device would. A rank's vector goes to each rank that needs it; sums are made by
// the receiver. Faults are planted by the environment variable FAKE_NCCL: "wrong" (sums are wrong
// by one), "refuse:R:K" (the K-th operation of rank R is refused), "fail:R:K" (it fails later, and
// the others wait), "lose:R:K" (rank R's device is lost in it), "absent:R" (rank R can't join).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kCudaError = 1, kSystemError = 2, kRemoteError = 6, kFloat = 7;
constexpr std::size_t kMostRanks = 8, kPiece = 1 << 14;

// One piece on its way from one rank to another.
struct Box {
  std::atomic<bool> full;
  char bytes[kPiece];
};

struct Shared {
  std::atomic<int> joined;
  Box boxes[kMostRanks][kMostRanks];  // from, to
};

void (*change_pending)(int) = nullptr;
void (*lose_device)() = nullptr;

// What waits in a stream comes first. The device's streams begin with the function that does it.
void begin_waiting(void* stream) { (*static_cast<void (**)(void*)>(stream))(stream); }

void find_device() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  change_pending = reinterpret_cast<void (*)(int)>(dlsym(driver, "fake_cuda_pending"));
  lose_device = reinterpret_cast<void (*)()>(dlsym(driver, "fake_cuda_lose"));
}

std::string fault() {
  const char* const given = std::getenv("FAKE_NCCL");
  return given == nullptr ? "" : given;
}
bool planted(const std::string& name, int rank, long operation = 0) {
  std::string wanted = name + ":" + std::to_string(rank);
  if (operation > 0) wanted += ":" + std::to_string(operation);
  return fault() == wanted;
}

struct Transfer {
  int peer;
  char* at;
  std::size_t bytes;
  std::size_t done = 0;
};

struct Group {
  int rank = 0, ranks = 1;
  Shared* shared = nullptr;
  std::atomic<bool> aborted{false}, stopping{false};
  std::atomic<int> error{0};
  long operations = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> work;
  std::thread worker;

  void serve() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return stopping || !work.empty(); });
      if (work.empty()) return;
      const auto next = std::move(work.front());
      work.pop_front();
      lock.unlock();
      if (!aborted) next();
      change_pending(-1);
    }
  }

  void add(std::function<void()> next) {
    change_pending(1);
    const std::lock_guard lock(mutex);
    work.push_back(std::move(next));
    changed.notify_one();
  }

  // Moves pieces until all are through.
  void move(std::vector<Transfer> sends, std::vector<Transfer> receives) {
    const auto through = [](const std::vector<Transfer>& all) {
      for (const Transfer& each : all) {
        if (each.done < each.bytes) return false;
      }
      return true;
    };
    while (!aborted && !(through(sends) && through(receives))) {
      for (Transfer& each : sends) step(each, shared->boxes[rank][each.peer], true);
      for (Transfer& each : receives) step(each, shared->boxes[each.peer][rank], false);
      std::this_thread::yield();
    }
  }

  static void step(Transfer& transfer, Box& box, bool sends) {
    if (transfer.done == transfer.bytes || box.full == sends) return;
    const std::size_t size = std::min(kPiece, transfer.bytes - transfer.done);
    if (sends) {
      std::memcpy(box.bytes, transfer.at + transfer.done, size);
    } else {
      std::memcpy(transfer.at + transfer.done, box.bytes, size);
    }
    transfer.done += size;
    box.full = sends;
  }
};

// Whether an operation goes on, after what is planted for it.
int begin(Group& group, std::function<void()> work) {
  const long number = ++group.operations;
  if (planted("refuse", group.rank, number)) return kCudaError;
  if (planted("fail", group.rank, number)) {
    group.add([&group] {
      group.error = kRemoteError;
      while (!group.aborted) std::this_thread::yield();
    });
    return 0;
  }
  if (planted("lose", group.rank, number)) {
    lose_device();
    return 0;
  }
  group.add(std::move(work));
  return 0;
}

std::size_t size_of(int type) { return type == kFloat ? sizeof(float) : sizeof(double); }

template <typename Real>
void add_up(Group& group, const std::vector<std::vector<char>>& parts, void* to,
            std::size_t count) {
  auto* const sum = static_cast<Real*>(to);
  for (std::size_t i = 0; i < count && !group.aborted; ++i) {
    sum[i] = static_cast<Real>(i == 0 && fault() == "wrong" ? 1 : 0);
    for (const auto& part : parts) sum[i] += reinterpret_cast<const Real*>(part.data())[i];
  }
}

// Each rank sends block `peer` of its vector (or the whole) to rank `peer`, and adds up what comes.
void reduce(Group& group, const void* from, void* to, std::size_t count, int type, bool scatters) {
  const std::size_t bytes = count * size_of(type);
  std::vector<std::vector<char>> parts(static_cast<std::size_t>(group.ranks));
  std::vector<Transfer> sends, receives;
  for (int peer = 0; peer < group.ranks; ++peer) {
    char* const out = static_cast<char*>(const_cast<void*>(from)) +
                      (scatters ? static_cast<std::size_t>(peer) * bytes : 0);
    parts[static_cast<std::size_t>(peer)].resize(bytes);
    sends.push_back({peer, out, bytes});
    receives.push_back({peer, parts[static_cast<std::size_t>(peer)].data(), bytes});
  }
  group.move(sends, receives);
  (type == kFloat ? add_up<float> : add_up<double>)(group, parts, to, count);
}

struct Pending {
  Group* group = nullptr;
  std::vector<Transfer> sends, receives;
};
Pending pending;

}  // namespace

extern "C" {

struct Id {
  char text[128];
};

int ncclGetVersion(int* version) {
  *version = 22105;
  return 0;
}

int ncclGetUniqueId(Id* id) {
  static int number = 0;
  std::snprintf(id->text, sizeof id->text, "/fake-nccl-%d-%d", getpid(), number++);
  const int file = shm_open(id->text, O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return kSystemError;
  close(file);
  return 0;
}

int ncclCommInitRank(void** made, int ranks, Id id, int rank) {
  find_device();
  if (planted("absent", rank)) return kSystemError;
  if (change_pending == nullptr || static_cast<std::size_t>(ranks) > kMostRanks)
    return kSystemError;
  const int file = shm_open(id.text, O_RDWR, 0600);
  if (file < 0) return kSystemError;
  void* const at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  auto* const group = new Group;
  group->rank = rank;
  group->ranks = ranks;
  group->shared = static_cast<Shared*>(at);
  ++group->shared->joined;
  while (group->shared->joined < ranks) std::this_thread::yield();
  if (rank == 0) shm_unlink(id.text);
  group->worker = std::thread([group] { group->serve(); });
  *made = group;
  return 0;
}

int ncclCommDestroy(void* handle) {
  auto* const group = static_cast<Group*>(handle);
  {
    const std::lock_guard lock(group->mutex);
    group->stopping = true;
  }
  group->changed.notify_one();
  group->worker.join();
  munmap(group->shared, sizeof(Shared));
  delete group;
  return 0;
}

int ncclCommAbort(void* handle) {
  static_cast<Group*>(handle)->aborted = true;
  return ncclCommDestroy(handle);
}

int ncclCommGetAsyncError(void* handle, int* error) {
  *error = static_cast<Group*>(handle)->error;
  return 0;
}

const char* ncclGetErrorString(int code) {
  return code == kCudaError     ? "unhandled cuda error"
         : code == kSystemError ? "unhandled system error"
         : code == kRemoteError ? "remote process exited or there was a network error"
                                : "no error";
}

int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, void* handle,
                  void* stream) {
  begin_waiting(stream);
  auto& group = *static_cast<Group*>(handle);
  return begin(group, [=, &group] { reduce(group, from, to, count, type, false); });
}

int ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int, void* handle,
                      void* stream) {
  begin_waiting(stream);
  auto& group = *static_cast<Group*>(handle);
  return begin(group, [=, &group] { reduce(group, from, to, count, type, true); });
}

int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* handle,
                  void* stream) {
  begin_waiting(stream);
  auto& group = *static_cast<Group*>(handle);
  const std::size_t bytes = count * size_of(type);
  std::vector<Transfer> sends, receives;
  for (int peer = 0; peer < group.ranks; ++peer) {
    sends.push_back({peer, static_cast<char*>(const_cast<void*>(from)), bytes});
    receives.push_back(
        {peer, static_cast<char*>(to) + static_cast<std::size_t>(peer) * bytes, bytes});
  }
  return begin(group, [=, &group] { group.move(sends, receives); });
}

int ncclGroupStart() {
  pending = {};
  return 0;
}

int ncclSend(const void* from, std::size_t count, int type, int peer, void* handle, void* stream) {
  begin_waiting(stream);
  pending.group = static_cast<Group*>(handle);
  pending.sends.push_back(
      {peer, static_cast<char*>(const_cast<void*>(from)), count * size_of(type)});
  return 0;
}

int ncclRecv(void* to, std::size_t count, int type, int peer, void* handle, void* stream) {
  begin_waiting(stream);
  pending.group = static_cast<Group*>(handle);
  pending.receives.push_back({peer, static_cast<char*>(to), count * size_of(type)});
  return 0;
}

int ncclGroupEnd() {
  const Pending all = pending;
  pending = {};
  if (all.group == nullptr) return 0;
  Group& group = *all.group;
  return begin(group, [=, &group] { group.move(all.sends, all.receives); });
}

}  // extern "C"
