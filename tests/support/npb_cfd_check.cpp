// Gives tests/native/npb/test_cfd.py access to the CFD core of LU, BT and SP: reads questions on
// stdin, one per line, and answers each with a line.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/cfd/operator.hpp"
#include "npb/cfd/state.hpp"
#include "npb/common/share.hpp"

using namespace assay::npb;
using namespace assay::npb::cfd;

namespace {

// The operator point by point from the formulas: fluxes, and viscous fluxes at half points.
class Plain {
 public:
  explicit Plain(const Field& u, int points) : u_(u), n_(points), h_(1.0 / (points - 1)) {}

  State at(int x, int y, int z) const {
    State sum{};
    for (int d = 0; d < 3; ++d) {
      const auto state = [&](int step) {
        int at[3] = {x, y, z};
        at[d] += step;
        State s;
        for (int m = 0; m < 5; ++m) s[m] = u_.row(m, at[2], at[1])[at[0]];
        return s;
      };
      const State high = inviscid(state(1), d);
      const State low = inviscid(state(-1), d);
      const State right = viscous(state(0), state(1), d);
      const State left = viscous(state(-1), state(0), d);
      const int index = d == 0 ? x : d == 1 ? y : z;
      const double diffusion = d == 2 ? 1.0 : 0.75;
      for (int m = 0; m < 5; ++m) {
        sum[m] -= (high[m] - low[m]) / (2 * h_);
        sum[m] += (right[m] - left[m]) / h_;
        sum[m] += diffusion * (state(1)[m] - 2 * state(0)[m] + state(-1)[m]) / (h_ * h_);
        double fourth;
        if (index == 1) {
          fourth = 5 * state(0)[m] - 4 * state(1)[m] + state(2)[m];
        } else if (index == n_ - 2) {
          fourth = 5 * state(0)[m] - 4 * state(-1)[m] + state(-2)[m];
        } else {
          fourth = 6 * state(0)[m] - 4 * state(1)[m] - 4 * state(-1)[m];
          if (index != 2) fourth += state(-2)[m];
          if (index != n_ - 3) fourth += state(2)[m];
        }
        sum[m] -= 0.25 * fourth;
      }
    }
    return sum;
  }

 private:
  static State inviscid(const State& s, int d) {
    const double kinetic = 0.5 * (s[1] * s[1] + s[2] * s[2] + s[3] * s[3]) / s[0];
    const double v = s[1 + d] / s[0];
    State flux{s[1 + d], s[1] * v, s[2] * v, s[3] * v, (1.4 * s[4] - 0.4 * kinetic) * v};
    flux[1 + d] += 0.4 * (s[4] - kinetic);
    return flux;
  }

  // Between neighbours a and b.
  State viscous(const State& a, const State& b, int d) const {
    State flux{};
    double squares = 0.0;
    for (int c = 1; c <= 3; ++c) {
      const double va = a[c] / a[0];
      const double vb = b[c] / b[0];
      const double factor = c == 1 + d ? 4.0 / 3.0 : 1.0;
      flux[c] = 0.1 * factor * (vb - va) / h_;
      squares += vb * vb - va * va;
      if (c == 1 + d) flux[4] += 0.1 / 6.0 * (vb * vb - va * va) / h_;
    }
    flux[4] += 0.1 * 0.5 * (1.0 - 1.96) * squares / h_;
    flux[4] += 0.1 * 1.96 * (b[4] / b[0] - a[4] / a[0]) / h_;
    return flux;
  }

