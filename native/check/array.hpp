// An array on huge pages, if the system has them.
#pragma once

#include <cstddef>

#include "memory/mapping.hpp"

namespace assay::check {

// Zero until written.
template <class T>
class Array {
 public:
  Array() = default;
  // Throws KernelError if the system refuses.
  explicit Array(std::size_t size)
      : mapping_(size * sizeof(T), PageSize::huge),
        data_(static_cast<T*>(mapping_.start())),
        size_(size) {
    mapping_.advise(PageSize::huge);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  Mapping mapping_;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace assay::check
