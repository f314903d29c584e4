// SP's problem classes: sizes and official verification values.
#pragma once

#include "npb/adi/classes.hpp"

namespace assay::npb {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/sp/constants.def"
#undef NPB_CONSTANT

inline constexpr AdiClass kSpClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/sp/classes.def"
#undef NPB_CLASS
};

}  // namespace assay::npb
