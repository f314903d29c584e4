// Windows of messages in flight, in one or both directions, in each mode. A window closes when its
// messages have arrived: in one direction the receiver sends an empty message; in both directions
// each rank has its partner's messages; one-sided, MPI_Win_flush returns.
#include "network/exchange.hpp"

namespace assay {
namespace {

class Windows : public Exchange {
 public:
  Windows(const Parties& parties, bool both_ways, int window)
      : Exchange(parties),
        both_ways_(both_ways),
        sends_(both_ways || parties.pair.first),
        receives_(both_ways || !parties.pair.first),
        window_(static_cast<std::size_t>(window)) {}

 protected:
  int start_sends(MPI_Request* requests) const {
    int failed = MPI_SUCCESS;
    for (std::size_t i = 0; i < window_; ++i) {
      failed |= MPI_Isend(parties_.outgoing.at(i), outgoing_, MPI_BYTE, pair_.partner, kMessage,
                          pair_.comm, &requests[i]);
    }
    return failed;
  }

  int start_receives(MPI_Request* requests) const {
    int failed = MPI_SUCCESS;
    for (std::size_t i = 0; i < window_; ++i) {
      failed |= MPI_Irecv(parties_.incoming.at(i), incoming_, MPI_BYTE, pair_.partner, kMessage,
                          pair_.comm, &requests[i]);
    }
    return failed;
  }

  static int wait_for(std::vector<MPI_Request>& requests) {
    return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }

  // From the receiver to the sender.
  int acknowledge() const {
    if (both_ways_) return MPI_SUCCESS;
    if (pair_.first) {
      return MPI_Recv(nullptr, 0, MPI_BYTE, pair_.partner, kAcknowledgement, pair_.comm,
                      MPI_STATUS_IGNORE);
    }
    return MPI_Send(nullptr, 0, MPI_BYTE, pair_.partner, kAcknowledgement, pair_.comm);
  }

  // Each to the other.
  int acknowledge_mutually() const {
    return MPI_Sendrecv(nullptr, 0, MPI_BYTE, pair_.partner, kAcknowledgement, nullptr, 0, MPI_BYTE,
                        pair_.partner, kAcknowledgement, pair_.comm, MPI_STATUS_IGNORE);
  }

  const bool both_ways_;
  const bool sends_;
  const bool receives_;
  const std::size_t window_;
};

class BlockingWindows : public Windows {
 public:
  using Windows::Windows;

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      for (std::size_t i = 0; i < window_; ++i) {
        if (sends_) {
          failed |= MPI_Send(parties_.outgoing.at(i), outgoing_, MPI_BYTE, pair_.partner, kMessage,
                             pair_.comm);
        } else {
          failed |= MPI_Recv(parties_.incoming.at(i), incoming_, MPI_BYTE, pair_.partner, kMessage,
                             pair_.comm, MPI_STATUS_IGNORE);
        }
      }
      failed |= acknowledge();
    }
    return failed;
  }
};

class NonblockingWindows : public Windows {
 public:
  NonblockingWindows(const Parties& parties, bool both_ways, int window)
      : Windows(parties, both_ways, window),
        requests_((both_ways ? 2 : 1) * window_, MPI_REQUEST_NULL) {}

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    MPI_Request* const sends = requests_.data() + (receives_ ? window_ : 0);
    for (std::int64_t k = 0; k < count; ++k) {
      if (receives_) failed |= start_receives(requests_.data());
      if (sends_) failed |= start_sends(sends);
      failed |= wait_for(requests_);
      failed |= acknowledge();
    }
    return failed;
  }

 private:
  std::vector<MPI_Request> requests_;  // of receives, then of sends
};

