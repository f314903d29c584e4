// Gives tests/native/npb/test_adi.py access to internals of npb.bt and npb.sp: reads questions on
// stdin, one per line, and answers each with a line.
#include <cstdio>
#include <istream>
#include <string>
#include <vector>

#include "check_questions.hpp"
#include "npb/adi/classes.hpp"
#include "npb/adi/solver.hpp"
#include "npb/bt/block_tridiagonal.hpp"
#include "npb/bt/classes.hpp"
#include "npb/common/random.hpp"
#include "npb/sp/classes.hpp"
#include "npb/sp/pentadiagonal.hpp"

using namespace assay;
using namespace assay::npb;
using namespace assay::npb::cfd;

namespace {

constexpr int kVectors = 3;

void print(const HugeArray<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) std::printf("%a ", values[i]);
}

// rows parts time_step spacing: lines with random states and right-hand sides, cut into this many
// parts, solved. Returns the lines, states [component][row][line] with the rows before and after,
// right-hand sides and solutions, [component][row][line].
template <typename System, int kDimension>
void solve(std::istream& in) {
  int rows = 0;
  int parts = 0;
  double time_step = 0.0;
  double spacing = 0.0;
  in >> rows >> parts >> time_step >> spacing;
  constexpr std::ptrdiff_t kLanes = System::kLanes;
  constexpr std::ptrdiff_t kLines = kVectors * kLanes;
  const auto size = [](std::ptrdiff_t n) { return static_cast<std::size_t>(n); };
  HugeArray<double> state(size(kComponents * (rows + 2) * kLines));
  HugeArray<double> rhs(size(kComponents * rows * kLines));
  Random46 random(271828183);
  for (int m = 0; m < kComponents; ++m) {
    const double least = m == 0 ? 1.0 : m == 4 ? 3.0 : -0.5;
    for (std::ptrdiff_t i = 0; i < (rows + 2) * kLines; ++i) {
      state[size(m * (rows + 2) * kLines + i)] = least + random.next();
    }
  }
  for (std::size_t i = 0; i < rhs.size(); ++i) rhs[i] = random.next() - 0.5;
  std::printf("%td ", kLines);
  print(state);
  print(rhs);

  const System system(kDimension, time_step, spacing);
  constexpr std::ptrdiff_t kRow = kVectors * System::kKept * kLanes;
  constexpr std::ptrdiff_t kHanded = System::kHanded * kRow;
  struct Part {
    Place place;
    Lines lines;
    HugeArray<double> kept;
    HugeArray<double> beyond;
    HugeArray<double> first;
    const double* last() const { return kept.data() + kHanded + (lines.rows - 1) * kRow; }
  };
  std::vector<Part> all(size(parts));
  const auto neighbour = [&](int p, int step) -> Part& { return all[size(p + step)]; };
  const auto by_depth = [&](bool inwards, const auto& action) {
    const int deepest = all[0].place.deepest;
    for (int d = 0; d <= deepest; ++d) {
      for (int p = 0; p < parts; ++p) {
        if (all[size(p)].place.depth == (inwards ? deepest - d : d)) action(p, all[size(p)]);
      }
    }
  };
  for (int p = 0; p < parts; ++p) {
    Part& part = all[size(p)];
    part.place = place_of(p, parts);
    const Share share = share_of({0, static_cast<std::uint64_t>(rows)},
                                 static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(parts));
    const auto begin = static_cast<std::ptrdiff_t>(share.begin);
    const auto end = static_cast<std::ptrdiff_t>(share.end);
    const bool up = part.place.ascending();
    Lines& lines = part.lines;
    lines.vector = kLanes;
    for (int m = 0; m < kComponents; ++m) {
      const std::ptrdiff_t first = up ? begin : end - 1;
      lines.state[size(m)] = state.data() + (m * (rows + 2) + first + 1) * kLines;
      lines.rhs[size(m)] = rhs.data() + (m * rows + first) * kLines;
    }
    lines.state_row = lines.rhs_row = up ? kLines : -kLines;
    lines.rows = static_cast<int>(end - begin);
    lines.vectors = kVectors;
    lines.ascending = up;
    lines.starts_at_edge = part.place.outermost;
    lines.ends_at_edge = parts == 1;
    part.kept = HugeArray<double>(size(kHanded + lines.rows * kRow));
    part.beyond = HugeArray<double>(size(kVectors * System::kUnknowns * kLanes));
    part.first = HugeArray<double>(part.beyond.size());
  }
  by_depth(true, [&](int p, Part& part) {
    if (!part.place.outermost) {
      const Part& before = neighbour(p, part.place.outward);
      std::copy(before.last() + kRow - kHanded, before.last() + kRow, part.kept.data());
    }
    system.template eliminate<kDimension>(part.lines, part.kept.data() + kHanded, kRow);
  });
  by_depth(false, [&](int p, Part& part) {
    double* const beyond = part.beyond.data();
    if (part.place.meets) {
      System::meet(part.last(), neighbour(p, -part.place.outward).last(), kRow, beyond, kVectors);
    } else if (parts > 1) {
      const Part& after = neighbour(p, -part.place.outward);
      std::copy(after.first.data(), after.first.data() + after.first.size(), beyond);
    }
    const Lines& lines = part.lines;
    System::template substitute<kDimension>(
        lines, part.kept.data() + kHanded, kRow, beyond, part.first.data(),
        [&](int k, int v, const typename System::Lanes& x) {
          for (std::size_t m = 0; m < kComponents; ++m) {
            store(lines.rhs[m] + k * lines.rhs_row + v * lines.vector, x[m]);
          }
        });
  });
  print(rhs);
  std::printf("\n");
}

