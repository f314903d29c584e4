// A grid of ranks: its extents and each rank's neighbours.
#pragma once

#include <vector>

namespace assay {

// The extents of a grid of `ranks` in that many dimensions, the largest first: those of the
// smallest sum, and among these the ones with the smallest first extent. MPI_Dims_create leaves the
// choice to the library (Träff and Lübbe: Specification guideline violations by
// MPI_Dims_create, EuroMPI 2015), and work formulas must know it.
std::vector<int> grid_extents(int ranks, int dimensions);

}  // namespace assay
