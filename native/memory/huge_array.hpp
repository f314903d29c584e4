// An array on huge pages, typed.
#pragma once

#include <cstddef>
#include <type_traits>

#include "memory/pages.hpp"

namespace assay {

// Zero until written; the thread that first writes a page decides which NUMA node it is on, and
// pages never written cost no memory.
template <typename T>
class HugeArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  HugeArray() = default;
  explicit HugeArray(std::size_t size)
      : pages_(size * sizeof(T), Pages::Size::huge), data_(pages_.as<T>()), size_(size) {}

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  Pages pages_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay
