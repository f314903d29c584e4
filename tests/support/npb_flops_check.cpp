// Counts the floating-point operations of the kernels npb.* for
// tests/native/npb/test_flops_done.py: compiled with the assembler in counting/, on one rank and
// one thread. One unit, so that it compiles in half of the time.
#include <mpi.h>

#include <complex>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <string>

#include "check_questions.hpp"
#include "harness/clock.cpp"
#include "harness/kernel.cpp"
#include "harness/phases.cpp"
#include "harness/proc_text.cpp"
#include "harness/text_file.cpp"
#include "memory/numa.cpp"
#include "memory/pages.cpp"
#include "npb/adi/pipeline.cpp"
#include "npb/adi/solver.hpp"
#include "npb/bt/block_tridiagonal.hpp"
#include "npb/cfd/operator.cpp"
#include "npb/cfd/state.cpp"
#include "npb/cg/matrix.cpp"
#include "npb/cg/solver.cpp"
#include "npb/common/halo.cpp"
#include "npb/common/process_grid.cpp"
#include "npb/ep/classes.hpp"
#include "npb/ep/gaussian.cpp"
#include "npb/ft/fft.cpp"
#include "npb/ft/grid.cpp"
#include "npb/ft/plain.cpp"
#include "npb/ft/position.cpp"
#include "npb/ft/solver.cpp"
#include "npb/ft/transpose.cpp"
#include "npb/lu/pipeline.cpp"
#include "npb/lu/solver.cpp"
#include "npb/lu/sweep.cpp"
#include "npb/mg/charges.cpp"
#include "npb/mg/solver.cpp"
#include "npb/mg/sweep.cpp"
#include "npb/sp/pentadiagonal.hpp"

// Counted by the instructions themselves, which the compiler does not know.
extern "C" {
volatile std::uint64_t assay_flops;
std::uint64_t assay_flops_saved;
}

using namespace assay;
using namespace assay::npb;

namespace {

template <typename Action>
std::uint64_t flops_of(Action action) {
  assay_flops = 0;
  action();
  return assay_flops;
}

std::string name_from(std::istream& in) {
  std::string name;
  in >> name;
  return name;
}

// Each prints the operations of one step, and of two.
void print(std::uint64_t one, std::uint64_t two) {
  std::printf("%llu %llu\n", static_cast<unsigned long long>(one),
              static_cast<unsigned long long>(two));
}

// A step is an outer iteration.
void cg(std::istream& in) {
  Phases phases({"", "", ""});
  const auto solver =
      make_cg_solver(find_class(kCgClasses, name_from(in)), MPI_COMM_WORLD, 1, 1 << 20, phases);
  const auto one = flops_of([&] { solver->estimate(1); });
  print(one, flops_of([&] { solver->estimate(2); }));
}

// log2_extent: a step is a cycle.
void mg(std::istream& in) {
  MgClass problem = kMgClasses[0];
  in >> problem.log2_extent;
  Phases phases({"", "", "", ""});
  MgSolver solver(problem, MPI_COMM_WORLD, 1);
  solver.place_charges({});
  solver.clear();
  const auto one = flops_of([&] { solver.solve(1, phases); });
  solver.clear();
  print(one, flops_of([&] { solver.solve(2, phases); }));
}

// A step is a time; the first number includes the start.
template <typename Solver, std::size_t... kCache>
void ft(std::istream& in) {
  const FtClass& problem = find_class(kFtClasses, name_from(in));
  Phases phases({"", "", ""});
  Solver solver(problem, ft_grid(problem.extents, 1), MPI_COMM_WORLD, 1, kCache...);
  const auto one = flops_of([&] {
    solver.start(kFtSeed, phases);
    solver.state_at(1, kFtAlpha, phases);
  });
  print(one, one + flops_of([&] { solver.state_at(2, kFtAlpha, phases); }));
}

// points
void lu(std::istream& in) {
  LuClass problem = kLuClasses[0];
  in >> problem.points;
  Phases phases({"", "", "", ""});
  LuSolver solver(problem, MPI_COMM_WORLD, 1);
  solver.set_up();
  const auto one = flops_of([&] { solver.run(1, phases); });
  print(one, flops_of([&] { solver.run(2, phases); }));
}

// points
template <typename System>
void adi(std::istream& in) {
  int points = 0;
  in >> points;
  Phases phases({"", "", ""});
  cfd::Adi<System> solver(points, 1e-4, MPI_COMM_WORLD, 1);
  solver.restore();
  const auto one = flops_of([&] { solver.advance(1, phases); });
  print(one, flops_of([&] { solver.advance(2, phases); }));
}

// A step is 2^16 pairs.
void ep(std::istream&) {
  const auto one = flops_of([] { gaussian_pairs(kEpSeed, 0, 1 << 16); });
  print(one, flops_of([] { gaussian_pairs(kEpSeed, 0, 2 << 16); }));
}

// A known number: 1000 additions and as many products, divisions and roots of ten numbers.
void known(std::istream& in) {
  double number = 0.0;
  in >> number;
  volatile double values[10];
  for (volatile double& value : values) value = number;
  const auto one = flops_of([&] {
    for (int round = 0; round < 100; ++round) {
      for (volatile double& value : values) {
        const double old = value;
        value = old + number;
        value = old * number;
        value = old / number;
        value = __builtin_sqrt(old * old);
      }
    }
  });
  print(one, 0);
}

const assay::check::Questions questions = {{"cg", cg},
                                           {"mg", mg},
                                           {"ft", ft<FtSolver, 1 << 20>},
                                           {"plain-ft", ft<PlainFt>},
                                           {"lu", lu},
                                           {"bt", adi<cfd::BlockTridiagonal>},
                                           {"sp", adi<cfd::Pentadiagonal>},
                                           {"plain-bt", adi<cfd::PlainBlockTridiagonal>},
                                           {"plain-sp", adi<cfd::PlainPentadiagonal>},
                                           {"ep", ep},
                                           {"known", known}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
