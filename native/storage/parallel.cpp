// storage.parallel: all ranks write or read concurrently, one file each or one shared file, by
// POSIX or MPI-IO.
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "storage/account.hpp"
#include "storage/descriptor.hpp"
#include "storage/filesystem.hpp"
#include "storage/mpi_file.hpp"
#include "storage/pattern.hpp"
#include "storage/scratch.hpp"

namespace assay {
namespace {

class Parallel : public Kernel {
 public:
  Parallel(const Context& context, Parameters& parameters)
      : context_(context),
        op_(parameters.choice("op", "write", {"write", "read"})),
        layout_(parameters.choice("layout", "own", {"own", "shared", "strided"})),
        api_(parameters.choice("api", "posix", {"posix", "mpiio", "mpiio_collective"})),
        method_(parameters.choice("method", "fsync", {"buffered", "direct", "fsync"})),
        scratch_(context, parameters) {
    const std::int64_t unit = method_ == "direct" ? kDirectUnit : kRecordUnit;
    const std::int64_t record = parameters.integer("record", 1 << 20);
    const std::int64_t bytes = parameters.integer("bytes", 32 << 20);
    if (record < unit || record > kLargestRecord || record % unit != 0) {
      throw KernelError("parameter 'record' must be a multiple of " + std::to_string(unit) +
                        " up to " + std::to_string(kLargestRecord) + ", not " +
                        std::to_string(record));
    }
    if (bytes < record || bytes % record != 0) {
      throw KernelError("parameter 'bytes' must be a multiple of the record of " +
                        std::to_string(record) + " bytes, not " + std::to_string(bytes));
    }
    if (api_ != "posix" && method_ == "direct") {
      throw KernelError("method=direct is for api=posix: MPI-IO has no portable way to request it");
    }
    if (api_ == "mpiio_collective" && layout_ == "own") {
      throw KernelError("api=mpiio_collective needs a file that ranks share, not layout=own");
    }
    if (api_ != "posix") require_mpi_io();
    record_ = static_cast<std::size_t>(record);
    records_ = bytes / record;
    fault_ = PlantedFault(parameters, {"byte", "skip", "elsewhere"});
  }

  void setup() override {
    scratch_.make(static_cast<double>(record_) * static_cast<double>(records_));
    if (is_one_file()) scratch_.require_common("layout=" + layout_);
    name_ = is_one_file() ? "data" : "data." + std::to_string(context_.rank);
    const int flags = method_ == "direct" ? O_DIRECT : 0;
    all_or_none(context_.comm, [&] {
      require_memory(context_, kPartForRecords, static_cast<double>(record_), "a record's bytes",
                     "give a smaller 'record'");
      buffer_memory_ = Pages(record_, Pages::Size::ordinary);
      if (makes_file()) file_ = create_file(scratch_.descriptor(), name_, flags);
    });
    buffer_ = buffer_memory_.as<unsigned char>();
    pattern_ = Pattern(is_one_file() ? 0 : static_cast<std::uint64_t>(context_.rank), record_);
    all_or_none(context_.comm, [&] {
      if (!makes_file()) file_ = open_file(scratch_.descriptor(), name_, flags);
    });
    open_for_mpi();
    next_generation();
    if (op_ == "write") return;
    for (std::int64_t k = 0; k < records_; ++k) {
      pattern_.place(buffer_, offset(k), generation_);
      write_at(file_.get(), buffer_, record_, offset(k));
    }
    flush(file_.get());
  }

  // A write begins with an empty file, a read with no part of it in the caches of the nodes.
  void before_sample() override {
    settle();
    if (op_ == "read") {
      drop_cache(file_.get());
      account_.before_reading();
      return;
    }
    next_generation();
    if (makes_file() && ftruncate(file_.get(), 0) != 0) fail_with_errno("emptying a file failed");
  }

  void run(std::int64_t) override {
    std::string failed;
    for (std::int64_t k = 0; k < records_; ++k) {
      const std::string said = op_ == "write" ? write_record(k) : read_record(k);
      // Collective calls continue: the other ranks wait in them.
      if (failed.empty()) failed = said;
    }
    if (op_ == "write" && method_ == "fsync") {
      if (api_ == "posix") {
        flush(file_.get());
      } else if (const std::string said = mpi_file_.sync(); failed.empty()) {
        failed = said;
      }
    }
    if (!failed.empty()) throw KernelError(failed);
    sampled_ = true;
  }

