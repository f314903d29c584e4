// Traffic through the network adapters of each host during a measurement.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "harness/json_writer.hpp"
#include "harness/layout.hpp"

namespace assay {

// Octets through one adapter of one host, both ways.
struct AdapterTraffic {
  std::string host;
  std::string adapter;
  double sent = 0.0;
  double received = 0.0;

  double both() const { return sent + received; }
};

// Number of hosts up to which each is reported separately.
constexpr std::size_t kMostHosts = 64;

// Octets between two readings of a counter; 0 if it was reset or wrapped around.
double moved(std::uint64_t before, std::uint64_t after);

// Adapters of a host with more than background traffic: at least a hundredth of the traffic of the
// busiest adapter, and more than a few frames.
std::vector<AdapterTraffic> beyond_noise(std::vector<AdapterTraffic> adapters);

// As a JSON array: an entry for each adapter of each host; with more than kMostHosts hosts an entry
// for each adapter name, with sums and extremes over the hosts.
void write_traffic(JsonWriter& json, const std::vector<AdapterTraffic>& all);

// Reads the adapters' counters before and after the samples, on one rank per node. Files are opened
// once per launch. A launch on a single node reads nothing.
class Traffic {
 public:
  // `nodes`: nodes of the launch; `root`: mount point of the system's /sys.
  Traffic(MPI_Comm comm, const Layout& layout, int nodes, const std::string& root = "/sys");
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  bool counts() const { return nodes_ > 1; }
  void begin() { read(&Adapter::before); }
  void end() { read(&Adapter::after); }

  // Traffic through this host's adapters between begin() and end(), on the rank that reads them.
  std::vector<AdapterTraffic> own() const;

  // Collective; the traffic of all hosts on rank 0, nothing on other ranks.
  std::vector<AdapterTraffic> gathered() const;

 private:
  struct Reading {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    bool known = false;
  };
  struct Adapter {
    std::string name;
    int sent = -1;
    int received = -1;
    std::uint64_t octets = 1;  // per unit of the counters
    Reading before;
    Reading after;
  };
  void open_interfaces(const std::string& root);
  void open_ports(const std::string& root);
  void open_adapter(const std::string& name, const std::string& sent, const std::string& received,
                    std::uint64_t octets);
  void read(Reading Adapter::* when);

  MPI_Comm comm_;
  int nodes_;
  std::vector<Adapter> adapters_;
};

}  // namespace assay
