#include "harness/layout.hpp"

#include "tests/unit/check.hpp"

using namespace assay;

namespace {

// CPU ids as Linux commonly numbers them: the first siblings of all cores, then the second ones.
std::vector<Cpu> machine(int packages, int cores, int siblings) {
  std::vector<Cpu> cpus;
  for (int sibling = 0; sibling < siblings; ++sibling) {
    for (int package = 0; package < packages; ++package) {
      for (int core = 0; core < cores; ++core) {
        const int id = (sibling * packages + package) * cores + core;
        cpus.push_back({id, package, package, core, sibling});
      }
    }
  }
  return in_pinning_order(cpus);
}

std::string slots(const std::vector<Cpu>& cpus, int count, const Binding& binding,
                  int threads = 1) {
  std::string text;
  for (const int id : cpus_of_slots(cpus, count, binding, threads)) {
    text += std::to_string(id) + " ";
  }
  return text;
}

std::string slots(const std::vector<Cpu>& cpus, int count, Binding::Kind kind) {
  return slots(cpus, count, Binding{kind});
}

}  // namespace

TEST(compact_fills_physical_cores_first) {
  const auto cpus = machine(2, 4, 2);
  CHECK_EQUAL(slots(cpus, 3, Binding::kCompact), "0 1 2 ");
  CHECK_EQUAL(slots(cpus, 8, Binding::kCompact), "0 1 2 3 4 5 6 7 ");
  CHECK_EQUAL(slots(cpus, 9, Binding::kCompact), "0 1 2 3 4 5 6 7 8 ");
  CHECK_EQUAL(slots(cpus, 16, Binding::kCompact), "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 ");
}

TEST(spread_uses_all_packages) {
  const auto cpus = machine(2, 4, 2);
  CHECK_EQUAL(slots(cpus, 2, Binding::kSpread), "0 4 ");
  CHECK_EQUAL(slots(cpus, 4, Binding::kSpread), "0 2 4 6 ");
  CHECK_EQUAL(slots(cpus, 8, Binding::kSpread), "0 1 2 3 4 5 6 7 ");
  CHECK_EQUAL(slots(cpus, 12, Binding::kSpread), "0 1 2 3 4 5 6 7 8 9 10 11 ");
}

TEST(nothing_is_pinned_without_binding_or_room) {
  const auto cpus = machine(1, 2, 1);
  CHECK_EQUAL(slots(cpus, 2, Binding::kNone), "");
  CHECK_EQUAL(slots(cpus, 3, Binding::kCompact), "");
  CHECK_EQUAL(slots(cpus, 3, Binding::kSpread), "");
  CHECK_EQUAL(slots({}, 1, Binding::kCompact), "");
}

TEST(order_follows_the_topology_and_not_the_numbers) {
  // Even CPUs on package 0, odd on 1; siblings next to each other: 0,2 are core 0 of package 0.
  std::vector<Cpu> cpus;
  for (int id = 0; id < 8; ++id) cpus.push_back({id, id % 2, id % 2, id / 4, id / 2 % 2});
  CHECK_EQUAL(slots(in_pinning_order(cpus), 8, Binding::kCompact), "0 4 1 5 2 6 3 7 ");
  CHECK_EQUAL(slots(in_pinning_order(cpus), 2, Binding::kSpread), "0 1 ");
}

TEST(a_numa_node_gives_its_own_cpus_alone) {
  // Two packages of two NUMA nodes each, two cores per node, two hardware threads per core.
  std::vector<Cpu> cpus;
  for (int id = 0; id < 16; ++id) cpus.push_back({id, id % 8 / 4, id % 8 / 2, id % 4, id / 8});
  const auto ordered = in_pinning_order(cpus);
  const auto of = [&](int node, int count) {
    const Binding binding{Binding::kCompact, node};
    return slots(cpus_of_binding(ordered, count, binding), count, binding);
  };
  CHECK_EQUAL(of(0, 2), "0 1 ");
  CHECK_EQUAL(of(2, 2), "4 5 ");
  CHECK_EQUAL(of(3, 4), "6 7 14 15 ");
  CHECK_EQUAL(of(-1, 9), "0 1 2 3 4 5 6 7 8 ");
  CHECK_THROWS(of(3, 5), KernelError, "NUMA node 3 has 4 CPUs that may be used, but 5 threads");
  CHECK_THROWS(of(4, 1), KernelError,
               "NUMA node 4 has no CPU that may be used here; these have: "
               "0, 1, 2, 3");
}

