// Large data of the kernel storage.io500: a file per rank with large transfers ("easy"), or one
// file in which the records of all ranks alternate ("hard").
#pragma once

#include <cstdint>
#include <string>

#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "storage/account.hpp"
#include "storage/pattern.hpp"
#include "storage/scratch.hpp"
#include "storage/stonewall.hpp"

namespace assay {

class BulkFile {
 public:
  enum class Layout { own, shared };

  // `record`: bytes of a transfer, a multiple of 8. `reads`: the rank whose data this rank reads.
  BulkFile(const Context& context, const Scratch& scratch, Layout layout, std::size_t record,
           bool mpi_io, int reads);

  void setup();

  // Collective: removes what the last sample wrote.
  void remove();
  // Collective: creates, writes, flushes to the device and closes. `before`: called before each
  // record.
  Reached write(const Stonewall& wall, std::int64_t most, std::uint64_t generation,
                bool wears_out = true);
  // Of this rank: opens, reads as much as was written, compares every byte, closes. `elsewhere`
  // plants the fault that the last record is read from the first one's offset.
  void read(CacheAccount& account, bool elsewhere = false);
  // Removes the file's pages from this node's page cache, as far as the file system complies.
  void drop() const;
  // Flips a bit of this rank's last record, for tests.
  void damage() const;

  std::uint64_t bytes() const { return static_cast<std::uint64_t>(records_) * record_; }
  // Of this rank since the last call: wrong bytes that it read, and 1 for a wrong length of the
  // file that it wrote.
  std::int64_t take_wrong();

 private:
  std::string name(int rank) const;
  std::uint64_t offset(int rank, std::int64_t k) const;
  Pattern pattern(int rank) const;

  Context context_;
  const Scratch& scratch_;
  Layout layout_;
  std::size_t record_;
  bool mpi_io_;
  int reads_;
  Pages written_memory_;
  Pages read_memory_;
  std::int64_t records_ = 0;  // of each rank
  std::uint64_t generation_ = 0;
  std::int64_t wrong_ = 0;
};

}  // namespace assay
