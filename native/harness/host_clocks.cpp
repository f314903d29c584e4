#include "harness/host_clocks.hpp"

#include <algorithm>
#include <cstdlib>

#include "harness/fault.hpp"
#include "harness/ranks.hpp"

namespace assay {
namespace {

// On each rank the offset of its node: the best of several round trips to the parent node in the
// tree, with the errors of all steps to rank 0's node added up (global_clock.hpp).
ClockOffset compare(MPI_Comm comm, const std::string& node, const LocalClock& read) {
  GlobalClock clock(comm, node, read, kOneLook);
  clock.synchronise();
  return offset_of(clock.model());
}

void write_offset(JsonWriter& json, const char* name, const ClockOffset& clock) {
  json.key(name).begin_object().field("offset", clock.offset);
  json.field("error", clock.error).end_object();
}

// "node2=0.5": the clock of that host is ahead by that many seconds.
Ticks planted() {
  static const Ticks ahead = [] {
    const char* given = planted_variable("ASSAY_TEST_UTC_AHEAD");
    const std::string text = given ? given : "";
    const std::size_t end = text.find('=');
    const bool here = end != std::string::npos && text.substr(0, end) == host_name();
    return here ? static_cast<Ticks>(1e9 * std::stod(text.substr(end + 1))) : Ticks{0};
  }();
  return ahead;
}

}  // namespace

Ticks utc_ticks() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<Ticks>(now.tv_sec) * 1'000'000'000 + now.tv_nsec + planted();
}

ClockOffset offset_of(const ClockModel& model) {
  // The model's offset is how far the reference is ahead.
  return {seconds(-model.offset), model.error_at_anchor / 1e9};
}

std::optional<HostClocks> compare_clocks(MPI_Comm comm, const std::vector<int>& nodes,
                                         const LocalClock& utc, const LocalClock& monotonic) {
  if (std::all_of(nodes.begin(), nodes.end(), [&](int node) { return node == nodes[0]; })) {
    return std::nullopt;
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const std::string node = std::to_string(nodes[static_cast<std::size_t>(rank)]);
  return HostClocks{compare(comm, node, utc), compare(comm, node, monotonic)};
}

void write_clocks(JsonWriter& json, const HostClocks& clocks) {
  json.begin_object();
  write_offset(json, "utc", clocks.utc);
  write_offset(json, "monotonic", clocks.monotonic);
  json.end_object();
}

}  // namespace assay
