// FT in the plain code: each step is a separate pass over the array.
//
// A transform is a pass for each dimension, which copies blocks of neighbouring lines out of the
// array, transforms line by line, and copies them back; the decay is a pass; and a transpose
// between ranks is one pass that packs outgoing data and one that unpacks incoming data. A rank
// keeps its part of the array in row order of z, y and x, whichever dimension is whole.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/huge_array.hpp"
#include "npb/ft/position.hpp"
#include "npb/ft/solver.hpp"

namespace assay::npb {

class PlainFt final : public FtStates {
 public:
  // Collective over comm, which has at least as many ranks as the grid.
  PlainFt(const FtClass& problem, const FtGrid& grid, MPI_Comm comm, int threads);

  void start(std::uint64_t seed, Phases& phases) override;
  std::complex<double> state_at(int t, double alpha, Phases& phases) override;
  std::size_t bytes() const override;

 private:
  using Number = PacketOf<double>;

  // This rank's part of the array.
  struct Box {
    Share x{}, y{}, z{};
    std::uint64_t points() const { return size_of(x) * size_of(y) * size_of(z); }
    std::size_t at(std::uint64_t i, std::uint64_t j, std::uint64_t k) const {
      return (k * size_of(y) + j) * size_of(x) + i;
    }
  };
  struct Work {
    std::vector<Number> block;  // some lines, one after the other
    std::vector<Number> line;
    std::vector<Number> transformed;
  };
  enum Dimension : std::size_t { kX, kY, kZ };

  template <typename Action>
  void for_all(std::uint64_t count, const Action& action);
  void draw(std::uint64_t seed);
  template <bool kInverse>
  void transform(Dimension dimension, const Box& box, const Number* from, Number* to);
  void evolve(int t, double alpha);
  std::complex<double> checksum() const;
  // between: nullptr if the two boxes are the same, and nothing has to be moved.
  void transpose(const Transpose* between, Phases& phases);
  void transpose_back(const Transpose* between, Phases& phases);
  template <bool kIntoBlocks>
  void copy(const Box& box, Dimension open, const std::vector<Place>& places, Number* blocks);

  const FtClass& problem_;
  MPI_Comm comm_;
  int threads_;
  FtPosition position_;
  Box with_z_, with_y_, with_x_;       // while that dimension is whole
  std::unique_ptr<Transpose> z_to_y_;  // none if nothing is cut along
  std::unique_ptr<Transpose> y_to_x_;  // none with slabs

  HugeArray<Number> spectrum_;  // of the initial state, with z whole
  HugeArray<Number> state_;
  HugeArray<Number> before_, after_;  // both ends of a transpose
  std::unique_ptr<Fft> transforms_[3];
  std::vector<Work> work_;
};

}  // namespace assay::npb
