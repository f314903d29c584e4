#include "scheduler/io.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace assay::scheduler {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestHeader = std::size_t{1} << 28;
constexpr std::int64_t kMostJobs = 100'000'000;
constexpr std::int64_t kMostNodes = 20'000'000;
// Memory of a node without a limit: finite, so that differences are numbers.
constexpr double kUnlimited = 1e300;

[[noreturn]] void refuse(const std::string& why) { throw InvalidInput(why); }

const json& field(const json& object, const char* name) {
  if (!object.is_object()) {
    refuse("The header has no object with '" + std::string(name) + "'.");
  }
  const auto found = object.find(name);
  if (found == object.end()) refuse("The header has no '" + std::string(name) + "'.");
  return *found;
}

// null stands for `missing`: JSON has no infinity.
double number(const json& object, const char* name, double missing = kNever) {
  const json& value = field(object, name);
  if (value.is_null()) return missing;
  if (!value.is_number()) refuse("'" + std::string(name) + "' of the header is not a number.");
  return value.get<double>();
}

// A finite number of at least `least`.
double quantity(const json& object, const char* name, double least) {
  const double value = number(object, name, kUnknown);
  if (!(value >= least) || !std::isfinite(value)) {
    refuse("'" + std::string(name) + "' of the header is out of range.");
  }
  return value;
}

std::int64_t whole(const json& object, const char* name, std::int64_t least, std::int64_t most) {
  const json& value = field(object, name);
  if (!value.is_number_integer()) {
    refuse("'" + std::string(name) + "' of the header is not a whole number.");
  }
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) {
    refuse("'" + std::string(name) + "' of the header is out of range.");
  }
  return number;
}

bool flag(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_boolean())
    refuse("'" + std::string(name) + "' of the header is not a truth value.");
  return value.get<bool>();
}

std::string word(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_string()) refuse("'" + std::string(name) + "' of the header is not a text.");
  return value.get<std::string>();
}

const json& list(const json& object, const char* name) {
  const json& value = field(object, name);
  if (!value.is_array()) refuse("'" + std::string(name) + "' of the header is not a list.");
  return value;
}

std::vector<double> numbers(const json& object, const char* name) {
  std::vector<double> read;
  for (const json& value : list(object, name)) {
    if (!value.is_null() && !value.is_number()) {
      refuse("'" + std::string(name) + "' of the header holds no numbers.");
    }
    read.push_back(value.is_null() ? kUnknown : value.get<double>());
  }
  return read;
}

template <class Range>
void read_range(const json& object, int size, Range& range) {
  range.first = static_cast<int>(whole(object, "first", 0, size - 1));
  range.last = static_cast<int>(whole(object, "last", range.first, size - 1));
}

template <class Period>
void read_period(const json& object, int size, Period& period) {
  read_range(object, size, period);
  period.begin = quantity(object, "begin", -1e300);
  period.end = number(object, "end");
  if (!(period.end >= period.begin)) refuse("'end' of the header is before 'begin'.");
}

