// Writing a file to local storage and reading it back, past the page cache.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "check/component.hpp"
#include "harness/clock.hpp"
#include "harness/values.hpp"
#include "memory/draws.hpp"
#include "storage/descriptor.hpp"
#include "storage/pattern.hpp"

namespace assay::check {
namespace {

constexpr std::size_t kRecord = std::size_t{1} << 20;
// Records of a repetition, and the most repetitions: 64 MiB at most.
constexpr std::size_t kRecords = 16;
constexpr std::size_t kMostRepetitions = 4;

// Thrown for a failed call: how a sentence begins, the folder, and the reason.
[[noreturn]] void fail(const std::string& doing, const std::string& folder, int error) {
  throw KernelError(doing + " the scratch folder '" + folder + "' failed: " + std::strerror(error));
}

// A file without a name: nothing remains of it, however this process ends. `direct`: whether it
// bypasses the page cache.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& folder) : folder_(folder) {
    for (const int flag : {O_DIRECT, 0}) {
      direct_ = flag != 0;
      file_ = nameless(flag);
      if (file_) return;
      if (errno != EINVAL) break;
    }
    fail("creating a file in", folder_, errno);
  }

  void write(const unsigned char* from, std::uint64_t offset) {
    transfer([&](std::size_t done) {
      return pwrite(file_.get(), from + done, kRecord - done, static_cast<off_t>(offset + done));
    });
    // What the page cache holds would be written long after the repetition.
    if (!direct_ && fdatasync(file_.get()) != 0) fail("writing to", folder_, errno);
  }

  // Writes through to the device, and forgets what the page cache holds.
  void settle() {
    if (fdatasync(file_.get()) != 0) fail("writing to", folder_, errno);
    if (!direct_) posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  void read(unsigned char* to, std::uint64_t offset) {
    transfer([&](std::size_t done) {
      return pread(file_.get(), to + done, kRecord - done, static_cast<off_t>(offset + done));
    });
  }

 private:
  // A nameless file, or one whose name is removed at once where the file system has none.
  Descriptor nameless(int flag) const {
    const int flags = O_RDWR | O_CLOEXEC | flag;
    Descriptor file(open(folder_.c_str(), flags | O_TMPFILE, 0600));
    if (file || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file;
    struct stat status{};
    if (stat(folder_.c_str(), &status) != 0) return file;
    std::string name = folder_ + "/.assay-check-XXXXXX";
    file = Descriptor(mkostemp(name.data(), O_CLOEXEC | flag));
    const int error = errno;
    if (file) unlink(name.c_str());
    errno = error;
    return file;
  }

  // All bytes of a record.
  template <class Call>
  void transfer(const Call& call) {
    for (std::size_t done = 0; done < kRecord;) {
      const ssize_t now = call(done);
      if (now < 0 && errno == EINTR) continue;
      if (now < 0 && errno == EINVAL && direct_) {  // only opening supports it here
        fcntl(file_.get(), F_SETFL, 0);
        direct_ = false;
        continue;
      }
      if (now == 0) errno = ENOSPC;
      if (now <= 0) fail("writing to or reading from", folder_, errno);
      done += static_cast<std::size_t>(now);
    }
  }

  std::string folder_;
  Descriptor file_;
  bool direct_ = true;
};

struct Freed {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

// One core's work, with exceptions.
void measure_on_this_core(const Task& task, Measured& measured) {
  const std::unique_ptr<unsigned char, Freed> buffer(
      static_cast<unsigned char*>(std::aligned_alloc(kDirectUnit, kRecord)));
  if (!buffer) throw KernelError("the system refused memory for a record");
  ScratchFile file(task.settings.scratch);
  const Ticks begin = ticks();
  // Differs from what an earlier check left on the device.
  const std::uint64_t generation =
      Draws(static_cast<std::uint64_t>(begin) ^ static_cast<std::uint64_t>(getpid())).next();
  const Pattern pattern(0, kRecord);
  std::int64_t wrong = 0;
  const auto is_over = [&](double part) { return seconds(ticks() - begin) > part * task.seconds; };
  for (std::size_t k = 0; k < kMostRepetitions && (k == 0 || !is_over(1.0)); ++k) {
    const std::uint64_t start = k * kRecords * kRecord;
    pattern.fill(buffer.get(), generation);
    Ticks span = 0;
    std::size_t records = 0;
    // A slow device writes fewer records: at most half of the time, which reading needs as well.
    while (records < kRecords && (records == 0 || !is_over(k == 0 ? 0.5 : 1.0))) {
      const std::uint64_t offset = start + records++ * kRecord;
      pattern.place(buffer.get(), offset, generation);
      const Ticks from = ticks();
      file.write(buffer.get(), offset);
      span += ticks() - from;
    }
    const Ticks from = ticks();
    file.settle();
    span += ticks() - from;
    if (task.fault.is("byte")) {
      pattern.place(buffer.get(), start, generation);
      buffer.get()[kRecord / 2] ^= 1;
      file.write(buffer.get(), start);
      file.settle();
    }
    for (std::size_t record = 0; record < records; ++record) {
      const std::uint64_t offset = start + record * kRecord;
      const Ticks before = ticks();
      file.read(buffer.get(), offset);
      span += ticks() - before;
      const std::uint64_t place = task.fault.is("place") ? offset + kRecord : offset;
      wrong += pattern.wrong_bytes(buffer.get(), place, generation);
    }
    measured.values.push_back(2.0 * static_cast<double>(records * kRecord) / seconds(span));
  }
  measured.verified = wrong == 0;
}

}  // namespace

Measured measure_storage(const Task& task) {
  Measured measured;
  measured.cpus = {task.team.cpus()[0]};
  task.team.run([&](std::size_t member) {
    if (member == 0) measure_on_this_core(task, measured);
  });
  return measured;
}

}  // namespace assay::check
