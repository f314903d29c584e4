// Messages with a partner node over plain TCP: they find adapters and links that carry IP, and
// nothing of RDMA. Both nodes measure at one time: one listens, the other connects.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check/component.hpp"
#include "check/connection.hpp"
#include "check/slots.hpp"
#include "harness/clock.hpp"
#include "harness/values.hpp"
#include "memory/draws.hpp"

namespace assay::check {
namespace {

constexpr std::size_t kRecord = std::size_t{64} << 10;
constexpr std::uint64_t kEnd = ~std::uint64_t{0};

// What both nodes must agree on, in one architecture's byte order: nodes of one kind exchange
// messages.
struct Hello {
  std::array<char, 16> program{"assay-check 1"};
  std::array<char, 24> component{};
  double seconds = 0.0;
};

// Both send theirs first: neither waits for the other's.
void greet(Connection& connection, const std::string& component, const Task& task) {
  Hello mine;
  component.copy(mine.component.data(), mine.component.size() - 1);
  mine.seconds = task.seconds;
  connection.send(&mine, sizeof mine);
  Hello other;
  connection.receive(&other, sizeof other);
  if (other.program != mine.program) {
    throw KernelError("the partner '" + task.settings.partner + "' runs another program");
  }
  if (other.component != mine.component || other.seconds != mine.seconds) {
    throw KernelError("the partner '" + task.settings.partner + "' measures something else");
  }
}

// A message of a round trip. The one that connected sends first; `number` counts the round trips,
// kEnd ends a repetition.
struct Ping {
  std::uint64_t number = 0;
  std::uint64_t check = 0;
};

std::uint64_t check_of(std::uint64_t number) { return Draws(number).next(); }

// Round trips for `length`. Both nodes get the one-way time that the connecting node measured.
double round_trips(Connection& connection, bool first, Ticks length, const Fault& fault,
                   std::int64_t& wrong) {
  std::uint64_t number = 0;
  if (!first) {
    for (;; ++number) {
      Ping ping;
      connection.receive(&ping, sizeof ping);
      if (ping.number == kEnd) break;
      wrong += ping.number == number && ping.check == check_of(number) ? 0 : 1;
      if (fault.is("byte")) ping.check ^= 1;
      connection.send(&ping, sizeof ping);
    }
    double time = 0.0;
    connection.receive(&time, sizeof time);
    return time;
  }
  const Ticks start = ticks();
  Ticks passed = 0;
  for (; passed < length; ++number) {
    const Ping ping{number, check_of(number)};
    connection.send(&ping, sizeof ping);
    Ping back;
    connection.receive(&back, sizeof back);
    wrong += back.number == ping.number && back.check == ping.check ? 0 : 1;
    passed = ticks() - start;
  }
  const Ping end{kEnd, 0};
  connection.send(&end, sizeof end);
  const double time = seconds(passed) / (2.0 * static_cast<double>(number));
  connection.send(&time, sizeof time);
  return time;
}

// A record of a transfer: its number, then words that follow from the number.
using Record = std::vector<std::uint64_t>;

// Every page differs, and every record: a word of a page is the record's number plus its place.
void fill(Record& record, std::uint64_t number) {
  for (std::size_t i = 0; i < record.size(); ++i) record[i] = number + i;
}

std::int64_t wrong_words(const Record& record, std::uint64_t number) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < record.size(); ++i) wrong += record[i] == number + i ? 0 : 1;
  return wrong;
}

// Records one way for `length`, until the receiver has confirmed all of them; the rate is the
// sender's for both.
double transfer(Connection& connection, bool sends, Ticks length, const Fault& fault,
                std::int64_t& wrong) {
  Record record(kRecord / sizeof(std::uint64_t));
  std::uint64_t number = 0;
  double rate = 0.0;
  if (!sends) {
    for (;; ++number) {
      connection.receive(record.data(), kRecord);
      if (record[0] == kEnd) break;
      if (fault.is("byte")) record[record.size() / 2] ^= 1;
      wrong += wrong_words(record, number);
    }
    connection.send(&number, sizeof number);
    connection.receive(&rate, sizeof rate);
    return rate;
  }
  const Ticks start = ticks();
  for (; ticks() - start < length; ++number) {
    fill(record, number);
    connection.send(record.data(), kRecord);
  }
  record[0] = kEnd;
  connection.send(record.data(), kRecord);
  std::uint64_t confirmed = 0;
  connection.receive(&confirmed, sizeof confirmed);
  wrong += confirmed == number ? 0 : 1;
  rate = static_cast<double>((number + 1) * kRecord) / seconds(ticks() - start);
  connection.send(&rate, sizeof rate);
  return rate;
}

using Repetition = double (*)(Connection&, bool, Ticks, const Fault&, std::int64_t&);

// One core's work: repeat(connection, whether this node is the first or the sender, length, …).
// `both_ways`: a repetition is one in each direction, and its value the slower one's.
Measured exchange(const Task& task, const std::string& component, bool both_ways,
                  Repetition repeat) {
  if (task.settings.partner.empty()) throw KernelError("messages need a partner node");
  Measured measured;
  measured.cpus = {task.team.cpus()[0]};
  std::int64_t wrong = 0;
  task.team.run([&](std::size_t member) {
    if (member != 0) return;
    Connection connection(task.settings, task.seconds);
    greet(connection, component, task);
    const std::size_t directions = both_ways ? 2 : 1;
    const std::size_t slots = std::max<std::size_t>(slots_in(task.seconds) / directions, 1);
    const auto length = static_cast<Ticks>(1e9 * task.seconds / double(slots * directions));
    const bool connected = connection.connected();
    repeat(connection, connected, length / 4, task.fault, wrong);  // warms up
    for (std::size_t slot = 0; slot < slots; ++slot) {
      double value = repeat(connection, connected, length, task.fault, wrong);
      if (both_ways) {
        value = std::min(value, repeat(connection, !connected, length, task.fault, wrong));
      }
      measured.values.push_back(value);
    }
    connection.finish();
  });
  measured.verified = wrong == 0;
  return measured;
}

}  // namespace

Measured measure_message_latency(const Task& task) {
  return exchange(task, "message_latency", false, round_trips);
}

// In both directions, one after the other: an adapter may be slow in one of them.
Measured measure_message_bandwidth(const Task& task) {
  return exchange(task, "message_bandwidth", true, transfer);
}

}  // namespace assay::check