// The receives of a window are posted before the previous window is acknowledged, so every receive
// is posted before its message is sent.
class PrepostedWindows : public Windows {
 public:
  PrepostedWindows(const Parties& parties, bool both_ways, int window)
      : Windows(parties, both_ways, window),
        posted_(receives_ ? window_ : 0, MPI_REQUEST_NULL),
        sends_started_(sends_ ? window_ : 0, MPI_REQUEST_NULL) {}
  ~PrepostedWindows() override { cancel(posted_); }

  void open(Sizes sizes) override {
    Windows::open(sizes);
    if (receives_) check_mpi(start_receives(posted_.data()));
  }

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      if (sends_) {
        failed |= start_sends(sends_started_.data());
        failed |= wait_for(sends_started_);
      }
      if (receives_) {
        failed |= wait_for(posted_);
        failed |= start_receives(posted_.data());
      }
      failed |= both_ways_ ? acknowledge_mutually() : acknowledge();
    }
    return failed;
  }

  void close() override { cancel(posted_); }

 private:
  std::vector<MPI_Request> posted_;
  std::vector<MPI_Request> sends_started_;
};

class PersistentWindows : public Windows {
 public:
  using Windows::Windows;
  ~PersistentWindows() override { PersistentWindows::close(); }

  void open(Sizes sizes) override {
    Windows::open(sizes);
    for (std::size_t i = 0; receives_ && i < window_; ++i) {
      check_mpi(MPI_Recv_init(parties_.incoming.at(i), incoming_, MPI_BYTE, pair_.partner, kMessage,
                              pair_.comm, &requests_.emplace_back()));
    }
    for (std::size_t i = 0; sends_ && i < window_; ++i) {
      check_mpi(MPI_Send_init(parties_.outgoing.at(i), outgoing_, MPI_BYTE, pair_.partner, kMessage,
                              pair_.comm, &requests_.emplace_back()));
    }
  }

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      failed |= MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
      failed |= wait_for(requests_);
      failed |= acknowledge();
    }
    return failed;
  }

  void close() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
    requests_.clear();
  }

 private:
  std::vector<MPI_Request> requests_;
};

template <bool kPuts>
class RemoteWindows : public Windows {
 public:
  using Windows::Windows;

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      if (sends_) failed |= transfer();
      if (both_ways_) failed |= acknowledge_mutually();
    }
    return failed;
  }

 private:
  int transfer() const {
    int failed = MPI_SUCCESS;
    const MPI_Win window = parties_.remote->window();
    const int partner = parties_.remote->partner();
    for (std::size_t i = 0; i < window_; ++i) {
      if constexpr (kPuts) {
        failed |= MPI_Put(parties_.outgoing.at(i), outgoing_, MPI_BYTE, partner,
                          static_cast<MPI_Aint>(parties_.outgoing.offset(i)), outgoing_, MPI_BYTE,
                          window);
      } else {
        failed |= MPI_Get(parties_.incoming.at(i), incoming_, MPI_BYTE, partner,
                          static_cast<MPI_Aint>(parties_.incoming.offset(i)), incoming_, MPI_BYTE,
                          window);
      }
    }
    return failed | MPI_Win_flush(partner, window);
  }
};

}  // namespace

std::unique_ptr<Exchange> make_windows(Mode mode, bool both_ways, int window,
                                       const Parties& parties) {
  switch (mode) {
    case Mode::kBlocking:
      return std::make_unique<BlockingWindows>(parties, both_ways, window);
    case Mode::kNonblocking:
      return std::make_unique<NonblockingWindows>(parties, both_ways, window);
    case Mode::kPreposted:
      return std::make_unique<PrepostedWindows>(parties, both_ways, window);
    case Mode::kPersistent:
      return std::make_unique<PersistentWindows>(parties, both_ways, window);
    case Mode::kPut:
      return std::make_unique<RemoteWindows<true>>(parties, both_ways, window);
    case Mode::kGet:
      return std::make_unique<RemoteWindows<false>>(parties, both_ways, window);
    case Mode::kPartitioned:
      break;
  }
  return nullptr;
}

}  // namespace assay
