// Gives tests/native/npb/test_grid.py access to process grids and halos: reads questions on stdin
// of rank 0, one per line, and answers each with a line.
#include <mpi.h>

#include <cstdio>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/common/halo.hpp"
#include "npb/common/process_grid.hpp"

using namespace assay::npb;

namespace {

Cutting read_cutting(std::istream& in) {
  Cutting cutting;
  for (auto& extent : cutting.extents) in >> extent;
  for (bool& may : cutting.may_cut) in >> may;
  in >> cutting.least >> cutting.face_cost;
  return cutting;
}

// cutting ranks: the grid chosen, its cost, and the neighbours of each rank, periodic or not.
void grid(std::istream& in) {
  const Cutting cutting = read_cutting(in);
  int ranks = 0;
  in >> ranks;
  const PerDimension<int> blocks = choose_grid(cutting, ranks);
  std::printf("%d %d %d %.17g", blocks[0], blocks[1], blocks[2], block_cost(cutting, blocks));
  for (int rank = 0; rank < blocks[0] * blocks[1] * blocks[2]; ++rank) {
    for (int d = 0; d < 3; ++d) {
      for (const bool periodic : {false, true}) {
        for (const int step : {-1, 1}) {
          const int next =
              block_neighbour(blocks, block_coordinates(blocks, rank), d, step, periodic);
          std::printf(" %d", next == MPI_PROC_NULL ? -1 : next);
        }
      }
    }
  }
  std::printf("\n");
}

// A field whose every value identifies its point and component.
double value_at(PerDimension<std::int64_t> point, int component) {
  return static_cast<double>(((component * 1000 + point[2]) * 1000 + point[1]) * 1000 + point[0]);
}

// cutting periodic[3] depth[3] corners components padding threads: the ranks that work, the number
// of wrong ghosts on all ranks, of ghosts that are right though no message should have filled them,
// and the messages and bytes of all ranks.
void halo(std::istream& in) {
  const Cutting cutting = read_cutting(in);
  PerDimension<bool> periodic{};
  Ghosts ghosts;
  int components = 0;
  int padding = 0;
  int threads = 0;
  for (bool& each : periodic) in >> each;
  for (int& each : ghosts.depth) in >> each;
  in >> ghosts.corners >> components >> padding >> threads;

  const ProcessGrid grid(MPI_COMM_WORLD, cutting, periodic);
  std::int64_t counts[4]{};  // wrong, needless, messages, bytes
  if (grid.works()) {
    BlockLayout layout;
    PerDimension<std::int64_t> first{};
    for (int d = 0; d < 3; ++d) {
      layout.extents[d] = grid.extent(d);
      first[d] = static_cast<std::int64_t>(grid.share(d).begin);
    }
    layout.row = static_cast<std::size_t>(layout.extents[0] + 2 * ghosts.depth[0] + padding);
    layout.plane = layout.row * static_cast<std::size_t>(layout.extents[1] + 2 * ghosts.depth[1]);
    layout.component =
        layout.plane * static_cast<std::size_t>(layout.extents[2] + 2 * ghosts.depth[2]);
    std::vector<double> field(layout.component * static_cast<std::size_t>(components), -1.0);
    double* const origin = field.data() + static_cast<std::size_t>(ghosts.depth[2]) * layout.plane +
                           static_cast<std::size_t>(ghosts.depth[1]) * layout.row +
                           static_cast<std::size_t>(ghosts.depth[0]);
    using Action = std::function<void(double&, double expected, int beyond, bool brought)>;
    const auto for_all = [&](const Action& action) {
      for (int c = 0; c < components; ++c) {
        PerDimension<int> at{};
        for (at[2] = -ghosts.depth[2]; at[2] < layout.extents[2] + ghosts.depth[2]; ++at[2]) {
          for (at[1] = -ghosts.depth[1]; at[1] < layout.extents[1] + ghosts.depth[1]; ++at[1]) {
            for (at[0] = -ghosts.depth[0]; at[0] < layout.extents[0] + ghosts.depth[0]; ++at[0]) {
              int beyond = 0;  // dimensions in which it is a ghost
              bool inside = true;
              PerDimension<std::int64_t> point{};
              for (int d = 0; d < 3; ++d) {
                point[d] = first[d] + at[d];
                beyond += at[d] < 0 || at[d] >= layout.extents[d] ? 1 : 0;
                const std::int64_t extent = cutting.extents[d];
                if (!periodic[d] && (point[d] < 0 || point[d] >= extent)) inside = false;
                point[d] = (point[d] + extent) % extent;
              }
              action(origin[static_cast<std::ptrdiff_t>(c * layout.component) +
                            at[2] * static_cast<std::ptrdiff_t>(layout.plane) +
                            at[1] * static_cast<std::ptrdiff_t>(layout.row) + at[0]],
                     value_at(point, c), beyond, inside && (ghosts.corners || beyond == 1));
            }
          }
        }
      }
    };
    for_all([](double& value, double expected, int beyond, bool) {
      if (beyond == 0) value = expected;
    });
    Halo halo(grid, layout, ghosts, components);
#pragma omp parallel num_threads(threads)
    {
      halo.exchange(origin);
      halo.exchange(origin);
    }
    for_all([&](double& value, double expected, int beyond, bool brought) {
      if (beyond == 0 || brought) {
        if (value != expected) ++counts[0];
      } else if (value != -1.0) {
        ++counts[1];
      }
    });
    counts[2] = halo.messages();
    counts[3] = halo.bytes();
  }
  MPI_Allreduce(MPI_IN_PLACE, counts, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::printf("%d %lld %lld %lld %lld\n", grid.ranks(), static_cast<long long>(counts[0]),
                static_cast<long long>(counts[1]), static_cast<long long>(counts[2]),
                static_cast<long long>(counts[3]));
  }
}

const assay::check::Questions questions = {{"grid", grid}, {"halo", halo}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
