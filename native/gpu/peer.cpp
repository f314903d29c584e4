// gpu.peer: copies between the memories of the devices of a node, pair by pair, as a matrix.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/find.hpp"
#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"
#include "memory/draws.hpp"
#include "network/ranks.hpp"

namespace assay::gpu {
namespace {

constexpr std::int64_t kMostCopy = std::int64_t{1} << 40;
constexpr std::size_t kSmallCopy = 8;
// Through the host's memory copies go in pieces: while one is written, the next one is read.
constexpr std::size_t kCopiedBytes = std::size_t{4} << 20;
// Seconds that the copies of a visit should last together, of each size; and their maximum.
constexpr double kSmallVisit = 200e-6;
constexpr double kLargeVisit = 2e-3;
constexpr double kMostCopies = 1000.0;

// A device of the node, with the memory that others copy from and to.
struct Member {
  int place = 0;
  std::unique_ptr<device::Device> owned;  // but for the device that the backend chose
  device::Device* device = nullptr;
  std::unique_ptr<device::Queue> out, in;
  std::unique_ptr<device::Buffer> source, target;
  std::array<std::unique_ptr<device::PinnedMemory>, 2> pieces;  // for what leaves this device
  std::size_t held = 0;  // the member whose words the target must hold
};

// A copy from one member to another.
struct Way {
  std::size_t from = 0;
  std::size_t to = 0;
};

// One way, or both ways at the same time.
struct Pairing {
  std::vector<Way> ways;
  bool direct = false;
  int small_copies = 1;
  int large_copies = 1;
  std::vector<double> small, large;  // seconds of a copy, one per pass
};

class Peer : public Kernel {
 public:
  Peer(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters), choice_(context, parameters) {
    if (context.size != 1) throw KernelError("gpu.peer needs one rank: it drives all devices");
    const std::int64_t bytes = parameters.integer("bytes", 1 << 26, kSmallCopy, kMostCopy);
    if (bytes % 8 != 0) throw KernelError("parameter 'bytes' must be a multiple of 8");
    bytes_ = static_cast<std::size_t>(bytes);
    both_ = parameters.choice("direction", "one", {"one", "both"}) == "both";
    path_ = parameters.choice("path", "auto", {"auto", "direct", "host"});
    only_ = parameters.integer("device", -1);
    fault_ = PlantedFault(parameters, {"word", "skip"});
  }

  // Also determines how many copies a visit of each pair holds.
  void setup() override {
    open();
    pair_up();
    fill();
    for (Pairing& pair : pairs_) {
      pair.small_copies = copies_in(pair, kSmallCopy, kSmallVisit);
      pair.large_copies = copies_in(pair, bytes_, kLargeVisit);
    }
  }

  void run(std::int64_t count) override {
    for (std::int64_t pass = 0; pass < count; ++pass) {
      for (Pairing& pair : pairs_) {
        pair.small.push_back(seconds_of(pair, kSmallCopy, pair.small_copies));
        pair.large.push_back(seconds_of(pair, bytes_, pair.large_copies));
      }
    }
  }

  // A sample is one pass over all pairs.
  std::int64_t max_batch() const override { return 1; }

  // Every word that the last timed copy to each device left, and then every word of one more copy
  // of each pair into memory that was cleared.
  Verification verify() override {
    std::int64_t wrong = 0;
    if (fault_.is("word")) spoil(members_.back());
    for (Member& member : members_) wrong += wrong_words(member);
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      Pairing& pair = pairs_[i];
      for (const Way& way : pair.ways) clear(members_[way.to]);
      if (!fault_.is("skip") || i != 0) copy(pair, bytes_);
      for (const Way& way : pair.ways) wrong += wrong_words(members_[way.to]);
    }
    return {wrong == 0, "words that arrived wrong, over all pairs", static_cast<double>(wrong),
            0.0};
  }

  // For each pass the median and the slowest pair; for each pair the median over the passes. The
  // two numbers of a pair are its devices, the one that sends first.
  std::vector<Series> series() const override {
    std::vector<Series> all = passes("", &Pairing::large);
    for (Series& each : passes("_latency", &Pairing::small)) all.push_back(std::move(each));
    for (const Pairing& pair : pairs_) {
      const int from = members_[pair.ways[0].from].place;
      const int to = members_[pair.ways[0].to].place;
      all.push_back({"pair", "s", from, to, {rounded(median(pair.large))}});
      all.push_back({"pair_latency", "s", from, to, {rounded(median(pair.small))}});
    }
    return all;
  }

