// Whose files a rank reads, so that they are not in its own caches.
#pragma once

#include "harness/kernel.hpp"

namespace assay {

// A rank of another node if there are several, so that no page cache of this rank's node holds what
// it wrote, else the next rank. The same assignment seen from every rank: each is read by one.
int other_rank(const Context& context);

}  // namespace assay
