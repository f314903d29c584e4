#include "harness/covariates.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "harness/agreement.hpp"
#include "harness/memory_probe.hpp"
#include "harness/proc_text.hpp"
#include "harness/ranks.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

// The start of the file, which contains all values that are used; empty if it can't be read.
std::string read_file(int descriptor, std::size_t most = 8192) {
  std::string text(most, '\0');
  const ssize_t got = descriptor < 0 ? 0 : pread(descriptor, text.data(), most, 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

// Enough for the lines of a thousand CPUs, which come first.
constexpr std::size_t kStatBytes = 128 << 10;

double time_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

std::optional<double> difference(const std::optional<double>& after,
                                 const std::optional<double>& before) {
  if (!after || !before) return std::nullopt;
  return std::max(*after - *before, 0.0);
}

// Whether this is the first node leader on its machine, that is, in one boot of one kernel. If the
// kernel does not name its boot, every node counts as a machine. Collective.
bool is_first_of_machine(MPI_Comm comm, bool leader) {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  const std::string mine = leader ? (boot.empty() ? "host " + host_name() : boot) : std::string();
  std::vector<int> firsts;
  std::set<std::string> seen;
  for (const std::string& each : gather_texts(comm, mine)) {
    firsts.push_back(!each.empty() && seen.insert(each).second ? 1 : 0);
  }
  int first = 0;
  MPI_Scatter(firsts.data(), 1, MPI_INT, &first, 1, MPI_INT, 0, comm);
  return first != 0;
}

}  // namespace

const std::vector<CovariateMeaning>& covariate_meanings() {
  static const std::vector<CovariateMeaning> table = {
      {"sampling_seconds", "s", Combine::kMax, Reader::kRank,
       "duration of calibration and sampling, the span that all deltas here belong to"},
      {"steal_seconds", "s", Combine::kSum, Reader::kMachine,
       "CPU time that the hypervisor gave to other guests, all CPUs of all machines "
       "(/proc/stat, resolution 10 ms)"},
      {"other_cpu_seconds", "s", Combine::kSum, Reader::kMachine,
       "CPU time of all processes except the ranks, all machines (busy time of /proc/stat less "
       "that of the ranks, resolution 10 ms)"},
      {"online_cpus", "1", Combine::kSum, Reader::kMachine,
       "hardware threads online (CPUs of /proc/stat), all machines; nodes that share a machine, as "
       "in containers or labs, count it once"},
      {"neighbour_cpu_seconds", "s", Combine::kSum, Reader::kNode,
       "busy time of CPUs that run no rank but share a core or a cache with one that does, all "
       "nodes (resolution 10 ms)"},
      {"load_average", "1", Combine::kMax, Reader::kNode,
       "load average of the last minute before sampling, maximum over the nodes"},
      {"tcp_retransmits", "1", Combine::kSum, Reader::kNode,
       "TCP segments retransmitted, all nodes"},
      {"throttle_events", "1", Combine::kSum, Reader::kNode,
       "thermal throttling events of the cores in use, all nodes"},
      {"memory_available", "B", Combine::kMin, Reader::kNode,
       "memory available after sampling, minimum over the nodes"},
      {"frequency", "Hz", Combine::kMin, Reader::kRank,
       "frequency after sampling as cpufreq reports it for the rank's first CPU, minimum over "
       "the ranks"},
      {"clock_rate", "Hz", Combine::kMin, Reader::kRank,
       "core clock measured by a chain of dependent additions, mean of immediately before and "
       "immediately after sampling, minimum over the ranks"},
      {"involuntary_switches", "1", Combine::kSum, Reader::kRank,
       "involuntary context switches of the ranks"},
      {"worst_involuntary_switches", "1", Combine::kMax, Reader::kRank,
       "involuntary context switches, maximum over the ranks"},
      {"voluntary_switches", "1", Combine::kSum, Reader::kRank,
       "voluntary context switches of the ranks"},
      {"wait_seconds", "s", Combine::kSum, Reader::kRank,
       "time that threads of the ranks were ready to run and waited for a CPU (schedstat)"},
      {"worst_wait_seconds", "s", Combine::kMax, Reader::kRank,
       "time that a thread was ready to run and waited for a CPU, maximum over the threads"},
      {"most_waiting_rank", "1", Combine::kMax, Reader::kRank,
       "the rank of worst_wait_seconds; null if none waited"},
      {"asleep_seconds", "s", Combine::kMax, Reader::kRank,
       "time that a rank's main thread neither ran nor waited for a CPU, maximum over the ranks: "
       "it was stopped or slept, or interrupts or the hypervisor took its CPU"},
      {"most_asleep_rank", "1", Combine::kMax, Reader::kRank,
       "the rank of asleep_seconds; null if none was asleep"},
      {"quota_seconds", "s", Combine::kMax, Reader::kRank,
       "time that the control group of a rank was throttled by its CPU quota, added up over "
       "CPUs, maximum over the ranks; 0 without a limit"},
      {"interrupt_seconds", "s", Combine::kSum, Reader::kMachine,
       "CPU time of hardware and software interrupts, all CPUs of all machines (resolution 10 ms)"},
      {"cpu_pressure_seconds", "s", Combine::kMax, Reader::kNode,
       "time that some task of the node waited for a CPU (/proc/pressure), maximum over the "
       "nodes"},
      {"memory_pressure_seconds", "s", Combine::kMax, Reader::kNode,
       "time that some task of the node waited for memory to be freed, maximum over the nodes"},
      {"io_pressure_seconds", "s", Combine::kMax, Reader::kNode,
       "time that some task of the node waited for a device, maximum over the nodes"},
      {"memory_latency", "s", Combine::kMax, Reader::kNode,
       "latency of a load that misses all caches, over a chain of 32 loads, mean of immediately "
       "before and immediately after sampling, by the first rank of each node, maximum over the "
       "nodes"},
      {"energy", "J", Combine::kSum, Reader::kMachine,
       "energy consumed by processors and their memory for all processes of all machines (RAPL: "
       "packages and DRAM of /sys/class/powercap); null also where the span is so long that the "
       "counters may have wrapped twice"},
      {"swap_growth", "B", Combine::kSum, Reader::kMachine,
       "net growth of swapped memory, all machines"},
      {"minor_faults", "1", Combine::kSum, Reader::kRank,
       "page faults served without reading from disk"},
      {"major_faults", "1", Combine::kSum, Reader::kRank, "page faults that read from disk"},
      {"user_seconds", "s", Combine::kSum, Reader::kRank, "CPU time of the ranks in user mode"},
      {"system_seconds", "s", Combine::kSum, Reader::kRank, "CPU time of the ranks in the kernel"},
      {"least_cpu_seconds", "s", Combine::kMin, Reader::kRank,
       "CPU time, user and kernel, minimum over the ranks"},
      {"device_clock", "Hz", Combine::kMin, Reader::kDevice,
       "clock of the device, mean of the readings during sampling, minimum over the devices"},
      {"device_memory_clock", "Hz", Combine::kMin, Reader::kDevice,
       "clock of the device's memory, mean of these readings, minimum over the devices"},
      {"device_power", "W", Combine::kSum, Reader::kDevice,
       "power of all devices, mean of these readings"},
      {"device_temperature", "°C", Combine::kMax, Reader::kDevice,
       "highest temperature of a device in these readings"},
      {"device_throttled", "1", Combine::kMax, Reader::kDevice,
       "share of these readings in which heat, power or a fault lowered the device's clock, "
       "maximum "
       "over the devices"},
      {"device_ecc_uncorrected", "1", Combine::kSum, Reader::kDevice,
       "uncorrected errors of the devices' memory"},
      {"device_xid", "1", Combine::kSum, Reader::kDevice,
       "errors of the devices that the driver reported (XID)"},
      {"device_energy", "J", Combine::kSum, Reader::kDevice,
       "energy of all devices: their own counters, or power integrated over the readings"},
      {"device_energy_error", "J", Combine::kSum, Reader::kDevice,
       "the most by which device_energy may be wrong because of the times of readings"},
  };
  return table;
}

Covariates::Covariates(MPI_Comm comm, const Layout& layout)
    : comm_(comm),
      leader_(layout.local_rank == 0),
      first_of_machine_(is_first_of_machine(comm, leader_)),
      threads_(layout.threads) {
  const std::string cpu = "/sys/devices/system/cpu/cpu";
  frequency_ = open_to_read(cpu + std::to_string(layout.cpus[0]) + "/cpufreq/scaling_cur_freq");
  // The cores in use on this node: every rank sends its CPUs to the leader.
  const int mine = static_cast<int>(layout.cpus.size());
  std::vector<int> all(static_cast<std::size_t>(mine * layout.local_size));
  MPI_Gather(layout.cpus.data(), mine, MPI_INT, all.data(), mine, MPI_INT, 0, layout.node);
  int pinned = layout.pinned ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &pinned, 1, MPI_INT, MPI_MIN, layout.node);
  memory_ = open_to_read("/proc/meminfo");
  if (!leader_) return;
  stat_ = open_to_read("/proc/stat");
  load_ = open_to_read("/proc/loadavg");
  snmp_ = open_to_read("/proc/net/snmp");
  energy_.emplace();
  pressure_ = {open_to_read("/proc/pressure/cpu"), open_to_read("/proc/pressure/memory"),
               open_to_read("/proc/pressure/io")};
  const std::set<int> used(all.begin(), all.end());
  if (pinned) neighbours_ = neighbours_of(used);
  for (const int id : used) {
    const int file =
        open_to_read(cpu + std::to_string(id) + "/thermal_throttle/core_throttle_count");
    if (file >= 0) throttle_.push_back(file);
  }
}

