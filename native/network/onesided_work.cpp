#include "network/onesided_work.hpp"

#include <vector>

#include "memory/draws.hpp"

namespace assay {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

// A number that differs between neighbouring keys in all of its bytes, and isn't 0 for key 0, as
// memory may be.
std::uint64_t drawn(std::uint64_t key) { return Draws(key).next(); }

// MPI_Put and MPI_Get. The operations of a window have a place each, because puts to the same
// place without synchronisation between them have no defined result (MPI-4.1, 12.7).
class RemoteTransfers : public RemoteWork {
 public:
  using RemoteWork::RemoteWork;

  std::size_t memory() const override { return MessageRow::memory(terms_.bytes, terms_.window); }

  void attach(unsigned char* here) override { row_ = {here, terms_.bytes, terms_.window}; }

  void prepare(std::size_t round, std::size_t size) override {
    round_ = round;
    size_ = moved_ = size;
    lost_ = 0;
    if (sends()) {
      row_.write(size, round, 0);
    } else {
      row_.blank(size, round, 0);
    }
  }

  int issue(MPI_Win window, int target) override {
    int failed = MPI_SUCCESS;
    const int count = static_cast<int>(moved_);
    for (std::size_t i = 0; i < issued(); ++i) {
      const auto place = static_cast<MPI_Aint>(row_.offset(i));
      if (terms_.op == RemoteOp::kPut) {
        failed |= MPI_Put(row_.at(i), count, MPI_BYTE, target, place, count, MPI_BYTE, window);
      } else {
        failed |= MPI_Get(row_.at(i), count, MPI_BYTE, target, place, count, MPI_BYTE, window);
      }
    }
    return failed;
  }

  std::int64_t wrong(std::int64_t calls) const override {
    return sends() || calls == 0 ? 0 : row_.wrong(size_, round_, 0);
  }

  void damage() override {
    if (!sends() && size_ > 0) row_.at(0)[size_ / 2] ^= 1;
  }

  void shorten() override {
    if (terms_.fault.is("short") && moved_ > 0) --moved_;
    if (terms_.fault.is("lost")) lost_ = 1;
  }

 private:
  bool sends() const { return terms_.origin == (terms_.op == RemoteOp::kPut); }

  MessageRow row_;
  std::size_t round_ = 0;
  std::size_t size_ = 0;
  std::size_t moved_ = 0;
};

// MPI_Accumulate: sums of 64-bit numbers modulo 2^64, which are exact however often they are added.
class RemoteSums : public RemoteWork {
 public:
  using RemoteWork::RemoteWork;

  std::size_t memory() const override { return MessageRow::memory(terms_.bytes, terms_.window); }

  void attach(unsigned char* here) override { row_ = {here, terms_.bytes, terms_.window}; }

  void prepare(std::size_t round, std::size_t size) override {
    round_ = round;
    words_ = added_ = size / kWord;
    lost_ = 0;
    each([&](std::uint64_t& word, std::uint64_t key, bool) {
      word = terms_.origin ? addend(key) : first(key);
    });
  }

  int issue(MPI_Win window, int target) override {
    int failed = MPI_SUCCESS;
    const int count = static_cast<int>(added_);
    for (std::size_t i = 0; i < issued(); ++i) {
      failed |= MPI_Accumulate(row_.at(i), count, MPI_UINT64_T, target,
                               static_cast<MPI_Aint>(row_.offset(i)), count, MPI_UINT64_T, MPI_SUM,
                               window);
    }
    return failed;
  }

  std::int64_t wrong(std::int64_t calls) const override {
    if (terms_.origin) return 0;
    std::int64_t found = 0;
    each([&](const std::uint64_t& word, std::uint64_t key, bool summed) {
      const std::uint64_t times = summed ? static_cast<std::uint64_t>(calls) : 0;
      found += word != first(key) + times * addend(key) ? 1 : 0;
    });
    return found;
  }

  void damage() override {
    if (!terms_.origin && words_ > 0) words(0)[words_ / 2] ^= 1;
  }

  void shorten() override {
    if (terms_.fault.is("short") && added_ > 0) --added_;
    if (terms_.fault.is("lost")) lost_ = 1;
  }

 private:
  static std::uint64_t first(std::uint64_t key) { return drawn(2 * key); }
  static std::uint64_t addend(std::uint64_t key) { return drawn(2 * key + 1); }

