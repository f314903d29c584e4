#include "npb/ft/solver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "npb/common/random.hpp"
#include "npb/common/shared.hpp"

namespace assay::npb {
namespace {

constexpr std::uint64_t kPacket = kLanes;

std::vector<Share> in_packets(std::vector<Share> shares) {
  for (Share& share : shares) share = {share.begin / kPacket, share.end / kPacket};
  return shares;
}

// Numbers in (0, 1), exact, from the generator's states.
ASSAY_LANES_INLINE Doubles fraction(Words state) {
  constexpr std::uint64_t kTwo52 = 0x4330000000000000;  // bits of 2^52, whose last place is 1
  return (as_doubles(state | kTwo52) - 0x1p52) * 0x1p-46;
}

}  // namespace

std::vector<double> ft_decay(std::uint32_t size, int t, double alpha) {
  constexpr double kPi = std::numbers::pi;
  std::vector<double> factors(size);
  for (std::uint32_t i = 0; i < size; ++i) {
    const double k = i < size / 2 ? i : static_cast<double>(i) - size;
    factors[i] = std::exp(-4.0 * alpha * kPi * kPi * (k * k) * t);
  }
  return factors;
}

double ft_bytes_per_rank(const FtClass& problem, int ranks, int threads, Code code) {
  using namespace shared;
  static_assert(sizeof(std::complex<double>) == kFtPointBytes);
  const double nx = problem.extents[0];
  const double ny = problem.extents[1];
  const double nz = problem.extents[2];
  const FtGrid grid = ft_grid(problem.extents, static_cast<std::uint64_t>(ranks));
  const auto across = static_cast<double>(grid.across);
#include "npb/ft/grid.def"
#include "npb/ft/memory.def"
  return code == Code::kPlain ? plain_bytes : bytes;
}

FtSolver::FtSolver(const FtClass& problem, const FtGrid& grid, MPI_Comm comm, int threads,
                   std::size_t cache_bytes)
    : problem_(problem), comm_(comm), threads_(threads), grid_(grid), position_(grid, comm) {
  if (!position_.works) return;

  const auto [nx, ny, nz] = problem.extents;
  const auto x_shares = in_packets(ft_shares(nx, kFtUnit, grid_.across));
  const auto y_shares = ft_shares(ny, kFtUnit, grid_.across);
  const auto y_along_shares = ft_shares(ny, 1, grid_.along);
  const auto z_shares = ft_shares(nz, 1, grid_.along);
  x_ = x_shares[position_.across];
  y_ = y_shares[position_.across];
  y_along_ = y_along_shares[position_.along];
  z_ = z_shares[position_.along];
  z_to_y_ = std::make_unique<Transpose>(
      position_.along_group.comm(), std::array<std::uint64_t, 3>{nz, size_of(x_), ny}, 0, 2,
      z_shares, y_along_shares,
      Transpose::Options{.element_bytes = sizeof(Packet), .own_stays = true});
  if (grid_.across > 1) {
    y_to_x_ = std::make_unique<Transpose>(
        position_.across_group.comm(), std::array<std::uint64_t, 3>{size_of(z_), nx / kPacket, ny},
        2, 1, y_shares, x_shares,
        Transpose::Options{.element_bytes = sizeof(Packet), .own_stays = false});
  }
  allocate();
  past_caches_ = (spectrum_.size() + field_.size() + given_.size()) * sizeof(Packet) > cache_bytes;
  make_places();
  make_points();
}

void FtSolver::allocate() {
  const auto [nx, ny, nz] = problem_.extents;
  std::size_t field = z_to_y_->size_after();
  std::size_t given = z_to_y_->size_before();
  if (y_to_x_) {
    field = std::max(field, y_to_x_->size_after());
    given = std::max(given, y_to_x_->size_before());
  }
  spectrum_ = HugeArray<Packet>(size_of(x_) * size_of(y_along_) * nz);
  field_ = HugeArray<Packet>(field);
  given_ = HugeArray<Packet>(given);
  work_.resize(static_cast<std::size_t>(threads_));
  for (Work& work : work_) {
    work.line.resize(std::max({nx, ny, nz}));
    work.other.resize(nx);
  }
}

std::size_t FtSolver::bytes() const {
  std::size_t packets = spectrum_.size() + field_.size() + given_.size();
  for (const Work& work : work_) packets += work.line.size() + work.other.size();
  return packets * sizeof(Packet);
}

// Converts Transpose's offsets to pointers.
void FtSolver::make_places() {
  for (const Place& place : z_to_y_->places_before()) {
    Packet* array = place.rank == z_to_y_->rank() ? field_.data() : given_.data();
    z_rows_.push_back(array + place.offset);
  }
  for (const Place& place : z_to_y_->places_after()) {
    y_rows_.push_back({field_.data() + place.offset, place.strides[1]});
  }
  if (!y_to_x_) return;
  for (const Place& place : y_to_x_->places_before()) {
    y_rows_sent_.push_back({given_.data() + place.offset, place.strides[1]});
  }
  for (const Place& place : y_to_x_->places_after()) {
    x_rows_.push_back({field_.data() + place.offset, place.strides[0]});
  }
}

// The packet of that x-packet in row y, which is this rank's own y-th; after x is transformed back,
// kLanes such packets, of rows y to y + kLanes - 1, hold as many values of x for those y.
inline Packet* FtSolver::tile_row(std::uint64_t x_packet, std::uint64_t y, std::uint64_t z) const {
  if (y_to_x_) return x_rows_[x_packet].at + z * x_rows_[x_packet].step + y;
  return y_rows_[y].at + (z * size_of(x_) + x_packet) * y_rows_[y].step;
}

// RNR-94-007, section 2.4, step 4.
void FtSolver::make_points() {
  const auto [nx, ny, nz] = problem_.extents;
  for (std::uint64_t j = 1; j <= kFtChecksumPoints; ++j) {
    const std::uint64_t x = j % nx;
    const std::uint64_t y = 3 * j % ny;
    const std::uint64_t z = 5 * j % nz;
    if (y < y_.begin || y >= y_.end || z < z_.begin || z >= z_.end) continue;
    const std::uint64_t row = y - y_.begin;
    const Packet* packet = tile_row(x / kPacket, row - row % kPacket + x % kPacket, z - z_.begin);
    points_.push_back({packet, static_cast<int>(row % kPacket)});
  }
}

void FtSolver::make_decay(int t, double alpha) {
  const auto [nx, ny, nz] = problem_.extents;
  tables_.decay_x = ft_decay(nx, t, alpha);
  tables_.decay_y = ft_decay(ny, t, alpha);
  tables_.decay_z = ft_decay(nz, t, alpha);
}

// ---- Lines --------------------------------------------------------------------------------------

// The generator runs through x, then y, then z, two numbers per point: each lane is a different y,
// and both halves of x are drawn in parallel, because each number depends on the one before.
void FtSolver::draw_and_transform_x(std::uint64_t seed, std::uint64_t z, std::uint64_t y_packet,
                                    Work& work) {
  const auto [nx, ny, nz] = problem_.extents;
  const std::uint64_t y = y_packet * kPacket;
  Random46 random(seed);
  random.skip(2 * nx * ((z_.begin + z) * ny + y_.begin + y));
  const std::uint64_t to_next_row = power_mod46(kMultiplier, 2 * nx);
  const std::uint64_t to_half = power_mod46(kMultiplier, nx);
  Words state[2];
  std::uint64_t of_row = random.state();
  for (std::uint64_t lane = 0; lane < kPacket; ++lane) {
    state[0][lane] = of_row;
    state[1][lane] = multiply_mod46(of_row, to_half);
    of_row = multiply_mod46(of_row, to_next_row);
  }
  Packet* line = work.line.data();
  for (std::uint64_t x = 0; x < nx / 2; ++x) {
    for (std::uint64_t half = 0; half < 2; ++half) {
      state[half] = state[half] * kMultiplier & kStateMask;
      line[x + half * nx / 2].re = fraction(state[half]);
      state[half] = state[half] * kMultiplier & kStateMask;
      line[x + half * nx / 2].im = fraction(state[half]);
    }
  }
  Packet* transformed = work.other.data();
  tables_.x->transform<false>(
      line, [&](std::size_t j) ASSAY_INLINE_LAMBDA { return line[j]; },
      [&](std::size_t k, Packet value) ASSAY_INLINE_LAMBDA { transformed[k] = value; });
  for (std::uint64_t x_packet = 0; x_packet < nx / kPacket; ++x_packet) {
    Packet tile[kPacket];
    for (std::uint64_t i = 0; i < kPacket; ++i) tile[i] = transformed[x_packet * kPacket + i];
    transpose_packets(tile);
    for (std::uint64_t i = 0; i < kPacket; ++i) *tile_row(x_packet, y + i, z) = tile[i];
  }
}

void FtSolver::transform_back_x(std::uint64_t z, std::uint64_t y_packet, Work& work) {
  const std::uint32_t nx = problem_.extents[0];
  const std::uint64_t y = y_packet * kPacket;
  Packet* line = work.line.data();
  for (std::uint64_t x_packet = 0; x_packet < nx / kPacket; ++x_packet) {
    Packet tile[kPacket];
    for (std::uint64_t i = 0; i < kPacket; ++i) tile[i] = *tile_row(x_packet, y + i, z);
    transpose_packets(tile);
    for (std::uint64_t i = 0; i < kPacket; ++i) line[x_packet * kPacket + i] = tile[i];
  }
  tables_.x->transform<true>(
      line, [&](std::size_t j) ASSAY_INLINE_LAMBDA { return line[j]; },
      [&](std::size_t k, Packet value)
          ASSAY_INLINE_LAMBDA { *tile_row(k / kPacket, y + k % kPacket, z) = value; });
}

template <bool kInverse>
void FtSolver::transform_y(const std::vector<Row>& from, const std::vector<Row>& to,
                           std::uint64_t line, Work& work) {
  tables_.y->transform<kInverse>(
      work.line.data(),
      [&](std::size_t y) ASSAY_INLINE_LAMBDA {
        const Packet* place = from[y].at + line * from[y].step;
        prefetch(place + from[y].step);
        return *place;
      },
      [&](std::size_t y, Packet value)
          ASSAY_INLINE_LAMBDA { *(to[y].at + line * to[y].step) = value; });
}

// For data that is read again only after everything else has passed through the caches.
ASSAY_INLINE void FtSolver::store_far(Packet* place, Packet value) const {
  if (past_caches_) {
    store_past_caches(place, value);
  } else {
    *place = value;
  }
}

void FtSolver::transform_z(std::uint64_t line, Work& work) {
  Packet* to = spectrum_.data() + line * tables_.z->size();
  tables_.z->transform<false>(
      work.line.data(), [&](std::size_t z) ASSAY_INLINE_LAMBDA { return *(z_rows_[z] + line); },
      [&](std::size_t z, Packet value) ASSAY_INLINE_LAMBDA { store_far(to + z, value); });
}

void FtSolver::evolve_and_transform_z(std::uint64_t line, Work& work) {
  const std::uint64_t rows = size_of(y_along_);
  const Packet* from = spectrum_.data() + line * tables_.z->size();
  const double* decay_x = tables_.decay_x.data() + (x_.begin + line / rows) * kPacket;
  const double* decay_z = tables_.decay_z.data();
  Doubles decay_xy;
  for (int lane = 0; lane < kLanes; ++lane) decay_xy[lane] = decay_x[lane];
  decay_xy *= tables_.decay_y[y_along_.begin + line % rows];
  tables_.z->transform<true>(
      work.line.data(),
      [&](std::size_t z) ASSAY_INLINE_LAMBDA {
        prefetch(from + tables_.z->size() + z);
        const Doubles factor = decay_xy * decay_z[z];
        return Packet{from[z].re * factor, from[z].im * factor};
      },
      [&](std::size_t z, Packet value)
          ASSAY_INLINE_LAMBDA { store_far(z_rows_[z] + line, value); });
}

// ---- Passes over the grid -----------------------------------------------------------------------

// All threads, each with its share of the lines.
template <typename PerLine>
void FtSolver::for_lines(std::uint64_t lines, PerLine per_line) {
#pragma omp parallel num_threads(threads_)
  {
    const auto thread = static_cast<std::uint64_t>(omp_get_thread_num());
    const Share share = share_of({0, lines}, thread, static_cast<std::uint64_t>(threads_));
    Work& work = work_[thread];
    for (std::uint64_t line = share.begin; line < share.end; ++line) per_line(line, work);
    store_fence();
  }
}

// Two passes over each plane of this rank's z, in immediate succession while the plane is in the
// caches; a thread has whole planes, unless they can't be divided evenly.
template <typename First, typename Second>
void FtSolver::for_planes(std::uint64_t first_lines, First first, std::uint64_t second_lines,
                          Second second) {
  const std::uint64_t planes = size_of(z_);
  const auto threads = static_cast<std::uint64_t>(threads_);
  const std::uint64_t most = (planes + threads - 1) / threads;
  if (most * threads * 10 > planes * 11) {
    for_lines(planes * first_lines, [&](std::uint64_t line, Work& work) {
      first(line / first_lines, line % first_lines, work);
    });
    for_lines(planes * second_lines, [&](std::uint64_t line, Work& work) {
      second(line / second_lines, line % second_lines, work);
    });
    return;
  }
  for_lines(planes, [&](std::uint64_t z, Work& work) {
    for (std::uint64_t line = 0; line < first_lines; ++line) first(z, line, work);
    for (std::uint64_t line = 0; line < second_lines; ++line) second(z, line, work);
  });
}

void FtSolver::start(std::uint64_t seed, Phases& phases) {
  if (!position_.works) return;
  const std::uint64_t x_packets = size_of(x_);
  const std::uint64_t y_packets = size_of(y_) / kPacket;
  const auto draw = [&](std::uint64_t z, std::uint64_t y_packet, Work& work) {
    draw_and_transform_x(seed, z, y_packet, work);
  };
  phases.in(kFtCompute, [&] {
    const auto [nx, ny, nz] = problem_.extents;
    tables_.x = std::make_unique<Fft>(nx);
    tables_.y = std::make_unique<Fft>(ny);
    tables_.z = std::make_unique<Fft>(nz);
  });
  if (y_to_x_) {
    phases.in(kFtCompute, [&] {
      for_lines(size_of(z_) * y_packets, [&](std::uint64_t line, Work& work) {
        draw(line / y_packets, line % y_packets, work);
      });
    });
    phases.in(kFtAlltoallv, [&] { y_to_x_->exchange_back(field_.data(), given_.data()); });
    phases.in(kFtCompute, [&] {
      for_lines(size_of(z_) * x_packets, [&](std::uint64_t line, Work& work) {
        transform_y<false>(y_rows_sent_, y_rows_, line, work);
      });
    });
  } else {
    phases.in(kFtCompute, [&] {
      for_planes(y_packets, draw, x_packets,
                 [&](std::uint64_t z, std::uint64_t x_packet, Work& work) {
                   transform_y<false>(y_rows_, y_rows_, z * x_packets + x_packet, work);
                 });
    });
  }
  if (!z_to_y_->alone()) {
    phases.in(kFtAlltoallv, [&] { z_to_y_->exchange_back(field_.data(), given_.data()); });
  }
  phases.in(kFtCompute, [&] {
    for_lines(x_packets * size_of(y_along_),
              [&](std::uint64_t line, Work& work) { transform_z(line, work); });
  });
}

std::complex<double> FtSolver::state_at(int t, double alpha, Phases& phases) {
  std::complex<double> sum;
  if (position_.works) {
    const std::uint64_t x_packets = size_of(x_);
    const std::uint64_t y_packets = size_of(y_) / kPacket;
    const auto back = [&](std::uint64_t z, std::uint64_t y_packet, Work& work) {
      transform_back_x(z, y_packet, work);
    };
    phases.in(kFtCompute, [&] {
      make_decay(t, alpha);
      for_lines(x_packets * size_of(y_along_),
                [&](std::uint64_t line, Work& work) { evolve_and_transform_z(line, work); });
    });
    if (!z_to_y_->alone()) {
      phases.in(kFtAlltoallv, [&] { z_to_y_->exchange(given_.data(), field_.data()); });
    }
    if (y_to_x_) {
      phases.in(kFtCompute, [&] {
        for_lines(size_of(z_) * x_packets, [&](std::uint64_t line, Work& work) {
          transform_y<true>(y_rows_, y_rows_sent_, line, work);
        });
      });
      phases.in(kFtAlltoallv, [&] { y_to_x_->exchange(given_.data(), field_.data()); });
      phases.in(kFtCompute, [&] {
        for_lines(size_of(z_) * y_packets, [&](std::uint64_t line, Work& work) {
          back(line / y_packets, line % y_packets, work);
        });
      });
    } else {
      phases.in(kFtCompute, [&] {
        for_planes(
            x_packets,
            [&](std::uint64_t z, std::uint64_t x_packet, Work& work) {
              transform_y<true>(y_rows_, y_rows_, z * x_packets + x_packet, work);
            },
            y_packets, back);
      });
    }
    phases.in(kFtCompute, [&] {
      for (const Point& point : points_) {
        sum += std::complex(point.packet->re[point.lane], point.packet->im[point.lane]);
      }
    });
  }
  if (position_.ranks > 1) {
    phases.in(kFtAllreduce,
              [&] { MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm_); });
  }
  return sum / problem_.points();
}

}  // namespace assay::npb
