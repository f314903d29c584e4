#include "network/collective_ops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace assay {
namespace {

int count(const Shape& s) { return static_cast<int>(s.bytes); }
int terms(const Shape& s) { return static_cast<int>(s.elements()); }

std::size_t nothing(const Shape&) { return 0; }
std::size_t one(const Shape& s) { return s.bytes; }
std::size_t one_each(const Shape& s) { return s.ranks() * s.bytes; }
std::size_t one_at_root(const Shape& s) { return s.is_root() ? s.bytes : 0; }
std::size_t one_elsewhere(const Shape& s) { return s.is_root() ? 0 : s.bytes; }
std::size_t all_at_root(const Shape& s) { return s.is_root() ? s.ranks() * s.bytes : 0; }

// Of blocks of different sizes: a rank's own one, and all of them. In an all-to-all every rank
// sends blocks of the same sizes, so that a rank receives blocks of one size.
std::size_t own_size(const Shape& s) { return s.block(s.rank); }
std::size_t all_sizes(const Shape& s) { return s.starts.back(); }
std::size_t own_size_each(const Shape& s) { return s.ranks() * s.block(s.rank); }

// Elements of a scattered vector before those of `rank`: shares differ by one at most.
std::size_t before(const Shape& s, int rank) {
  const auto r = static_cast<std::size_t>(rank);
  return s.elements() / s.ranks() * r + std::min(r, s.elements() % s.ranks());
}
std::size_t share(const Shape& s) {
  return (before(s, s.rank + 1) - before(s, s.rank)) * sizeof(double);
}

// A rank's block in each rank's buffer, where that holds one block, or one for each rank.
Origin same_place(const Shape& s, std::size_t i) { return {s.root, i}; }
Origin own_share(const Shape& s, std::size_t i) {
  return {s.root, before(s, s.rank) * sizeof(double) + i};
}
Origin own_block(const Shape& s, std::size_t i) {
  return {s.root, static_cast<std::size_t>(s.rank) * s.bytes + i};
}
Origin whole_of_each(const Shape& s, std::size_t i) {
  return {static_cast<int>(i / s.bytes), i % s.bytes};
}
Origin own_block_of_each(const Shape& s, std::size_t i) {
  return {static_cast<int>(i / s.bytes), static_cast<std::size_t>(s.rank) * s.bytes + i % s.bytes};
}

Origin whole_of_each_size(const Shape& s, std::size_t i) {
  const auto after = std::upper_bound(s.starts.begin(), s.starts.end(), i);
  const auto source = static_cast<std::size_t>(after - s.starts.begin()) - 1;
  return {static_cast<int>(source), i - s.starts[source]};
}
Origin own_size_of_each(const Shape& s, std::size_t i) {
  const std::size_t block = s.block(s.rank);
  return {static_cast<int>(i / block), s.starts[static_cast<std::size_t>(s.rank)] + i % block};
}

int barrier(const Shape&, const Buffers&, MPI_Comm comm) { return MPI_Barrier(comm); }

int bcast(const Shape& s, const Buffers& b, MPI_Comm comm) {
  // MPI's single buffer is read at the root and written elsewhere.
  void* buffer = s.is_root() ? const_cast<unsigned char*>(b.out) : b.in;
  return MPI_Bcast(buffer, count(s), MPI_BYTE, s.root, comm);
}

int reduce(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Reduce(b.out, b.in, terms(s), MPI_DOUBLE, MPI_SUM, s.root, comm);
}

int allreduce(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Allreduce(b.out, b.in, terms(s), MPI_DOUBLE, MPI_SUM, comm);
}

int reduce_scatter(const Shape&, const Buffers& b, MPI_Comm comm) {
  return MPI_Reduce_scatter(b.out, b.in, b.counts.data(), MPI_DOUBLE, MPI_SUM, comm);
}

int allgather(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Allgather(b.out, count(s), MPI_BYTE, b.in, count(s), MPI_BYTE, comm);
}

int allgatherv(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Allgatherv(b.out, static_cast<int>(s.block(s.rank)), MPI_BYTE, b.in, b.counts.data(),
                        b.places.data(), MPI_BYTE, comm);
}

int alltoall(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Alltoall(b.out, count(s), MPI_BYTE, b.in, count(s), MPI_BYTE, comm);
}

int alltoallv(const Shape&, const Buffers& b, MPI_Comm comm) {
  return MPI_Alltoallv(b.out, b.counts.data(), b.places.data(), MPI_BYTE, b.in, b.counts_in.data(),
                       b.places_in.data(), MPI_BYTE, comm);
}

int gather(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Gather(b.out, count(s), MPI_BYTE, b.in, count(s), MPI_BYTE, s.root, comm);
}

int scatter(const Shape& s, const Buffers& b, MPI_Comm comm) {
  return MPI_Scatter(b.out, count(s), MPI_BYTE, b.in, count(s), MPI_BYTE, s.root, comm);
}

}  // namespace

