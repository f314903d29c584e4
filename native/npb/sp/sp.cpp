// npb.sp: compressible flow by approximate factorisation, scalar pentadiagonal systems.
#include "npb/adi/kernel.hpp"
#include "npb/sp/classes.hpp"
#include "npb/sp/pentadiagonal.hpp"

namespace assay::npb {
namespace {

using Sp = AdiKernel<cfd::Pentadiagonal, cfd::PlainPentadiagonal, kSpClasses>;

ASSAY_KERNEL("npb.sp", Sp);

}  // namespace
}  // namespace assay::npb
