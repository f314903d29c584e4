// MG's passes over memory: each applies to a level's fields all operations between two exchanges,
// plane after plane, with the intermediate planes in windows that stay in the cache.
//
// Every function works on a tile, the part of a block that one thread has. Tiles are independent of
// what other tiles write: values that a stage needs beyond the tile's edges are computed there too,
// in the same way, so that results don't depend on how a field is cut. The same holds for the
// blocks of rows into which a tile is cut so that windows fit the cache.
#pragma once

#include <cstddef>

#include "memory/huge_array.hpp"
#include "npb/mg/classes.hpp"
#include "npb/mg/field.hpp"

namespace assay::npb {

struct Tile {
  Range y;
  Range z;
  bool empty() const { return y.size() <= 0 || z.size() <= 0; }
};

// One thread's memory for sweeps of tiles: windows of intermediate planes, and the frame, the
// points of u around the finest level's tile as they were before any tile is swept, because u is
// changed in place.
class MgScratch {
 public:
  // Doubles for windows, and for the finest level's frame, with tiles of at most this many rows and
  // planes.
  static std::size_t of_windows(int extent, int rows);
  static std::size_t of_frame(int extent, int rows, int planes);

  MgScratch(std::size_t windows, std::size_t frame) : windows_(windows), memory_(windows + frame) {}
  std::size_t size() const { return memory_.size(); }
  double* windows() { return memory_.data(); }
  double* frame() { return memory_.data() + windows_; }

 private:
  std::size_t windows_;
  HugeArray<double> memory_;
};

struct FineFields {
  const MgField& u;
  const MgField& right;
  const MgField* correction;  // of the next coarser level; null: u doesn't change, no smoothing
  const MgField* residual;    // destination of the restricted residual, on the next coarser level
};

// Called before sweep_fine() with a correction, by all threads; a barrier must follow.
void save_frame(const MgField& u, const Tile& tile, MgScratch& scratch);

// On the finest level: u + Q correction, smoothed by its residual; then the residual of the result.
// Its restriction is stored; its sum of squares over the tile is returned if `norm`. Needs u
// and the right-hand side 4 and 3 points beyond the tile, and the correction 2.
double sweep_fine(const FineFields& fields, const MgClass& problem, const Tile& tile, bool norm,
                  MgScratch& scratch);

// On a coarser level: the correction Q coarser, smoothed by the residual of the right-hand side.
// Needs the right-hand side 1 point beyond the tile, and `coarser` 2.
void sweep_coarse(const MgField& coarser, const MgField& right, const MgField& correction,
                  const MgClass& problem, const Tile& tile, MgScratch& scratch);

// The restriction of a level's right-hand side to the next coarser level, on a tile of the latter.
// Needs one point beyond.
void restrict_field(const MgField& fine, const MgField& coarse, const Tile& tile);

// The correction on the coarsest level, of 2 points along each side: the smoother alone.
void smooth_coarsest(const MgField& right, const MgField& correction, const MgClass& problem);

}  // namespace assay::npb
