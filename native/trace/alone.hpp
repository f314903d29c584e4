// Ranks of a node that compute in turn: for `assay why`, which asks whether ranks slow each other
// down. A rank computes outside of MPI only while it holds the node's token.
#pragma once

namespace assay::trace {

// After a call: waits for the token, in the first ASSAY_PROFILE_ALONE seconds of the profile.
void take_token() noexcept;
// Before a call.
void give_token() noexcept;

// Seconds from the begin of the profile in which ranks took turns; 0: they didn't.
double alone_seconds() noexcept;

}  // namespace assay::trace