  const Field& u_;
  int n_;
  double h_;
};

std::vector<Block> cut(int points, int parts_x, int parts_y, int parts_z) {
  const int parts[3] = {parts_x, parts_y, parts_z};
  std::vector<Block> blocks;
  for (int i = 0; i < parts_x * parts_y * parts_z; ++i) {
    const int at[3] = {i % parts_x, i / parts_x % parts_y, i / parts_x / parts_y};
    Block block{points, {}, {}, {}};
    for (std::size_t d = 0; d < 3; ++d) {
      const Share share =
          share_of({0, static_cast<std::uint64_t>(points)}, static_cast<std::uint64_t>(at[d]),
                   static_cast<std::uint64_t>(parts[d]));
      block.first[d] = static_cast<int>(share.begin);
      block.count[d] = static_cast<int>(share.end - share.begin);
      block.cut[d] = parts[d] > 1;
    }
    blocks.push_back(block);
  }
  return blocks;
}

// points x y z rows: the operator on the initial field cut into these blocks, `rows` rows at a
// time: the greatest error relative to the greatest value, against the plain one; and the number of
// values on the boundary that are not 0.
void apply_cut(std::istream& in) {
  int points = 0;
  int parts[3];
  int step = 0;
  in >> points >> parts[0] >> parts[1] >> parts[2] >> step;
  Field whole(Block::whole(points));
  set_initial(Block::whole(points), whole, 1);
  const Plain plain(whole, points);
  double error = 0.0;
  double greatest = 0.0;
  long nonzero = 0;
  for (const Block& block : cut(points, parts[0], parts[1], parts[2])) {
    Field u(block);
    Field result(block);
    set_initial(block, u, 1);
    const Operator of(block);
    for (int y = 0; y < block.count[1]; y += step) {
      const int middle = block.count[2] / 2;
      apply(of, u, nullptr, -3.0, result, {y, std::min(y + step, block.count[1])}, {0, middle});
      apply(of, u, nullptr, -3.0, result, {y, std::min(y + step, block.count[1])},
            {middle, block.count[2]});
    }
    for (int z = 0; z < block.count[2]; ++z) {
      for (int y = 0; y < block.count[1]; ++y) {
        for (int x = 0; x < block.count[0]; ++x) {
          const int at[3] = {x + block.first[0], y + block.first[1], z + block.first[2]};
          const bool inside =
              std::all_of(at, at + 3, [&](int i) { return 0 < i && i < points - 1; });
          const State right = inside ? plain.at(at[0], at[1], at[2]) : State{};
          for (int m = 0; m < 5; ++m) {
            const double found = result.row(m, z, y)[x];
            if (!inside && found != 0.0) ++nonzero;
            error = std::max(error, std::fabs(found + 3.0 * right[m]));
            greatest = std::max(greatest, std::fabs(3.0 * right[m]));
          }
        }
      }
    }
  }
  std::printf("%a %ld\n", error / greatest, nonzero);
}

// points threads: the greatest R(exact) + forcing, and the greatest forcing.
void forced(std::istream& in) {
  int points = 0;
  int threads = 0;
  in >> points >> threads;
  const Block block = Block::whole(points);
  Field u(block);
  Field forcing(block);
  Field result(block);
  const Operator of(block);
  set_forcing(of, forcing, u, threads);
  apply(of, u, &forcing, 1.0, result, {0, points}, {0, points});
  double worst = 0.0;
  double greatest = 0.0;
  for (int m = 0; m < 5; ++m) {
    for (int z = 0; z < points; ++z) {
      for (int y = 0; y < points; ++y) {
        for (int x = 0; x < points; ++x) {
          worst = std::max(worst, std::fabs(result.row(m, z, y)[x]));
          greatest = std::max(greatest, std::fabs(forcing.row(m, z, y)[x]));
        }
      }
    }
  }
  std::printf("%a %a\n", worst, greatest);
}

// points threads: error norms of the exact field, of the exact field with 3 added to component 2 at
// one inner point, and of the initial field; the last once more as the residual of scale 2.
void norms(std::istream& in) {
  int points = 0;
  int threads = 0;
  in >> points >> threads;
  const Block block = Block::whole(points);
  Field u(block);
  const auto print = [](const State& state) {
    for (const double each : state) std::printf("%a ", each);
  };
  set_exact(block, u, threads);
  print(error_norm(block, u, threads, MPI_COMM_SELF));
  u.row(2, 1, 2)[3] += 3.0;
  u.row(2, 0, 2)[3] += 3.0;  // on the boundary: does not count
  print(error_norm(block, u, threads, MPI_COMM_SELF));
  set_initial(block, u, threads);
  print(error_norm(block, u, threads, MPI_COMM_SELF));
  print(residual_norm(block, u, 2.0, threads, MPI_COMM_SELF));
  std::printf("\n");
}

// points x y z: the initial state there.
void initial(std::istream& in) {
  int points = 0;
  int at[3];
  in >> points >> at[0] >> at[1] >> at[2];
  const Block block = Block::whole(points);
  Field u(block);
  set_initial(block, u, 1);
  for (int m = 0; m < 5; ++m) std::printf("%a ", u.row(m, at[2], at[1])[at[0]]);
  std::printf("\n");
}

const assay::check::Questions questions = {
    {"apply", apply_cut}, {"forced", forced}, {"norms", norms}, {"initial", initial}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
