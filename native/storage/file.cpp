// storage.file: one file per rank, written and read record by record, as by IOzone.
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "storage/account.hpp"
#include "storage/descriptor.hpp"
#include "storage/filesystem.hpp"
#include "storage/pattern.hpp"
#include "storage/scratch.hpp"

namespace assay {
namespace {

// Random operations per sample by default: enough for a 99th percentile of their latencies.
constexpr std::int64_t kRandomRecords = 1024;
constexpr std::int64_t kStride = 17;  // IOzone's
constexpr double kTail = 0.99;

class File : public Kernel {
 public:
  File(const Context& context, Parameters& parameters)
      : context_(context),
        op_(parameters.choice(
            "op", "write",
            {"write", "rewrite", "read", "reread", "random_read", "random_write", "stride_read"})),
        method_(parameters.choice("method", "buffered", {"buffered", "direct", "fsync", "dsync"})),
        writes_(op_.ends_with("write")),
        random_(op_.starts_with("random_")),
        scratch_(context, parameters) {
    const std::int64_t unit = method_ == "direct" ? kDirectUnit : kRecordUnit;
    const std::int64_t record = parameters.integer("record", 1 << 20);
    const std::int64_t size = parameters.integer("file_size", 64 << 20);
    const std::int64_t stride = parameters.integer("stride", 0);
    const std::int64_t records = parameters.integer("records", 0);
    if (record < unit || record > kLargestRecord || record % unit != 0) {
      throw KernelError("parameter 'record' must be a multiple of " + std::to_string(unit) +
                        " up to " + std::to_string(kLargestRecord) + ", not " +
                        std::to_string(record));
    }
    if (size < record || size % record != 0) {
      throw KernelError("parameter 'file_size' must be a multiple of the record of " +
                        std::to_string(record) + " bytes, not " + std::to_string(size));
    }
    if (!writes_ && (method_ == "fsync" || method_ == "dsync")) {
      throw KernelError("method=" + method_ + " is for writing, and op=" + op_ + " reads");
    }
    if (stride < 0) throw KernelError("parameter 'stride' must not be negative");
    if (records < 0) throw KernelError("parameter 'records' must not be negative");
    record_ = static_cast<std::size_t>(record);
    in_file_ = size / record;
    stride_ = stride > 0 ? stride : kStride;
    parameters.resolve("stride", stride_);
    in_sample_ = in_file_;
    if (op_ == "stride_read") in_sample_ = (in_file_ + stride_ - 1) / stride_;
    if (random_) in_sample_ = std::min(records > 0 ? records : kRandomRecords, in_file_);
    parameters.resolve("records", in_sample_);
    fault_ = PlantedFault(parameters, {"byte", "skip", "elsewhere"});
  }

  void setup() override {
    const double bytes = static_cast<double>(record_) * static_cast<double>(in_file_);
    scratch_.make(bytes);
    require_memory(context_, kPartForRecords, static_cast<double>(record_), "a record's bytes",
                   "give a smaller 'record'");
    buffer_memory_ = Pages(record_, Pages::Size::ordinary);
    buffer_ = buffer_memory_.as<unsigned char>();
    pattern_ = Pattern(static_cast<std::uint64_t>(context_.rank), record_);
    name_ = "data." + std::to_string(context_.rank);
    if (random_) draw_from_all();
    if (op_ == "write") return;
    // Through the cache, whatever the method: creating the file is not measured.
    file_ = create_file(scratch_.descriptor(), name_, 0);
    next_generation();
    for (std::int64_t i = 0; i < in_file_; ++i) write_record(i);
    flush(file_.get());
    file_ = open_file(scratch_.descriptor(), name_, flags());
    advise();
    if (op_ == "reread") read_all();
  }

  // A new file for each write; earlier data is on the device; data that must not come from the
  // cache is not in it.
  void before_sample() override {
    settle();
    if (writes_) {
      if (op_ == "write") {
        remove();
        create();
      } else {
        flush(file_.get());
      }
      next_generation();
    } else if (op_ != "reread") {
      drop_cache(file_.get());
    }
    if (random_) draw();
    if (!writes_) account_.before_reading();
  }

