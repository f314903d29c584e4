// Gives tests/native/npb/test_ft.py access to internals of npb.ft: reads questions on stdin of rank
// 0, one per line, and answers each with lines, on any number of ranks.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/common/random.hpp"
#include "npb/ft/classes.hpp"
#include "npb/ft/fft.hpp"
#include "npb/ft/grid.hpp"
#include "npb/ft/plain.hpp"
#include "npb/ft/solver.hpp"
#include "npb/ft/transpose.hpp"

using namespace assay;
using namespace assay::npb;

namespace {

// fft N: different numbers on each lane; input, transform and inverse transform, a line for each
// lane and each of the three.
template <bool kInverse>
std::vector<Packet> transformed(const Fft& fft, const std::vector<Packet>& from) {
  std::vector<Packet> work = from;  // also holds the input, as in the solver
  std::vector<Packet> to(from.size());
  fft.transform<kInverse>(
      work.data(), [&](std::size_t j) ASSAY_INLINE_LAMBDA { return work[j]; },
      [&](std::size_t k, Packet value) ASSAY_INLINE_LAMBDA { to[k] = value; });
  return to;
}

void fft(std::istream& in) {
  std::uint32_t size = 0;
  in >> size;
  const Fft transform(size);
  std::vector<Packet> drawn(size);
  Random46 random(size + 1);
  for (Packet& packet : drawn) {
    for (int lane = 0; lane < kLanes; ++lane) {
      packet.re[lane] = random.next() - 0.5;
      packet.im[lane] = random.next() - 0.5;
    }
  }
  const auto& input = drawn;
  const auto forward = transformed<false>(transform, input);
  const auto inverse = transformed<true>(transform, input);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (const auto* line : {&input, &forward, &inverse}) {
      for (const Packet& packet : *line) std::printf("%a %a ", packet.re[lane], packet.im[lane]);
      std::printf("\n");
    }
  }
}

// lanes: a square of lanes transposed: row by row, real parts and then imaginary ones.
void lanes(std::istream&) {
  Packet rows[kLanes];
  for (int row = 0; row < kLanes; ++row) {
    for (int lane = 0; lane < kLanes; ++lane) {
      rows[row].re[lane] = 10 * row + lane;
      rows[row].im[lane] = 100 + 10 * row + lane;
    }
  }
  transpose_packets(rows);
  for (const Packet& row : rows) {
    for (int lane = 0; lane < kLanes; ++lane) std::printf("%g ", row.re[lane]);
    for (int lane = 0; lane < kLanes; ++lane) std::printf("%g ", row.im[lane]);
    std::printf("\n");
  }
}

FtClass read_problem(std::istream& in) {
  FtClass problem{};
  for (auto& extent : problem.extents) in >> extent;
  return problem;
}

FtGrid read_grid(std::istream& in) {
  FtGrid grid{};
  in >> grid.across >> grid.along;
  return grid;
}

// Of the code that is named next.
std::unique_ptr<FtStates> read_solver(std::istream& in, const FtClass& problem, const FtGrid& grid,
                                      int threads, std::size_t cache) {
  std::string code;
  in >> code;
  if (code == "plain") return std::make_unique<PlainFt>(problem, grid, MPI_COMM_WORLD, threads);
  return std::make_unique<FtSolver>(problem, grid, MPI_COMM_WORLD, threads, cache);
}

// grid X Y Z RANKS THREADS: across, along, bytes of the busiest rank in the tuned and plain code.
void grid(std::istream& in) {
  const FtClass problem = read_problem(in);
  int ranks = 0;
  int threads = 0;
  in >> ranks >> threads;
  const FtGrid grid = ft_grid(problem.extents, ranks);
  std::printf("%d %d %.0f %.0f\n", static_cast<int>(grid.across), static_cast<int>(grid.along),
              ft_bytes_per_rank(problem, ranks, threads, Code::kTuned),
              ft_bytes_per_rank(problem, ranks, threads, Code::kPlain));
}