TEST(shared_cores_fill_before_the_next_one_begins) {
  const auto cpus = machine(2, 4, 2);  // CPU 8 is the second hardware thread of CPU 0's core
  const Binding compact{Binding::kCompact, -1, true};
  CHECK_EQUAL(slots(cpus, 1, compact), "0 ");
  CHECK_EQUAL(slots(cpus, 3, compact), "0 8 1 ");
  CHECK_EQUAL(slots(cpus, 16, compact), "0 8 1 9 2 10 3 11 4 12 5 13 6 14 7 15 ");
  const Binding spread{Binding::kSpread, -1, true};
  CHECK_EQUAL(slots(cpus, 4, spread), "0 8 4 12 ");  // two cores, one of each package
  CHECK_EQUAL(slots(cpus, 8, spread), "0 8 2 10 4 12 6 14 ");
  CHECK_EQUAL(slots(cpus, 16, spread), slots(cpus, 16, compact));
  CHECK_EQUAL(slots(cpus, 17, compact), "");
  // Without siblings there is nothing to share.
  CHECK_EQUAL(slots(machine(1, 4, 1), 3, compact), "0 1 2 ");
  // A core may have one hardware thread while others have two.
  const auto mixed = in_pinning_order(
      {{0, 0, 0, 0, 0}, {1, 0, 0, 0, 1}, {2, 0, 0, 1, 0}, {3, 0, 0, 2, 0}, {4, 0, 0, 2, 1}});
  CHECK_EQUAL(slots(mixed, 5, compact), "0 1 2 3 4 ");
  CHECK_EQUAL(slots(mixed, 3, spread), "0 1 2 ");  // cores 0 and 1 hold three
}

TEST(ranks_are_dealt_to_numa_nodes) {
  // Two packages of two NUMA nodes each, four cores per node, two hardware threads per core.
  std::vector<Cpu> cpus;
  for (int id = 0; id < 32; ++id) cpus.push_back({id, id % 16 / 8, id % 16 / 4, id % 8, id / 16});
  const auto ordered = in_pinning_order(cpus);
  const Binding each{Binding::kPerNuma};
  CHECK_EQUAL(slots(ordered, 4, each), "0 4 8 12 ");
  CHECK_EQUAL(slots(ordered, 8, each, 2), "0 1 4 5 8 9 12 13 ");
  CHECK_EQUAL(slots(ordered, 8, each), "0 1 4 5 8 9 12 13 ");
  CHECK_EQUAL(slots(ordered, 4, each, 2), "0 1 8 9 ");  // two ranks, far apart
  CHECK_EQUAL(slots(ordered, 6, each), "0 1 4 8 9 12 ");
  CHECK_EQUAL(slots(ordered, 4, Binding{Binding::kPerNuma, -1, true}, 2), "0 16 8 24 ");
  CHECK_EQUAL(slots(ordered, 32, each),
              "0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 "
              "8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 ");
  CHECK_THROWS(cpus_of_slots(ordered, 10, each, 10), KernelError,
               "NUMA node 0 has 8 CPUs that may be used, but 10 threads are to be bound to it");
  CHECK_EQUAL(slots(machine(1, 4, 1), 3, each), "0 1 2 ");
}