Covariates::~Covariates() {
  std::vector<int> files = throttle_;
  files.insert(files.end(), {stat_, load_, snmp_, memory_, frequency_});
  files.insert(files.end(), pressure_.begin(), pressure_.end());
  for (const int file : files) {
    if (file >= 0) close(file);
  }
}

std::size_t Covariates::memory_available() const {
  const auto found = numbers_after(read_file(memory_), "MemAvailable:");
  double bytes = found.empty() ? 0.0 : found[0] * 1024.0;
  MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MIN, comm_);
  return static_cast<std::size_t>(bytes);
}

Covariates::Reading Covariates::read() const {
  Reading reading;
  if (leader_) {
    // user nice system idle iowait irq softirq steal; guests are counted in user already.
    const std::string stat = read_file(stat_, kStatBytes);
    const auto cpu = numbers_after(stat, "cpu ");
    if (cpu.size() >= 8) {
      static const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
      reading.steal = tick * cpu[7];
      reading.busy = tick * (cpu[0] + cpu[1] + cpu[2] + cpu[5] + cpu[6]);
      reading.interrupts = tick * (cpu[5] + cpu[6]);
      reading.cpus = cpus_listed(stat);
      const auto neighbours = neighbours_ ? busy_ticks(stat, *neighbours_) : std::nullopt;
      if (neighbours) reading.neighbours = tick * *neighbours;
    }
    reading.load = first_number(read_file(load_, 64));
    reading.retransmits = tcp_retransmits(read_file(snmp_));
    for (const int file : throttle_) {
      const auto events = first_number(read_file(file, 64));
      if (events) reading.throttles = reading.throttles.value_or(0.0) + *events;
    }
    const std::string meminfo = read_file(memory_);
    const auto memory = numbers_after(meminfo, "MemAvailable:");
    if (!memory.empty()) reading.memory = memory[0] * 1024.0;
    const auto swap = numbers_after(meminfo, "SwapTotal:");
    const auto unused = numbers_after(meminfo, "SwapFree:");
    if (!swap.empty() && !unused.empty()) reading.swapped = (swap[0] - unused[0]) * 1024.0;
    for (std::size_t i = 0; i < pressure_.size(); ++i) {
      reading.pressure[i] = pressure_seconds(read_file(pressure_[i], 128));
    }
  }
  if (energy_) reading.energy = energy_->read();
  reading.quota = quota_.held_back();
  if (const auto frequency = first_number(read_file(frequency_, 64))) {
    reading.frequency = 1000.0 * *frequency;
  }
  getrusage(RUSAGE_SELF, &reading.usage);
  return reading;
}

