// Gives tests/native/npb/test_lu.py access to internals of npb.lu: reads questions on stdin, one
// per line, and answers each with a line.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/cfd/state.hpp"
#include "npb/common/share.hpp"
#include "npb/lu/classes.hpp"
#include "npb/lu/solver.hpp"
#include "npb/lu/sweep.hpp"

using namespace assay;
using namespace assay::npb;

namespace {

cfd::Range part(int points, int index, int parts) {
  const Share share =
      share_of({1, static_cast<std::uint64_t>(points - 1)}, static_cast<std::uint64_t>(index),
               static_cast<std::uint64_t>(parts));
  return {static_cast<int>(share.begin), static_cast<int>(share.end)};
}

void print(const cfd::Field& field, int points) {
  for (int m = 0; m < cfd::kComponents; ++m) {
    for (int z = 1; z < points - 1; ++z) {
      for (int y = 1; y < points - 1; ++y) {
        for (int x = 1; x < points - 1; ++x) std::printf("%a ", field.row(m, z, y)[x]);
      }
    }
  }
}

// points dt parts_x parts_y: both sweeps over the initial field, from v = sin(1 + number of the
// value), by that many parts that pass sums to each other: v after the lower sweep, u after the
// upper.
void sweeps(std::istream& in) {
  int n = 0;
  double dt = 0.0;
  int parts_x = 0;
  int parts_y = 0;
  in >> n >> dt >> parts_x >> parts_y;
  const cfd::Block block = cfd::Block::whole(n);
  cfd::Field u(block);
  cfd::Field v(block);
  cfd::set_initial(block, u, 1);
  int number = 0;
  for (int m = 0; m < cfd::kComponents; ++m) {
    for (int z = 1; z < n - 1; ++z) {
      for (int y = 1; y < n - 1; ++y) {
        for (int x = 1; x < n - 1; ++x) v.row(m, z, y)[x] = std::sin(++number);
      }
    }
  }
  const LuCoefficients coefficients(n, dt);
  std::vector<LuSweep> parts;
  for (int py = 0; py < parts_y; ++py) {
    for (int px = 0; px < parts_x; ++px) {
      parts.emplace_back(coefficients, LuPart{part(n, px, parts_x), part(n, py, parts_y)});
    }
  }
  for (const bool upper : {false, true}) {
    for (LuSweep& each : parts) each.begin();
    for (int p = 1; p < n - 1; ++p) {
      const int z = upper ? n - 1 - p : p;
      // Sums passed on, by part: along x from this row of parts, along y from the row before.
      std::vector<std::vector<double>> to_y(static_cast<std::size_t>(parts_x));
      for (int iy = 0; iy < parts_y; ++iy) {
        const int py = upper ? parts_y - 1 - iy : iy;
        const cfd::Range rows = part(n, py, parts_y);
        std::vector<double> to_x;
        for (int ix = 0; ix < parts_x; ++ix) {
          const int px = upper ? parts_x - 1 - ix : ix;
          const cfd::Range xs = part(n, px, parts_x);
          const auto column = static_cast<std::size_t>(px);
          std::vector<double> next_x(static_cast<std::size_t>(5 * (rows.end - rows.begin)));
          std::vector<double> next_y(static_cast<std::size_t>(5 * (xs.end - xs.begin)));
          LuEdges edges;
          edges.in_x = ix > 0 ? to_x.data() : nullptr;
          edges.in_y = iy > 0 ? to_y[column].data() : nullptr;
          edges.out_x = next_x.data();
          edges.out_y = next_y.data();
          edges.first_row = rows.begin;
          edges.rows = rows.end - rows.begin;
          LuSweep& sweep = parts[static_cast<std::size_t>(py * parts_x + px)];
          if (upper) {
            sweep.upper(u, v, z, edges);
          } else {
            sweep.lower(u, v, z, edges);
          }
          to_x = next_x;
          to_y[column] = next_y;
        }
      }
    }
    print(upper ? u : v, n);
  }
  std::printf("\n");
}

// class ranks threads: bytes per rank. The lanes of this build.
void memory(std::istream& in) {
  std::string name;
  int ranks = 0;
  int threads = 0;
  in >> name >> ranks >> threads;
  const LuClass& problem = find_class(kLuClasses, name);
  std::printf("%a %d\n", lu_bytes_per_rank(problem, ranks, threads), kLanes);
}

// class threads: the growth of the process in bytes until a step is done, and the memory of a rank.
void built(std::istream& in) {
  std::string name;
  int threads = 0;
  in >> name >> threads;
  const LuClass& problem = find_class(kLuClasses, name);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double before = assay::check::peak_bytes();
  Phases phases({"", "", "", ""});
  LuSolver solver(problem, MPI_COMM_WORLD, threads);
  solver.set_up();
  solver.run(1, phases);
  std::printf("%a %a\n", assay::check::peak_bytes() - before,
              lu_bytes_per_rank(problem, ranks, threads));
}

// class ranks: blocks along x, y, z, and planes per message.
void grid(std::istream& in) {
  std::string name;
  int ranks = 0;
  in >> name >> ranks;
  const LuClass& problem = find_class(kLuClasses, name);
  const auto blocks = choose_grid(lu_cutting(problem), ranks);
  std::printf("%d %d %d %d\n", blocks[0], blocks[1], blocks[2],
              lu_planes_per_message(problem.points));
}

const assay::check::Questions questions = {
    {"sweeps", sweeps}, {"memory", memory}, {"built", built}, {"grid", grid}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
