// Gives tests/native/npb/test_mg.py access to internals of MG: reads questions on stdin, one per
// line, and answers each with a line.
#include <mpi.h>

#include <cstdio>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/mg/charges.hpp"
#include "npb/mg/solver.hpp"
#include "npb/mg/sweep.hpp"

using namespace assay::npb;

namespace {

const MgClass& problem = kMgClasses[0];

// A field of the whole cube.
struct Cube {
  explicit Cube(int extent)
      : values(static_cast<std::size_t>(extent * extent * extent)),
        field(extent, {{0, extent}, false, 0}, {{0, extent}, false, 0}, values.data()) {}
  void read(std::istream& in) {
    for (double& value : values) in >> value;
  }
  void print() const {
    for (const double value : values) std::printf("%a ", value);
  }
  std::vector<double> values;
  MgField field;
};

std::vector<Tile> read_tiles(std::istream& in, int extent) {
  int in_y = 0;
  int in_z = 0;
  in >> in_y >> in_z;
  std::vector<Tile> tiles;
  for (int z = 0; z < in_z; ++z) {
    for (int y = 0; y < in_y; ++y) {
      tiles.push_back({{extent * y / in_y, extent * (y + 1) / in_y},
                       {extent * z / in_z, extent * (z + 1) / in_z}});
    }
  }
  return tiles;
}

MgScratch scratch_for(int extent) {
  return {MgScratch::of_windows(extent, extent), MgScratch::of_frame(extent, extent, extent)};
}

// extent, tiles in y, in z, u, right-hand side, correction: the new u, the restriction of its
// residual, and that residual's sum of squares.
void fine(std::istream& in) {
  int extent = 0;
  in >> extent;
  const std::vector<Tile> tiles = read_tiles(in, extent);
  Cube u(extent);
  Cube right(extent);
  Cube correction(extent / 2);
  Cube residual(extent / 2);
  for (Cube* each : {&u, &right, &correction}) each->read(in);
  std::vector<MgScratch> scratch;
  for (const Tile& tile : tiles) {
    scratch.push_back(scratch_for(extent));
    save_frame(u.field, tile, scratch.back());
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    squares += sweep_fine({u.field, right.field, &correction.field, &residual.field}, problem,
                          tiles[i], true, scratch[i]);
  }
  u.print();
  residual.print();
  std::printf("%a\n", squares);
}

// extent, tiles in y, in z, right-hand side, coarser correction: the correction.
void coarse(std::istream& in) {
  int extent = 0;
  in >> extent;
  const std::vector<Tile> tiles = read_tiles(in, extent);
  Cube right(extent);
  Cube coarser(extent / 2);
  Cube correction(extent);
  right.read(in);
  coarser.read(in);
  MgScratch scratch = scratch_for(extent);
  for (const Tile& tile : tiles) {
    sweep_coarse(coarser.field, right.field, correction.field, problem, tile, scratch);
  }
  correction.print();
  std::printf("\n");
}

// extent, field: its restriction.
void restricted(std::istream& in) {
  int extent = 0;
  in >> extent;
  Cube field(extent);
  Cube result(extent / 2);
  field.read(in);
  restrict_field(field.field, result.field, {{0, extent / 2}, {0, extent / 2}});
  result.print();
  std::printf("\n");
}

// field of extent 2: the smoother's correction.
void coarsest(std::istream& in) {
  Cube right(2);
  Cube correction(2);
  right.read(in);
  smooth_coarsest(right.field, correction.field, problem);
  correction.print();
  std::printf("\n");
}

// points, threads: the charges' places, positive ones first.
void charges(std::istream& in) {
  std::uint64_t points = 0;
  int threads = 0;
  in >> points >> threads;
  for (const Charge& charge : find_charges(points, kMgSeed, MPI_COMM_SELF, threads)) {
    std::printf("%s%llu ", charge.value < 0 ? "-" : "+",
                static_cast<unsigned long long>(charge.index));
  }
  std::printf("\n");
}

// class ranks threads: the level that is gathered, the blocks in y and z, bytes of the largest
// rank.
void memory(std::istream& in) {
  std::string name;
  int ranks = 0;
  int threads = 0;
  in >> name >> ranks >> threads;
  const MgClass& of = find_class(kMgClasses, name);
  const MgLevels levels(of, ranks);
  std::printf("%d %d %d %.17g\n", levels.whole, levels.blocks[1], levels.blocks[2],
              mg_bytes_per_rank(of, ranks, threads));
}

const assay::check::Questions questions = {
    {"fine", fine},         {"coarse", coarse},   {"restricted", restricted},
    {"coarsest", coarsest}, {"charges", charges}, {"memory", memory},
};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
