// npb.bt: compressible flow by approximate factorisation, block tridiagonal systems.
#include "npb/adi_kernel.hpp"
#include "npb/cfd/block_tridiagonal.hpp"

namespace assay::npb {
namespace {

using Bt = AdiKernel<cfd::BlockTridiagonal, kBtClasses>;

ASSAY_KERNEL("npb.bt", Bt);

}  // namespace
}  // namespace assay::npb
