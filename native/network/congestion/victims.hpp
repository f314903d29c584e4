// What the victims do, one operation at a time, and the time of each.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "network/collective_contents.hpp"
#include "network/congestion/team.hpp"

namespace assay::congestion {

std::vector<std::string> victim_names();
// Size of a victim's message if none is given.
std::int64_t usual_bytes(const std::string& victim);

class Victims {
 public:
  // Local; allocates. `places`: number of the victims' nodes, `slices`: ranks of each.
  Victims(const std::string& name, std::size_t bytes, const Seat& seat, int places, int slices);

  // Bytes that this rank's buffers take.
  static double memory(const std::string& name, std::size_t bytes, int places, int slices);

  CollectiveContents& contents() { return contents_; }
  const CollectiveContents& contents() const { return contents_; }

  // One operation with fewer bytes, untimed.
  void operate(const Team& team, std::size_t bytes) const;

  // An untimed operation, and then up to `count` timed ones; after that many seconds no other is
  // begun. This rank's seconds of each; nothing on ranks that don't measure.
  std::vector<double> block(const Team& team, std::int64_t count, double longest) const;

  // Collective over the victims: on the first of them what counts of the ranks' times of a block,
  // of the slowest rank or of each pair; nothing elsewhere.
  std::vector<double> that_count(const Team& team, const std::vector<double>& times) const;

 private:
  std::vector<double> round_trips(const Team& team, std::int64_t count, double longest) const;
  std::vector<double> together(const Team& team, std::int64_t count, double longest) const;

  const Collective& op_;
  Shape shape_;
  CollectiveContents contents_;
};

}  // namespace assay::congestion
