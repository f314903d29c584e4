// Many small files of the kernel storage.io500: in a directory of each rank ("easy") or in one of
// all ranks ("hard").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "storage/descriptor.hpp"
#include "storage/scratch.hpp"
#include "storage/stonewall.hpp"

namespace assay {

class SmallFiles {
 public:
  enum class Layout { own, shared };

  // `bytes`: of each file. `looks_at`: the rank whose files this rank examines, reads and removes.
  SmallFiles(const Context& context, const Scratch& scratch, Layout layout, std::size_t bytes,
             int looks_at);

  // Collective: makes the directories and opens them.
  void setup();

  // Collective: creates and writes files, and flushes their file system.
  Reached create(const Stonewall& wall, std::int64_t most, std::uint64_t generation,
                 bool wears_out = true);
  // Of this rank, for each file: queries its size, or opens it and compares every byte, or removes
  // it.
  void stat();
  void read();
  void remove(bool all_but_one = false);
  // Empties the directories: this rank its own, or the first rank the shared one. Files are left
  // after a removal only if it failed, which take_wrong() has counted.
  void clear() const;
  // Removes the files' pages from this node's page cache, as far as the file system complies.
  void drop() const;
  // Removes one of this rank's files, for tests.
  void lose();

  std::int64_t files() const { return files_; }
  // The directory that this rank searches: of one rank, or of all.
  int directory() const { return target_.get(); }
  // Of this rank: how many names of its files hold that text.
  std::int64_t names_with(const std::string& text) const;
  // Of this rank since the last call: files with wrong contents or sizes, and files that were not
  // removed.
  std::int64_t take_wrong();

 private:
  // Whether this rank makes, empties and lists the directory that it writes in.
  bool keeps_directory() const { return layout_ == Layout::own || context_.rank == 0; }
  std::string directory_name(int rank) const;
  static std::string file_name(int rank, std::int64_t index);

  Context context_;
  const Scratch& scratch_;
  Layout layout_;
  std::size_t bytes_;
  int looks_at_;
  Descriptor own_;     // the directory that this rank writes in
  Descriptor target_;  // the directory with the files that it looks at
  std::vector<unsigned char> written_;
  std::vector<unsigned char> read_;
  std::int64_t files_ = 0;  // of each rank
  std::uint64_t generation_ = 0;
  std::int64_t wrong_ = 0;
};

}  // namespace assay
