// The wavefront of a triangular sweep through threads and ranks.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/phases.hpp"
#include "memory/huge_array.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/lu/sweep.hpp"

namespace assay::npb {

// Planes per message, for a cube with that many points per side: enough for 2 kB across the whole
// cube, so that small problems do not send numbers one by one.
int lu_planes_per_message(int points);

// Sweeps pass through the planes of a rank's block, each plane cut into rows for the threads. The
// lower sweep takes planes, rows and points in ascending order, the upper one in descending order.
// A thread may process a plane once the thread (or the rank) with the rows before has processed it,
// and the data of the rank before in x have arrived; so threads and ranks follow each other, a
// plane or a message apart.
class LuPipeline {
 public:
  // planes, rows, points: of the block, inside the cube.
  LuPipeline(const ProcessGrid& grid, cfd::Range planes, cfd::Range rows, cfd::Range points,
             int threads, int planes_per_message);

  // Threads with rows; others take no part.
  int working_threads() const { return threads_; }

  // Called by each working thread of a parallel region; the master thread also communicates, and
  // adds its waiting time to `phase`. Before a thread processes plane z it calls prepare(z), and
  // when the threads before are done, take(z, edges). All threads must have finished one sweep
  // before any begins the next.
  template <typename Prepare, typename Take>
  void sweep(bool upper, int thread, Phases& phases, std::size_t phase, Prepare prepare,
             Take take) {
    const int count = planes_.end - planes_.begin;
    const int position = upper ? threads_ - 1 - thread : thread;
    const std::int64_t base = base_of_next(thread);
    if (thread == 0) phases.in(phase, [&] { start(upper, base); });
    for (int p = 0; p < count; ++p) {
      const int z = upper ? planes_.end - 1 - p : planes_.begin + p;
      prepare(z);
      if (thread == 0) {
        phases.in(phase, [&] {
          communicate();
          wait([&] {
            if (ready(position, base + p)) return true;
            communicate();
            return false;
          });
        });
      } else {
        wait([&] { return ready(position, base + p); });
      }
      take(z, edges(position, p));
      done_[position].planes.store(base + p + 1, std::memory_order_release);
    }
    if (thread == 0) phases.in(phase, [&] { finish(); });
  }

 private:
  struct alignas(64) Progress {
    std::atomic<std::int64_t> planes{0};  // since the first sweep
    std::int64_t base = 0;                // the thread's own: planes of all sweeps before
  };

  // One neighbour's side: its rank, and the positions of each plane's sums.
  struct Side {
    int from = MPI_PROC_NULL;
    int to = MPI_PROC_NULL;
    double* in = nullptr;
    double* out = nullptr;
    std::ptrdiff_t plane = 0;  // doubles
  };

  template <typename Ready>
  static void wait(Ready ready) {
    constexpr int kSpins = 200;  // then yields the core
    for (int spins = 0; !ready(); ++spins) {
      if (spins >= kSpins) yield_core();
    }
  }
  static void yield_core();

  std::int64_t base_of_next(int thread);
  bool ready(int position, std::int64_t plane) const;
  LuEdges edges(int position, int p);
  double* hand(int position, int p);  // sums for the position's rows from the rows before

  void start(bool upper, std::int64_t base);
  void communicate();
  void finish();

  MPI_Comm comm_;
  cfd::Range planes_;
  cfd::Range rows_;
  cfd::Range points_;
  int threads_;
  int batch_;
  PerDimension<PerDimension<int>> neighbours_{};  // [dimension][0: before, 1: after]
  HugeArray<double> hands_;                       // [position, and after the last][plane][5][point]
  HugeArray<double> in_x_, out_x_;                // [plane][5][row]
  std::vector<Progress> done_;                    // by position; base by thread
  std::atomic<std::int64_t> received_{0};         // planes, since the first sweep

  // Of the current sweep; used by the master thread.
  Side side_[2];
  std::int64_t base_ = 0;
  int batches_ = 0;
  int next_received_ = 0;
  int next_sent_ = 0;
  std::vector<MPI_Request> receives_;  // two per batch
  std::vector<MPI_Request> sends_;
};

}  // namespace assay::npb
