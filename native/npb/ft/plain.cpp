#include "npb/ft/plain.hpp"

#include <omp.h>

#include <algorithm>

#include "npb/common/random.hpp"

namespace assay::npb {

PlainFt::PlainFt(const FtClass& problem, const FtGrid& grid, MPI_Comm comm, int threads)
    : problem_(problem), comm_(comm), threads_(threads), position_(grid, comm) {
  if (!position_.works) return;

  const auto [nx, ny, nz] = problem.extents;
  const auto x_shares = ft_shares(nx, kFtUnit, grid.across);
  const auto y_shares = ft_shares(ny, kFtUnit, grid.across);
  const auto y_along = ft_shares(ny, 1, grid.along);
  const auto z_shares = ft_shares(nz, 1, grid.along);
  with_z_ = {x_shares[position_.across], y_along[position_.along], {0, nz}};
  with_y_ = {x_shares[position_.across], {0, ny}, z_shares[position_.along]};
  with_x_ = {{0, nx}, y_shares[position_.across], z_shares[position_.along]};
  const Transpose::Options options{.element_bytes = sizeof(Number), .own_stays = false};
  std::size_t before = 0;
  std::size_t after = 0;
  if (grid.along > 1) {
    z_to_y_ = std::make_unique<Transpose>(position_.along_group.comm(),
                                          std::array<std::uint64_t, 3>{nz, ny, size_of(with_z_.x)},
                                          0, 1, z_shares, y_along, options);
    before = z_to_y_->size_before();
    after = z_to_y_->size_after();
  }
  if (grid.across > 1) {
    y_to_x_ = std::make_unique<Transpose>(position_.across_group.comm(),
                                          std::array<std::uint64_t, 3>{size_of(with_y_.z), ny, nx},
                                          1, 2, y_shares, x_shares, options);
    before = std::max(before, y_to_x_->size_before());
    after = std::max(after, y_to_x_->size_after());
  }
  spectrum_ = HugeArray<Number>(with_z_.points());
  state_ = HugeArray<Number>(std::max({with_z_.points(), with_y_.points(), with_x_.points()}));
  before_ = HugeArray<Number>(before);
  after_ = HugeArray<Number>(after);
  work_.resize(static_cast<std::size_t>(threads));
  const std::size_t longest = std::max({nx, ny, nz});
  for (Work& work : work_) {
    work.block.resize(kFtUnit * longest);
    work.line.resize(longest);
    work.transformed.resize(longest);
  }
}

std::size_t PlainFt::bytes() const {
  std::size_t numbers = spectrum_.size() + state_.size() + before_.size() + after_.size();
  for (const Work& work : work_) {
    numbers += work.block.size() + work.line.size() + work.transformed.size();
  }
  return numbers * sizeof(Number);
}

// All threads, each with its share of 0 .. count - 1.
template <typename Action>
void PlainFt::for_all(std::uint64_t count, const Action& action) {
#pragma omp parallel num_threads(threads_)
  {
    const auto thread = static_cast<std::uint64_t>(omp_get_thread_num());
    const Share share = share_of({0, count}, thread, static_cast<std::uint64_t>(threads_));
    for (std::uint64_t i = share.begin; i < share.end; ++i) action(i, work_[thread]);
  }
}

// The generator runs through x, then y, then z, two numbers per point.
void PlainFt::draw(std::uint64_t seed) {
  const Box& box = with_x_;
  for_all(size_of(box.z) * size_of(box.y), [&](std::uint64_t row, Work&) {
    const std::uint64_t z = box.z.begin + row / size_of(box.y);
    const std::uint64_t y = box.y.begin + row % size_of(box.y);
    Random46 random(seed);
    random.skip(2 * problem_.extents[0] * (z * problem_.extents[1] + y));
    Number* numbers = state_.data() + row * problem_.extents[0];
    for (std::uint64_t x = 0; x < problem_.extents[0]; ++x) {
      numbers[x].re = random.next();
      numbers[x].im = random.next();
    }
  });
}

// Blocks of kFtUnit lines that are neighbours in x, or in y if x is transformed: lines along y and
// z have a whole row of each cache line that they touch.
template <bool kInverse>
void PlainFt::transform(Dimension dimension, const Box& box, const Number* from, Number* to) {
  const Fft& fft = *transforms_[dimension];
  const std::uint64_t counts[] = {size_of(box.x), size_of(box.y), size_of(box.z)};
  const std::size_t steps[] = {1, counts[0], counts[0] * counts[1]};
  const int inner = dimension == kX ? kY : kX;
  const int outer = dimension == kZ ? kY : kZ;
  const std::uint64_t blocks = (counts[inner] + kFtUnit - 1) / kFtUnit;
  const std::size_t size = fft.size();
  const std::size_t step = steps[dimension];
  for_all(counts[outer] * blocks, [&](std::uint64_t number, Work& work) {
    const std::uint64_t first = number % blocks * kFtUnit;
    const std::uint64_t lines = std::min(kFtUnit, counts[inner] - first);
    const std::size_t origin = number / blocks * steps[outer] + first * steps[inner];
    Number* block = work.block.data();
    for (std::size_t i = 0; i < size; ++i) {
      const Number* row = from + origin + i * step;
      for (std::uint64_t l = 0; l < lines; ++l) block[l * size + i] = row[l * steps[inner]];
    }
    for (std::uint64_t l = 0; l < lines; ++l) {
      Number* line = block + l * size;
      Number* transformed = work.transformed.data();
      fft.transform<kInverse>(
          work.line.data(), [&](std::size_t j) ASSAY_INLINE_LAMBDA { return line[j]; },
          [&](std::size_t k, Number value) ASSAY_INLINE_LAMBDA { transformed[k] = value; });
      std::copy(transformed, transformed + size, line);
    }
    for (std::size_t i = 0; i < size; ++i) {
      Number* row = to + origin + i * step;
      for (std::uint64_t l = 0; l < lines; ++l) row[l * steps[inner]] = block[l * size + i];
    }
  });
}

void PlainFt::evolve(int t, double alpha) {
  const auto [nx, ny, nz] = problem_.extents;
  const std::vector<double> decay_x = ft_decay(nx, t, alpha);
  const std::vector<double> decay_y = ft_decay(ny, t, alpha);
  const std::vector<double> decay_z = ft_decay(nz, t, alpha);
  const Box& box = with_z_;
  for_all(size_of(box.z) * size_of(box.y), [&](std::uint64_t row, Work&) {
    const double decay_yz =
        decay_y[box.y.begin + row % size_of(box.y)] * decay_z[box.z.begin + row / size_of(box.y)];
    const Number* from = spectrum_.data() + row * size_of(box.x);
    Number* to = state_.data() + row * size_of(box.x);
    for (std::uint64_t x = 0; x < size_of(box.x); ++x) {
      const double factor = decay_x[box.x.begin + x] * decay_yz;
      to[x] = {from[x].re * factor, from[x].im * factor};
    }
  });
}

// RNR-94-007, section 2.4, step 4.
std::complex<double> PlainFt::checksum() const {
  const auto [nx, ny, nz] = problem_.extents;
  const Box& box = with_x_;
  std::complex<double> sum;
  for (std::uint64_t j = 1; j <= kFtChecksumPoints; ++j) {
    const std::uint64_t y = 3 * j % ny;
    const std::uint64_t z = 5 * j % nz;
    if (y < box.y.begin || y >= box.y.end || z < box.z.begin || z >= box.z.end) continue;
    const Number& number = state_.data()[box.at(j % nx, y - box.y.begin, z - box.z.begin)];
    sum += std::complex(number.re, number.im);
  }
  return sum;
}

// Copies the state into the blocks of a transpose, or out of them. open: the dimension that is
// whole, whose indices have the places.
template <bool kIntoBlocks>
void PlainFt::copy(const Box& box, Dimension open, const std::vector<Place>& places,
                   Number* blocks) {
  const std::uint64_t width = size_of(box.x);
  for_all(size_of(box.z) * size_of(box.y), [&](std::uint64_t row, Work&) {
    const std::uint64_t y = row % size_of(box.y);
    const std::uint64_t z = row / size_of(box.y);
    Number* numbers = state_.data() + row * width;
    for (std::uint64_t x = 0; x < width;) {
      const Place& place = places[open == kX ? x : open == kY ? y : z];
      std::uint64_t end = width;
      std::size_t offset = place.offset;
      if (open == kX) {
        for (end = x; end < width && places[end].rank == place.rank;) ++end;
      } else {
        offset += x * place.strides[2];
      }
      if (open != kY) offset += y * place.strides[1];
      if (open != kZ) offset += z * place.strides[0];
      if constexpr (kIntoBlocks) {
        std::copy(numbers + x, numbers + end, blocks + offset);
      } else {
        std::copy(blocks + offset, blocks + offset + (end - x), numbers + x);
      }
      x = end;
    }
  });
}

void PlainFt::transpose(const Transpose* between, Phases& phases) {
  if (between == nullptr) return;
  const bool last = between == y_to_x_.get();
  phases.in(kFtCompute, [&] {
    copy<true>(last ? with_y_ : with_z_, last ? kY : kZ, between->places_before(), before_.data());
  });
  phases.in(kFtAlltoallv, [&] { between->exchange(before_.data(), after_.data()); });
  phases.in(kFtCompute, [&] {
    copy<false>(last ? with_x_ : with_y_, last ? kX : kY, between->places_after(), after_.data());
  });
}

void PlainFt::transpose_back(const Transpose* between, Phases& phases) {
  if (between == nullptr) return;
  const bool first = between == y_to_x_.get();
  phases.in(kFtCompute, [&] {
    copy<true>(first ? with_x_ : with_y_, first ? kX : kY, between->places_after(), after_.data());
  });
  phases.in(kFtAlltoallv, [&] { between->exchange_back(after_.data(), before_.data()); });
  phases.in(kFtCompute, [&] {
    copy<false>(first ? with_y_ : with_z_, first ? kY : kZ, between->places_before(),
                before_.data());
  });
}

void PlainFt::start(std::uint64_t seed, Phases& phases) {
  if (!position_.works) return;
  Number* state = state_.data();
  phases.in(kFtCompute, [&] {
    for (const Dimension dimension : {kX, kY, kZ}) {
      transforms_[dimension] = std::make_unique<Fft>(problem_.extents[dimension]);
    }
    draw(seed);
    transform<false>(kX, with_x_, state, state);
  });
  transpose_back(y_to_x_.get(), phases);
  phases.in(kFtCompute, [&] { transform<false>(kY, with_y_, state, state); });
  transpose_back(z_to_y_.get(), phases);
  phases.in(kFtCompute, [&] { transform<false>(kZ, with_z_, state, spectrum_.data()); });
}

std::complex<double> PlainFt::state_at(int t, double alpha, Phases& phases) {
  std::complex<double> sum;
  if (position_.works) {
    Number* state = state_.data();
    phases.in(kFtCompute, [&] {
      evolve(t, alpha);
      transform<true>(kZ, with_z_, state, state);
    });
    transpose(z_to_y_.get(), phases);
    phases.in(kFtCompute, [&] { transform<true>(kY, with_y_, state, state); });
    transpose(y_to_x_.get(), phases);
    phases.in(kFtCompute, [&] {
      transform<true>(kX, with_x_, state, state);
      sum = checksum();
    });
  }
  if (position_.ranks > 1) {
    phases.in(kFtAllreduce,
              [&] { MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm_); });
  }
  return sum / problem_.points();
}

}  // namespace assay::npb
