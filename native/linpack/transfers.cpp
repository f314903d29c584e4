#include "linpack/transfers.hpp"

namespace assay::linpack {

void Transfers::start(MPI_Comm comm, const Schedule& schedule, double* buffer, std::size_t unit,
                      int side) {
  comm_ = comm;
  schedule_ = &schedule;
  buffer_ = buffer;
  unit_ = unit;
  side_ = side;
  const std::size_t messages = schedule.incoming.size() + schedule.outgoing.size();
  requests_.assign(messages, MPI_REQUEST_NULL);
  completed_.resize(messages);
  over_.assign(messages, false);
  here_ = gone_ = posted_ = 0;
  left_ = messages;
  for (std::size_t i = 0; i < schedule.incoming.size(); ++i) {
    const Incoming& message = schedule.incoming[i];
    MPI_Irecv(buffer + message.begin * unit, static_cast<int>(message.count * unit), MPI_DOUBLE,
              message.from, 2 * message.tag + side, comm, &requests_[i]);
  }
  advance(0);
}

// Processes the first `completed` indices that MPI reported as complete, and posts the messages
// that may be sent now.
void Transfers::advance(int completed) {
  const std::size_t incoming = schedule_->incoming.size();
  const std::size_t outgoing = schedule_->outgoing.size();
  for (int i = 0; i < completed; ++i) over_[static_cast<std::size_t>(completed_[i])] = true;
  left_ -= static_cast<std::size_t>(completed);
  while (here_ < incoming && over_[here_]) ++here_;
  while (gone_ < outgoing && over_[incoming + gone_]) ++gone_;
  for (; posted_ < outgoing; ++posted_) {
    const Outgoing& message = schedule_->outgoing[posted_];
    if (here_ < message.after || gone_ < message.behind) break;
    MPI_Isend(buffer_ + message.begin * unit_, static_cast<int>(message.count * unit_), MPI_DOUBLE,
              message.to, 2 * message.tag + side_, comm_, &requests_[incoming + posted_]);
  }
}

bool Transfers::progress() {
  if (done()) return true;
  int completed = 0;
  MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &completed, completed_.data(),
               MPI_STATUSES_IGNORE);
  // Messages just posted may be complete as well; the next call detects that.
  if (completed != MPI_UNDEFINED && completed > 0) advance(completed);
  return done();
}

void Transfers::finish() {
  poll_until([this] { return progress(); });
}

}  // namespace assay::linpack
