#include "check/quiet.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"

namespace assay::check {
namespace {

// Enough for the lines of a thousand CPUs, which come first.
constexpr std::size_t kStatBytes = 128 << 10;

std::string read_start(int descriptor, std::size_t most) {
  std::string text(most, '\0');
  const ssize_t got = descriptor < 0 ? 0 : pread(descriptor, text.data(), most, 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

CpuTicks ticks_of(const std::string& stat, const std::set<int>& cpus) {
  CpuTicks found;
  for (const auto& numbers : ticks_of_cpus(stat, cpus)) {
    if (numbers.size() < 8) continue;
    found.busy += busy_ticks_in(numbers);
    found.steal += numbers[7];
  }
  return found;
}

QuietWatch::QuietWatch(const Machine& machine) {
  for (const Cpu& cpu : machine.cores) cpus_.insert(cpu.id);
  const std::set<int> beside = neighbours_of(cpus_);
  std::set<int> packages;
  for (const Cpu& cpu : machine.cores) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu.id) + "/thermal_throttle/";
    throttle_.push_back(open_to_read(folder + "core_throttle_count"));
    if (packages.insert(cpu.package).second) {
      throttle_.push_back(open_to_read(folder + "package_throttle_count"));
    }
  }
  std::erase_if(throttle_, [](int file) { return file < 0; });
  cpus_.insert(beside.begin(), beside.end());
  stat_ = open_to_read("/proc/stat");
}

QuietWatch::~QuietWatch() {
  for (const int file : throttle_) close(file);
  if (stat_ >= 0) close(stat_);
}

QuietWatch::Counts QuietWatch::read() const {
  Counts counts;
  counts.cpus = ticks_of(read_start(stat_, kStatBytes), cpus_);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  counts.own = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  counts.held_back = quota_.held_back().value_or(0.0);
  for (const int file : throttle_) {
    const auto events = first_number(read_start(file, 64));
    if (events) counts.throttled = counts.throttled.value_or(0.0) + *events;
  }
  counts.time = ticks();
  return counts;
}

Quiet QuietWatch::end() const {
  static const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const Counts after = read();
  const double span = std::max(seconds(after.time - before_.time), tick);
  const double busy = tick * (after.cpus.busy - before_.cpus.busy);
  const double steal = std::max(tick * (after.cpus.steal - before_.cpus.steal), 0.0);
  Quiet quiet;
  quiet.others = std::max(busy - (after.own - before_.own), 0.0) / span;
  quiet.steal = steal > 0.0 ? steal / (steal + std::max(busy, 0.0)) : 0.0;
  quiet.held_back = std::max(after.held_back - before_.held_back, 0.0);
  if (after.throttled && before_.throttled) {
    quiet.throttled = std::max(*after.throttled - *before_.throttled, 0.0);
  }
  return quiet;
}

}  // namespace assay::check