  // Checks every byte that this rank wrote, or should have read, fetched by POSIX; the length of
  // the file; and the stamps of all records that the timed reads returned.
  Verification verify() override {
    settle();
    inject_fault();
    drop_cache(file_.get());
    MPI_Barrier(context_.comm);
    struct stat status{};
    if (fstat(file_.get(), &status) != 0) fail_with_errno("could not query a file's length");
    const std::int64_t ranks = is_one_file() ? context_.size : 1;
    const std::int64_t length = records_ * ranks * static_cast<std::int64_t>(record_);
    std::int64_t wrong = wrong_reads_ + (status.st_size == length ? 0 : 1);
    for (std::int64_t k = 0; k < records_; ++k) {
      read_at(file_.get(), buffer_, record_, offset(k));
      wrong += pattern_.wrong_bytes(buffer_, offset(k), generation_);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    account_.add_up(context_.comm);
    return {wrong == 0, "bytes wrong in the files, wrong lengths, reads of another record",
            static_cast<double>(wrong), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> facts = scratch_.facts();
    facts.merge(account_.facts());
    return facts;
  }

 private:
  bool is_one_file() const { return layout_ != "own"; }
  bool makes_file() const { return !is_one_file() || context_.rank == 0; }
  bool is_collective() const { return api_ == "mpiio_collective"; }

  // Offset of the k-th record of this rank: in its own part, or interleaved with the others'
  // records.
  std::uint64_t offset(std::int64_t k) const {
    std::int64_t place = k;
    if (layout_ == "shared") place += context_.rank * records_;
    if (layout_ == "strided") place = k * context_.size + context_.rank;
    return static_cast<std::uint64_t>(place) * record_;
  }

  void next_generation() {
    ++generation_;
    pattern_.fill(buffer_, generation_);
  }

  void open_for_mpi() {
    if (api_ == "posix") return;
    const std::string failed =
        mpi_file_.open(is_one_file() ? context_.comm : MPI_COMM_SELF, scratch_.descriptor(), name_,
                       MpiFile::Mode::read_and_write);
    all_or_none(context_.comm, [&] {
      if (!failed.empty()) throw KernelError(failed);
    });
  }

  // What failed in MPI-IO, or nothing.
  std::string write_record(std::int64_t k) {
    if (fault_.is("skip") && k == 0 && !is_collective()) return {};
    pattern_.place(buffer_, offset(k), generation_);
    if (api_ != "posix") return mpi_file_.write_at(buffer_, record_, offset(k), is_collective());
    write_at(file_.get(), buffer_, record_, offset(k));
    return {};
  }

  std::string read_record(std::int64_t k) {
    std::uint64_t from = offset(k);
    if (fault_.is("elsewhere") && k == records_ - 1) from = offset(0);
    std::string failed;
    if (api_ == "posix") {
      read_at(file_.get(), buffer_, record_, from);
    } else {
      failed = mpi_file_.read_at(buffer_, record_, from, is_collective());
    }
    stamps_read_ += Pattern::get(buffer_);
    return failed;
  }

  // Evaluates the sample before, outside of the timed part.
  void settle() {
    if (!sampled_) return;
    sampled_ = false;
    const std::uint64_t bytes = static_cast<std::uint64_t>(records_) * record_;
    if (op_ == "read") {
      account_.after_reading(bytes);
      std::uint64_t expected = 0;
      for (std::int64_t k = 0; k < records_; ++k)
        expected += pattern_.stamp(offset(k), generation_);
      wrong_reads_ += stamps_read_ == expected ? 0 : 1;
      stamps_read_ = 0;
      return;
    }
    // One rank per node counts the pages of a file that the ranks share.
    if (is_one_file() && context_.local_rank != 0) return;
    const std::uint64_t writers =
        is_one_file() ? static_cast<std::uint64_t>(context_.local_size) : 1;
    account_.after_writing(bytes * writers,
                           method_ == "buffered" ? bytes_not_written_back(file_.get()) : 0);
  }

  void inject_fault() {
    if (!fault_.is("byte")) return;
    damage_byte(scratch_.descriptor(), name_, offset(records_ - 1) + record_ / 2 + 1);
  }

  Context context_;
  std::string op_;
  std::string layout_;
  std::string api_;
  std::string method_;
  Scratch scratch_;
  std::size_t record_ = 0;
  std::int64_t records_ = 0;  // of each rank
  Pages buffer_memory_;
  unsigned char* buffer_ = nullptr;
  Pattern pattern_{0, 0};
  std::string name_;
  Descriptor file_;
  MpiFile mpi_file_;
  std::uint64_t generation_ = 0;
  std::uint64_t stamps_read_ = 0;
  std::int64_t wrong_reads_ = 0;  // samples
  bool sampled_ = false;
  CacheAccount account_;
  PlantedFault fault_;
};

ASSAY_KERNEL("storage.parallel", Parallel);

}  // namespace
}  // namespace assay
