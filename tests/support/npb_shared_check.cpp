// Gives tests/native/npb/test_shared.py the C++ reading of native/npb/**/*.def: reads questions on
// stdin, one per line, and answers each with a line.
#include <cstdint>
#include <cstdio>
#include <istream>
#include <type_traits>

#include "check_questions.hpp"
#include "npb/adi/shape.hpp"
#include "npb/bt/classes.hpp"
#include "npb/cg/classes.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/common/shared.hpp"
#include "npb/ep/classes.hpp"
#include "npb/ep/gaussian.hpp"
#include "npb/ft/classes.hpp"
#include "npb/ft/grid.hpp"
#include "npb/is/classes.hpp"
#include "npb/lu/classes.hpp"
#include "npb/mg/classes.hpp"
#include "npb/sp/classes.hpp"

namespace {

using namespace assay::npb;
using namespace assay::npb::cfd;
using namespace assay::npb::shared;

// ---- Classes ------------------------------------------------------------------------------------

template <typename Table, typename... Fields>
void print_classes(const Table& table, Fields... fields) {
  for (const auto& each : table) {
    std::printf("%s ", std::string(each.name).c_str());
    (std::printf("%lld ", static_cast<long long>(each.*fields)), ...);
  }
  std::printf("\n");
}

void classes(std::istream& in) {
  std::string benchmark;
  in >> benchmark;
  if (benchmark == "ep") print_classes(kEpClasses, &EpClass::log2_pairs);
  if (benchmark == "cg") {
    print_classes(kCgClasses, &CgClass::order, &CgClass::nonzeros, &CgClass::iterations);
  }
  if (benchmark == "mg") print_classes(kMgClasses, &MgClass::log2_extent, &MgClass::cycles);
  if (benchmark == "is") print_classes(kIsClasses, &IsClass::log2_keys, &IsClass::log2_max_key);
  if (benchmark == "lu") print_classes(kLuClasses, &LuClass::points, &LuClass::steps);
  if (benchmark == "bt") print_classes(kBtClasses, &AdiClass::points, &AdiClass::steps);
  if (benchmark == "sp") print_classes(kSpClasses, &AdiClass::points, &AdiClass::steps);
  if (benchmark == "ft") {
    for (const FtClass& each : kFtClasses) {
      const auto [nx, ny, nz] = each.extents;
      std::printf("%s %u %u %u %d ", std::string(each.name).c_str(), nx, ny, nz, each.iterations);
    }
    std::printf("\n");
  }
}

// ---- Constants ----------------------------------------------------------------------------------

template <typename T>
void print_constant(const char* name, const T& value) {
  if constexpr (std::is_same_v<T, Cutting>) {
    const auto [x, y, z] = value.may_cut;
    std::printf("%s %d %d %d %lld %a ", name, x, y, z, static_cast<long long>(value.least),
                value.face_cost);
  } else {
    std::printf("%s %a ", name, static_cast<double>(value));
  }
}

#define NPB_CONSTANT(type, name, ...) print_constant(#name, name);

void constants(std::istream&) {
#include "npb/adi/constants.def"
#include "npb/bt/constants.def"
#include "npb/cfd/constants.def"
#include "npb/cg/constants.def"
#include "npb/ep/constants.def"
#include "npb/ft/constants.def"
#include "npb/is/constants.def"
#include "npb/lu/constants.def"
#include "npb/mg/constants.def"
#include "npb/sp/constants.def"
  std::printf("\n");
}

// ---- Formulas -----------------------------------------------------------------------------------

// Each term's name and value, after the inputs in their order.
#undef NPB_TERM
#define NPB_TERM(name, ...)        \
  const double name = __VA_ARGS__; \
  std::printf("%s %a ", #name, name);

double input(std::istream& in) {
  double value = 0.0;
  in >> value;
  return value;
}

#define INPUT(name) const double name = input(in)

void grid_cost(std::istream& in) {
  INPUT(nx);
  INPUT(ny);
  INPUT(nz);
  INPUT(x);
  INPUT(y);
  INPUT(z);
  INPUT(face_cost);
#include "npb/common/grid_cost.def"
  std::printf("\n");
}

void cg_memory(std::istream& in) {
  INPUT(order);
  INPUT(nonzer);
  INPUT(ranks);
  INPUT(threads);
#include "npb/cg/memory.def"
  std::printf("\n");
}

void is_formulas(std::istream& in) {
  INPUT(keys);
  INPUT(values);
  INPUT(ranks);
  INPUT(threads);
  INPUT(plain);
#include "npb/is/buckets.def"
#include "npb/is/memory.def"
  std::printf("\n");
}

void ft_formulas(std::istream& in) {
  INPUT(nx);
  INPUT(ny);
  INPUT(nz);
  INPUT(across);
  INPUT(ranks);
  INPUT(threads);
#include "npb/ft/grid.def"
#include "npb/ft/memory.def"
  std::printf("\n");
}

void lu_message(std::istream& in) {
  INPUT(points);
#include "npb/lu/message.def"
  std::printf("\n");
}

void lu_memory(std::istream& in) {
  INPUT(points);
  INPUT(x);
  INPUT(y);
  INPUT(threads);
  INPUT(lanes);
#include "npb/lu/memory.def"
  std::printf("\n");
}

void adi_batch(std::istream& in) {
  INPUT(points);
  INPUT(blocks);
  INPUT(across);
  INPUT(kept);
  INPUT(lanes);
#include "npb/adi/batch.def"
  std::printf("\n");
}

void adi_memory(std::istream& in) {
  INPUT(points);
  INPUT(y);
  INPUT(z);
  INPUT(threads);
  INPUT(lanes);
  INPUT(kept);
  INPUT(handed);
  INPUT(rows_y);
  INPUT(vectors_y);
  INPUT(rows_z);
  INPUT(vectors_z);
#include "npb/adi/memory.def"
  std::printf("\n");
}

void mg_scratch(std::istream& in) {
  INPUT(extent);
  INPUT(rows);
  INPUT(planes);
#include "npb/mg/scratch.def"
  std::printf("\n");
}

const assay::check::Questions questions = {
    {"classes", classes},       {"constants", constants},   {"grid_cost", grid_cost},
    {"cg_memory", cg_memory},   {"is", is_formulas},        {"ft", ft_formulas},
    {"lu_message", lu_message}, {"lu_memory", lu_memory},   {"adi_batch", adi_batch},
    {"adi_memory", adi_memory}, {"mg_scratch", mg_scratch},
};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
