// The connection to the partner node.
#pragma once

#include <cstddef>
#include <string>

#include "check/component.hpp"
#include "harness/clock.hpp"
#include "storage/descriptor.hpp"

namespace assay::check {

// Which of two nodes listens: the one whose name comes first. The names are compared without their
// domains, unless they are equal without them, because each node may know the other by either. A
// partner that is named by its address is compared with this node's own address instead.
bool listens(const std::string& self, const std::string& partner);

class Connection {
 public:
  // Connects, or waits until the partner has connected, at most `settings.wait`. Afterwards
  // nothing waits longer than that in addition to `seconds`. Throws KernelError: the partner's
  // name is unknown, or it doesn't come.
  Connection(const Settings& settings, double seconds);

  // Whether this node connected; the other one listened.
  bool connected() const { return connected_; }

  // All bytes. Throw KernelError if the partner ends, or is too slow.
  void send(const void* from, std::size_t bytes);
  void receive(void* to, std::size_t bytes);

  // Both nodes are done: neither may see the other's end as a failure.
  void finish();

 private:
  void wait_for(short events);
  [[noreturn]] void fail(const std::string& words, int error) const;

  std::string partner_;
  Descriptor socket_;
  bool connected_ = false;
  Ticks limit_ = 0;
};

}  // namespace assay::check