TEST(ranks_are_bound_near_their_devices) {
  // Two NUMA nodes of four cores; devices 0 and 1 are near the second, device 2 near the first.
  std::vector<Cpu> cpus;
  for (int id = 0; id < 8; ++id) cpus.push_back({id, id / 4, id / 4, id % 4, 0});
  const auto ordered = in_pinning_order(cpus);
  const Binding near{Binding::kNearDevice};
  const std::vector<int> first{0, 1, 2, 3}, second{4, 5, 6, 7};
  const std::vector<DevicePlace> places{{"a", 1, second}, {"b", 1, second}, {"c", 0, first}};
  const auto bound = [&](int slots, int threads, const std::vector<DevicePlace>& given) {
    std::string text;
    for (const int cpu : cpus_near_devices(ordered, slots, near, threads, given)) {
      text += std::to_string(cpu) + " ";
    }
    return text;
  };
  CHECK_EQUAL(bound(3, 1, places), "4 5 0 ");
  CHECK_EQUAL(bound(6, 2, places), "4 5 6 7 0 1 ");
  CHECK_EQUAL(bound(4, 1, {places[0], places[2]}), "4 0 5 1 ");  // two ranks share a device
  // A device that names no CPUs leaves the choice.
  CHECK_EQUAL(bound(2, 1, {places[2], {"d", -1, {}}}), "0 1 ");
  CHECK_EQUAL(bound(2, 1, {{"d", -1, {}}, {"e", -1, {}}}), "0 1 ");
  CHECK_EQUAL(bound(9, 1, places), "");  // more ranks than CPUs: nothing is pinned
  CHECK_THROWS(bound(5, 1, {places[2]}), KernelError,
               "near-device: 4 CPUs near the device c may be used, but 5 threads");
  CHECK_THROWS(bound(1, 1, {}), KernelError, "shows no accelerator");
}

TEST(visible_devices_are_read_as_cuda_does) {
  const std::vector<DevicePlace> places{{"a", 0, {}}, {"b", 0, {}}, {"c", 0, {}}};
  const auto visible = [&](const std::string& text) {
    std::string found;
    for (const DevicePlace& place : visible_devices(places, text)) found += place.address;
    return found;
  };
  CHECK_EQUAL(visible("2,0"), "ca");
  CHECK_EQUAL(visible("1,7,0"), "b");  // ends with the first that doesn't exist
  CHECK_EQUAL(visible(""), "");
  CHECK_EQUAL(visible("-1"), "");
  CHECK_THROWS(visible("GPU-8f2a"), KernelError, "named by 'GPU-8f2a'");
}

TEST(bindings_are_words) {
  CHECK(parse_binding("near-device")->kind == Binding::kNearDevice);
  CHECK(parse_binding("per-numa")->kind == Binding::kPerNuma);
  CHECK(parse_binding("spread")->kind == Binding::kSpread);
  CHECK(parse_binding("none")->kind == Binding::kNone);
  CHECK(parse_binding("numa:12")->kind == Binding::kCompact);
  CHECK_EQUAL(parse_binding("numa:12")->numa_node, 12);
  CHECK_EQUAL(parse_binding("compact")->numa_node, -1);
  for (const char* wrong :
       {"", "numa", "numa:", "numa:-1", "numa:1x", "numa: 1", "numa:99999999999", "Compact"}) {
    CHECK(!parse_binding(wrong));
  }
}

TEST(cpu_lists_are_read_as_the_kernel_writes_them) {
  const auto text = [](const std::string& list) {
    std::string ids;
    for (const int id : parse_cpu_list(list)) ids += std::to_string(id) + " ";
    return ids;
  };
  CHECK_EQUAL(text("0-3,8"), "0 1 2 3 8 ");
  CHECK_EQUAL(text("5\n"), "5 ");
  CHECK_EQUAL(text("1,3-4,10-11"), "1 3 4 10 11 ");
  CHECK_EQUAL(text(""), "");
}

TEST(this_machine_can_be_read) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CHECK_EQUAL(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  const auto cpus = read_cpus(allowed);
  CHECK_EQUAL(cpus.size(), static_cast<std::size_t>(CPU_COUNT(&allowed)));
  for (std::size_t i = 1; i < cpus.size(); ++i) CHECK(cpus[i].sibling >= cpus[i - 1].sibling);
  const Caches caches = read_caches(cpus);
  CHECK(caches.l1d <= caches.last_level_node || caches.last_level_node == 0);
}
