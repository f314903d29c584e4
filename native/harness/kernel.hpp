// What a kernel is to the harness. The kernel does arithmetic and communication; the harness owns
// the clock, the loop, the stop rule, the records and the pinning.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace assay {

using Value = std::variant<std::int64_t, double, std::string>;

// Thrown for anything that makes this measurement impossible (a wrong parameter, too little
// memory). Becomes a record with status "failed"; the job goes on.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Sizes in bytes, 0 where unknown; last_level is the sum over the caches of this rank's node.
struct Caches {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t last_level_node = 0;
};

// The surroundings of one measurement. `comm` holds exactly the ranks of the placement.
struct Context {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  int size = 1;
  int local_rank = 0;  // among the ranks of this node
  int local_size = 1;
  std::vector<int> nodes;                 // of each rank, from 0 in the order of their first ranks
  int threads = 1;                        // OpenMP threads of each rank, already set and pinned
  Caches caches;                          // the same on every rank: the greatest found
  std::size_t node_memory_available = 0;  // bytes, at the start; the same too: the fullest node's
  std::uint64_t seed = 0;
  // On rank 0, for run() to tell now and then what share of it is done, 0 to 1, and its rate so
  // far if it knows; may be empty. Calls may be frequent: the harness writes at most four progress
  // records per second.
  std::function<void(double share, std::optional<double> rate)> progress;
};

// The parameters of a measurement. Reading one marks it as known; what nobody read is an error.
// Every read records the value, so that the stream says what was really used.
class Parameters {
 public:
  explicit Parameters(std::map<std::string, Value> given) : given_(std::move(given)) {}

  std::int64_t integer(const std::string& name, std::int64_t fallback);
  double real(const std::string& name, double fallback);
  std::string text(const std::string& name, const std::string& fallback);
  // As text(), and one of the choices, or KernelError naming them.
  std::string choice(const std::string& name, const std::string& fallback,
                     const std::vector<std::string>& choices);
  // Replaces the recorded value: what "auto" or 0 came to on this machine.
  void resolve(const std::string& name, Value value) { resolved_[name] = std::move(value); }

  const std::map<std::string, Value>& resolved() const { return resolved_; }
  std::vector<std::string> unread() const;

 private:
  std::map<std::string, Value> given_;
  std::map<std::string, Value> resolved_;
  std::set<std::string> read_;
};

// The outcome of a check. NaN in `value` fails whatever `passed` says.
struct Verification {
  bool passed = false;
  std::string what;
  double value = 0.0;
  double tolerance = 0.0;
};

// A series beside "time", which the harness takes by itself: what a kernel saw in run(), such as
// the seconds of a phase in each sample, or of each pair of ranks. `rank` and `peer`: whose;
// nothing is all ranks together. A series with as many values as there are samples has one for
// each.
struct Series {
  std::string metric;
  std::string unit;
  std::optional<int> rank;
  std::optional<int> peer;
  std::vector<double> values;
};

// What comes right before each sample.
enum class Start {
  kBarrier,  // a barrier of all ranks
  kFree,     // nothing: the messages of run() synchronise those whose time counts
  // A time of the clock common to all ranks, until which all wait. A sample is the time from then
  // to the last rank's finish, and holds one operation. Where a rank came late, run() is called
  // once more for the same sample.
  kAppointed,
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  // All functions are collective over Context::comm: every rank calls them alike.

  // Allocates and first-touches. May throw KernelError or std::bad_alloc on any subset of ranks;
  // the harness agrees. A rank that throws takes no further part: allocate before communicating.
  virtual void setup() = 0;

  // Does the operation `count` times, back to back. This, and only this, is timed. An exception
  // makes the measurement fail where all ranks come out of run(), and ends the launch after a
  // minute where others wait inside for the rank that threw.
  virtual void run(std::int64_t count) = 0;

  // Checks the result of all that was run so far. Called once, after the last sample.
  virtual Verification verify() = 0;

  // Operations that one count of run() stands for: 2 for a round trip that yields one-way times.
  virtual double operations_per_count() const { return 1.0; }

  // Largest batch that makes sense; 1 for whole benchmarks, which are never batched.
  virtual std::int64_t max_batch() const { return std::int64_t{1} << 20; }

  virtual Start start() const { return Start::kBarrier; }

  // Whether the ranks' clocks are synchronised for this measurement. After a barrier they then tell
  // how far apart the ranks leave it: the fact "barrier_skew", in seconds, median over the samples.
  virtual bool uses_global_clock() const { return start() == Start::kAppointed; }

  // Untimed, before each sample and its barrier: to flush caches, or to put data back in place.
  virtual void before_sample() {}

  // Whether the time of the fastest rank that counts is kept too, as the series "fastest".
  virtual bool keeps_fastest() const { return false; }

  // Whether this rank's time counts; a sample is the greatest time over the ranks that count.
  virtual bool times_here() const { return true; }

  // Whether worker threads outside OpenMP (a BLAS's own pool) must be spread over the rank's CPUs.
  virtual bool uses_blas_threads() const { return false; }

  // The series that this rank has to tell, or all of them from rank 0. Called once, after verify().
  // The values before and in the calibration of the batch are the kernel's to leave out: a kernel
  // whose series are per sample sets max_batch() to 1, which knows no calibration.
  virtual std::vector<Series> series() const { return {}; }

  // Further things worth knowing, recorded as they are ("stores": "nontemporal").
  virtual std::map<std::string, Value> facts() const { return {}; }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const Context&, Parameters&);

// Kernels register themselves: one line at the end of their file, nothing elsewhere.
struct Registration {
  Registration(std::string_view name, KernelFactory factory);
};

// nullptr if there is none of that name.
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
