// Tables, constants and formulas shared with Python: the files *.def of each benchmark's folder
// (src/assay/kernels/npb/shared.py reads them too). Each is defined once.
//
//   NPB_CLASS(.name = "S", .field = value, ...)   classes.def: an element of a table of classes
//   NPB_CONSTANT(type, name, value)               constants.def: inline constexpr type name = value
//   NPB_TERM(name, expression)                    other files: const double name = expression
//
// An expression consists of numbers, constants, earlier terms, the inputs that the file's header
// comment names, + - * /, comparisons, and the functions below. All are doubles: whole numbers up
// to 2^53 are exact, in Python as well. No quotient of two literals: C++ would truncate it.
#pragma once

#include <cstdint>

// For files of terms; classes and constants are included with other macros.
#define NPB_TERM(name, ...) [[maybe_unused]] const double name = __VA_ARGS__;

namespace assay::npb::shared {

// For non-negative whole numbers. By integers, since compilers that divide by reciprocals
// (-ffast-math, the default of some) would make 9 / 3 slightly more than 3.
inline double floor_div(double a, double b) {
  return static_cast<double>(static_cast<std::int64_t>(a) / static_cast<std::int64_t>(b));
}
inline double ceil_div(double a, double b) { return floor_div(a + b - 1, b); }
inline double round_up(double a, double unit) { return ceil_div(a, unit) * unit; }
// The least power of two that is not less.
inline double power_of_two(double least) {
  double power = 1.0;
  while (power < least) power *= 2.0;
  return power;
}
inline double min(double a, double b) { return a < b ? a : b; }
inline double max(double a, double b) { return a > b ? a : b; }
inline double pick(bool condition, double then, double otherwise) {
  return condition ? then : otherwise;
}

}  // namespace assay::npb::shared
