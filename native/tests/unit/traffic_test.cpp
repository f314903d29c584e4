#include "harness/traffic.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/unit/check.hpp"

using namespace assay;

namespace fs = std::filesystem;

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

// A temporary /sys.
class SysTree {
 public:
  SysTree() : root_(fs::temp_directory_path() / ("assay-sys-" + std::to_string(getpid()))) {}
  ~SysTree() { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << "\n";
  }
  // Hardware has a folder of its device; in a pair one end links to the other.
  void interface(const std::string& name, int type, int index, int link, bool hardware) const {
    const std::string folder = "class/net/" + name + "/";
    write(folder + "type", std::to_string(type));
    write(folder + "ifindex", std::to_string(index));
    write(folder + "iflink", std::to_string(link));
    if (hardware) write(folder + "device/vendor", "0x15b3");
    count(name, 0, 0);
  }
  void count(const std::string& name, long sent, long received) const {
    write("class/net/" + name + "/statistics/tx_bytes", std::to_string(sent));
    write("class/net/" + name + "/statistics/rx_bytes", std::to_string(received));
  }
  void port(const std::string& device, const std::string& words) const {
    const std::string folder = "class/infiniband/" + device + "/ports/1/counters/";
    write(folder + "port_xmit_data", words);
    write(folder + "port_rcv_data", words);
  }
  std::string root() const { return root_; }

 private:
  fs::path root_;
};

}  // namespace

TEST(counters_of_what_leads_out_are_read) {
  const SysTree tree;
  tree.interface("lo", 772, 1, 1, false);
  tree.interface("docker0", 1, 2, 2, false);
  tree.interface("eth0", 1, 3, 3, true);
  tree.interface("veth7", 1, 4, 9, false);
  tree.port("mlx5_0", "1000000");
  Layout layout;
  Traffic traffic(MPI_COMM_NULL, layout, 2, tree.root());
  traffic.begin();
  for (const char* each : {"lo", "docker0", "eth0", "veth7"}) tree.count(each, 50'000, 10'000);
  tree.port("mlx5_0", "1025000");
  traffic.end();
  std::map<std::string, double> sent;
  for (const AdapterTraffic& each : traffic.own()) sent[each.adapter] = each.sent;
  const std::map<std::string, double> wanted = {
      {"eth0", 50'000.0}, {"veth7", 50'000.0}, {"mlx5_0:1", 100'000.0}};
  CHECK(sent == wanted);
}

TEST(on_one_node_and_beside_the_first_rank_nothing_is_read) {
  const SysTree tree;
  tree.interface("eth0", 1, 3, 3, true);
  Layout other;
  other.local_rank = 1;
  Traffic alone(MPI_COMM_NULL, Layout(), 1, tree.root());
  Traffic paired(MPI_COMM_NULL, other, 2, tree.root());
  for (Traffic* each : {&alone, &paired}) each->begin();
  tree.count("eth0", 1'000'000, 0);
  for (Traffic* each : {&alone, &paired}) each->end();
  CHECK(alone.own().empty() && paired.own().empty());
  CHECK(!alone.counts() && paired.counts());
}

TEST(of_very_many_adapters_some_are_read) {
  const SysTree tree;
  for (int i = 10; i < 60; ++i) tree.interface("eth" + std::to_string(i), 1, i, i, true);
  Traffic traffic(MPI_COMM_NULL, Layout(), 2, tree.root());
  traffic.begin();
  for (int i = 10; i < 60; ++i) tree.count("eth" + std::to_string(i), 1'000'000, 0);
  traffic.end();
  CHECK_EQUAL(traffic.own().size(), std::size_t{16});
}

TEST(a_counter_that_was_reset_counts_as_0) {
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

TEST(hosts_are_reported_separately_up_to_a_limit) {
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
