// storage.metadata: creates, stats and removes empty files, as mdtest does.
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "storage/descriptor.hpp"
#include "storage/scratch.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMostFiles = 1'000'000;
// Estimated metadata of an empty file: a directory entry and an inode.
constexpr double kBytesPerFile = 1024.0;

class Metadata : public Kernel {
 public:
  Metadata(const Context& context, Parameters& parameters)
      : context_(context),
        op_(parameters.choice("op", "create", {"create", "stat", "unlink"})),
        layout_(parameters.choice("layout", "own", {"own", "shared"})),
        files_(parameters.integer("files", 1000, 1, kMostFiles)),
        scratch_(context, parameters) {
    fault_ = PlantedFault(parameters, {"lost", "kept", "twin"});
  }

  void setup() override {
    scratch_.make(kBytesPerFile * static_cast<double>(files_));
    if (layout_ == "shared") scratch_.require_common("layout=shared");
    make_directory();
    // A node's own files may be in its cache: if all nodes see the files, each rank stats those of
    // a rank on the next node.
    target_ = context_.rank;
    if (op_ == "stat" && scratch_.is_common()) {
      target_ = (context_.rank + context_.local_size) % context_.size;
    }
    for (std::int64_t i = 0; i < files_; ++i) names_.push_back(name(context_.rank, i));
    if (op_ == "stat") {
      create_all();
      size_all();
      for (std::int64_t i = 0; i < files_; ++i) {
        targets_.push_back(name(target_, i));
      }
      if (fault_.is("twin")) targets_[0] = targets_[1];
    }
  }

  void before_sample() override {
    settle();
    if (op_ == "create") remove_all();
    if (op_ == "unlink") create_all();
    if (op_ == "stat" && !target_directory_) open_target();
  }

  void run(std::int64_t) override {
    if (op_ == "create") {
      for (const std::string& each : names_) create_file(own_.get(), each, 0);
    } else if (op_ == "unlink") {
      for (const std::string& each : names_) unlink_one(each);
    } else {
      stat_all();
    }
    there_ = op_ != "unlink";
    sampled_ = true;
  }

  // Checks that all created files exist and are empty, that no removed file exists, and that each
  // stat returned the right size.
  Verification verify() override {
    settle();
    inject_fault();
    std::int64_t wrong = wrong_;
    for (std::int64_t i = 0; i < files_; ++i) {
      struct stat status{};
      const std::string& each = names_[static_cast<std::size_t>(i)];
      const bool found = fstatat(own_.get(), each.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
      if (!found && errno != ENOENT) fail_with_errno("could not stat the file '" + each + "'");
      const bool right = found && S_ISREG(status.st_mode) && status.st_size == planted_size(i);
      wrong += (there_ ? right : !found) ? 0 : 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "files missing, left over or not as they were made",
            static_cast<double>(wrong), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }
  std::map<std::string, Value> facts() const override { return scratch_.facts(); }

 private:
  std::string directory_of(int rank) const { return "rank." + std::to_string(rank); }

  std::string name(int rank, std::int64_t index) const {
    return "file." + std::to_string(rank) + "." + std::to_string(index);
  }

  // Files for stat differ in size, so that a mix-up of files shows.
  std::int64_t planted_size(std::int64_t index) const { return op_ == "stat" ? index + 1 : 0; }

  void make_directory() {
    if (layout_ == "shared") {
      own_ = enter(".");
      return;
    }
    const std::string name = directory_of(context_.rank);
    if (mkdirat(scratch_.descriptor(), name.c_str(), 0700) != 0) {
      fail_with_errno("could not create the directory '" + name + "'");
    }
    own_ = enter(name);
  }

  Descriptor enter(const std::string& name) const {
    Descriptor directory(openat(scratch_.descriptor(), name.c_str(),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) fail_with_errno("could not open the directory '" + name + "'");
    return directory;
  }

  void open_target() {
    target_directory_ = enter(layout_ == "shared" ? "." : directory_of(target_));
  }

  void create_all() {
    if (there_) return;
    for (const std::string& each : names_) create_file(own_.get(), each, 0);
    there_ = true;
  }

  // Sets sizes without contents: the files stay empty on the device.
  void size_all() const {
    for (std::int64_t i = 0; i < files_; ++i) {
      const Descriptor file = open_file(own_.get(), names_[static_cast<std::size_t>(i)], 0);
      if (ftruncate(file.get(), planted_size(i)) != 0)
        fail_with_errno("could not set a file's size");
    }
  }

  void remove_all() {
    if (!there_) return;
    for (const std::string& each : names_) unlink_one(each);
    there_ = false;
  }

  void unlink_one(const std::string& name) const {
    if (unlinkat(own_.get(), name.c_str(), 0) != 0) {
      fail_with_errno("could not remove the file '" + name + "'");
    }
  }

  void stat_all() {
    for (const std::string& each : targets_) {
      struct stat status{};
      if (fstatat(target_directory_.get(), each.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        fail_with_errno("could not stat the file '" + each + "'");
      }
      sizes_seen_ += status.st_size;
    }
  }

  void settle() {
    if (!sampled_) return;
    sampled_ = false;
    if (op_ != "stat") return;
    wrong_ += sizes_seen_ == files_ * (files_ + 1) / 2 ? 0 : 1;  // 1 + 2 + … + files
    sizes_seen_ = 0;
  }

  void inject_fault() {
    if (fault_.is("lost")) unlinkat(own_.get(), names_.back().c_str(), 0);
    if (fault_.is("kept")) create_file(own_.get(), names_.back(), 0);
  }

  Context context_;
  std::string op_;
  std::string layout_;
  std::int64_t files_;
  Scratch scratch_;
  Descriptor own_;               // where this rank's files are
  Descriptor target_directory_;  // where the files are that it stats
  int target_ = 0;               // the rank that created them
  std::vector<std::string> names_;
  std::vector<std::string> targets_;
  bool there_ = false;  // whether this rank's files exist
  bool sampled_ = false;
  std::int64_t sizes_seen_ = 0;
  std::int64_t wrong_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("storage.metadata", Metadata);

}  // namespace
}  // namespace assay
