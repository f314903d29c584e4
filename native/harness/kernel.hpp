// The interface between kernels and harness. The kernel does arithmetic and communication; the
// harness owns the clock, the loop, the stop rule, the records and the pinning.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/deadline.hpp"
#include "harness/topology.hpp"
#include "harness/values.hpp"

namespace assay {

// The environment of one measurement. `comm` holds exactly the ranks of the placement.
struct Context {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks of this node
  int local_size = 1;
  int device_place = 0;    // of the device that this rank uses, among those of its node
  std::vector<int> nodes;  // of each rank, from 0 in the order of their first ranks
  int threads = 1;         // OpenMP threads of each rank, already set and pinned
  Caches caches;           // the same on every rank: the maximum over the ranks
  std::size_t node_memory_available = 0;  // bytes at the start: the minimum over the nodes
  std::uint64_t seed = 0;
  Deadline deadline;  // of this measurement
  // On rank 0: called by setup(), run() or verify() to report the completed share, 0 to 1, and the
  // rate so far if it is known; may be empty. Calls may be frequent: the harness writes at most
  // four progress records per second.
  std::function<void(double share, std::optional<double> rate)> progress;
};

// The parameters of a measurement. Reading one marks it as known; a parameter that isn't read is an
// error. Every read records the value, so that the stream holds the values in use.
class Parameters {
 public:
  explicit Parameters(std::map<std::string, Value> given) : given_(std::move(given)) {}

  std::int64_t integer(const std::string& name, std::int64_t fallback);
  // As above, but within these bounds; otherwise a KernelError names them.
  std::int64_t integer(const std::string& name, std::int64_t fallback, std::int64_t low,
                       std::int64_t high);
  double real(const std::string& name, double fallback);
  double real(const std::string& name, double fallback, double low, double high);
  // As real(), but above 0 and at most that; otherwise a KernelError says so.
  double positive(const std::string& name, double fallback, double most);
  std::string text(const std::string& name, const std::string& fallback);
  // As text(), but one of the choices; otherwise a KernelError names them.
  std::string choice(const std::string& name, const std::string& fallback,
                     const std::vector<std::string>& choices);
  // Replaces the recorded value: the one chosen on this machine for "auto" or 0.
  void resolve(const std::string& name, Value value) { resolved_[name] = std::move(value); }

  const std::map<std::string, Value>& resolved() const { return resolved_; }
  std::vector<std::string> unread() const;

 private:
  std::map<std::string, Value> given_;
  std::map<std::string, Value> resolved_;
  std::set<std::string> read_;
};

// The outcome of a check. NaN in `value` is a failure, whatever `passed` says.
struct Verification {
  bool passed = false;
  std::string what;
  double value = 0.0;
  double tolerance = 0.0;
};

// A series in addition to "time", which the harness takes itself: what a kernel measured in run(),
// such as the seconds of a phase in each sample, or of each pair of ranks. `rank` and `peer`: of
// which rank or pair; nothing is all ranks together. A series with as many values as there are
// samples has one per sample.
struct Series {
  std::string metric;
  std::string unit;
  std::optional<int> rank;
  std::optional<int> peer;
  std::vector<double> values;
};

// What precedes each sample.
enum class Start {
  kBarrier,  // a barrier of all ranks
  kFree,     // nothing: the messages of run() synchronise those whose time counts
  // A common start time on the global clock. A sample lasts from that time until the last rank
  // finishes, and holds one operation. If a rank was late, run() is called again for the same
  // sample.
  kAppointed,
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // All functions are collective over Context::comm: every rank calls them in the same order.

  // Allocates and first-touches. May throw KernelError or std::bad_alloc on any subset of ranks;
  // the harness agrees on the failure. A rank that throws takes no further part: allocate before
  // communicating.
  virtual void setup() = 0;

  // Seconds that one sample and the check are expected to take, as far as setup() knows; else 0.
  // The same on all ranks. If they exceed the deadline, the measurement is left out: nothing else
  // is called.
  virtual double expected_seconds() const { return 0.0; }

  // Does the operation `count` times, back to back. Only this function is timed. After an exception
  // the measurement fails if all ranks return from run(); if others wait inside it for the rank
  // that threw, the launch ends after a minute.
  virtual void run(std::int64_t count) = 0;

  // Checks the results of all operations so far. Called once, after the last sample.
  virtual Verification verify() = 0;

  // Operations per count of run(): 2 for a round trip that yields one-way times.
  virtual double operations_per_count() const { return 1.0; }

  // Largest batch that makes sense; 1 for whole benchmarks, which are never batched.
  virtual std::int64_t max_batch() const { return std::int64_t{1} << 20; }

  virtual Start start() const { return Start::kBarrier; }

  // Whether the ranks' clocks are synchronised for this measurement. With a barrier start, the fact
  // "barrier_skew" is then recorded: the time between the first and the last rank to leave the
  // barrier, in seconds, median over the samples.
  virtual bool uses_global_clock() const { return start() == Start::kAppointed; }

  // Untimed, before each sample and its barrier: to flush caches or to restore data.
  virtual void before_sample() {}

  // Whether the time of the fastest rank that counts is also kept, as the series "fastest".
  virtual bool keeps_fastest() const { return false; }

  // Whether this rank's time counts; a sample is the greatest time over the ranks that count.
  virtual bool times_here() const { return true; }

  // Whether worker threads outside OpenMP (a BLAS's own pool) must be spread over the rank's CPUs.
  virtual bool uses_blas_threads() const { return false; }

  // The devices that this rank uses, after setup(), by their addresses on the PCI bus: their state
  // is read while samples are taken.
  virtual std::vector<std::string> device_addresses() const { return {}; }

  // The series of this rank, or all of them from rank 0. Called once, after verify(). The kernel
  // must leave out values from before and during the calibration of the batch: a kernel whose
  // series are per sample sets max_batch() to 1, which needs no calibration.
  virtual std::vector<Series> series() const { return {}; }

  // Further facts, recorded as they are ("stores": "nontemporal").
  virtual std::map<std::string, Value> facts() const { return {}; }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const Context&, Parameters&);

// Kernels register themselves with one line at the end of their file.
struct Registration {
  Registration(std::string_view name, KernelFactory factory);
};

// nullptr if there is no kernel with that name.
KernelFactory find_kernel(std::string_view name);
std::vector<std::string> kernel_names();

}  // namespace assay

// The constructor Class(const Context&, Parameters&) reads and checks parameters; it must not
// communicate or allocate much.
#define ASSAY_KERNEL(name, Class)                                               \
  static const ::assay::Registration registration_of_##Class(                   \
      name,                                                                     \
      [](const ::assay::Context& context,                                       \
         ::assay::Parameters& parameters) -> std::unique_ptr<::assay::Kernel> { \
        return std::make_unique<Class>(context, parameters);                    \
      })
