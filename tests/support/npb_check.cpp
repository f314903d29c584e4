// Gives tests/native/npb/test_npb.py access to internals of the NPB kernels: reads questions on
// stdin, one per line, and answers each with a line.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <istream>
#include <limits>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "compute/lanes.hpp"
#include "npb/cg/classes.hpp"
#include "npb/cg/matrix.hpp"
#include "npb/cg/solver.hpp"
#include "npb/cg/sparse_product.hpp"
#include "npb/common/random.hpp"
#include "npb/common/share.hpp"
#include "npb/ep/gaussian.hpp"

using namespace assay;
using namespace assay::npb;

namespace {

// seed skip: the state after that many steps, and the number that the next step yields.
void random(std::istream& in) {
  std::uint64_t seed = 0;
  std::uint64_t skip = 0;
  in >> seed >> skip;
  Random46 random(seed);
  random.skip(skip);
  const std::uint64_t state = random.state();
  std::printf("%llu %a\n", static_cast<unsigned long long>(state), random.next());
}

// x: the vector logarithm of x.
void log(std::istream& in) {
  std::string word;
  in >> word;
  std::printf("%a\n", logarithm(broadcast(std::stod(word)))[kLanes - 1]);
}

void print(const GaussianSums& sums) {
  std::printf("%a %a", sums.x, sums.y);
  for (const std::uint64_t count : sums.counts) {
    std::printf(" %llu", static_cast<unsigned long long>(count));
  }
}

// seed first count: sums and counts, tuned and then plain.
void pairs(std::istream& in) {
  std::uint64_t seed = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  in >> seed >> first >> count;
  print(gaussian_pairs(seed, first, count));
  std::printf(" ");
  print(gaussian_pairs_plain(seed, first, count));
  std::printf("\n");
}

// begin end parts: the limits of the shares.
void shares(std::istream& in) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t parts = 0;
  in >> begin >> end >> parts;
  for (std::uint64_t part = 0; part < parts; ++part) {
    const Share share = share_of({begin, end}, part, parts);
    std::printf("%llu %llu ", static_cast<unsigned long long>(share.begin),
                static_cast<unsigned long long>(share.end));
  }
  std::printf("\n");
}

// parts weight...: the limits of the blocks of rows.
void split(std::istream& in) {
  int parts = 0;
  in >> parts;
  std::vector<std::int64_t> weights;
  for (std::int64_t weight = 0; in >> weight;) weights.push_back(weight);
  for (const std::int32_t limit :
       split_rows(weights, 0, static_cast<std::int32_t>(weights.size()), parts)) {
    std::printf("%d ", limit);
  }
  std::printf("\n");
}

template <typename Index>
SparseRows<Index> rows_of(const CgClass& problem, std::int32_t begin, std::int32_t end) {
  const GeneratingVectors vectors = generate_vectors(problem);
  return build_rows<Index>(vectors, RowIncidence(vectors, begin, end), row_bounds(vectors),
                           problem.shift, begin, end);
}

// class begin end: those rows, as "row column value".
template <typename Index>
void matrix(std::istream& in) {
  std::string name;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  in >> name >> begin >> end;
  const auto rows = rows_of<Index>(find_class(kCgClasses, name), begin, end);
  for (std::int32_t i = 0; i < end - begin; ++i) {
    for (std::int64_t k = rows.start[i]; k < rows.start[i + 1]; ++k) {
      std::printf("%d %d %a ", begin + i, static_cast<int>(rows.column[k]), rows.value[k]);
    }
  }
  std::printf("\n");
}

// class begin end: the greatest difference of the tuned products from the plain one, relative to
// the sum of the terms' magnitudes, and likewise of the dot products.
template <typename Index>
void product(std::istream& in) {
  std::string name;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  in >> name >> begin >> end;
  const CgClass& problem = find_class(kCgClasses, name);
  auto rows = rows_of<Index>(problem, begin, end);
  std::vector<double> x(problem.order);
  Random46 random(1);
  for (double& element : x) element = 2.0 * random.next() - 1.0;
  std::vector<double> plain(end - begin), streamed(end - begin), cached(end - begin);
  const double dot = multiply_plain(rows, x.data(), plain.data());
  const double dots[] = {multiply<512>(rows, x.data(), streamed.data()),
                         multiply<0>(rows, x.data(), cached.data())};
  double worst = 0.0;
  double all = 0.0;
  for (std::int32_t i = 0; i < end - begin; ++i) {
    double size = 0.0;
    for (std::int64_t k = rows.start[i]; k < rows.start[i + 1]; ++k) {
      size += std::fabs(rows.value[k] * x[rows.column[k]]);
    }
    all += size * std::fabs(x[begin + i]);
    worst = std::fmax(worst, std::fabs(streamed[i] - plain[i]) / size);
    worst = std::fmax(worst, std::fabs(cached[i] - plain[i]) / size);
  }
  for (const double each : dots) worst = std::fmax(worst, std::fabs(each - dot) / all);
  std::printf("%a\n", worst);
}

// class ranks threads: bytes that a rank needs at most.
void memory(std::istream& in) {
  std::string name;
  int ranks = 0;
  int threads = 0;
  in >> name >> ranks >> threads;
  std::printf("%a\n", cg_bytes_per_rank(find_class(kCgClasses, name), ranks, threads));
}

// class threads: the growth of the process in bytes when it builds the rank's rows and solves once,
// the predicted bytes, and the nonzeros. In a program that has done nothing else.
void built(std::istream& in) {
  std::string name;
  int threads = 0;
  in >> name >> threads;
  const CgClass& problem = find_class(kCgClasses, name);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double before = assay::check::peak_bytes();
  Phases phases({"", "", ""});
  const auto solver = make_cg_solver(problem, MPI_COMM_WORLD, threads, 0, phases);
  solver->estimate(1);
  std::printf("%a %a %lld\n", assay::check::peak_bytes() - before,
              cg_bytes_per_rank(problem, ranks, threads),
              static_cast<long long>(solver->nonzeros()));
}

template <typename T>
void print_greatest() {
  std::printf("%.0f ", static_cast<double>(std::numeric_limits<std::decay_t<T>>::max()));
}

// The greatest values of the types of: a row's number, a column's, a vector's; a vector's start, a
// row's, a row's bound; an element of the incidence's vector.
void limits(std::istream&) {
  const GeneratingVectors vectors;
  const SparseRows<std::int32_t> rows;
  print_greatest<decltype(rows.begin)>();
  print_greatest<decltype(rows.column[0])>();
  print_greatest<decltype(vectors.index[0])>();
  print_greatest<decltype(vectors.start[0])>();
  print_greatest<decltype(rows.start[0])>();
  print_greatest<decltype(row_bounds(vectors)[0])>();
  print_greatest<decltype(RowIncidence::Entry::vector)>();
  std::printf("\n");
}

const assay::check::Questions questions = {
    {"random", random},
    {"log", log},
    {"pairs", pairs},
    {"shares", shares},
    {"split", split},
    {"matrix16", matrix<std::uint16_t>},
    {"matrix32", matrix<std::int32_t>},
    {"product16", product<std::uint16_t>},
    {"product32", product<std::int32_t>},
    {"memory", memory},
    {"built", built},
    {"limits", limits},
};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
