#include "network/extent.hpp"

#include <array>
#include <utility>

namespace assay {

Extent::Extent(std::size_t bytes, std::size_t block) : count_(static_cast<int>(bytes)) {
  if (bytes <= block) return;
  count_ = 1;
  MPI_Datatype of_block = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(block), MPI_BYTE, &of_block);
  const std::size_t blocks = bytes / block;
  const std::array<int, 2> lengths{static_cast<int>(blocks), static_cast<int>(bytes % block)};
  const std::array<MPI_Aint, 2> offsets{0, static_cast<MPI_Aint>(blocks * block)};
  const std::array<MPI_Datatype, 2> types{of_block, MPI_BYTE};
  MPI_Type_create_struct(2, lengths.data(), offsets.data(), types.data(), &own_);
  MPI_Type_commit(&own_);
  MPI_Type_free(&of_block);
}

Extent::~Extent() {
  if (own_ != MPI_DATATYPE_NULL) MPI_Type_free(&own_);
}

Extent::Extent(Extent&& other) noexcept
    : count_(other.count_), own_(std::exchange(other.own_, MPI_DATATYPE_NULL)) {}

Extent& Extent::operator=(Extent&& other) noexcept {
  std::swap(count_, other.count_);
  std::swap(own_, other.own_);
  return *this;
}

}  // namespace assay
