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

ActiveRequest* Requests::find(std::uint64_t handle) {
  for (std::uint32_t at = first_[bucket(handle)]; at > 0; at = nodes_[at - 1].next) {
    ActiveRequest& node = nodes_[at - 1];
    if (node.handle == handle && !node.claimed) return &node;
  }
  return nullptr;
}

std::uint32_t Requests::claim(std::uint64_t handle) {
  ActiveRequest* found = find(handle);
  if (!found) return 0;
  found->claimed = true;
  return static_cast<std::uint32_t>(found - nodes_) + 1;
}

ActiveRequest Requests::take(std::uint32_t place) {
  ActiveRequest& node = nodes_[place - 1];
  std::uint32_t* link = &first_[bucket(node.handle)];
  while (*link != place) link = &nodes_[*link - 1].next;
  const ActiveRequest taken = node;
  *link = node.next;
  node.next = free_;
  free_ = place;
  return taken;
}

}  // namespace assay::trace
