// The job file: the measurements of one launch. Its Python counterpart is records/schema.py.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "harness/layout.hpp"
#include "harness/stop_rule.hpp"

namespace assay {

constexpr int kJobSchema = 1;
constexpr int kStreamSchema = 1;

struct Order {
  std::string measurement;
  std::string kernel;
  std::map<std::string, Value> parameters;
  Limits limits;
  // Maximum seconds that the measurement should take, whatever its parameters request.
  double longest = std::numeric_limits<double>::infinity();
};

struct Job {
  std::string job;
  int threads = 1;
  Binding binding;
  int devices = 0;  // of a node, that its ranks use in turn; 0: as many as there are ranks
  std::uint64_t seed = 0;
  std::string order = "block";  // of ranks; see number_ranks
  std::vector<Order> measurements;
};

// One sentence on what is wrong with the job, and at which key.
class JobError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Job parse_job(const std::string& text);

// The file's text; JobError if it can't be read.
std::string read_job(const std::string& path);

}  // namespace assay
