#include "harness/traffic.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "harness/agreement.hpp"
#include "harness/proc_text.hpp"
#include "harness/ranks.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

// Maximum number of adapters read per host, the first by name: nodes of containers have hundreds.
constexpr std::size_t kMostAdapters = 16;
// Octets of background traffic: a few frames of ARP, LLDP and similar protocols.
constexpr double kBackground = 4096.0;
constexpr double kShare = 0.01;
// InfiniBand counts port_xmit_data and port_rcv_data in words of four octets (InfiniBand
// Architecture Specification 1, 16.1.3.5).
constexpr std::uint64_t kWord = 4;
// ARPHRD_LOOPBACK of linux/if_arp.h.
constexpr double kLoopback = 772;

std::optional<std::uint64_t> number_in(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t length = descriptor < 0 ? 0 : pread(descriptor, text.data(), text.size(), 0);
  std::uint64_t number = 0;
  if (length <= 0) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + length, number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::vector<std::string> sorted_names_in(const std::string& folder) {
  std::vector<std::string> names = names_in(folder);
  std::sort(names.begin(), names.end());
  return names;
}

// An interface that leads out of this host: hardware, an end of a pair with its other end elsewhere
// (veth, VLAN, macvlan), or a bond of several. Not the loopback, nor bridges within the host.
bool leads_out(const std::string& interface) {
  const auto number = [&](const char* name) { return first_number(first_line(interface + name)); };
  if (number("/type") == kLoopback) return false;
  if (exists(interface + "/device") || exists(interface + "/bonding")) return true;
  const auto index = number("/ifindex");
  const auto link = number("/iflink");
  return index && link && *index != *link;
}

}  // namespace

double moved(std::uint64_t before, std::uint64_t after) {
  return after < before ? 0.0 : static_cast<double>(after - before);
}

std::vector<AdapterTraffic> beyond_noise(std::vector<AdapterTraffic> adapters) {
  double most = 0.0;
  for (const AdapterTraffic& each : adapters) most = std::max(most, each.both());
  std::erase_if(adapters, [&](const AdapterTraffic& each) {
    return each.both() <= kBackground || each.both() < kShare * most;
  });
  return adapters;
}

void write_traffic(JsonWriter& json, const std::vector<AdapterTraffic>& all) {
  std::set<std::string> hosts;
  for (const AdapterTraffic& each : all) hosts.insert(each.host);
  json.begin_array();
  if (hosts.size() <= kMostHosts) {
    for (const AdapterTraffic& each : all) {
      json.begin_object().field("adapter", each.adapter).field("host", each.host);
      json.field("sent", each.sent).field("received", each.received).end_object();
    }
  } else {
    struct Sum {
      std::int64_t hosts = 0;
      double sent = 0.0, received = 0.0, least = 0.0, most = 0.0;
    };
    std::map<std::string, Sum> sums;
    for (const AdapterTraffic& each : all) {
      Sum& sum = sums[each.adapter];
      sum.least = sum.hosts == 0 ? each.both() : std::min(sum.least, each.both());
      sum.most = std::max(sum.most, each.both());
      sum.sent += each.sent;
      sum.received += each.received;
      ++sum.hosts;
    }
    for (const auto& [adapter, sum] : sums) {
      json.begin_object().field("adapter", adapter).field("hosts", sum.hosts);
      json.field("sent", sum.sent).field("received", sum.received);
      json.field("least", sum.least).field("most", sum.most).end_object();
    }
  }
  json.end_array();
}

Traffic::Traffic(MPI_Comm comm, const Layout& layout, int nodes, const std::string& root)
    : comm_(comm), nodes_(nodes) {
  if (nodes_ < 2 || layout.local_rank != 0) return;
  open_ports(root);
  open_interfaces(root);
}

Traffic::~Traffic() {
  for (const Adapter& adapter : adapters_) {
    close(adapter.sent);
    close(adapter.received);
  }
}

void Traffic::open_interfaces(const std::string& root) {
  const std::string net = root + "/class/net/";
  for (const std::string& interface : sorted_names_in(net)) {
    if (!leads_out(net + interface)) continue;
    const std::string folder = net + interface + "/statistics/";
    open_adapter(interface, folder + "tx_bytes", folder + "rx_bytes", 1);
  }
}

void Traffic::open_ports(const std::string& root) {
  const std::string infiniband = root + "/class/infiniband/";
  for (const std::string& device : sorted_names_in(infiniband)) {
    const std::string ports = infiniband + device + "/ports/";
    for (const std::string& port : sorted_names_in(ports)) {
      const std::string folder = ports + port + "/counters/";
      open_adapter(device + ":" + port, folder + "port_xmit_data", folder + "port_rcv_data", kWord);
    }
  }
}

void Traffic::open_adapter(const std::string& name, const std::string& sent,
                           const std::string& received, std::uint64_t octets) {
  if (adapters_.size() == kMostAdapters) return;
  Adapter adapter;
  adapter.name = name;
  adapter.sent = open_to_read(sent);
  adapter.received = open_to_read(received);
  adapter.octets = octets;
  if (adapter.sent >= 0 && adapter.received >= 0) {
    adapters_.push_back(std::move(adapter));
    return;
  }
  for (const int file : {adapter.sent, adapter.received}) {
    if (file >= 0) close(file);
  }
}

void Traffic::read(Reading Adapter::* when) {
  for (Adapter& adapter : adapters_) {
    const auto sent = number_in(adapter.sent);
    const auto received = number_in(adapter.received);
    adapter.*when = {sent.value_or(0), received.value_or(0), sent && received};
  }
}

std::vector<AdapterTraffic> Traffic::own() const {
  std::vector<AdapterTraffic> mine;
  for (const Adapter& each : adapters_) {
    if (!each.before.known || !each.after.known) continue;
    const auto octets = static_cast<double>(each.octets);
    mine.push_back({host_name(), each.name, octets * moved(each.before.sent, each.after.sent),
                    octets * moved(each.before.received, each.after.received)});
  }
  return beyond_noise(std::move(mine));
}

std::vector<AdapterTraffic> Traffic::gathered() const {
  // A line for each name and number, with all digits: names hold no line ends.
  std::string text;
  for (const AdapterTraffic& each : own()) {
    text += each.host + '\n' + each.adapter + '\n';
    for (const double octets : {each.sent, each.received}) {
      std::array<char, 32> digits{};
      text.append(digits.data(), std::to_chars(digits.begin(), digits.end(), octets).ptr) += '\n';
    }
  }
  std::vector<AdapterTraffic> all;
  for (const std::string& each : gather_texts(comm_, text)) {
    const std::vector<std::string_view> lines = lines_of(each);
    for (std::size_t i = 0; i + 3 < lines.size(); i += 4) {
      all.push_back({std::string(lines[i]), std::string(lines[i + 1]),
                     first_number(lines[i + 2]).value_or(0.0),
                     first_number(lines[i + 3]).value_or(0.0)});
    }
  }
  return all;
}

}  // namespace assay
