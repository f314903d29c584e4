// npb.sp: compressible flow by approximate factorisation, scalar pentadiagonal systems.
#include "npb/adi_kernel.hpp"
#include "npb/cfd/pentadiagonal.hpp"

namespace assay::npb {
namespace {

using Sp = AdiKernel<cfd::Pentadiagonal, kSpClasses>;

ASSAY_KERNEL("npb.sp", Sp);

}  // namespace
}  // namespace assay::npb
