// Problem classes: sizes and official verification values (NPB 2 and 3 reports; RNR-94-007 for the
// original two classes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay::npb {

// EP: 2^log2_pairs pairs; the sums of the accepted Gaussian deviates.
struct EpClass {
  std::string_view name;
  int log2_pairs;
  double sum_x;
  double sum_y;
};

inline constexpr EpClass kEpClasses[] = {
    {"S", 24, -3.247834652034740e3, -6.958407078382297e3},
    {"W", 25, -2.863319731645753e3, -6.320053679109499e3},
    {"A", 28, -4.295875165629892e3, -1.580732573678431e4},
    {"B", 30, 4.033815542441498e4, -2.660669192809235e4},
    {"C", 32, 4.764367927995374e4, -8.084072988043731e4},
};

// The official check: relative error of both sums.
inline constexpr double kEpTolerance = 1e-8;

// CG: order of the matrix, nonzeros of each generating vector, outer iterations, eigenvalue shift.
struct CgClass {
  std::string_view name;
  std::int32_t order;
  int nonzeros;
  int iterations;
  double shift;
  double zeta;
};

inline constexpr CgClass kCgClasses[] = {
    {"S", 1400, 7, 15, 10.0, 8.5971775078648},     {"W", 7000, 8, 15, 12.0, 10.362595087124},
    {"A", 14000, 11, 15, 20.0, 17.130235054029},   {"B", 75000, 13, 75, 60.0, 22.712745482631},
    {"C", 150000, 15, 75, 110.0, 28.973605592845},
};

// The official check: relative error of zeta.
inline constexpr double kCgTolerance = 1e-10;

template <typename Table>
std::vector<std::string> class_names(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

// The entry of that name; the name must be one of class_names(table).
template <typename Table>
const auto& find_class(const Table& table, std::string_view name) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry;
  }
  return table[0];
}

}  // namespace assay::npb
