// A set of nodes by their indices.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace assay::scheduler {

class NodeSet {
 public:
  explicit NodeSet(int nodes = 0) : words_((static_cast<std::size_t>(nodes) + 63) / 64) {}

  bool has(int node) const { return (words_[word(node)] >> (node % 64) & 1) != 0; }
  void set(int node, bool in) {
    const std::uint64_t bit = std::uint64_t{1} << (node % 64);
    if (in) {
      words_[word(node)] |= bit;
    } else {
      words_[word(node)] &= ~bit;
    }
  }
  void keep(const NodeSet& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= other.words_[k];
  }
  void add(const NodeSet& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
  }
  void remove(const NodeSet& other) {
    for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= ~other.words_[k];
  }
  std::int64_t count() const {
    std::int64_t sum = 0;
    for (const std::uint64_t each : words_) sum += std::popcount(each);
    return sum;
  }
  // The first node from `from` on, -1 if there is none.
  int next(int from) const {
    std::size_t k = word(from);
    if (k >= words_.size()) return -1;
    std::uint64_t rest = words_[k] & (~std::uint64_t{0} << (from % 64));
    while (rest == 0) {
      if (++k == words_.size()) return -1;
      rest = words_[k];
    }
    return static_cast<int>(k * 64) + std::countr_zero(rest);
  }
  // The last of the consecutive nodes that begin with this one.
  int last_of_run(int first) const {
    while (next(first + 1) == first + 1) ++first;
    return first;
  }
  bool operator==(const NodeSet& other) const = default;
  // The first of `count` consecutive nodes, -1 if there are none.
  int run(std::int64_t count) const {
    for (int first = next(0); first >= 0;) {
      std::int64_t length = 1;
      while (length < count &&
             next(first + static_cast<int>(length)) == first + static_cast<int>(length)) {
        ++length;
      }
      if (length == count) return first;
      first = next(first + static_cast<int>(length));
    }
    return -1;
  }

 private:
  static std::size_t word(int node) { return static_cast<std::size_t>(node) / 64; }
  std::vector<std::uint64_t> words_;
};

}  // namespace assay::scheduler