// transpose X Y Z WHOLE CUT OWN_STAYS: number of wrong elements on all ranks after the transpose,
// and after the transpose back; and the number of all elements.
void transpose(std::istream& in) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const FtClass problem = read_problem(in);
  std::array<std::uint64_t, 3> extents{};
  std::copy(problem.extents.begin(), problem.extents.end(), extents.begin());
  int whole = 0;
  int cut = 0;
  int own_stays = 0;
  in >> whole >> cut >> own_stays;
  const auto whole_shares = ft_shares(extents[whole], 1, ranks);
  const auto cut_shares = ft_shares(extents[cut], 1, ranks);
  const Transpose transpose(MPI_COMM_WORLD, extents, whole, cut, whole_shares, cut_shares,
                            {.element_bytes = sizeof(double), .own_stays = own_stays == 1});
  std::vector<double> before(transpose.size_before(), -1.0);
  std::vector<double> after(transpose.size_after(), -1.0);

  // Calls action(element, its global number) for all elements of one state.
  const auto visit = [&](bool is_after, auto action) {
    const int open = is_after ? cut : whole;
    const int closed = is_after ? whole : cut;
    const Share mine = (is_after ? whole_shares : cut_shares)[rank];
    const auto& places = is_after ? transpose.places_after() : transpose.places_before();
    std::array<Share, 3> box{Share{0, extents[0]}, {0, extents[1]}, {0, extents[2]}};
    box[closed] = mine;
    std::array<std::uint64_t, 3> at{};
    for (at[0] = box[0].begin; at[0] < box[0].end; ++at[0]) {
      for (at[1] = box[1].begin; at[1] < box[1].end; ++at[1]) {
        for (at[2] = box[2].begin; at[2] < box[2].end; ++at[2]) {
          const Place& place = places[at[open]];
          std::size_t offset = place.offset;
          for (int i = 0; i < 3; ++i) {
            if (i != open) offset += (at[i] - box[i].begin) * place.strides[i];
          }
          const bool own = place.rank == transpose.rank() && transpose.own_stays();
          auto& array = is_after || own ? after : before;
          action(array.at(offset),
                 static_cast<double>((at[0] * extents[1] + at[1]) * extents[2] + at[2]));
        }
      }
    }
  };
  std::int64_t counts[3] = {0, 0, 0};
  visit(false, [&](double& element, double number) {
    element = number;
    ++counts[2];
  });
  transpose.exchange(before.data(), after.data());
  visit(true, [&](double element, double number) { counts[0] += element == number ? 0 : 1; });
  for (double& element : before) element = -1.0;
  transpose.exchange_back(after.data(), before.data());
  visit(false, [&](double element, double number) { counts[1] += element == number ? 0 : 1; });
  MPI_Allreduce(MPI_IN_PLACE, counts, 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("%lld %lld %lld\n", static_cast<long long>(counts[0]),
                static_cast<long long>(counts[1]), static_cast<long long>(counts[2]));
  }
}

// solve X Y Z TIMES ACROSS ALONG THREADS CACHE CODE: the checksums of states in reverse order of
// time, after start() was called twice.
void solve(std::istream& in) {
  const FtClass problem = read_problem(in);
  int times = 0;
  in >> times;
  const FtGrid grid = read_grid(in);
  int threads = 0;
  std::size_t cache = 0;
  in >> threads >> cache;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto solver = read_solver(in, problem, grid, threads, cache);
  Phases phases({"", "", ""});
  solver->start(1, phases);
  solver->start(kFtSeed, phases);
  for (int t = times; t >= 1; --t) {
    const std::complex<double> sum = solver->state_at(t, kFtAlpha, phases);
    if (rank == 0) std::printf("%a %a\n", sum.real(), sum.imag());
  }
}

// memory X Y Z ACROSS ALONG THREADS CODE: bytes of the rank that allocates most.
void memory(std::istream& in) {
  const FtClass problem = read_problem(in);
  const FtGrid grid = read_grid(in);
  int threads = 0;
  in >> threads;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::uint64_t most = read_solver(in, problem, grid, threads, 0)->bytes();
  MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%llu\n", static_cast<unsigned long long>(most));
}

const assay::check::Questions questions = {
    {"fft", fft},       {"lanes", lanes}, {"grid", grid}, {"transpose", transpose},
    {"memory", memory}, {"solve", solve},
};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
