// Collective operations between the devices of several ranks, by a vendor's library: NVIDIA's NCCL,
// or AMD's RCCL, which has the same functions (NVIDIA: NCCL API, 2.7). It is loaded at run time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace assay::device {

// The types of elements, by NCCL's numbers.
enum class Element : int { kFloat = 7, kDouble = 8 };

// One rank's part of a group of devices. All calls throw DeviceError.
class Collectives {
 public:
  // Names a group: rank 0 makes it, and gives it to all ranks.
  using Id = std::array<char, 128>;

  // Loads the library for devices of that backend.
  explicit Collectives(const std::string& backend);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  // Name and version: "NCCL 2.21.5".
  std::string library() const;

  Id new_id() const;

  // Begins to join the group with this rank's device, and returns at once: it takes until all ranks
  // have joined.
  void join(Device& device, const Id& id, int ranks, int rank);
  bool joined();

  // Operations, in the order of the queue, on elements of that type. Each returns at once.
  // `count`: elements of each rank's vector.
  void allreduce(const Buffer& from, Buffer& to, std::size_t count, Element type, Queue& queue);
  // `count`: elements of a block, which one rank contributes, keeps or sends to another.
  void allgather(const Buffer& from, Buffer& to, std::size_t count, Element type, Queue& queue);
  void reduce_scatter(const Buffer& from, Buffer& to, std::size_t count, Element type,
                      Queue& queue);
  void alltoall(const Buffer& from, Buffer& to, std::size_t count, Element type, Queue& queue);

  // Whether all work of the queue is done. Doesn't block. Throws if the device or the library has
  // failed.
  bool done(const Queue& queue) const;

  // Ends operations that wait for other ranks. Nothing else may be called afterwards.
  void abort();

 private:
  struct Library;
  struct Joining;

  void check(int code, const char* doing) const;

  std::unique_ptr<Library> library_;
  std::shared_ptr<Joining> joining_;
  void* group_ = nullptr;
  int ranks_ = 0;
};

}  // namespace assay::device
