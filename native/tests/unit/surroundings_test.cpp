// Sources of the covariates: control groups, pressure, schedstat, memory.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "harness/energy.hpp"
#include "harness/layout.hpp"
#include "harness/memory_probe.hpp"
#include "harness/proc_text.hpp"
#include "harness/quota.hpp"
#include "harness/thread_times.hpp"
#include "tests/unit/check.hpp"

using namespace assay;

namespace fs = std::filesystem;

namespace {

// A temporary folder.
class Tree {
 public:
  Tree() : root_(fs::temp_directory_path() / ("assay-groups-" + std::to_string(getpid()))) {}
  ~Tree() { fs::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  std::string at(const std::string& path) const { return (root_ / path).string(); }

 private:
  fs::path root_;
};

const std::string kUnified =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
const std::string kOld =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

}  // namespace

TEST(groups_that_hold_a_process_down_are_found) {
  const auto slurm = cpu_groups("0::/system.slice/job_7/step_0\n", kUnified);
  CHECK_EQUAL(slurm.size(), 4u);
  CHECK_EQUAL(slurm[0], "/sys/fs/cgroup/system.slice/job_7/step_0");
  CHECK_EQUAL(slurm[1], "/sys/fs/cgroup/system.slice/job_7");
  CHECK_EQUAL(slurm[3], "/sys/fs/cgroup");

  // A separate mount of the CPU controller is the hierarchy, not the unified one.
  const auto old = cpu_groups("9:name=systemd:/a\n2:cpuacct:/b\n1:cpu:/c\n0::/d\n", kOld);
  CHECK_EQUAL(old.size(), 2u);
  CHECK_EQUAL(old[0], "/sys/fs/cgroup/cpu/c");
  const auto together =
      cpu_groups("3:cpu,cpuacct:/c\n", "1 2 0:1 / /mnt rw - cgroup x rw,cpuacct,cpu");
  CHECK_EQUAL(together.at(0), "/mnt/c");

  // A container sees its own group as the root of the mount.
  const std::string inside = "30 23 0:26 /docker/4f /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
  CHECK_EQUAL(cpu_groups("0::/docker/4f\n", inside).size(), 1u);
  CHECK_EQUAL(cpu_groups("0::/docker/4f/x\n", inside).at(0), "/sys/fs/cgroup/x");

  CHECK(cpu_groups("0::/../other\n", kUnified).empty());
  const auto memory = groups_of("memory", "9:name=systemd:/a\n2:memory:/b\n1:cpu:/c\n0::/d\n",
                                "1 2 0:1 / /mnt/cpu rw - cgroup x rw,cpu\n"
                                "1 2 0:1 / /mnt/memory rw - cgroup x rw,memory\n");
  CHECK_EQUAL(memory.size(), 2u);
  CHECK_EQUAL(memory.at(0), "/mnt/memory/b");
  CHECK(cpu_groups("", kUnified).empty());
  CHECK(cpu_groups("0::/a\n", "").empty());
}

TEST(time_held_back_by_quotas_is_added_up) {
  const Tree tree;
  tree.write("a/cpu.max", "50000 100000");
  tree.write("a/cpu.stat", "usage_usec 77\nnr_throttled 3\nthrottled_usec 2500000");
  tree.write("a/b/cpu.max", "max 100000");
  tree.write("a/b/cpu.stat", "throttled_usec 9000000");
  tree.write("v1/cpu.cfs_quota_us", "20000");
  tree.write("v1/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_time 500000000");
  tree.write("free/cpu.cfs_quota_us", "-1");
  tree.write("free/cpu.stat", "throttled_time 500000000");
  // A group without a limit can't throttle, whatever its counters show.
  CHECK_NEAR(*CpuQuota(std::vector<std::string>{tree.at("a/b"), tree.at("a")}).held_back(), 2.5,
             1e-12);
  CHECK_NEAR(*CpuQuota(std::vector<std::string>{tree.at("v1")}).held_back(), 0.5, 1e-12);
  CHECK_EQUAL(*CpuQuota(std::vector<std::string>{tree.at("free")}).held_back(), 0.0);
  CHECK(!CpuQuota(std::vector<std::string>{}).held_back().has_value());
}

TEST(busy_time_of_some_cpus_is_read) {
  const std::string text =
      "cpu  100 10 20 4000 7 3 2 9 0 0\n"
      "cpu0 60 6 12 2000 4 2 1 5 0 0\n"
      "cpu1 40 4 8 2000 3 1 1 4 0 0\n"
      "cpu10 1 2 3 4 5 6 7 8 0 0\n"
      "intr 5 6 7\n";
  // user, nice, system, interrupts; without idle, disk wait and steal time.
  CHECK_NEAR(*busy_ticks(text, {0}), 81.0, 1e-12);
  CHECK_NEAR(*busy_ticks(text, {1, 10}), 54.0 + 19.0, 1e-12);
  CHECK_NEAR(*busy_ticks(text, {}), 0.0, 1e-12);
  CHECK(!busy_ticks(text, {0, 7}).has_value());
  CHECK(!busy_ticks("cpu  1 2 3\ncpu0 1 2\n", {0}).has_value());
  CHECK(!busy_ticks("", {0}).has_value());
}

TEST(cpus_online_are_counted) {
  const std::string text =
      "cpu  100 10 20 4000 7 3 2 9 0 0\n"
      "cpu0 60 6 12 2000 4 2 1 5 0 0\n"
      "cpu10 40 4 8 2000 3 1 1 4 0 0\n"
      "intr 5 6 7\n";
  CHECK_EQUAL(*cpus_listed(text), 2.0);
  CHECK(!cpus_listed(text.substr(0, text.find("intr"))).has_value());  // cut: there may be more
  CHECK(!cpus_listed("intr 5\n").has_value());
  CHECK(!cpus_listed("").has_value());
}

TEST(neighbours_share_something_and_are_others) {
  cpu_set_t all;
  sched_getaffinity(0, sizeof all, &all);
  const auto cpus = read_cpus(all);
  const std::set<int> one{cpus.at(0).id};
  const auto found = neighbours_of(one);
  CHECK(!found.contains(cpus[0].id));
  // Sharing is symmetric.
  for (const int id : found) CHECK(neighbours_of({id}).contains(cpus[0].id));
  std::set<int> whole = found;
  whole.insert(cpus[0].id);
  for (const int id : neighbours_of(whole)) CHECK(!whole.contains(id));
}

TEST(energy_is_added_up_over_packages_and_their_memory) {
  const Tree tree;
  const auto zone = [&](const std::string& name, const std::string& what, const std::string& shown,
                        const std::string& range) {
    tree.write("power/" + name + "/name", what);
    tree.write("power/" + name + "/energy_uj", shown);
    tree.write("power/" + name + "/max_energy_range_uj", range);
  };
  tree.write("power/intel-rapl/enabled", "1");
  zone("intel-rapl:0", "package-0", "1000000", "262143328850");
  zone("intel-rapl:0:0", "core", "500000", "262143328850");
  zone("intel-rapl:0:1", "dram", "2000000", "65712999613");
  zone("intel-rapl:1", "package-1-die-0", "262143000000", "262143328850");
  zone("intel-rapl:2", "psys", "7000000", "262143328850");
  zone("intel-rapl-mmio:0", "package-0", "1000000", "262143328850");
  const EnergyCounters counters(tree.at("power"));
  const auto before = counters.read();
  CHECK_EQUAL(before.size(), 3u);
  tree.write("power/intel-rapl:0/energy_uj", "4000000");
  tree.write("power/intel-rapl:0:0/energy_uj", "2500000");
  tree.write("power/intel-rapl:0:1/energy_uj", "2500000");
  tree.write("power/intel-rapl:1/energy_uj", "671150");  // wrapped: 0.32885 J and 0.67115 J
  const auto after = counters.read();
  CHECK_NEAR(*counters.between(before, after, 2.0), 3.0 + 0.5 + 1.0, 1e-6);
  // The memory's counter may wrap twice in longer than 65.7 s at 1 kW.
  CHECK(counters.between(before, after, 65.0).has_value());
  CHECK(!counters.between(before, after, 66.0).has_value());
  CHECK(!counters.between({}, after, 2.0).has_value());
}

TEST(part_of_the_energy_is_no_energy) {
  const Tree tree;
  CHECK(EnergyCounters(tree.at("power")).read().empty());
  tree.write("power/intel-rapl:0/name", "package-0");
  tree.write("power/intel-rapl:0/energy_uj", "1000000");
  CHECK(EnergyCounters(tree.at("power")).read().empty());  // its range is unknown
  tree.write("power/intel-rapl:0/max_energy_range_uj", "262143328850");
  CHECK_EQUAL(EnergyCounters(tree.at("power")).read().size(), 1u);
  // A second package that can't be read: the file is missing, as if permission were denied.
  tree.write("power/intel-rapl:1/name", "package-1");
  tree.write("power/intel-rapl:1/max_energy_range_uj", "262143328850");
  CHECK(EnergyCounters(tree.at("power")).read().empty());
}

TEST(pressure_is_read) {
  const std::string text =
      "some avg10=10.07 avg60=10.37 avg300=5.55 total=2500000\n"
      "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
  CHECK_NEAR(*pressure_seconds(text), 2.5, 1e-12);
  CHECK(!pressure_seconds("full avg10=0.00 total=7\n").has_value());
  CHECK(!pressure_seconds("some avg10=0.00\nfull total=7\n").has_value());
  CHECK(!pressure_seconds("").has_value());
  CHECK_EQUAL(numbers_after("12 34 5\n6\n", "").size(), 3u);
}

TEST(time_of_threads_is_accounted_for) {
  const ThreadTimes::Reading before{{1.0, 2.0}, 10.0, 0};
  const ThreadTimes::Reading after{{1.25, 2.5}, 10.5, 2'000'000'000};
  const auto span = between(before, after);
  CHECK_NEAR(span->waited, 0.75, 1e-12);
  CHECK_NEAR(span->longest, 0.5, 1e-12);
  CHECK_NEAR(span->asleep, 1.25, 1e-12);  // 2 s less 0.5 s run less 0.25 s waited
  CHECK(!between({}, after).has_value());
  CHECK(!between(before, {{1.0}, 0.0, 0}).has_value());

  const ThreadTimes threads(1);
  const auto start = threads.read();
  usleep(50'000);
  const auto slept = between(start, threads.read());
  if (slept) CHECK(slept->asleep > 0.04 && slept->asleep < 10.0);
}

TEST(memory_answers_within_reason) {
  const auto latency = memory_latency();
  if (latency) CHECK(*latency > 1e-9 && *latency < 1e-4);
}
