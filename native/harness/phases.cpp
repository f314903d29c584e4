#include "harness/phases.hpp"

#include <cstddef>
#include <utility>

namespace assay {
namespace {

// Collective, over all phases in one call: an MPI library may allocate memory for a communicator
// that carries more than a few operations.
std::vector<double> over_ranks(std::vector<double> values, MPI_Op op, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op, comm);
  return values;
}

}  // namespace

Phases::Phases(std::vector<std::string> names)
    : names_(std::move(names)), now_(names_.size()), samples_(names_.size()) {}

Phases::~Phases() = default;

std::vector<Series> Phases::series(MPI_Comm comm) const {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<double> own;
  for (const auto& each : samples_) own.insert(own.end(), each.begin(), each.end());
  std::vector<double> means = over_ranks(own, MPI_SUM, comm);
  for (double& mean : means) mean /= size;
  std::vector<Series> all;
  auto begin = means.begin();
  for (std::size_t phase = 0; phase < names_.size(); ++phase) {
    const auto end = begin + static_cast<std::ptrdiff_t>(samples_[phase].size());
    const bool any = std::any_of(begin, end, [](double value) { return value > 0; });
    if (rank == 0 && any) all.push_back({names_[phase], "s", {}, {}, {begin, end}});
    begin = end;
  }
  if (size == 1 || names_[0] != "compute") return all;
  std::vector<double> least = over_ranks(samples_[0], MPI_MIN, comm);
  std::vector<double> most = over_ranks(samples_[0], MPI_MAX, comm);
  if (rank == 0) {
    all.push_back({"least_compute", "s", {}, {}, std::move(least)});
    all.push_back({"most_compute", "s", {}, {}, std::move(most)});
  }
  return all;
}

}  // namespace assay