  std::uint64_t* words(std::size_t place) const {
    return reinterpret_cast<std::uint64_t*>(row_.at(place));
  }

  // Calls action(word, key, whether it is summed) for every number, and for those of the guard.
  template <typename Action>
  void each(Action action) const {
    const std::size_t all = words_ + MessageRow::kGuard / kWord;
    for (std::size_t place = 0; place < terms_.window; ++place) {
      std::uint64_t* const own = words(place);
      const std::uint64_t base = (round_ * terms_.window + place) << 32;
      for (std::size_t i = 0; i < all; ++i) action(own[i], base + i, i < words_);
    }
  }

  MessageRow row_;
  std::size_t round_ = 0;
  std::size_t words_ = 0;
  std::size_t added_ = 0;
};

// MPI_Fetch_and_op (sum) and MPI_Compare_and_swap on one number, which each operation raises by the
// same step. Operations of one origin on one number keep their order (MPI-4.1, 12.7.2), so each
// fetched number is known, and each comparison succeeds.
class RemoteAtomics : public RemoteWork {
 public:
  explicit RemoteAtomics(const RemoteTerms& terms)
      : RemoteWork(terms),
        fetched_(terms.window, 0),
        compared_(terms.window, 0),
        swapped_(terms.window, 0) {}

  std::size_t memory() const override { return MessageRow::memory(kWord, 1); }

  void attach(unsigned char* here) override { here_ = reinterpret_cast<std::uint64_t*>(here); }

  void prepare(std::size_t round, std::size_t) override {
    start_ = value_ = drawn(2 * round);
    step_ = drawn(2 * round + 1) | 1;
    lost_ = 0;
    for (std::size_t i = 0; i < kWords; ++i) here_[i] = i == 0 ? start_ : drawn(i);
    for (std::uint64_t& each : fetched_) each = ~start_;
  }

  int issue(MPI_Win window, int target) override {
    int failed = MPI_SUCCESS;
    for (std::size_t i = 0; i < issued(); ++i) {
      if (terms_.op == RemoteOp::kFetchAndOp) {
        failed |= MPI_Fetch_and_op(&step_, &fetched_[i], MPI_UINT64_T, target, 0, MPI_SUM, window);
      } else {
        compared_[i] = value_;
        swapped_[i] = value_ += step_;
        failed |= MPI_Compare_and_swap(&swapped_[i], &compared_[i], &fetched_[i], MPI_UINT64_T,
                                       target, 0, window);
      }
    }
    return failed;
  }

  std::int64_t wrong(std::int64_t calls) const override {
    const std::uint64_t window = terms_.window;
    const std::uint64_t operations = static_cast<std::uint64_t>(calls) * window;
    std::int64_t found = 0;
    if (terms_.origin) {
      for (std::uint64_t i = 0; calls > 0 && i < window; ++i) {
        found += fetched_[i] != start_ + (operations - window + i) * step_ ? 1 : 0;
      }
      return found;
    }
    found += here_[0] != start_ + operations * step_ ? 1 : 0;
    for (std::size_t i = 1; i < kWords; ++i) found += here_[i] != drawn(i) ? 1 : 0;
    return found;
  }

  void damage() override {
    if (terms_.origin) {
      fetched_[0] ^= 1;
    } else {
      here_[0] ^= 1;
    }
  }

  void shorten() override {
    if (terms_.fault.is("short") || terms_.fault.is("lost")) lost_ = 1;
  }

 private:
  static constexpr std::size_t kWords = 1 + MessageRow::kGuard / kWord;  // the number, the guard

  std::uint64_t* here_ = nullptr;
  std::uint64_t start_ = 0;
  std::uint64_t step_ = 1;
  std::uint64_t value_ = 0;
  std::vector<std::uint64_t> fetched_;
  std::vector<std::uint64_t> compared_;
  std::vector<std::uint64_t> swapped_;
};

}  // namespace

std::unique_ptr<RemoteWork> make_remote_work(const RemoteTerms& terms) {
  if (is_atomic(terms.op)) return std::make_unique<RemoteAtomics>(terms);
  if (terms.op == RemoteOp::kAccumulate) return std::make_unique<RemoteSums>(terms);
  return std::make_unique<RemoteTransfers>(terms);
}

}  // namespace assay
