// Problem classes: sizes and official verification values (NPB 2 and 3 reports; RNR-94-007 for the
// original two classes).
#pragma once

#include <array>
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
    {"D", 36, 1.982481200946593e5, -1.020596636361769e5},
    {"E", 40, -5.319717441530e5, -3.688834557731e5},
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
    {"S", 1400, 7, 15, 10.0, 8.5971775078648},
    {"W", 7000, 8, 15, 12.0, 10.362595087124},
    {"A", 14000, 11, 15, 20.0, 17.130235054029},
    {"B", 75000, 13, 75, 60.0, 22.712745482631},
    {"C", 150000, 15, 75, 110.0, 28.973605592845},
    {"D", 1500000, 21, 100, 500.0, 52.514532105794},
    {"E", 9000000, 26, 100, 1500.0, 77.522164599383},
};

// The official check: relative error of zeta.
inline constexpr double kCgTolerance = 1e-10;

// IS: 2^log2_keys keys below 2^log2_max_key, and the keys that every iteration looks at: the key of
// that index has rank `rank` + slope * (iteration - since), less one for each of `less` that the
// iteration is after: there a key that was changed had been below that one already.
struct IsTest {
  std::uint64_t index;
  std::int64_t rank;
  int slope;
  int since;
  std::array<int, 2> less{kNever, kNever};

  static constexpr int kNever = 1 << 30;
};

struct IsClass {
  std::string_view name;
  int log2_keys;
  int log2_max_key;
  std::array<IsTest, 5> tests;
};

inline constexpr IsClass kIsClasses[] = {
    {"S",
     16,
     11,
     {{{48427, 0, 1, 0},
       {17148, 18, 1, 0},
       {23627, 346, 1, 0},
       {62548, 64917, -1, 0},
       {4431, 65463, -1, 0}}}},
    {"W",
     20,
     16,
     {{{357773, 1249, 1, 2},
       {934767, 11698, 1, 2},
       {875723, 1039987, -1, 0},
       {898999, 1043896, -1, 0},
       {404505, 1048018, -1, 0}}}},
    {"A",
     23,
     19,
     {{{2112377, 104, 1, 1},
       {662041, 17523, 1, 1},
       {5336171, 123928, 1, 1},
       {3642833, 8288932, -1, 1},
       {4250760, 8388264, -1, 1}}}},
    {"B",
     25,
     21,
     {{{41869, 33422937, -1, 0},
       {812306, 10244, 1, 0},
       {5102857, 59149, 1, 0},
       {18232239, 33135281, -1, 0},
       {26860214, 99, 1, 0}}}},
    {"C",
     27,
     23,
     {{{44172927, 61147, 1, 0},
       {72999161, 882988, 1, 0},
       {74326391, 266290, 1, 0},
       {129606274, 133997595, -1, 0},
       {21736814, 133525895, -1, 0}}}},
    {"D",
     31,
     27,
     {{{1317351170, 1, 1, 0},
       {995930646, 36538729, 1, 0},
       {1157283250, 1978098519, -1, 0},
       {1503301535, 2145192618, -1, 0},
       {1453734525, 2147425337, -1, 0}}}},
    {"E",
     35,
     31,
     {{{21492309536, 3, 1, 2},
       {24606226181, 27580354, 1, 2},
       {12608530949, 3248475153, 1, 2, {2, 4}},
       {4065943607, 30048754302, -1, 2},
       {3324513396, 31485259697, -1, 2}}}},
};

constexpr std::int64_t expected_rank(const IsClass& problem, std::size_t test, int iteration) {
  const IsTest& of = problem.tests[test];
  std::int64_t rank = of.rank + of.slope * (iteration - of.since);
  for (const int after : of.less) rank -= iteration > after ? 1 : 0;
  return rank;
}

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
