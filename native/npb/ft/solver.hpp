// FT's partial differential equation, du/dt = alpha laplacian(u), solved by Fourier transforms of a
// grid distributed over all ranks of MPI.
#pragma once

#include <mpi.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/phases.hpp"
#include "memory/huge_array.hpp"
#include "npb/common/code.hpp"
#include "npb/ft/classes.hpp"
#include "npb/ft/fft.hpp"
#include "npb/ft/grid.hpp"
#include "npb/ft/position.hpp"
#include "npb/ft/transpose.hpp"

namespace assay::npb {

inline constexpr std::uint64_t kFtSeed = 314159265;
inline constexpr double kFtAlpha = 1e-6;

enum FtPhase : std::size_t { kFtCompute, kFtAlltoallv, kFtAllreduce };

// Maximum bytes that a rank allocates.
double ft_bytes_per_rank(const FtClass& problem, int ranks, int threads, Code code);

// The states of the equation, as either code computes them.
class FtStates {
 public:
  FtStates() = default;
  FtStates(const FtStates&) = delete;
  FtStates& operator=(const FtStates&) = delete;
  virtual ~FtStates() = default;

  // Draws the initial state and computes its transform; the roots of unity are computed again too.
  virtual void start(std::uint64_t seed, Phases& phases) = 0;

  // The state at time t and its checksum, the same on every rank. The transform of the initial
  // state is not changed: a step doesn't depend on earlier steps.
  virtual std::complex<double> state_at(int t, double alpha, Phases& phases) = 0;

  // Bytes of this rank's arrays.
  virtual std::size_t bytes() const = 0;
};

// exp(-4 alpha pi^2 k^2 t) for all k of a dimension; k in the upper half are negative.
std::vector<double> ft_decay(std::uint32_t size, int t, double alpha);

// Points of the checksum.
inline constexpr std::uint64_t kFtChecksumPoints = 1024;

// The tuned code. All arrays hold packets of kLanes points that are consecutive in x, and after x
// is transformed back, in y.
class FtSolver final : public FtStates {
 public:
  // Collective over comm, which has at least as many ranks as the grid. Arrays beyond `cache_bytes`
  // (a rank's part of the last-level cache) are written with stores that bypass the caches.
  FtSolver(const FtClass& problem, const FtGrid& grid, MPI_Comm comm, int threads,
           std::size_t cache_bytes);

  void start(std::uint64_t seed, Phases& phases) override;
  std::complex<double> state_at(int t, double alpha, Phases& phases) override;
  std::size_t bytes() const override;

 private:
  // Positions of packets of a row: all x-packets and z count as one index, x the faster.
  struct Row {
    Packet* at;
    std::size_t step;
  };
  struct Work {
    std::vector<Packet> line;
    std::vector<Packet> other;
  };
  struct Tables {
    std::unique_ptr<Fft> x, y, z;
    std::vector<double> decay_x, decay_y, decay_z;
  };
  struct Point {
    const Packet* packet;
    int lane;
  };
  void allocate();
  void make_places();
  void make_points();
  void make_decay(int t, double alpha);

  Packet* tile_row(std::uint64_t x_packet, std::uint64_t y, std::uint64_t z) const;
  void draw_and_transform_x(std::uint64_t seed, std::uint64_t z, std::uint64_t y_packet,
                            Work& work);
  template <bool kInverse>
  void transform_y(const std::vector<Row>& from, const std::vector<Row>& to, std::uint64_t line,
                   Work& work);
  void store_far(Packet* place, Packet value) const;
  void transform_z(std::uint64_t line, Work& work);
  void evolve_and_transform_z(std::uint64_t line, Work& work);
  void transform_back_x(std::uint64_t z, std::uint64_t y_packet, Work& work);

  template <typename PerLine>
  void for_lines(std::uint64_t lines, PerLine per_line);
  template <typename First, typename Second>
  void for_planes(std::uint64_t first_lines, First first, std::uint64_t second_lines,
                  Second second);

  const FtClass& problem_;
  MPI_Comm comm_;
  int threads_;
  bool past_caches_ = false;
  FtGrid grid_;
  FtPosition position_;

  // This rank's shares: x in packets. y_ applies while x is whole, y_along_ while z is.
  Share x_{}, y_{}, y_along_{}, z_{};
  std::unique_ptr<Transpose> z_to_y_;
  std::unique_ptr<Transpose> y_to_x_;  // none with slabs

  HugeArray<Packet> spectrum_;  // of the initial state: x-packet, y, z
  HugeArray<Packet> field_;     // with y or x whole
  HugeArray<Packet> given_;     // data for, or from, other ranks while z or y is whole
  std::vector<Packet*> z_rows_;
  std::vector<Row> y_rows_;       // in field_
  std::vector<Row> y_rows_sent_;  // in given_; none with slabs
  std::vector<Row> x_rows_;       // of x-packets, in field_; none with slabs
  std::vector<Point> points_;     // points of the checksum on this rank
  Tables tables_;
  std::vector<Work> work_;
};

}  // namespace assay::npb
