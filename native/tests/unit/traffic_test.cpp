#include "harness/traffic.hpp"

#include "tests/unit/check.hpp"

using namespace assay;

namespace {

std::string written(const std::vector<AdapterTraffic>& all) {
  JsonWriter json;
  write_traffic(json, all);
  return json.text();
}

std::vector<AdapterTraffic> on_hosts(std::size_t hosts) {
  std::vector<AdapterTraffic> all;
  for (std::size_t host = 0; host < hosts; ++host) {
    all.push_back({"n" + std::to_string(host), "ib0", 1000.0, 1.0 + static_cast<double>(host)});
  }
  return all;
}

}  // namespace

TEST(a_counter_that_was_set_back_tells_nothing) {
  CHECK_EQUAL(moved(10, 25), 15.0);
  CHECK_EQUAL(moved(7, 7), 0.0);
  CHECK_EQUAL(moved(25, 10), 0.0);
  CHECK_EQUAL(moved(0, std::uint64_t{1} << 50), 1125899906842624.0);
}

TEST(what_hums_along_is_left_out) {
  const auto kept = beyond_noise({{"a", "eth0", 4096.0, 0.0},
                                  {"a", "eth1", 1e6, 1e6},
                                  {"a", "eth2", 19'999.0, 0.0},
                                  {"a", "eth3", 10'000.0, 10'000.0}});
  CHECK_EQUAL(kept.size(), std::size_t{2});
  CHECK_EQUAL(kept[0].adapter, "eth1");
  CHECK_EQUAL(kept[1].adapter, "eth3");
  CHECK(beyond_noise({{"a", "eth0", 4000.0, 96.0}}).empty());
  CHECK_EQUAL(beyond_noise({{"a", "eth0", 4000.0, 97.0}}).size(), std::size_t{1});
  CHECK(beyond_noise({}).empty());
}

TEST(hosts_are_told_one_by_one_up_to_a_number) {
  CHECK_EQUAL(written({}), "[]");
  CHECK_EQUAL(written({{"n1", "eth1", 5000.0, 7000.0}}),
              R"([{"adapter":"eth1","host":"n1","sent":5000.0,"received":7000.0}])");
  const std::string each = written(on_hosts(kMostHosts));
  CHECK(each.find("\"host\":\"n63\"") != std::string::npos);
  CHECK(each.find("hosts") == std::string::npos);
  // 65 hosts received 1 + 2 + … + 65.
  CHECK_EQUAL(written(on_hosts(kMostHosts + 1)),
              R"([{"adapter":"ib0","hosts":65,"sent":65000.0,"received":2145.0,)"
              R"("least":1001.0,"most":1065.0}])");
}
