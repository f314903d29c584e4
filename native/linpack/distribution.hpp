// Block-cyclic distribution of one dimension of a matrix over the parts of a process grid.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay::linpack {

// `size` indices in blocks of `block` (the last may be shorter), assigned cyclically to `parts`:
// block b belongs to part b % parts, and is stored there behind the part's earlier blocks. All
// indices count from 0.
struct Cyclic {
  std::int64_t size = 0;
  std::int64_t block = 1;
  int parts = 1;

  constexpr int owner(std::int64_t global) const {
    return static_cast<int>(global / block % parts);
  }

  // The index that `global` has on its owner.
  constexpr std::int64_t local(std::int64_t global) const {
    return global / block / parts * block + global % block;
  }

  constexpr std::int64_t global(std::int64_t local, int part) const {
    return (local / block * parts + part) * block + local % block;
  }

  // Number of indices of a part that are less than `global`, which may belong to another part or
  // equal the size; also the local index of the part's first index that is not less.
  constexpr std::int64_t below(std::int64_t global, int part) const {
    const std::int64_t round = block * parts;
    const std::int64_t rest = global % round - part * block;
    return global / round * block + std::clamp(rest, std::int64_t{0}, block);
  }

  // All indices of a part.
  constexpr std::int64_t count(int part) const { return below(size, part); }
};

}  // namespace assay::linpack
