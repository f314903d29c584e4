// Whether a barrier is one.
#pragma once

#include <mpi.h>

#include "harness/kernel.hpp"

namespace assay {

using BarrierCall = int (*)(MPI_Comm);

// Collective over the context's communicator.
//
// No rank may leave a barrier before the last one has entered it. Clocks of different nodes can't
// tell, messages can: a late rank waits, then tells every other rank by a synchronous send, which
// returns only once the other's receive (posted before it entered the barrier) has been matched,
// and only then enters. Whoever leaves the barrier must therefore hold the late rank's message.
// Three ranks take their turn at being late: first, middle and last.
Verification verify_barrier(const Context& context, BarrierCall barrier);

}  // namespace assay
