#include "gpu/transfer_work.hpp"

#include <algorithm>

#include "memory/draws.hpp"

namespace assay::gpu {
namespace {

constexpr std::uint64_t kSeedOut = 0x5EED0001, kSeedIn = 0x5EED0002;

}  // namespace

HostBlock::HostBlock(device::Device& device, bool pinned, std::size_t bytes, std::uint64_t seed)
    : words_((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t)) {
  if (pinned) {
    pinned_ = device.allocate_pinned(words_ * sizeof(std::uint64_t));
  } else {
    pageable_.resize(words_);
  }
  Draws draws(seed);
  for (std::size_t i = 0; i < words_; ++i) data()[i] = draws.next();
}

void HostBlock::clear() { std::fill_n(data(), words_, 0); }

std::int64_t HostBlock::wrong(std::uint64_t seed) {
  Draws draws(seed);
  std::int64_t found = 0;
  for (std::size_t i = 0; i < words_; ++i) found += data()[i] != draws.next();
  return found;
}

TransferWork::TransferWork(const std::string& direction, bool pinned, std::size_t bytes,
                           const PlantedFault& fault)
    : direction_(direction), pinned_(pinned), bytes_(bytes), fault_(fault) {}

void TransferWork::allocate(device::Device& device, std::size_t bytes) {
  bytes_ = bytes;
  if (sends()) {
    out_ = HostBlock(device, pinned_, bytes_, kSeedOut);
    to_ = device.allocate(bytes_);
    sending_ = device.queue();
  }
  if (receives()) {
    in_ = HostBlock(device, pinned_, bytes_, kSeedIn);
    from_ = device.allocate(bytes_);
    receiving_ = device.queue();
    receiving_->write(*from_, 0, in_.data(), bytes_);
    receiving_->finish();
    in_.clear();
  }
}

void TransferWork::pass(std::int64_t count) {
  for (std::int64_t k = 0; k < count; ++k) {
    if (sends()) sending_->write(*to_, 0, out_.data(), bytes_);
    if (receives()) receiving_->read(*from_, 0, in_.data(), bytes_);
    if (sends()) sending_->flush();
    if (receives()) receiving_->flush();
  }
  if (sends()) sending_->finish();
  if (receives()) receiving_->finish();
}

double TransferWork::timed_pass(std::int64_t count) {
  if (sends()) sending_->begin_timing();
  if (receives()) receiving_->begin_timing();
  pass(count);
  const double sent = sends() ? sending_->end_timing() : 0.0;
  const double received = receives() ? receiving_->end_timing() : 0.0;
  return std::max(sent, received);
}

double TransferWork::error() {
  std::int64_t wrong = 0;
  if (receives()) {
    if (fault_.is("value")) in_.data()[0] ^= 1;
    wrong += in_.wrong(kSeedIn);
    in_.clear();
  }
  if (sends()) {
    if (fault_.is("value")) {
      const std::uint64_t other = 0;
      sending_->write(*to_, bytes_ - sizeof other, &other, sizeof other);
      sending_->finish();
    }
    out_.clear();
    sending_->read(*to_, 0, out_.data(), bytes_);
    sending_->finish();
    wrong += out_.wrong(kSeedOut);
  }
  return static_cast<double>(wrong);
}

}  // namespace assay::gpu