  std::vector<std::string> device_addresses() const override {
    std::vector<std::string> found;
    for (const Member& member : members_) {
      if (!member.device->info().address.empty()) found.push_back(member.device->info().address);
    }
    return found;
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = chosen_.facts();
    std::string direct, host, names, addresses;
    const auto add = [](std::string& text, const std::string& more, const char* between) {
      text += (text.empty() ? "" : between) + more;
    };
    for (const Pairing& pair : pairs_) {
      const Way& way = pair.ways[0];
      const std::string name =
          std::to_string(members_[way.from].place) + "-" + std::to_string(members_[way.to].place);
      add(pair.direct ? direct : host, name, " ");
    }
    for (const Member& member : members_) {
      add(names, std::to_string(member.place) + ": " + member.device->info().name, ", ");
      add(addresses, member.device->info().address, " ");
    }
    known["members"] = static_cast<std::int64_t>(members_.size());
    known["pairs"] = static_cast<std::int64_t>(pairs_.size());
    known["direct_pairs"] = direct;
    known["host_pairs"] = host;
    known["device_names"] = names;
    if (!addresses.empty()) known["device_addresses"] = addresses;
    return known;
  }

 private:
  static constexpr std::uint64_t kSeedOfWords = 0x5EED0003;

  void open() {
    chosen_ = choice_.open();
    parameters_.resolve("device", only_);
    const std::size_t count = chosen_.backend->devices().size();
    if (count < 2) {
      throw device::DeviceError("gpu.peer needs at least 2 devices; this node has one: " +
                                chosen_.device->info().name);
    }
    members_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Member& member = members_[i];
      member.place = static_cast<int>(i);
      if (static_cast<int>(i) == chosen_.place) {
        member.device = chosen_.device.get();
      } else {
        member.owned = chosen_.backend->open(i);
        member.device = member.owned.get();
      }
      member.held = i;
    }
  }

  // The pairs to measure: of one device, if it is named.
  void pair_up() {
    for (std::size_t from = 0; from < members_.size(); ++from) {
      for (std::size_t to = both_ ? from + 1 : 0; to < members_.size(); ++to) {
        if (from == to) continue;
        if (only_ >= 0 && members_[from].place != only_ && members_[to].place != only_) continue;
        Pairing& pair = pairs_.emplace_back();
        pair.ways.push_back({from, to});
        if (both_) pair.ways.push_back({to, from});
        pair.direct = path_ != "host" && can_reach(pair);
        if (pair.direct) {
          for (const Way& way : pair.ways) {
            members_[way.from].device->reach(*members_[way.to].device, true);
          }
        }
      }
    }
  }

  bool can_reach(const Pairing& pair) const {
    for (const Way& way : pair.ways) {
      const Member& from = members_[way.from];
      const Member& to = members_[way.to];
      if (from.device->can_reach(*to.device)) continue;
      if (path_ == "auto") return false;
      throw device::DeviceError("device " + std::to_string(from.place) + " (" +
                                from.device->info().name + ") can't reach the memory of device " +
                                std::to_string(to.place) + "; use path=auto or path=host");
    }
    return true;
  }

