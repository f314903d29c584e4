// The scratch directory of a storage kernel: it writes only into a new directory inside the given
// one.
#pragma once

#include <csignal>
#include <map>
#include <string>

#include "harness/agreement.hpp"
#include "harness/kernel.hpp"
#include "storage/descriptor.hpp"

namespace assay {

// Collective. Runs the action on every rank; if it fails on one, all throw the same KernelError, so
// that subsequent code may communicate.
template <typename Action>
void all_or_none(MPI_Comm comm, Action action) {
  Complaint mine;
  try {
    action();
  } catch (...) {
    mine = exception_message();
  }
  if (const Complaint agreed = agree(comm, mine)) throw KernelError(*agreed);
}

// One per measurement. All ranks must call make() together; the destructor closes and removes
// without communication, once no rank writes any more.
class Scratch {
 public:
  // Reads the parameter `directory` and resolves it to an absolute path. Throws KernelError if that
  // directory doesn't exist on this rank's node.
  Scratch(const Context& context, Parameters& parameters);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // Collective. Removes scratch directories of ended processes; creates the new one, once for all
  // nodes if they share the file system, else once per node; and checks that `bytes` per rank fit,
  // with 5% to spare. Throws the same KernelError on every rank.
  void make(double bytes);

  // Open for openat(); every rank's own.
  int descriptor() const { return own_.get(); }
  // Whether every rank sees the same directory.
  bool is_common() const { return common_; }

  // Throws KernelError unless all ranks see the same files.
  void require_common(const std::string& what) const;

  // Bytes that are free there, as far as the file system tells: a quota may allow fewer.
  double free_bytes() const;

  // "filesystem", and "leftovers_removed" if there were any.
  std::map<std::string, Value> facts() const;

 private:
  void create();
  void open_own();
  void require_space(double bytes) const;

  Context context_;
  std::string path_;
  Descriptor parent_;
  std::string name_;
  Descriptor own_;
  Descriptor lock_;
  bool made_here_ = false;
  bool common_ = true;
  std::string maker_;  // the host of rank 0, which creates the directory
  std::string apart_;  // the first host that doesn't see it
  int leftovers_ = 0;
  // A limit on file sizes must make write() fail instead of ending the process.
  void (*limit_handler_)(int) = SIG_DFL;
};

}  // namespace assay
