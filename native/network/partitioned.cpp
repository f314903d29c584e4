// Round trips of messages in partitions (MPI-4.1, chapter 4): one request for the whole message,
// and a call for each part that is ready.
#include "network/exchange.hpp"
#include "network/mpi_four.hpp"

namespace assay {

#if defined(ASSAY_HAVE_MPI_4)

namespace {

class PartitionedTrips : public Exchange {
 public:
  PartitionedTrips(int partitions, const Parties& parties) : Exchange(parties), most_(partitions) {}
  ~PartitionedTrips() override { PartitionedTrips::close(); }

  void open(Sizes sizes) override {
    Exchange::open(sizes);
    sent_parts_ = parts_of(sizes.outgoing);
    const int received_parts = parts_of(sizes.incoming);
    check_mpi(MPI_Psend_init(parties_.outgoing.at(0), sent_parts_,
                             static_cast<MPI_Count>(sizes.outgoing) / sent_parts_, MPI_BYTE,
                             pair_.partner, kMessage, pair_.comm, MPI_INFO_NULL, &send_));
    check_mpi(MPI_Precv_init(parties_.incoming.at(0), received_parts,
                             static_cast<MPI_Count>(sizes.incoming) / received_parts, MPI_BYTE,
                             pair_.partner, kMessage, pair_.comm, MPI_INFO_NULL, &receive_));
  }

  int run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      failed |= pair_.first ? send() | receive() : receive() | send();
    }
    return failed;
  }

  void close() override {
    if (send_ != MPI_REQUEST_NULL) MPI_Request_free(&send_);
    if (receive_ != MPI_REQUEST_NULL) MPI_Request_free(&receive_);
  }

 private:
  // The check also sends sizes that aren't multiples; these go in one part.
  int parts_of(std::size_t size) const {
    return size % static_cast<std::size_t>(most_) == 0 ? most_ : 1;
  }

  int send() {
    int failed = MPI_Start(&send_);
    for (int part = 0; part < sent_parts_; ++part) failed |= MPI_Pready(part, send_);
    return failed | MPI_Wait(&send_, MPI_STATUS_IGNORE);
  }
  int receive() { return MPI_Start(&receive_) | MPI_Wait(&receive_, MPI_STATUS_IGNORE); }

  const int most_;
  int sent_parts_ = 1;
  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};

}  // namespace

std::unique_ptr<Exchange> make_partitioned_trips(int partitions, const Parties& parties) {
  return std::make_unique<PartitionedTrips>(partitions, parties);
}

#else

std::unique_ptr<Exchange> make_partitioned_trips(int, const Parties&) {
  throw_no_mpi_4("mode = partitioned");
}

#endif

}  // namespace assay
