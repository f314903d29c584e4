// What may fail on some ranks only fails on all.
#pragma once

#include "harness/agreement.hpp"
#include "harness/kernel.hpp"

namespace assay {

// Collective. Does what may fail on some ranks only; then it fails on all, so that no rank waits
// for another.
template <typename Action>
void together(const Context& context, Action action) {
  Complaint mine;
  try {
    action();
  } catch (const std::exception&) {
    mine = exception_message();
  }
  if (const Complaint any = agree(context.comm, mine)) throw KernelError(*any);
}

}  // namespace assay