void Covariates::begin() {
  const auto rate = clock_rate();
  const auto latency = leader_ ? memory_latency() : std::nullopt;
  before_ = read();
  before_.clock_rate = rate;
  before_.memory_latency = latency;
  before_.threads = threads_.read();  // last, and first in end(): its resolution is microseconds
  before_.time = ticks();
}

void Covariates::end() {
  const Ticks time = ticks();
  auto threads = threads_.read();
  after_ = read();
  after_.time = time;
  after_.threads = std::move(threads);
  after_.clock_rate = clock_rate();
  if (leader_) after_.memory_latency = memory_latency();
}

std::map<std::string, std::optional<double>> Covariates::own() const {
  const rusage& a = after_.usage;
  const rusage& b = before_.usage;
  std::map<std::string, std::optional<double>> values;
  values["sampling_seconds"] = seconds(after_.time - before_.time);
  values["steal_seconds"] = difference(after_.steal, before_.steal);
  values["other_cpu_seconds"] = difference(after_.busy, before_.busy);  // less the ranks', below
  values["online_cpus"] = after_.cpus;
  values["neighbour_cpu_seconds"] = difference(after_.neighbours, before_.neighbours);
  values["load_average"] = before_.load;
  values["tcp_retransmits"] = difference(after_.retransmits, before_.retransmits);
  values["throttle_events"] = difference(after_.throttles, before_.throttles);
  values["memory_available"] = after_.memory;
  values["frequency"] = after_.frequency;
  if (after_.clock_rate && before_.clock_rate) {
    values["clock_rate"] = 0.5 * (*after_.clock_rate + *before_.clock_rate);
  }
  if (after_.memory_latency && before_.memory_latency) {
    values["memory_latency"] = 0.5 * (*after_.memory_latency + *before_.memory_latency);
  }
  if (const auto span = between(before_.threads, after_.threads)) {
    values["wait_seconds"] = span->waited;
    values["worst_wait_seconds"] = span->longest;
    values["asleep_seconds"] = span->asleep;
  }
  values["quota_seconds"] = difference(after_.quota, before_.quota);
  values["interrupt_seconds"] = difference(after_.interrupts, before_.interrupts);
  values["cpu_pressure_seconds"] = difference(after_.pressure[0], before_.pressure[0]);
  values["memory_pressure_seconds"] = difference(after_.pressure[1], before_.pressure[1]);
  values["io_pressure_seconds"] = difference(after_.pressure[2], before_.pressure[2]);
  if (energy_) {
    const double span = seconds(after_.time - before_.time);
    values["energy"] = energy_->between(before_.energy, after_.energy, span);
  }
  values["swap_growth"] = difference(after_.swapped, before_.swapped);
  values["involuntary_switches"] = static_cast<double>(a.ru_nivcsw - b.ru_nivcsw);
  values["worst_involuntary_switches"] = values["involuntary_switches"];
  values["voluntary_switches"] = static_cast<double>(a.ru_nvcsw - b.ru_nvcsw);
  values["minor_faults"] = static_cast<double>(a.ru_minflt - b.ru_minflt);
  values["major_faults"] = static_cast<double>(a.ru_majflt - b.ru_majflt);
  values["user_seconds"] = time_of(a.ru_utime) - time_of(b.ru_utime);
  values["system_seconds"] = time_of(a.ru_stime) - time_of(b.ru_stime);
  values["least_cpu_seconds"] = *values["user_seconds"] + *values["system_seconds"];
  return values;
}

