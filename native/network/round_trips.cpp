// Round trips of messages, in each mode.
#include "network/exchange.hpp"

namespace assay {
namespace {

// Sends and receives alternately; the partner of the rank that begins receives first.
template <typename Send, typename Receive>
int alternate(bool first, std::int64_t count, Send send, Receive receive) {
  int failed = MPI_SUCCESS;
  if (first) {
    for (std::int64_t k = 0; k < count; ++k) {
      failed |= send();
      failed |= receive();
    }
  } else {
    for (std::int64_t k = 0; k < count; ++k) {
      failed |= receive();
      failed |= send();
    }
  }
  return failed;
}

// MPI_Send and MPI_Recv.
class BlockingTrips : public Exchange {
 public:
  using Exchange::Exchange;

  int run(std::int64_t count) override {
    return alternate(pair_.first, count, [this] { return send(); }, [this] { return receive(); });
  }

 private:
  int send() const {
    return MPI_Send(parties_.outgoing.at(0), sent_.count(), sent_.type(), pair_.partner, kMessage,
                    pair_.comm);
  }
  int receive() const {
    return MPI_Recv(parties_.incoming.at(0), received_.count(), received_.type(), pair_.partner,
                    kMessage, pair_.comm, MPI_STATUS_IGNORE);
  }
};

// Modes in which a send or a receive is a request.
class RequestTrips : public Exchange {
 public:
  using Exchange::Exchange;

 protected:
  int start_send(MPI_Request* request) const {
    return MPI_Isend(parties_.outgoing.at(0), sent_.count(), sent_.type(), pair_.partner, kMessage,
                     pair_.comm, request);
  }
  int start_receive(MPI_Request* request) const {
    return MPI_Irecv(parties_.incoming.at(0), received_.count(), received_.type(), pair_.partner,
                     kMessage, pair_.comm, request);
  }
  static int wait(MPI_Request* request) { return MPI_Wait(request, MPI_STATUS_IGNORE); }
};

// MPI_Isend, MPI_Irecv, each followed immediately by its wait.
class NonblockingTrips : public RequestTrips {
 public:
  using RequestTrips::RequestTrips;

  int run(std::int64_t count) override {
    return alternate(pair_.first, count, [this] { return send(); }, [this] { return receive(); });
  }

 private:
  int send() const {
    MPI_Request request = MPI_REQUEST_NULL;
    return start_send(&request) | wait(&request);
  }
  int receive() const {
    MPI_Request request = MPI_REQUEST_NULL;
    return start_receive(&request) | wait(&request);
  }
};

// Every receive is posted before its message is sent: by the rank that begins before it sends, by
// its partner before it answers the previous message. One receive of the partner is therefore
// always posted, also between samples.
class PrepostedTrips : public RequestTrips {
 public:
  using RequestTrips::RequestTrips;
  ~PrepostedTrips() override { cancel(posted_); }

  void open(Sizes sizes) override {
    RequestTrips::open(sizes);
    if (!pair_.first) check_mpi(start_receive(&posted_[0]));
  }

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    MPI_Request* const request = posted_.data();
    if (pair_.first) {
      for (std::int64_t k = 0; k < count; ++k) {
        failed |= start_receive(request);
        failed |= send();
        failed |= wait(request);
      }
    } else {
      for (std::int64_t k = 0; k < count; ++k) {
        failed |= wait(request);
        failed |= start_receive(request);
        failed |= send();
      }
    }
    return failed;
  }

  void close() override { cancel(posted_); }

 private:
  int send() const {
    return MPI_Send(parties_.outgoing.at(0), sent_.count(), sent_.type(), pair_.partner, kMessage,
                    pair_.comm);
  }

  std::vector<MPI_Request> posted_{MPI_REQUEST_NULL};
};

// MPI_Start on persistent requests.
class PersistentTrips : public Exchange {
 public:
  using Exchange::Exchange;
  ~PersistentTrips() override { PersistentTrips::close(); }

  void open(Sizes sizes) override {
    Exchange::open(sizes);
    check_mpi(MPI_Send_init(parties_.outgoing.at(0), sent_.count(), sent_.type(), pair_.partner,
                            kMessage, pair_.comm, &send_));
    check_mpi(MPI_Recv_init(parties_.incoming.at(0), received_.count(), received_.type(),
                            pair_.partner, kMessage, pair_.comm, &receive_));
  }

  int run(std::int64_t count) override {
    return alternate(
        pair_.first, count, [this] { return through(&send_); },
        [this] { return through(&receive_); });
  }

  void close() override {
    if (send_ != MPI_REQUEST_NULL) MPI_Request_free(&send_);
    if (receive_ != MPI_REQUEST_NULL) MPI_Request_free(&receive_);
  }

 private:
  static int through(MPI_Request* request) {
    return MPI_Start(request) | MPI_Wait(request, MPI_STATUS_IGNORE);
  }

  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};

// MPI_Put or MPI_Get, each complete at both ends (MPI_Win_flush) before the next.
template <bool kPuts>
class RemoteTrips : public Exchange {
 public:
  using Exchange::Exchange;

  int run(std::int64_t count) override {
    if (!pair_.first) return MPI_SUCCESS;
    int failed = MPI_SUCCESS;
    const MPI_Win window = parties_.remote->window();
    const int partner = parties_.remote->partner();
    for (std::int64_t k = 0; k < count; ++k) {
      if constexpr (kPuts) {
        failed |= MPI_Put(parties_.outgoing.at(0), sent_.count(), sent_.type(), partner, 0,
                          sent_.count(), sent_.type(), window);
      } else {
        failed |= MPI_Get(parties_.incoming.at(0), received_.count(), received_.type(), partner, 0,
                          received_.count(), received_.type(), window);
      }
      failed |= MPI_Win_flush(partner, window);
    }
    return failed;
  }
};

}  // namespace

Mode read_mode(Parameters& parameters, const std::string& fallback, bool partitions) {
  std::vector<std::string> words{"blocking",   "nonblocking", "preposted",
                                 "persistent", "put",         "get"};
  if (partitions) words.emplace_back("partitioned");
  const std::string word = parameters.choice("mode", fallback, words);
  std::size_t place = 0;
  while (words[place] != word) ++place;
  return static_cast<Mode>(place);
}

std::unique_ptr<Exchange> make_round_trips(Mode mode, const Parties& parties) {
  switch (mode) {
    case Mode::kBlocking:
      return std::make_unique<BlockingTrips>(parties);
    case Mode::kNonblocking:
      return std::make_unique<NonblockingTrips>(parties);
    case Mode::kPreposted:
      return std::make_unique<PrepostedTrips>(parties);
    case Mode::kPersistent:
      return std::make_unique<PersistentTrips>(parties);
    case Mode::kPut:
      return std::make_unique<RemoteTrips<true>>(parties);
    case Mode::kGet:
      return std::make_unique<RemoteTrips<false>>(parties);
    case Mode::kPartitioned:
      break;
  }
  return nullptr;
}

void cancel(std::vector<MPI_Request>& requests) {
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace assay
