// The input of a simulation (jobs, machine and policy), and its result for each job. The meaning of
// each value, and the rules: docs/methods/scheduler.md. Times are in seconds.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace assay::scheduler {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// The resources that a job has, or needs, on one node.
struct Amount {
  std::int64_t processors = 0;
  std::int64_t gpus = 0;
  double memory = 0;  // bytes, whole numbers

  bool holds(const Amount& other) const {
    return processors >= other.processors && gpus >= other.gpus && memory >= other.memory;
  }
  void add(const Amount& other) {
    processors += other.processors;
    gpus += other.gpus;
    memory += other.memory;
  }
  void remove(const Amount& other) {
    processors -= other.processors;
    gpus -= other.gpus;
    memory -= other.memory;
  }
};

struct NodeKind {
  int count = 0;
  Amount amount;
};

struct Partition {
  int first = 0;
  int last = 0;  // inclusive
  double longest = kNever;
  std::int64_t largest = 0;
  int tier = 0;
};

struct Reservation {
  double begin = 0;
  double end = 0;
  int first = 0;
  int last = 0;
  std::vector<int> users;  // ascending

  bool allows(int user) const;
};

struct Failure {
  double begin = 0;
  double end = 0;
  int first = 0;
  int last = 0;
};

struct Job {
  double submit = 0;
  double run = 0;
  double limit = 0;
  double think = 0;
  double memory = 0;
  std::int64_t nodes = 0;
  std::int64_t processors = 0;
  std::int64_t gpus = 0;
  int user = 0;
  int account = 0;
  int partition = 0;
  int qos = 0;
  int after = -1;
};

struct Multifactor {
  double age = 0, size = 0, fair_share = 0, qos = 0, partition = 0;  // weights
  double max_age = 1, half_life = 1, period = 1, damping = 1;
  bool favor_small = false;
  std::vector<double> user_shares, account_shares, qos_priority;  // by index
};

struct Maui {
  double queue_time = 0, expansion = 0, processors = 0, fair_share = 0;  // weights
  double window = 1;
  int windows = 1;
  double decay = 1;
  std::vector<double> targets;  // percent, by user; NaN: none
};

struct Timing {
  double main = 0, delay = 0, tick = 0, tick_offset = 0, backfill = 0, offset = 0;
  double resolution = 0, window = 0, launch = 0, done = 0;
  std::int64_t depth = 0;
};

enum class Order { fcfs, multifactor, maui };
enum class Backfill { none, easy, conservative, slurm };

struct Policy {
  Order order = Order::fcfs;
  Backfill backfill = Backfill::easy;
  std::int64_t reservations = 1;
  bool contiguous = false;
  bool lowest = false;  // reservations take the lowest nodes
  bool shared = false;  // nodes are shared between jobs
  bool kill = true;
  bool requeue = true;
  bool resubmit = false;
  Multifactor multifactor;
  Maui maui;
  Timing timing;
};

struct Case {
  std::vector<NodeKind> kinds;
  std::vector<Partition> partitions;
  std::vector<Reservation> reservations;
  std::vector<Failure> failures;
  Policy policy;
  std::vector<Job> jobs;

  int size() const {
    int sum = 0;
    for (const NodeKind& kind : kinds) sum += kind.count;
    return sum;
  }
};

// The numbers of assay.usage.jobs.State.
enum class State : std::int64_t {
  completed = 1,
  cancelled = 3,
  timeout = 4,
  node_failure = 6,
  pending = 9,
};

struct Outcome {
  double submit = kUnknown;
  double start = kUnknown;
  double end = kUnknown;
  double lost = 0;
  State state = State::pending;
  std::int64_t first_node = -1;
  std::int64_t runs = 0;
  std::int64_t backfilled = 0;
};

struct Schedule {
  std::vector<Outcome> jobs;
  std::int64_t longest_queue = 0;
  std::int64_t passes = 0;
};

}  // namespace assay::scheduler