// The rank with the greatest value of this covariate, on rank 0; none if all are 0. Collective.
std::optional<double> Covariates::foremost_rank(
    const std::map<std::string, std::optional<double>>& values, const char* name) const {
  const auto found = values.find(name);
  struct {
    double longest;
    int rank;
  } mine{found == values.end() ? 0.0 : found->second.value_or(0.0), 0}, most{0.0, 0};
  MPI_Comm_rank(comm_, &mine.rank);
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, 0, comm_);
  return most.longest > 0.0 ? std::optional(static_cast<double>(most.rank)) : std::nullopt;
}

std::map<std::string, std::optional<double>> Covariates::combined() const {
  const auto& table = covariate_meanings();
  const auto mine = own();
  // For each covariate its sum, and its maximum, negated where the minimum is wanted. A rank that
  // can't read a covariate makes it unknown: the sum becomes NaN.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::size_t n = table.size();
  std::vector<double> sums(n, 0.0);
  std::vector<double> greatest(n, -std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    if (table[i].reader == Reader::kDevice) continue;
    if (table[i].reader == Reader::kNode && !leader_) continue;
    if (table[i].reader == Reader::kMachine && !first_of_machine_) continue;
    const auto found = mine.find(table[i].name);
    const auto value = found == mine.end() ? std::nullopt : found->second;
    sums[i] = value.value_or(kNan);
    if (value) greatest[i] = table[i].combine == Combine::kMin ? -*value : *value;
  }
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  const auto reduce = [&](std::vector<double>& values, MPI_Op op) {
    MPI_Reduce(rank == 0 ? MPI_IN_PLACE : values.data(), rank == 0 ? values.data() : nullptr,
               static_cast<int>(n), MPI_DOUBLE, op, 0, comm_);
  };
  reduce(sums, MPI_SUM);
  reduce(greatest, MPI_MAX);
  const auto waiting = foremost_rank(mine, "worst_wait_seconds");
  const auto asleep = foremost_rank(mine, "asleep_seconds");
  if (rank != 0) return {};
  std::map<std::string, std::optional<double>> values;
  for (std::size_t i = 0; i < n; ++i) {
    if (table[i].reader == Reader::kDevice) continue;
    auto& value = values[table[i].name];
    if (std::isnan(sums[i])) continue;
    if (table[i].combine == Combine::kSum) value = sums[i];
    if (table[i].combine == Combine::kMax) value = greatest[i];
    if (table[i].combine == Combine::kMin) value = -greatest[i];
  }
  values["most_waiting_rank"] = waiting;
  values["most_asleep_rank"] = asleep;
  auto& other = values["other_cpu_seconds"];
  if (other) {
    other = std::max(*other - *values["user_seconds"] - *values["system_seconds"], 0.0);
  }
  return values;
}

}  // namespace assay
