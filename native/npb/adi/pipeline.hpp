// Lines that are cut among ranks, solved from both ends towards the centre.
//
// The ranks along a dimension form two halves. Each half eliminates from its end of the lines
// inwards, rank after rank; where the halves meet, the two ranks exchange the remaining rows and
// compute the unknowns on both sides; these are substituted outwards again. Lines are processed in
// batches, so that all ranks work on different ones. With two ranks no pipeline has to fill: each
// eliminates its half of one batch while the other's message of the batch before is in transit.
// With more ranks, the innermost wait for about half as many batches as with only one direction.
#pragma once

#include <mpi.h>
#include <omp.h>

#include <array>
#include <cstddef>

#include "harness/phases.hpp"
#include "memory/huge_array.hpp"
#include "npb/common/process_grid.hpp"

namespace assay::npb::cfd {

// The position of a rank among `ranks` along a dimension.
struct Place {
  int outward = 0;        // step to the neighbour that eliminates before this one
  bool outermost = true;  // whether there is no such neighbour
  bool meets = false;     // whether the innermost rank of the other half is next
  int depth = 0;          // ranks between this rank and the centre
  int deepest = 0;        // maximum of depth over the ranks

  bool ascending() const { return outward < 0; }
  bool cut() const { return meets || depth > 0; }
  // Batches between the elimination of one and its substitution: one per message in transit.
  int lag() const { return cut() ? 1 + 2 * depth : 0; }
};

constexpr Place place_of(int coordinate, int ranks) {
  if (ranks == 1) return {-1, true, false, 0, 0};
  const int half = ranks / 2;
  const bool lower = coordinate < half;
  const int depth = lower ? half - 1 - coordinate : coordinate - half;
  return {lower ? -1 : 1, coordinate == (lower ? 0 : ranks - 1), depth == 0, depth,
          ranks - half - 1};
}

class Pipeline {
 public:
  // `eliminated`, `substituted`: doubles that a thread passes on per batch, inwards and outwards.
  // Uses two tags from `tag` on.
  Pipeline(const ProcessGrid& grid, int dimension, int threads, std::size_t eliminated,
           std::size_t substituted, int tag);

  const Place& place() const { return place_; }

  // Called by all threads of a parallel region, each with batches 0 .. mine - 1 of its own;
  // `batches` is the maximum over the threads, the same on all ranks along the dimension.
  //   eliminate(i, in, out): `in`: data from the rank before, nullptr at the edge; `out`: data to
  //     pass on, nullptr if there is no receiver
  //   substitute(i, in, out): lag() batches later. `in`: the elimination of the other half's last
  //     rank if place().meets, else unknowns; nullptr if the dimension is not cut
  // The master thread's time is added to the given phases. Begins and ends with a barrier if cut.
  template <typename Eliminate, typename Substitute>
  void run(int batches, int mine, const Eliminate& eliminate, const Substitute& substitute,
           Phases& phases, std::size_t compute, std::size_t hand_over) {
    const std::size_t thread = static_cast<std::size_t>(omp_get_thread_num());
    const auto timed = [&](std::size_t phase, const auto& action) {
      if (thread == 0) {
        phases.in(phase, action);
      } else {
        action();
      }
    };
    if (!place_.cut()) {
      timed(compute, [&] {
        for (int i = 0; i < mine; ++i) {
          eliminate(i, nullptr, nullptr);
          substitute(i, nullptr, nullptr);
        }
      });
      return;
    }
    const int lag = place_.lag();
    timed(compute, [] {
#pragma omp barrier
    });
    for (int i = 0; i < batches + lag; ++i) {
      timed(hand_over, [&] {
        if (thread == 0) communicate(i, batches);
#pragma omp barrier
      });
      timed(compute, [&] {
        if (i < mine) {
          eliminate(i, place_.outermost ? nullptr : part(eliminated_in_, i, thread, eliminated_),
                    part(eliminated_out_, i, thread, eliminated_));
        }
        const int j = i - lag;
        if (j >= 0 && j < mine) {
          const std::size_t size = place_.meets ? eliminated_ : substituted_;
          substitute(j, part(substituted_in_, j, thread, size),
                     place_.outermost ? nullptr : part(substituted_out_, j, thread, substituted_));
        }
#pragma omp barrier
      });
    }
    timed(hand_over, [&] {
      if (thread == 0) communicate(batches + lag, batches);
#pragma omp barrier
    });
  }

 private:
  // Buffers of a batch and the next one.
  using Pair = std::array<HugeArray<double>, 2>;

  static double* part(Pair& buffers, int batch, std::size_t thread, std::size_t size) {
    return buffers[static_cast<std::size_t>(batch % 2)].data() + thread * size;
  }

  void communicate(int step, int batches);
  void wait_for(std::array<MPI_Request, 4>& requests);

  Place place_;
  MPI_Comm comm_;
  int outer_;
  int inner_;
  int tag_;
  int patience_ = 256;  // polls for messages before the core is yielded
  std::size_t threads_;
  std::size_t eliminated_;
  std::size_t substituted_;
  Pair eliminated_in_, eliminated_out_, substituted_in_, substituted_out_;
  std::array<MPI_Request, 2> coming_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace assay::npb::cfd
