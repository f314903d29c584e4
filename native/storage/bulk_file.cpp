#include "storage/bulk_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/descriptor.hpp"
#include "storage/mpi_file.hpp"

namespace assay {

BulkFile::BulkFile(const Context& context, const Scratch& scratch, Layout layout,
                   std::size_t record, bool mpi_io, int reads)
    : context_(context),
      scratch_(scratch),
      layout_(layout),
      record_(record),
      mpi_io_(mpi_io),
      reads_(reads) {}

void BulkFile::setup() {
  require_memory(context_, kPartForRecords, 2.0 * static_cast<double>(record_),
                 "the bytes of two records", "give smaller records");
  written_memory_ = Pages(record_, Pages::Size::ordinary);
  read_memory_ = Pages(record_, Pages::Size::ordinary);
}

std::string BulkFile::name(int rank) const {
  return layout_ == Layout::shared ? "data" : "data." + std::to_string(rank);
}

std::uint64_t BulkFile::offset(int rank, std::int64_t k) const {
  const std::int64_t place = layout_ == Layout::shared ? k * context_.size + rank : k;
  return static_cast<std::uint64_t>(place) * record_;
}

Pattern BulkFile::pattern(int rank) const {
  // A shared file has a number that no rank has.
  const int file = layout_ == Layout::shared ? context_.size : rank;
  return Pattern(static_cast<std::uint64_t>(file), record_);
}

void BulkFile::remove() {
  records_ = 0;
  if (layout_ == Layout::shared && context_.rank != 0) return;
  if (unlinkat(scratch_.descriptor(), name(context_.rank).c_str(), 0) != 0 && errno != ENOENT) {
    fail_with_errno("could not remove the last sample's file");
  }
}

Reached BulkFile::write(const Stonewall& wall, std::int64_t most, std::uint64_t generation,
                        bool wears_out) {
  const bool shared = layout_ == Layout::shared;
  const std::string file_name = name(context_.rank);
  unsigned char* const buffer = written_memory_.as<unsigned char>();
  const Pattern pattern = this->pattern(context_.rank);
  generation_ = generation;
  pattern.fill(buffer, generation);

  Descriptor file;
  MpiFile mpi_file;
  if (mpi_io_) {
    const std::string failed =
        mpi_file.open(shared ? context_.comm : MPI_COMM_SELF, scratch_.descriptor(), file_name,
                      MpiFile::Mode::create);
    all_or_none(context_.comm, [&] {
      if (!failed.empty()) throw KernelError(failed);
    });
  } else {
    // The first to open a shared file creates it, as the ranks of a program would.
    all_or_none(context_.comm,
                [&] { file = open_file(scratch_.descriptor(), file_name, O_CREAT); });
  }
  const Reached reached = wall.run(
      most,
      [&](std::int64_t k) {
        const std::uint64_t at = offset(context_.rank, k);
        pattern.place(buffer, at, generation_);
        if (!mpi_io_) {
          write_at(file.get(), buffer, record_, at);
        } else if (const std::string failed = mpi_file.write_at(buffer, record_, at);
                   !failed.empty()) {
          throw KernelError(failed);
        }
      },
      wears_out);
  records_ = reached.most;
  if (mpi_io_) {
    std::string failed = mpi_file.sync();
    const std::string said = mpi_file.close();
    if (failed.empty()) failed = said;
    if (!failed.empty()) throw KernelError(failed);
  } else {
    flush(file.get());
    file.close();
  }
  return reached;
}

void BulkFile::read(CacheAccount& account, bool elsewhere) {
  const bool shared = layout_ == Layout::shared;
  unsigned char* const expected = written_memory_.as<unsigned char>();
  unsigned char* const buffer = read_memory_.as<unsigned char>();
  const Pattern pattern = this->pattern(reads_);
  account.before_reading();
  Descriptor file;
  MpiFile mpi_file;
  if (!mpi_io_) {
    file = open_to_read(scratch_.descriptor(), name(reads_));
  } else if (const std::string failed =
                 mpi_file.open(shared ? context_.comm : MPI_COMM_SELF, scratch_.descriptor(),
                               name(reads_), MpiFile::Mode::read);
             !failed.empty()) {
    throw KernelError(failed);
  }
  for (std::int64_t k = 0; k < records_; ++k) {
    unless_stopped();
    const std::uint64_t place = offset(reads_, k);
    const std::uint64_t at = elsewhere && k == records_ - 1 ? offset(reads_, 0) : place;
    if (!mpi_io_) {
      read_at(file.get(), buffer, record_, at);
    } else if (const std::string failed = mpi_file.read_at(buffer, record_, at); !failed.empty()) {
      throw KernelError(failed);
    }
    pattern.place(expected, place, generation_);
    if (std::memcmp(buffer, expected, record_) != 0) {
      wrong_ += pattern.wrong_bytes(buffer, place, generation_);
    }
  }
  if (const std::string failed = mpi_file.close(); !failed.empty()) throw KernelError(failed);
  file.close();
  account.after_reading(bytes());
}

void BulkFile::drop() const {
  if (layout_ == Layout::shared && context_.local_rank != 0) return;
  // Opened for writing, as some file systems require for a flush.
  drop_cache(open_file(scratch_.descriptor(), name(context_.rank), 0).get());
}

void BulkFile::damage() const {
  damage_byte(scratch_.descriptor(), name(context_.rank),
              offset(context_.rank, records_ - 1) + record_ / 2 + 1);
}

std::int64_t BulkFile::take_wrong() {
  struct stat status{};
  const std::string file_name = name(context_.rank);
  if (fstatat(scratch_.descriptor(), file_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    fail_with_errno("could not query the length of the file '" + file_name + "'");
  }
  const std::uint64_t writers =
      layout_ == Layout::shared ? static_cast<std::uint64_t>(context_.size) : 1;
  return std::exchange(wrong_, 0) +
         (static_cast<std::uint64_t>(status.st_size) == bytes() * writers ? 0 : 1);
}

}  // namespace assay
