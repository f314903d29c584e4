#include "events/requests.hpp"

namespace assay::trace {

ActiveRequest* Requests::add(std::uint64_t handle) {
  std::uint32_t place = free_;
  if (place > 0) {
    free_ = nodes_[place - 1].next;
  } else if (fresh_ < kMost) {
    place = ++fresh_;
  } else {
    return nullptr;
  }
  std::uint32_t* link = &first_[bucket(handle)];
  while (*link > 0) link = &nodes_[*link - 1].next;  // behind older ones
  *link = place;
  nodes_[place - 1] = ActiveRequest{};
  nodes_[place - 1].handle = handle;
  return &nodes_[place - 1];
}

bool Requests::take(std::uint64_t handle, ActiveRequest* taken) {
  for (std::uint32_t* link = &first_[bucket(handle)]; *link > 0; link = &nodes_[*link - 1].next) {
    const std::uint32_t place = *link;
    ActiveRequest& node = nodes_[place - 1];
    if (node.handle != handle) continue;
    *taken = node;
    *link = node.next;
    node.next = free_;
    free_ = place;
    return true;
  }
  return false;
}

ActiveRequest* Requests::find(std::uint64_t handle) {
  for (std::uint32_t at = first_[bucket(handle)]; at > 0; at = nodes_[at - 1].next) {
    if (nodes_[at - 1].handle == handle) return &nodes_[at - 1];
  }
  return nullptr;
}

}  // namespace assay::trace
