// Memory directly from the system, returned at once after use. Without MPI.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "harness/values.hpp"

namespace assay {

// `ordinary` is the system's default, `small` is never huge.
enum class PageSize { ordinary, huge, small };

// Owns a mapping. Its pages do not exist before they are touched, and are then zero; the thread
// that first touches a page decides on which NUMA node it lies.
class Mapping {
 public:
  Mapping() = default;
  // Throws KernelError if the system refuses. With PageSize::huge the start is aligned to a huge
  // page.
  Mapping(std::size_t bytes, PageSize size) : bytes_(bytes) {
    const std::size_t slack = size == PageSize::huge ? kHugePage : 0;
    mapped_ = bytes + slack;
    if (mapped_ == 0) return;
    mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED) {
      mapping_ = nullptr;
      throw KernelError("the system refused " + std::to_string(bytes) +
                        " bytes of memory: " + std::strerror(errno));
    }
    const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
    const std::size_t shift = slack == 0 ? 0 : (kHugePage - address % kHugePage) % kHugePage;
    start_ = static_cast<char*>(mapping_) + shift;
  }
  Mapping(Mapping&& other) noexcept { swap(other); }
  Mapping& operator=(Mapping&& other) noexcept {
    swap(other);
    return *this;
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
  }

  void* start() const { return start_; }
  std::size_t bytes() const { return bytes_; }

  // Everything that the system mapped, the part before the aligned start included.
  void* whole() const { return mapping_; }
  std::size_t whole_bytes() const { return mapped_; }

  // Advice only, before the pages are touched: without transparent huge pages the kernel declines,
  // and nothing else changes.
  void advise(PageSize size) const {
#ifdef MADV_HUGEPAGE
    if (start_ == nullptr) return;
    if (size == PageSize::huge) madvise(start_, bytes_, MADV_HUGEPAGE);
    if (size == PageSize::small) madvise(start_, bytes_, MADV_NOHUGEPAGE);
#endif
  }

 private:
  // Size on x86-64 and on aarch64 with 4 KiB pages; elsewhere the alignment does no harm.
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  void swap(Mapping& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_, other.mapped_);
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
  }

  void* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  void* start_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace assay
