// The random sparse matrix of CG (RNR-94-007, section 2.3; NPB 2 report):
//   A = sum_i w_i v_i v_i^T + (rcond - shift) I,   w_i = rcond^(i/n),  i = 0 .. n-1,
// with sparse random vectors v_i whose element i is 1/2. Every row is computed independently from
// the vectors with an element in it, so that any rows can be built on any rank, in parallel, with
// the same result. The product form is never used to multiply: the rules require the sparse matrix
// itself.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/huge_array.hpp"
#include "npb/cg/classes.hpp"

namespace assay::npb {

inline constexpr double kCgConditioning = 0.1;  // rcond
inline constexpr std::uint64_t kCgSeed = 314159265;

// The vectors v_i, one after the other, in the order in which their elements were drawn.
struct GeneratingVectors {
  std::vector<std::int64_t> start;  // n + 1
  std::vector<std::int32_t> index;
  std::vector<double> value;

  std::int32_t order() const { return static_cast<std::int32_t>(start.size()) - 1; }
};

GeneratingVectors generate_vectors(const CgClass& problem, std::uint64_t seed = kCgSeed);

// For each row an upper bound of its nonzeros (duplicates not merged); balances the parts.
std::vector<std::int64_t> row_bounds(const GeneratingVectors& vectors);

// Splits rows begin..end into `parts` contiguous blocks of nearly equal weight; parts + 1 limits.
// Blocks may be empty when there are more parts than rows.
std::vector<std::int32_t> split_rows(const std::vector<std::int64_t>& weight, std::int32_t begin,
                                     std::int32_t end, int parts);

// The vectors that have an element in each of the rows begin..end.
class RowIncidence {
 public:
  RowIncidence(const GeneratingVectors& vectors, std::int32_t begin, std::int32_t end);

  struct Entry {
    std::int32_t vector;
    double value;
  };
  const Entry* row_begin(std::int32_t row) const { return entries_.data() + start_[row - begin_]; }
  const Entry* row_end(std::int32_t row) const {
    return entries_.data() + start_[row - begin_ + 1];
  }

 private:
  std::int32_t begin_;
  std::vector<std::int64_t> start_;
  std::vector<Entry> entries_;
};

// Rows begin..end in compressed rows, columns ascending within a row. Index is 16 bits wide if the
// order allows it: a sixth less to read per nonzero.
template <typename Index>
struct SparseRows {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  HugeArray<std::int64_t> start;  // end - begin + 1
  HugeArray<Index> column;
  HugeArray<double> value;
};

// Builds rows begin..end; the calling thread touches the memory first. `shift` is the shift
// of the class.
template <typename Index>
SparseRows<Index> build_rows(const GeneratingVectors& vectors, const RowIncidence& incidence,
                             const std::vector<std::int64_t>& bounds, double shift,
                             std::int32_t begin, std::int32_t end);

extern template SparseRows<std::uint16_t> build_rows(const GeneratingVectors&, const RowIncidence&,
                                                     const std::vector<std::int64_t>&, double,
                                                     std::int32_t, std::int32_t);
extern template SparseRows<std::int32_t> build_rows(const GeneratingVectors&, const RowIncidence&,
                                                    const std::vector<std::int64_t>&, double,
                                                    std::int32_t, std::int32_t);

}  // namespace assay::npb
