// storage.io500: the phases of IO500, in their order, timed and rated by its rules. Own code; its
// score is not an official result.
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "storage/account.hpp"
#include "storage/bulk_file.hpp"
#include "storage/io500_scores.hpp"
#include "storage/mpi_file.hpp"
#include "storage/other_rank.hpp"
#include "storage/scratch.hpp"
#include "storage/search.hpp"
#include "storage/small_files.hpp"
#include "storage/stonewall.hpp"

namespace assay {
namespace {

constexpr std::int64_t kHardRecord = 47'008;  // bytes; aligned to no block of a file system
constexpr std::size_t kHardFile = 3'901;      // bytes
constexpr const char* kSoughtName = "01";
constexpr const char* kTimestamp = "file.timestamp";
constexpr std::int64_t kMostFilesOfRank = 1'000'000;

// The share of the free space that is used at most, and how the kinds of files divide it.
constexpr double kPartOfFree = 0.25;
constexpr double kPartOfData = 0.4;  // of each kind of large files
constexpr double kPartOfFiles = 0.1;
// A small file takes a block and its metadata, an empty one only the latter.
constexpr double kBytesOfHardFile = 4096.0 + 1024.0;
constexpr double kBytesOfEmptyFile = 1024.0;
// Records of each kind, and files, that must fit.
constexpr double kLeast = 16.0;
// Phases that write take `seconds` each. The others usually take less.
constexpr double kPhasesOfTime = 8.0;

std::int64_t size_of_record(Parameters& parameters, const std::string& name, std::int64_t usual) {
  const std::int64_t bytes = parameters.integer(name, usual, 512, kLargestRecord);
  if (bytes % 8 != 0) {
    throw KernelError("parameter '" + name + "' must be a multiple of 8, not " +
                      std::to_string(bytes));
  }
  return bytes;
}

class Io500 : public Kernel {
 public:
  Io500(const Context& context, Parameters& parameters)
      : context_(context),
        seconds_(parameters.positive("seconds", 5.0, 86'400.0)),
        mpi_io_(parameters.choice("api", "posix", {"posix", "mpiio"}) == "mpiio"),
        transfer_(size_of_record(parameters, "transfer", 2 << 20)),
        record_(size_of_record(parameters, "record", kHardRecord)),
        most_files_(parameters.integer("files", kMostFilesOfRank, 1, 100'000'000)),
        space_(parameters.integer("space", 0, 0, std::int64_t{1} << 60)),
        scratch_(context, parameters),
        reads_(other_rank(context)),
        easy_(context, scratch_, BulkFile::Layout::own, static_cast<std::size_t>(transfer_),
              mpi_io_, reads_),
        hard_(context, scratch_, BulkFile::Layout::shared, static_cast<std::size_t>(record_),
              mpi_io_, reads_),
        empty_(context, scratch_, SmallFiles::Layout::own, 0, reads_),
        small_(context, scratch_, SmallFiles::Layout::shared, kHardFile, reads_),
        wall_(context.comm, seconds_, {}) {
    if (mpi_io_) require_mpi_io();
    fault_ = PlantedFault(parameters, {"byte", "elsewhere", "early", "lost", "kept", "clock"});
  }

  void setup() override {
    const double least = kLeast * (static_cast<double>(transfer_) + static_cast<double>(record_) +
                                   kBytesOfHardFile + kBytesOfEmptyFile);
    scratch_.make(least / kPartOfFree);
    scratch_.require_common("storage.io500");
    all_or_none(context_.comm, [&] {
      easy_.setup();
      hard_.setup();
    });
    empty_.setup();
    small_.setup();
    limit_space(least);
    wall_ = Stonewall(context_.comm, seconds_, progress());
    // On this clock, the last rank passes the time after 10 steps, and the first after more.
    if (fault_.is("clock") || fault_.is("early"))
      wall_.plant_clock(seconds_ / (10.0 * (context_.size - context_.rank)));
  }

  double expected_seconds() const override { return kPhasesOfTime * seconds_; }

  // A sample begins with empty directories.
  void before_sample() override {
    MPI_Barrier(context_.comm);
    all_or_none(context_.comm, [&] {
      easy_.remove();
      hard_.remove();
      empty_.clear();
      small_.clear();
      if (context_.rank == 0) unlinkat(scratch_.descriptor(), kTimestamp, 0);
    });
    ++generation_;
  }

  void run(std::int64_t) override {
    write_everything();
    damage_data();
    find();
    data(kIorEasyRead, easy_);
    files(kMdtestEasyStat, empty_, [&] { empty_.stat(); });
    data(kIorHardRead, hard_);
    files(kMdtestHardStat, small_, [&] { small_.stat(); });
    files(kMdtestEasyDelete, empty_, [&] { empty_.remove(); });
    files(kMdtestHardRead, small_, [&] { small_.read(); });
    files(kMdtestHardDelete, small_, [&] { small_.remove(fault_.is("kept")); });
    // All ranks have removed files here before any counts what is left.
    MPI_Barrier(context_.comm);
    wrong_ += empty_.take_wrong() + small_.take_wrong() + hard_.take_wrong() + easy_.take_wrong();
    scores_.end_sample();
  }

  Verification verify() override {
    std::int64_t wrong = wrong_;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    account_.add_up(context_.comm);
    return {wrong == 0,
            "bytes wrong in the files, wrong lengths, files lost, left over or not found",
            static_cast<double>(wrong), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    if (context_.rank != 0) return {};
    return scores_.series();
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> facts = scratch_.facts();
    facts.merge(account_.facts());
    const auto node = [&](int rank) { return context_.nodes[static_cast<std::size_t>(rank)]; };
    facts["reads_from"] = std::string(node(reads_) != node(context_.rank) ? "another node"
                                      : reads_ != context_.rank           ? "another rank"
                                                                          : "the same rank");
    facts["easy_bytes"] = static_cast<double>(easy_.bytes()) * context_.size;
    facts["hard_bytes"] = static_cast<double>(hard_.bytes()) * context_.size;
    facts["easy_files"] = empty_.files() * context_.size;
    facts["hard_files"] = small_.files() * context_.size;
    facts["found_files"] = found_;
    facts["memory_share"] = memory_share();
    for (std::size_t i = 0; i < kPhases; ++i)
      facts[std::string("time.") + kPhaseNames[i]] = times_[i];
    for (std::size_t i = 0; i <= kMdtestHardWrite; ++i) {
      facts[std::string("slowest_share.") + kPhaseNames[i]] = slowest_[i];
    }
    if (!limited_.empty()) facts["limited"] = limited_;
    return facts;
  }

 private:
  std::function<void(double)> progress() {
    if (!context_.progress) return {};
    return [this](double part) {
      const double phase = static_cast<double>(phase_) + std::min(part, 1.0);
      context_.progress(phase / static_cast<double>(kPhases), std::nullopt);
    };
  }

  // The most records and files of each rank, so that everything fits into the space.
  void limit_space(double least) {
    double space = kPartOfFree * scratch_.free_bytes();
    if (space_ > 0) space = std::min(space, static_cast<double>(space_));
    MPI_Allreduce(MPI_IN_PLACE, &space, 1, MPI_DOUBLE, MPI_MIN, context_.comm);
    const double each = space / context_.size;
    if (each < least) {
      throw KernelError("parameter 'space' must be at least " +
                        std::to_string(std::llround(least * context_.size)) + " bytes for " +
                        std::to_string(context_.size) + " ranks");
    }
    const auto steps = [&](double part, double bytes) {
      return static_cast<std::int64_t>(part * each / bytes);
    };
    most_[kIorEasyWrite] = steps(kPartOfData, static_cast<double>(transfer_));
    most_[kIorHardWrite] = steps(kPartOfData, static_cast<double>(record_));
    most_[kMdtestEasyWrite] = std::min(most_files_, steps(kPartOfFiles, kBytesOfEmptyFile));
    most_[kMdtestHardWrite] = std::min(most_files_, steps(kPartOfFiles, kBytesOfHardFile));
  }

  // Between barriers; its time on the slowest rank. After an exception on a rank all throw.
  template <typename Action>
  double timed(Phase phase, Action action) {
    phase_ = phase;
    if (context_.progress)
      context_.progress(static_cast<double>(phase) / static_cast<double>(kPhases), std::nullopt);
    MPI_Barrier(context_.comm);
    const Ticks begin = ticks();
    Ticks end = begin;
    all_or_none(context_.comm, [&] {
      action();
      end = ticks();
    });
    double time = seconds(end - begin);
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    times_[phase] = time;
    return time;
  }

  template <typename Action>
  void files(Phase phase, const SmallFiles& of, Action action) {
    const double time = timed(phase, action);
    scores_.add(phase, time, static_cast<double>(of.files()) * context_.size / kFilesOfRate);
  }

  void data(Phase phase, BulkFile& of) {
    const double time = timed(phase, [&] { of.read(account_, fault_.is("elsewhere")); });
    scores_.add(phase, time, static_cast<double>(of.bytes()) * context_.size / kBytesOfRate);
  }

  void write_everything() {
    const auto wears_out = [&] {
      return !(fault_.is("early") && context_.rank == context_.size - 1);
    };
    const auto write_data = [&](Phase phase, BulkFile& file) {
      Reached reached;
      const double time = timed(
          phase, [&] { reached = file.write(wall_, most_[phase], generation_, wears_out()); });
      scores_.add(phase, time, static_cast<double>(file.bytes()) * context_.size / kBytesOfRate);
      note(phase, reached);
      // All ranks have written before any node drops the file that they share.
      all_or_none(context_.comm, [&] { file.drop(); });
    };
    const auto write_files = [&](Phase phase, SmallFiles& small) {
      Reached reached;
      files(phase, small, [&] { reached = small.create(wall_, most_[phase], generation_); });
      note(phase, reached);
      all_or_none(context_.comm, [&] { small.drop(); });
    };
    write_data(kIorEasyWrite, easy_);
    write_files(kMdtestEasyWrite, empty_);
    all_or_none(context_.comm, [&] {
      if (context_.rank == 0) create_file(scratch_.descriptor(), kTimestamp, 0);
    });
    write_data(kIorHardWrite, hard_);
    write_files(kMdtestHardWrite, small_);
  }

  void note(Phase phase, const Reached& reached) {
    slowest_[phase] = static_cast<double>(reached.least) / static_cast<double>(reached.most);
    if (!reached.limited || limited_.find(kPhaseNames[phase]) != std::string::npos) return;
    limited_ += (limited_.empty() ? "" : ", ") + std::string(kPhaseNames[phase]);
  }

  void find() {
    struct stat stamp{};
    all_or_none(context_.comm, [&] {
      if (fstatat(scratch_.descriptor(), kTimestamp, &stamp, 0) != 0) {
        fail_with_errno("could not stat the file with the time");
      }
    });
    SearchResult result;
    const SoughtFiles sought{kSoughtName, static_cast<std::int64_t>(kHardFile), stamp.st_mtim};
    const double time = timed(kFind, [&] {
      result =
          search(context_, scratch_.descriptor(), empty_.directory(), small_.directory(), sought);
    });
    std::int64_t sums[] = {result.examined, result.found, small_.names_with(kSoughtName)};
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INT64_T, MPI_SUM, context_.comm);
    // One large file of each rank, one of all, and the one with the time.
    const std::int64_t written = (empty_.files() + small_.files() + 1) * context_.size + 2;
    wrong_ += context_.rank == 0 && sums[0] != written ? 1 : 0;
    wrong_ += context_.rank == 0 && sums[1] != sums[2] ? 1 : 0;
    found_ = sums[1];
    scores_.add(kFind, time, static_cast<double>(sums[0]) / kFilesOfRate);
  }

  void damage_data() {
    if (fault_.is("byte")) hard_.damage();
    if (fault_.is("lost")) small_.lose();
    MPI_Barrier(context_.comm);
  }

  // How large the data of a node's ranks are compared with its memory, which may hold them.
  double memory_share() const {
    const double memory =
        static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const double bytes = static_cast<double>(easy_.bytes() + hard_.bytes());
    return bytes * context_.local_size / memory;
  }

  Context context_;
  double seconds_;
  bool mpi_io_;
  std::int64_t transfer_;
  std::int64_t record_;
  std::int64_t most_files_;
  std::int64_t space_;
  Scratch scratch_;
  int reads_;
  BulkFile easy_;
  BulkFile hard_;
  SmallFiles empty_;
  SmallFiles small_;
  Stonewall wall_;
  std::array<std::int64_t, kPhases> most_{};  // records or files of each rank
  std::uint64_t generation_ = 0;
  Phase phase_ = kIorEasyWrite;
  Io500Scores scores_;
  // Of the last sample: seconds, and what the slowest rank had written when the time had passed, as
  // a share of the fastest's.
  std::array<double, kPhases> times_{};
  std::array<double, kPhases> slowest_{};
  std::string limited_;  // phases that had written everything before the time had passed
  std::int64_t found_ = 0;
  std::int64_t wrong_ = 0;
  CacheAccount account_;
  PlantedFault fault_;
};

ASSAY_KERNEL("storage.io500", Io500);

}  // namespace
}  // namespace assay