const std::vector<Collective>& collectives() {
  // name, rooted, reduces, varies, gives, gets, origin, call
  static const std::vector<Collective> all = {
      {"barrier", false, false, false, nothing, nothing, same_place, barrier},
      {"bcast", true, false, false, one_at_root, one_elsewhere, same_place, bcast},
      {"reduce", true, true, false, one, one_at_root, same_place, reduce},
      {"allreduce", false, true, false, one, one, same_place, allreduce},
      {"allgather", false, false, false, one, one_each, whole_of_each, allgather},
      {"allgatherv", false, false, true, own_size, all_sizes, whole_of_each_size, allgatherv},
      {"alltoall", false, false, false, one_each, one_each, own_block_of_each, alltoall},
      {"alltoallv", false, false, true, all_sizes, own_size_each, own_size_of_each, alltoallv},
      {"gather", true, false, false, one, all_at_root, whole_of_each, gather},
      {"scatter", true, false, false, all_at_root, one, own_block, scatter},
      {"reduce_scatter", false, true, false, one, share, own_share, reduce_scatter},
  };
  return all;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const Collective& each : collectives()) names.emplace_back(each.name);
  return names;
}

const Collective& find_collective(const std::string& name) {
  return *std::find_if(collectives().begin(), collectives().end(),
                       [&](const Collective& each) { return each.name == name; });
}

namespace {

// The ratio of each block to the one before it, from the largest over the mean: the root of
// size (1 - q) = imbalance (1 - q^size), which falls from `size` at 0 to 1 at 1.
double ratio_of_blocks(int size, double imbalance) {
  double low = 0.0;
  double high = 1.0;
  for (int halvings = 0; halvings < 60; ++halvings) {
    const double q = 0.5 * (low + high);
    const double largest = size * (1.0 - q) / (1.0 - std::pow(q, size));
    (largest > imbalance ? low : high) = q;
  }
  return 0.5 * (low + high);
}

}  // namespace

Shape with_blocks(Shape shape) {
  const double all = static_cast<double>(shape.ranks() * shape.bytes);
  const double q = shape.imbalance > 1.0 ? ratio_of_blocks(shape.size, shape.imbalance) : 1.0;
  shape.starts.clear();
  for (int rank = 0; rank <= shape.size; ++rank) {
    const double part = shape.imbalance > 1.0
                            ? (1.0 - std::pow(q, rank)) / (1.0 - std::pow(q, shape.size))
                            : static_cast<double>(rank) / shape.size;
    shape.starts.push_back(static_cast<std::size_t>(std::llround(all * part)));
  }
  return shape;
}

Buffers lists_of(const Collective& op, const Shape& shape) {
  Buffers lists;
  for (int rank = 0; op.varies && rank < shape.size; ++rank) {
    lists.counts.push_back(static_cast<int>(shape.block(rank)));
    lists.places.push_back(static_cast<int>(shape.starts[static_cast<std::size_t>(rank)]));
    lists.counts_in.push_back(static_cast<int>(shape.block(shape.rank)));
    lists.places_in.push_back(rank * static_cast<int>(shape.block(shape.rank)));
  }
  for (int rank = 0; op.call == reduce_scatter && rank < shape.size; ++rank) {
    lists.counts.push_back(static_cast<int>(before(shape, rank + 1) - before(shape, rank)));
  }
  return lists;
}

unsigned char byte_of(int source, std::size_t index, std::size_t round) {
  // Steele, Lea & Flood's mixing (SplitMix64) of source and round; then the top byte of a Fibonacci
  // hash, in which every bit of the index counts.
  std::uint64_t key = (static_cast<std::uint64_t>(source) << 8 ^ round) + 0x9E3779B97F4A7C15u;
  key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9u;
  key = (key ^ key >> 27) * 0x94D049BB133111EBu;
  return static_cast<unsigned char>((index ^ key) * 0x9E3779B97F4A7C15u >> 56);
}

namespace {
// Prime, so that elements at a distance that is a power of two differ.
constexpr std::size_t kPeriod = 65'521;
double weight_of(std::size_t element, std::size_t round) {
  return static_cast<double>(element % kPeriod + 1 + round);
}
}  // namespace

double term_of(int source, std::size_t element, std::size_t round) {
  return (source + 1.0) * weight_of(element, round);
}

double sum_of(int size, std::size_t element, std::size_t round) {
  return 0.5 * size * (size + 1.0) * weight_of(element, round);
}

}  // namespace assay
