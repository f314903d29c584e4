// How all ranks begin their work together, and check it.
#pragma once

#include <cmath>
#include <vector>

#include "device/find.hpp"
#include "gpu/passes.hpp"
#include "gpu/work.hpp"

namespace assay::gpu {

// Collective. Opens each rank's device and begins its work, of the size that suits all of them.
inline std::size_t begin_work(const Context& context, device::Choice& choice,
                              device::Chosen& chosen, Work& work) {
  unsigned long long size = 0;
  together(context, [&] {
    chosen = choice.open();
    size = work.choose(chosen.device->info());
  });
  MPI_Allreduce(MPI_IN_PLACE, &size, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, context.comm);
  together(context, [&] { work.allocate(*chosen.device, size); });
  return size;
}

// Collective. The greatest error of all ranks; NaN is the greatest.
inline Verification check_work(const Context& context, Work& work) {
  double error = 0.0;
  together(context, [&] { error = work.error(); });
  std::vector<double> errors(static_cast<std::size_t>(context.size));
  MPI_Allgather(&error, 1, MPI_DOUBLE, errors.data(), 1, MPI_DOUBLE, context.comm);
  for (const double each : errors) error = std::isnan(each) || each > error ? each : error;
  const double allowed = work.tolerance();
  return {error <= allowed, work.what(), error, allowed};
}

}  // namespace assay::gpu