void read_machine(const json& header, Case& read) {
  const json& machine = field(header, "machine");
  std::int64_t size = 0;
  for (const json& each : list(machine, "nodes")) {
    NodeKind kind;
    kind.count = static_cast<int>(whole(each, "count", 1, kMostNodes));
    kind.amount.processors = whole(each, "processors", 1, 1'000'000'000);
    kind.amount.gpus = whole(each, "gpus", 0, 1'000'000'000);
    kind.amount.memory = std::min(number(each, "memory"), kUnlimited);
    if (!(kind.amount.memory >= 0)) refuse("'memory' of the header is out of range.");
    size += kind.count;
    read.kinds.push_back(kind);
  }
  if (size < 1 || size > kMostNodes) refuse("The header has no nodes, or too many.");
  const int nodes = static_cast<int>(size);
  for (const json& each : list(machine, "partitions")) {
    Partition partition;
    read_range(each, nodes, partition);
    partition.longest = number(each, "longest");
    partition.largest = whole(each, "largest", 0, kMostNodes);
    partition.tier = static_cast<int>(whole(each, "tier", -1'000'000, 1'000'000));
    read.partitions.push_back(partition);
  }
  if (read.partitions.empty()) refuse("The header has no partition.");
  for (const json& each : list(machine, "reservations")) {
    Reservation reservation;
    read_period(each, nodes, reservation);
    for (const double user : numbers(each, "users")) {
      if (!(user >= 0 && user < 1e9)) refuse("'users' of the header is out of range.");
      reservation.users.push_back(static_cast<int>(user));
    }
    std::sort(reservation.users.begin(), reservation.users.end());
    read.reservations.push_back(reservation);
  }
  for (const json& each : list(machine, "failures")) {
    Failure failure;
    read_period(each, nodes, failure);
    read.failures.push_back(failure);
  }
}

void read_orders(const json& policy, Policy& read) {
  const json& factors = field(policy, "multifactor");
  Multifactor& multifactor = read.multifactor;
  multifactor.age = quantity(factors, "age", -1e300);
  multifactor.size = quantity(factors, "size", -1e300);
  multifactor.fair_share = quantity(factors, "fair_share", -1e300);
  multifactor.qos = quantity(factors, "qos", -1e300);
  multifactor.partition = quantity(factors, "partition", -1e300);
  multifactor.max_age = quantity(factors, "max_age", 1e-9);
  multifactor.half_life = quantity(factors, "half_life", 1e-9);
  multifactor.period = quantity(factors, "period", 1e-3);
  multifactor.damping = quantity(factors, "damping", 1e-9);
  multifactor.favor_small = flag(factors, "favor_small");
  multifactor.user_shares = numbers(factors, "user_shares");
  multifactor.account_shares = numbers(factors, "account_shares");
  multifactor.qos_priority = numbers(factors, "qos_priority");
  const json& components = field(policy, "maui");
  Maui& maui = read.maui;
  maui.queue_time = quantity(components, "queue_time", -1e300);
  maui.expansion = quantity(components, "expansion", -1e300);
  maui.processors = quantity(components, "processors", -1e300);
  maui.fair_share = quantity(components, "fair_share", -1e300);
  maui.window = quantity(components, "window", 1e-3);
  maui.windows = static_cast<int>(whole(components, "windows", 1, 10'000));
  maui.decay = quantity(components, "decay", 0);
  maui.targets = numbers(components, "targets");
}

void read_policy(const json& header, Policy& read) {
  const json& policy = field(header, "policy");
  const std::string order = word(policy, "order");
  if (order == "fcfs")
    read.order = Order::fcfs;
  else if (order == "multifactor")
    read.order = Order::multifactor;
  else if (order == "maui")
    read.order = Order::maui;
  else
    refuse("'order' of the header is unknown.");
  const std::string backfill = word(policy, "backfill");
  if (backfill == "none")
    read.backfill = Backfill::none;
  else if (backfill == "easy")
    read.backfill = Backfill::easy;
  else if (backfill == "conservative")
    read.backfill = Backfill::conservative;
  else if (backfill == "slurm")
    read.backfill = Backfill::slurm;
  else
    refuse("'backfill' of the header is unknown.");
  read.reservations = whole(policy, "reservations", 0, 1'000'000'000);
  read.contiguous = flag(policy, "contiguous");
  read.lowest = flag(policy, "lowest");
  read.shared = flag(policy, "shared");
  read.kill = flag(policy, "kill");
  read.requeue = flag(policy, "requeue");
  read.resubmit = flag(policy, "resubmit");
  read_orders(policy, read);
  const json& timing = field(policy, "timing");
  read.timing.main = quantity(timing, "main", 0);
  read.timing.backfill = quantity(timing, "backfill", 0);
  read.timing.delay = quantity(timing, "delay", 0);
  read.timing.tick = quantity(timing, "tick", 0);
  read.timing.tick_offset = quantity(timing, "tick_offset", 0);
  read.timing.offset = quantity(timing, "offset", 0);
  read.timing.resolution = quantity(timing, "resolution", 0);
  read.timing.window = quantity(timing, "window", 0);
  read.timing.launch = quantity(timing, "launch", 0);
  read.timing.done = quantity(timing, "done", 0);
  read.timing.depth = whole(timing, "depth", 0, 1'000'000'000);
}

template <class Number>
std::vector<Number> column(std::FILE* input, std::size_t rows) {
  static_assert(sizeof(Number) == 8);
  std::vector<Number> values;
  // Grown as it is read: a wrong number of jobs costs no memory.
  constexpr std::size_t kStep = 1 << 20;
  while (values.size() < rows) {
    const std::size_t old = values.size();
    const std::size_t wanted = std::min(kStep, rows - old);
    values.resize(old + wanted);
    if (std::fread(values.data() + old, 8, wanted, input) != wanted) {
      refuse("The input ends within the columns.");
    }
  }
  return values;
}

template <class Value>
void fill(std::FILE* input, std::vector<Job>& jobs, const char* name, Value Job::* member,
          double least, double most) {
  using Stored = std::conditional_t<std::is_floating_point_v<Value>, double, std::int64_t>;
  const std::vector<Stored> values = column<Stored>(input, jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto value = static_cast<double>(values[j]);
    if (!(value >= least && value <= most)) {
      refuse("'" + std::string(name) + "' of job " + std::to_string(j) + " is out of range.");
    }
    jobs[j].*member = static_cast<Value>(values[j]);
  }
}

void read_jobs(std::FILE* input, std::int64_t count, Case& read) {
  constexpr double kLatest = 1e15;
  constexpr double kMost = 1e9;
  std::vector<Job>& jobs = read.jobs;
  const std::vector<double> submit = column<double>(input, static_cast<std::size_t>(count));
  jobs.resize(submit.size());
  for (std::size_t j = 0; j < submit.size(); ++j) {
    if (!(std::abs(submit[j]) <= kLatest)) {
      refuse("'submit' of job " + std::to_string(j) + " is out of range.");
    }
    jobs[j].submit = submit[j];
  }
  fill(input, jobs, "run", &Job::run, 0, kLatest);
  fill(input, jobs, "limit", &Job::limit, 1e-9, kLatest);
  fill(input, jobs, "think", &Job::think, 0, kLatest);
  fill(input, jobs, "memory", &Job::memory, 0, 1e18);
  fill(input, jobs, "nodes", &Job::nodes, 0, kMost);
  fill(input, jobs, "processors", &Job::processors, 1, 1e12);
  fill(input, jobs, "gpus", &Job::gpus, 0, kMost);
  fill(input, jobs, "user", &Job::user, 0, kMost);
  fill(input, jobs, "account", &Job::account, 0, kMost);
  fill(input, jobs, "partition", &Job::partition, 0,
       static_cast<double>(read.partitions.size()) - 1);
  fill(input, jobs, "qos", &Job::qos, 0, kMost);
  fill(input, jobs, "after", &Job::after, -1, kMost);
  double last = -kNever;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (jobs[j].after < 0) {
      if (jobs[j].submit < last) refuse("Job " + std::to_string(j) + " is not in order.");
      last = jobs[j].submit;
    }
    if (jobs[j].after >= static_cast<std::int64_t>(j)) {
      refuse("Job " + std::to_string(j) + " is after a later one.");
    }
  }
}

template <class Get>
void put(std::FILE* output, const Schedule& schedule, Get get) {
  using Number = decltype(get(schedule.jobs[0]));
  static_assert(sizeof(Number) == 8);
  std::vector<Number> values;
  values.reserve(schedule.jobs.size());
  for (const Outcome& job : schedule.jobs) values.push_back(get(job));
  if (std::fwrite(values.data(), 8, values.size(), output) != values.size()) {
    refuse("The output can't be written.");
  }
}

}  // namespace

bool read_case(std::FILE* input, Case& read) {
  std::string line;
  int letter = 0;
  while ((letter = std::getc(input)) != EOF && letter != '\n') {
    line.push_back(static_cast<char>(letter));
    if (line.size() > kLongestHeader) refuse("The header is too long.");
  }
  if (letter == EOF && line.empty()) return false;
  const json header = json::parse(line, nullptr, false);
  if (header.is_discarded()) refuse("The header is not JSON.");
  read = Case();
  const std::int64_t count = whole(header, "jobs", 0, kMostJobs);
  read_machine(header, read);
  read_policy(header, read.policy);
  read_jobs(input, count, read);
  return true;
}

void write_schedule(std::FILE* output, const Schedule& schedule) {
  if (std::fprintf(output, "{\"longest_queue\": %lld, \"passes\": %lld}\n",
                   static_cast<long long>(schedule.longest_queue),
                   static_cast<long long>(schedule.passes)) < 0) {
    refuse("The output can't be written.");
  }
  put(output, schedule, [](const Outcome& job) { return job.submit; });
  put(output, schedule, [](const Outcome& job) { return job.start; });
  put(output, schedule, [](const Outcome& job) { return job.end; });
  put(output, schedule, [](const Outcome& job) { return job.lost; });
  put(output, schedule, [](const Outcome& job) { return static_cast<std::int64_t>(job.state); });
  put(output, schedule, [](const Outcome& job) { return job.first_node; });
  put(output, schedule, [](const Outcome& job) { return job.runs; });
  put(output, schedule, [](const Outcome& job) { return job.backfilled; });
  if (std::fflush(output) != 0) refuse("The output can't be written.");
}

}  // namespace assay::scheduler
