#include "device/collectives.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "device/library.hpp"

namespace assay::device {
namespace {

using Group = void*;
using Stream = void*;

constexpr int kFine = 0, kInProgress = 7, kSum = 0;  // ncclResult_t, ncclRedOp_t
constexpr int kNotReady = 600;                       // cuStreamQuery and hipStreamQuery

struct Vendor {
  const char* backend;
  const char* name;
  const char* file;
  const char* brings;
  std::vector<std::string> drivers;
  const char* query;  // the driver's function that says whether a stream is done
};

const Vendor kVendors[] = {
    {"cuda",
     "NCCL",
     "libnccl.so.2",
     "NVIDIA's package libnccl2 brings it, or the wheel nvidia-nccl-cu12",
     {"libcuda.so.1"},
     "cuStreamQuery"},
    {"hip",
     "RCCL",
     "librccl.so.1",
     "ROCm's package rccl brings it",
     {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
      "/opt/rocm/lib/libamdhip64.so"},
     "hipStreamQuery"},
};

const Vendor& vendor_of(const std::string& backend) {
  for (const Vendor& each : kVendors) {
    if (backend == each.backend) return each;
  }
  throw DeviceError("collectives between devices need NCCL (CUDA) or RCCL (HIP); the backend '" +
                    backend + "' has none");
}

// The first line of a text.
std::string first_line(const char* text) {
  const std::string whole = text == nullptr ? "" : text;
  return whole.substr(0, whole.find('\n'));
}

}  // namespace

struct Collectives::Library {
  explicit Library(const Vendor& vendor)
      : name(vendor.name),
        nccl({vendor.file},
             std::string(vendor.name) + ": " + vendor.file + " is missing; " + vendor.brings),
        driver(vendor.drivers, vendor.drivers[0] + " is missing") {
#define ASSAY_FIND(name) nccl.find(name, #name)
    ASSAY_FIND(ncclGetVersion);
    ASSAY_FIND(ncclGetUniqueId);
    ASSAY_FIND(ncclGetErrorString);
    ASSAY_FIND(ncclCommInitRank);
    ASSAY_FIND(ncclCommDestroy);
    ASSAY_FIND(ncclCommAbort);
    ASSAY_FIND(ncclCommGetAsyncError);
    ASSAY_FIND(ncclAllReduce);
    ASSAY_FIND(ncclAllGather);
    ASSAY_FIND(ncclReduceScatter);
    ASSAY_FIND(ncclGroupStart);
    ASSAY_FIND(ncclGroupEnd);
    ASSAY_FIND(ncclSend);
    ASSAY_FIND(ncclRecv);
#undef ASSAY_FIND
    try {
      nccl.find(ncclGetLastError, "ncclGetLastError");
    } catch (const DeviceError&) {
      ncclGetLastError = nullptr;  // before 2.13
    }
    driver.find(query, vendor.query);
  }

