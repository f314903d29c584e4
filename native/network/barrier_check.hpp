// Checks that a barrier synchronises.
#pragma once

#include <mpi.h>

#include "harness/kernel.hpp"

namespace assay {

using BarrierCall = int (*)(MPI_Comm);

// Collective over the context's communicator.
//
// No rank may leave a barrier before the last one has entered it. Clocks of different nodes can't
// show that, messages can. A late rank waits until all others have arrived. For a while it then
// looks for messages that they send after the barrier: who sent one left early. Then it sends to
// every other rank by a synchronous send, which returns only once the other's receive (posted
// before it entered the barrier) has been matched, and only then enters. A rank that leaves the
// barrier must therefore have the late rank's message. Three ranks are late in turn: first, middle
// and last.
Verification verify_barrier(const Context& context, BarrierCall barrier);

}  // namespace assay
