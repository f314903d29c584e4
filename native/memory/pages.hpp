// Memory of kernels, page-aligned: on huge pages on request, bound to a NUMA node, kept for later.
#pragma once

#include <cstddef>
#include <string>

#include "harness/kernel.hpp"
#include "memory/mapping.hpp"

namespace assay {

// A mapping, with the NUMA node that it is bound to.
class Pages {
 public:
  using Size = PageSize;

  static constexpr int kFirstTouch = -1;

  Pages() = default;
  // Throws KernelError if the system refuses. With Size::huge the start is aligned to a huge page
  // and the system is advised to use huge pages, which it may decline. With a `node` all pages will
  // lie on that NUMA node, whichever thread touches them first.
  Pages(std::size_t bytes, Size size, int node = kFirstTouch);

  template <class T>
  T* as() const {
    return static_cast<T*>(mapping_.start());
  }

  std::size_t bytes() const { return mapping_.bytes(); }
  Size size() const { return size_; }
  int node() const { return node_; }

  // Bytes of the mapping that are on huge pages now, according to the kernel's smaps; 0 if unknown.
  std::size_t on_huge_pages() const;

 private:
  Mapping mapping_;
  Size size_ = Size::ordinary;
  int node_ = kFirstTouch;
};

// Pages that a measurement no longer needs, kept for the next one of this launch that requests the
// same size: a virtual machine may take seconds to fault in gigabytes again. They keep their
// content and their NUMA nodes. They count as available memory and are released when a large
// mapping is requested.
Pages take_spare_pages(std::size_t bytes, Pages::Size size, int node = Pages::kFirstTouch);
void keep_as_spare(Pages&& pages);

// The bytes that each rank may take so that the ranks of its node together take no more than the
// share `part` of the memory available there; infinite if that is unknown.
double memory_per_rank(const Context& context, double part);

// Throws KernelError with the numbers if `bytes` per rank are more than that. `what` names the
// data, in the plural; `fix` ends the message.
void require_memory(const Context& context, double part, double bytes, const std::string& what,
                    const std::string& fix);

}  // namespace assay