  // The words of a member begin at another place of the same random words, so that no two members
  // have a word in common.
  void fill() {
    words_.resize(bytes_ / sizeof(std::uint64_t) + members_.size());
    found_.resize(bytes_ / sizeof(std::uint64_t));
    Draws draws(kSeedOfWords);
    for (std::uint64_t& word : words_) word = draws.next();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      Member& member = members_[i];
      member.device->use();
      member.out = member.device->queue();
      member.in = member.device->queue();
      member.source = member.device->allocate(bytes_);
      member.target = member.device->allocate(bytes_);
      for (auto& piece : member.pieces) {
        piece = member.device->allocate_pinned(std::min(kCopiedBytes, bytes_));
      }
      for (const auto& buffer : {member.source.get(), member.target.get()}) {
        member.out->write(*buffer, 0, words_of(i), bytes_);
      }
      member.out->finish();
    }
  }

  const std::uint64_t* words_of(std::size_t member) const { return words_.data() + member; }

  // One copy of that many bytes, each way.
  void copy(Pairing& pair, std::size_t bytes) { copies(pair, bytes, 1); }

  void copies(Pairing& pair, std::size_t bytes, int count) {
    if (pair.direct) {
      directly(pair, bytes, count);
    } else {
      for (int k = 0; k < count; ++k) through_host(pair, bytes);
    }
    if (bytes != bytes_) return;
    for (const Way& way : pair.ways) members_[way.to].held = way.from;
  }

  void directly(Pairing& pair, std::size_t bytes, int count) {
    for (int k = 0; k < count; ++k) {
      for (const Way& way : pair.ways) {
        Member& from = members_[way.from];
        from.device->use();
        from.out->copy(*members_[way.to].target, 0, *from.source, 0, bytes);
        from.out->flush();
      }
    }
    for (const Way& way : pair.ways) {
      members_[way.from].device->use();
      members_[way.from].out->finish();
    }
  }

  void through_host(Pairing& pair, std::size_t bytes) {
    const std::size_t pieces = (bytes + kCopiedBytes - 1) / kCopiedBytes;
    const auto size = [&](std::size_t piece) {
      return std::min(kCopiedBytes, bytes - piece * kCopiedBytes);
    };
    for (std::size_t k = 0; k <= pieces; ++k) {
      for (const Way& way : pair.ways) {
        Member& from = members_[way.from];
        Member& to = members_[way.to];
        if (k < pieces) {
          from.device->use();
          from.out->read(*from.source, k * kCopiedBytes, from.pieces[k % 2]->data(), size(k));
          from.out->flush();
        }
        if (k > 0) {
          to.device->use();
          to.in->write(*to.target, (k - 1) * kCopiedBytes, from.pieces[(k - 1) % 2]->data(),
                       size(k - 1));
          to.in->flush();
        }
      }
      for (const Way& way : pair.ways) {
        if (k < pieces) wait(members_[way.from], *members_[way.from].out);
        if (k > 0) wait(members_[way.to], *members_[way.to].in);
      }
    }
  }

  static void wait(Member& member, device::Queue& queue) {
    member.device->use();
    queue.finish();
  }

  // Seconds of a copy in a row of `count`.
  double seconds_of(Pairing& pair, std::size_t bytes, int count) {
    const Ticks begin = ticks();
    copies(pair, bytes, count);
    return seconds(ticks() - begin) / count;
  }

  int copies_in(Pairing& pair, std::size_t bytes, double visit) {
    copy(pair, bytes);  // opens the way
    const double once = std::max(seconds_of(pair, bytes, 1), 1e-9);
    return static_cast<int>(std::clamp(std::ceil(visit / once), 1.0, kMostCopies));
  }

  void clear(Member& member) {
    std::fill(found_.begin(), found_.end(), 0);
    member.device->use();
    member.in->write(*member.target, 0, found_.data(), bytes_);
    member.in->finish();
  }

  void spoil(Member& member) {
    const std::uint64_t other = 0;
    member.device->use();
    member.in->write(*member.target, bytes_ - sizeof other, &other, sizeof other);
    member.in->finish();
  }

  std::int64_t wrong_words(Member& member) {
    member.device->use();
    member.in->read(*member.target, 0, found_.data(), bytes_);
    member.in->finish();
    const std::uint64_t* const right = words_of(member.held);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < found_.size(); ++i) wrong += found_[i] != right[i] ? 1 : 0;
    return wrong;
  }

  std::vector<Series> passes(const std::string& suffix,
                             std::vector<double> Pairing::* times) const {
    Series typical{"median_pair" + suffix, "s", {}, {}, {}};
    Series slowest{"slowest_pair" + suffix, "s", {}, {}, {}};
    for (std::size_t pass = 0; pass < (pairs_[0].*times).size(); ++pass) {
      std::vector<double> all;
      for (const Pairing& pair : pairs_) all.push_back((pair.*times)[pass]);
      typical.values.push_back(rounded(median(all)));
      slowest.values.push_back(rounded(*std::max_element(all.begin(), all.end())));
    }
    return {typical, slowest};
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel
  device::Choice choice_;
  std::size_t bytes_ = 0;
  bool both_ = false;
  std::string path_;
  std::int64_t only_ = -1;
  PlantedFault fault_;
  device::Chosen chosen_;
  std::vector<Member> members_;
  std::vector<Pairing> pairs_;
  std::vector<std::uint64_t> words_, found_;
};

ASSAY_KERNEL("gpu.peer", Peer);

}  // namespace
}  // namespace assay::gpu