  void run(std::int64_t) override {
    if (random_) {
      timed_records();
    } else if (writes_) {
      for (std::int64_t k = 0; k < in_sample_; ++k) write_record(k);
    } else {
      const std::int64_t step = op_ == "stride_read" ? stride_ : 1;
      for (std::int64_t k = 0; k < in_sample_; ++k) read_record(k * step);
    }
    if (method_ == "fsync") flush(file_.get());
    sampled_ = true;
  }

  // Checks every byte of the file, from the device as far as the system lets its cache be dropped,
  // and the stamps of all records that the timed reads returned.
  Verification verify() override {
    settle();
    inject_fault();
    file_ = open_file(scratch_.descriptor(), name_, 0);
    drop_cache(file_.get());
    std::int64_t wrong = wrong_reads_;
    for (std::int64_t i = 0; i < in_file_; ++i) {
      read_at(file_.get(), buffer_, record_, offset(i));
      wrong += pattern_.wrong_bytes(buffer_, offset(i), generation_of(i));
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    account_.add_up(context_.comm);
    add_up(medians_);
    add_up(tails_);
    return {wrong == 0, "bytes wrong in the files, and reads that returned another record",
            static_cast<double>(wrong), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    if (!random_ || context_.rank != 0) return {};
    return {{"latency", "s", {}, {}, medians_}, {"latency_p99", "s", {}, {}, tails_}};
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> facts = scratch_.facts();
    facts.merge(account_.facts());
    return facts;
  }

 private:
  std::uint64_t offset(std::int64_t index) const {
    return static_cast<std::uint64_t>(index) * record_;
  }

  std::uint64_t generation_of(std::int64_t index) const {
    return generations_.empty() ? generation_ : generations_[static_cast<std::size_t>(index)];
  }

  int flags() const { return method_ == "direct" ? O_DIRECT : method_ == "dsync" ? O_DSYNC : 0; }

  void create() {
    file_ = create_file(scratch_.descriptor(), name_, flags());
    advise();
  }

  void remove() {
    if (!file_) return;
    file_.close();
    if (unlinkat(scratch_.descriptor(), name_.c_str(), 0) != 0) {
      fail_with_errno("could not remove the last sample's file");
    }
  }

  // Access advice that a well-tuned program gives to the system: sequential (far read-ahead) or
  // random (none).
  void advise() const {
    posix_fadvise(file_.get(), 0, 0, random_ ? POSIX_FADV_RANDOM : POSIX_FADV_SEQUENTIAL);
  }

  void next_generation() {
    ++generation_;
    pattern_.fill(buffer_, generation_);
  }

  void draw_from_all() {
    places_.resize(static_cast<std::size_t>(in_file_));
    for (std::size_t i = 0; i < places_.size(); ++i) places_[i] = static_cast<std::int64_t>(i);
    if (writes_) generations_.assign(places_.size(), 1);
    latencies_.resize(static_cast<std::size_t>(in_sample_));
    random_engine_.seed(context_.seed + static_cast<std::uint64_t>(context_.rank));
  }

  // Draws records for the next sample without repetition: the beginning of a shuffle (Fisher &
  // Yates).
  void draw() {
    for (std::size_t k = 0; k < static_cast<std::size_t>(in_sample_); ++k) {
      std::uniform_int_distribution<std::size_t> among(k, places_.size() - 1);
      std::swap(places_[k], places_[among(random_engine_)]);
    }
  }

  void write_record(std::int64_t index) {
    if (fault_.is("skip") && index == 0 && generation_ > 1) return;
    pattern_.place(buffer_, offset(index), generation_);
    write_at(file_.get(), buffer_, record_, offset(index));
  }

  void read_record(std::int64_t index) {
    std::uint64_t from = offset(index);
    if (fault_.is("elsewhere") && index == in_file_ - 1) from = 0;
    read_at(file_.get(), buffer_, record_, from);
    stamps_read_ += Pattern::get(buffer_);
  }

  // The clock is read once per record; a latency is the time between two readings.
  void timed_records() {
    Ticks before = ticks();
    for (std::size_t k = 0; k < latencies_.size(); ++k) {
      if (writes_) {
        write_record(places_[k]);
      } else {
        read_record(places_[k]);
      }
      const Ticks now = ticks();
      latencies_[k] = now - before;
      before = now;
    }
  }

  void read_all() {
    for (std::int64_t i = 0; i < in_file_; ++i) read_at(file_.get(), buffer_, record_, offset(i));
  }

  // Evaluates the sample before, outside of the timed part.
  void settle() {
    if (!sampled_) return;
    sampled_ = false;
    const std::uint64_t bytes = static_cast<std::uint64_t>(in_sample_) * record_;
    if (writes_) {
      const bool durable = method_ != "buffered";
      account_.after_writing(bytes, durable ? 0 : bytes_not_written_back(file_.get()));
    } else {
      account_.after_reading(bytes);
      wrong_reads_ += stamps_read_ == expected_stamps() ? 0 : 1;
      stamps_read_ = 0;
    }
    if (!random_) return;
    for (std::size_t k = 0; writes_ && k < latencies_.size(); ++k) {
      generations_[static_cast<std::size_t>(places_[k])] = generation_;
    }
    std::sort(latencies_.begin(), latencies_.end());
    medians_.push_back(quantile(0.5));
    tails_.push_back(quantile(kTail));
  }

  // The expected sum of stamps over the records that the sample should have read, modulo 2^64.
  std::uint64_t expected_stamps() const {
    const std::int64_t step = op_ == "stride_read" ? stride_ : 1;
    std::uint64_t sum = 0;
    for (std::int64_t k = 0; k < in_sample_; ++k) {
      const std::int64_t index = random_ ? places_[static_cast<std::size_t>(k)] : k * step;
      sum += pattern_.stamp(offset(index), generation_);
    }
    return sum;
  }

  // Quantile of the sorted latencies; the lower neighbour, so that no tail is extrapolated from few
  // values.
  double quantile(double p) const {
    const auto last = static_cast<double>(latencies_.size() - 1);
    return seconds(latencies_[static_cast<std::size_t>(p * last)]);
  }

  // The maximum over the ranks for each sample. Every rank has taken the same number of samples.
  void add_up(std::vector<double>& values) const {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX,
                  context_.comm);
  }

  void inject_fault() {
    if (!fault_.is("byte")) return;
    damage_byte(scratch_.descriptor(), name_, offset(in_file_ - 1) + record_ / 2 + 1);
  }

  Context context_;
  std::string op_;
  std::string method_;
  bool writes_;
  bool random_;
  Scratch scratch_;
  std::size_t record_ = 0;
  std::int64_t in_file_ = 0;    // records
  std::int64_t in_sample_ = 0;  // records that a sample writes or reads
  std::int64_t stride_ = 1;
  Pages buffer_memory_;
  unsigned char* buffer_ = nullptr;
  Pattern pattern_{0, 0};
  std::string name_;
  Descriptor file_;
  std::uint64_t generation_ = 0;
  std::vector<std::uint64_t> generations_;  // of each record, if they differ
  std::vector<std::int64_t> places_;        // a permutation of the records
  std::mt19937_64 random_engine_;
  std::vector<Ticks> latencies_;  // of the last sample's records
  std::vector<double> medians_;   // of each sample
  std::vector<double> tails_;
  std::uint64_t stamps_read_ = 0;
  std::int64_t wrong_reads_ = 0;  // samples
  bool sampled_ = false;
  CacheAccount account_;
  PlantedFault fault_;
};

ASSAY_KERNEL("storage.file", File);

}  // namespace
}  // namespace assay
