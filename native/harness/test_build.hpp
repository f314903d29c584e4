// Whether this is a build for tests (CMake: ASSAY_TEST_KERNELS), in which faults can be planted. A
// separate header, since the check of the processor includes no header of the C++ library.
#pragma once

namespace assay {

#ifdef ASSAY_TEST_FAULTS
inline constexpr bool kTestFaults = true;
#else
inline constexpr bool kTestFaults = false;
#endif

}  // namespace assay
