// BT's problem classes: sizes and official verification values.
#pragma once

#include "npb/adi/classes.hpp"

namespace assay::npb {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/bt/constants.def"
#undef NPB_CONSTANT

inline constexpr AdiClass kBtClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/bt/classes.def"
#undef NPB_CLASS
};

}  // namespace assay::npb