  const char* name;
  device::Library nccl, driver;
  int (*query)(Stream) = nullptr;
  int (*ncclGetVersion)(int*) = nullptr;
  int (*ncclGetUniqueId)(Id*) = nullptr;
  const char* (*ncclGetErrorString)(int) = nullptr;
  const char* (*ncclGetLastError)(Group) = nullptr;
  int (*ncclCommInitRank)(Group*, int, Id, int) = nullptr;
  int (*ncclCommDestroy)(Group) = nullptr;
  int (*ncclCommAbort)(Group) = nullptr;
  int (*ncclCommGetAsyncError)(Group, int*) = nullptr;
  int (*ncclAllReduce)(const void*, void*, std::size_t, int, int, Group, Stream) = nullptr;
  int (*ncclAllGather)(const void*, void*, std::size_t, int, Group, Stream) = nullptr;
  int (*ncclReduceScatter)(const void*, void*, std::size_t, int, int, Group, Stream) = nullptr;
  int (*ncclGroupStart)() = nullptr;
  int (*ncclGroupEnd)() = nullptr;
  int (*ncclSend)(const void*, std::size_t, int, int, Group, Stream) = nullptr;
  int (*ncclRecv)(void*, std::size_t, int, int, Group, Stream) = nullptr;
};

// Outlives this object if a rank never joins: then the thread that waits for it does so, too.
struct Collectives::Joining {
  std::atomic<bool> over{false};
  int code = kFine;
  std::string failure;
  Group group = nullptr;
};

Collectives::Collectives(const std::string& backend)
    : library_(std::make_unique<Library>(vendor_of(backend))) {}

Collectives::~Collectives() {
  if (group_ != nullptr) library_->ncclCommDestroy(group_);
}

std::string Collectives::library() const {
  int code = 0;
  check(library_->ncclGetVersion(&code), "asking for the version");
  // 2708 was 2.7.8; since 2.9 there are two digits more.
  const int step = code < 10000 ? 1000 : 10000;
  return std::string(library_->name) + " " + std::to_string(code / step) + "." +
         std::to_string(code % step / 100) + "." + std::to_string(code % 100);
}

Collectives::Id Collectives::new_id() const {
  Id id{};
  check(library_->ncclGetUniqueId(&id), "naming a group of devices");
  return id;
}

void Collectives::join(Device& device, const Id& id, int ranks, int rank) {
  ranks_ = ranks;
  joining_ = std::make_shared<Joining>();
  const auto initialise = library_->ncclCommInitRank;
  std::thread([joining = joining_, initialise, &device, id, ranks, rank] {
    try {
      device.use();
      joining->code = initialise(&joining->group, ranks, id, rank);
    } catch (const DeviceError& error) {
      joining->failure = error.what();
    }
    joining->over = true;
  }).detach();
}

bool Collectives::joined() {
  if (!joining_->over) return false;
  if (!joining_->failure.empty()) throw DeviceError(joining_->failure);
  check(joining_->code, "joining the devices of all ranks");
  group_ = joining_->group;
  return true;
}

void Collectives::allreduce(const Buffer& from, Buffer& to, std::size_t count, Element type,
                            Queue& queue) {
  check(library_->ncclAllReduce(from.address(), to.address(), count, static_cast<int>(type), kSum,
                                group_, queue.handle()),
        "an allreduce");
}

void Collectives::allgather(const Buffer& from, Buffer& to, std::size_t count, Element type,
                            Queue& queue) {
  check(library_->ncclAllGather(from.address(), to.address(), count, static_cast<int>(type), group_,
                                queue.handle()),
        "an allgather");
}

void Collectives::reduce_scatter(const Buffer& from, Buffer& to, std::size_t count, Element type,
                                 Queue& queue) {
  check(library_->ncclReduceScatter(from.address(), to.address(), count, static_cast<int>(type),
                                    kSum, group_, queue.handle()),
        "a reduce-scatter");
}

void Collectives::alltoall(const Buffer& from, Buffer& to, std::size_t count, Element type,
                           Queue& queue) {
  const std::size_t block = count * (type == Element::kFloat ? sizeof(float) : sizeof(double));
  const auto* const out = static_cast<const char*>(from.address());
  auto* const in = static_cast<char*>(to.address());
  const int kind = static_cast<int>(type);
  int code = library_->ncclGroupStart();
  for (int peer = 0; peer < ranks_ && code == kFine; ++peer) {
    const std::size_t at = static_cast<std::size_t>(peer) * block;
    code = library_->ncclSend(out + at, count, kind, peer, group_, queue.handle());
    if (code != kFine) break;
    code = library_->ncclRecv(in + at, count, kind, peer, group_, queue.handle());
  }
  const int ended = library_->ncclGroupEnd();
  check(code == kFine ? ended : code, "an all-to-all");
}

bool Collectives::done(const Queue& queue) const {
  const int code = library_->query(queue.handle());
  int failed = kFine;
  check(library_->ncclCommGetAsyncError(group_, &failed), "asking for errors");
  if (failed != kInProgress) check(failed, "an operation between devices");
  if (code != kFine && code != kNotReady) {
    throw DeviceError("waiting for the device failed: its driver says error " +
                      std::to_string(code));
  }
  return code == kFine;
}

void Collectives::abort() {
  if (group_ != nullptr) library_->ncclCommAbort(group_);
  group_ = nullptr;
}

void Collectives::check(int code, const char* doing) const {
  if (code == kFine) return;
  std::string text = std::string(doing) + " failed: " + library_->name + " says " +
                     first_line(library_->ncclGetErrorString(code));
  if (library_->ncclGetLastError != nullptr) {
    const std::string more = first_line(library_->ncclGetLastError(nullptr));
    if (!more.empty()) text += " (" + more + ")";
  }
  throw DeviceError(text);
}

}  // namespace assay::device