// bt|sp class ranks threads: bytes that a rank allocates at most in the tuned and in the plain
// code, and lanes of the first.
void memory(std::istream& in) {
  std::string which;
  std::string name;
  int ranks = 0;
  int threads = 0;
  in >> which >> name >> ranks >> threads;
  double tuned = 0.0;
  double plain = 0.0;
  if (which == "bt") {
    const int points = find_class(kBtClasses, name).points;
    tuned = Adi<BlockTridiagonal>::bytes_per_rank(points, ranks, threads);
    plain = Adi<PlainBlockTridiagonal>::bytes_per_rank(points, ranks, threads);
  } else {
    const int points = find_class(kSpClasses, name).points;
    tuned = Adi<Pentadiagonal>::bytes_per_rank(points, ranks, threads);
    plain = Adi<PlainPentadiagonal>::bytes_per_rank(points, ranks, threads);
  }
  std::printf("%a %a %d\n", tuned, plain, kLanes);
}

// class threads: the growth of the process in bytes until a step is done, and the memory of a rank.
template <typename System, const auto& kClasses>
void built(std::istream& in) {
  std::string name;
  int threads = 0;
  in >> name >> threads;
  const AdiClass& problem = find_class(kClasses, name);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double before = assay::check::peak_bytes();
  Phases phases({"", "", ""});
  Adi<System> solver(problem.points, problem.time_step, MPI_COMM_WORLD, threads);
  solver.restore();
  solver.advance(1, phases);
  std::printf("%a %a\n", assay::check::peak_bytes() - before,
              Adi<System>::bytes_per_rank(problem.points, ranks, threads));
}

const assay::check::Questions questions = {
    {"bt0", solve<BlockTridiagonal, 0>},
    {"bt1", solve<BlockTridiagonal, 1>},
    {"bt2", solve<BlockTridiagonal, 2>},
    {"sp0", solve<Pentadiagonal, 0>},
    {"sp1", solve<Pentadiagonal, 1>},
    {"sp2", solve<Pentadiagonal, 2>},
    {"memory", memory},
    {"built-bt", built<BlockTridiagonal, kBtClasses>},
    {"built-sp", built<Pentadiagonal, kSpClasses>},
};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
