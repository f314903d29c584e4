// npb.bt: compressible flow by approximate factorisation, block tridiagonal systems.
#include "npb/adi/kernel.hpp"
#include "npb/bt/block_tridiagonal.hpp"
#include "npb/bt/classes.hpp"

namespace assay::npb {
namespace {

using Bt = AdiKernel<cfd::BlockTridiagonal, cfd::PlainBlockTridiagonal, kBtClasses>;

ASSAY_KERNEL("npb.bt", Bt);

}  // namespace
}  // namespace assay::npb
