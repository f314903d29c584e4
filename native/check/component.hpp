// What measures one part of a node, and the table of all of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/machine.hpp"
#include "check/team.hpp"

namespace assay::check {

// What the command line says.
struct Settings {
  std::string scratch;  // the folder of the storage's file
  std::string partner;  // the other node of messages; empty: none
  std::string self;     // this node's name, as the partner knows it
  int port = 29'743;    // of the node that listens
  double wait = 2.0;    // s, for the partner
};

// One of the faults that tests plant before the results are verified, or none.
class Fault {
 public:
  Fault() = default;
  explicit Fault(std::string name) : name_(std::move(name)) {}
  bool is(std::string_view name) const { return name_ == name; }

 private:
  std::string name_;
};

// What a measurement is given.
struct Task {
  Team& team;
  const Machine& machine;
  const Settings& settings;
  double seconds;  // to be spent in the measured loop
  Fault fault;
};

struct Measured {
  std::vector<double> values;
  std::vector<int> cpus;
  bool verified = false;
};

// Throws KernelError if it can't be measured.
using Measure = Measured (*)(const Task& task);

struct Component {
  std::string_view name;
  Measure measure;
};

Measured measure_core(const Task& task);
Measured measure_product(const Task& task);
Measured measure_stream(const Task& task);
Measured measure_latency(const Task& task);
Measured measure_random(const Task& task);
Measured measure_storage(const Task& task);
Measured measure_message_latency(const Task& task);
Measured measure_message_bandwidth(const Task& task);

// By its name; nullptr if there is none.
const Component* find_component(std::string_view name);
std::vector<std::string> component_names();

}  // namespace assay::check
