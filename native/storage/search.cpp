#include "storage/search.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "storage/descriptor.hpp"
#include "storage/leftovers.hpp"
#include "storage/listing.hpp"
#include "storage/scratch.hpp"
#include "storage/stonewall.hpp"

namespace assay {
namespace {

// Names that rank 0 divides at a time: 16 for each rank are enough to keep all of them busy.
constexpr std::size_t kNamesPerRank = 16;

bool fits(int directory, const char* name, const SoughtFiles& sought) {
  struct stat status{};
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    fail_with_errno("could not stat the file '" + std::string(name) + "'");
  }
  const auto& [seconds, nanoseconds] = status.st_mtim;
  const bool old = seconds < sought.since.tv_sec ||
                   (seconds == sought.since.tv_sec && nanoseconds < sought.since.tv_nsec);
  return S_ISREG(status.st_mode) && status.st_size == sought.bytes && !old;
}

bool name_fits(const char* name, const SoughtFiles& sought) {
  return std::strstr(name, sought.name) != nullptr;
}

bool is_data(std::string_view name) {
  return name.starts_with("data") || name.starts_with("file.");
}

void search_alone(int directory, bool only_data, const SoughtFiles& sought, SearchResult& result) {
  Listing listing(directory);
  while (const char* name = listing.next()) {
    if (only_data && !is_data(name)) continue;
    ++result.examined;
    if (name_fits(name, sought) && fits(directory, name, sought)) ++result.found;
  }
}

// Names that one rank examines, each ended by a zero byte.
class Shares {
 public:
  explicit Shares(int ranks) : shares_(static_cast<std::size_t>(ranks)) {}

  void take(Listing& listing, const SoughtFiles& sought, SearchResult& result) {
    for (std::string& each : shares_) each.clear();
    std::size_t names = 0;
    while (names < kNamesPerRank * shares_.size()) {
      const char* const name = listing.next();
      more_ = name != nullptr;
      if (!more_) return;
      ++result.examined;
      if (!name_fits(name, sought)) continue;
      shares_[names++ % shares_.size()].append(name).push_back('\0');
    }
  }

  // Collective: this rank's names; false in `more` after the last ones.
  std::string divide(MPI_Comm comm, bool& more) const {
    std::string all;
    std::vector<int> heads;
    std::vector<int> lengths;
    std::vector<int> places;
    for (const std::string& each : shares_) {
      lengths.push_back(static_cast<int>(each.size()));
      places.push_back(static_cast<int>(all.size()));
      heads.insert(heads.end(), {lengths.back(), more_ ? 1 : 0});
      all += each;
    }
    int head[2] = {0, 0};
    MPI_Scatter(heads.data(), 2, MPI_INT, head, 2, MPI_INT, 0, comm);
    std::string mine(static_cast<std::size_t>(head[0]), '\0');
    MPI_Scatterv(all.data(), lengths.data(), places.data(), MPI_CHAR, mine.data(), head[0],
                 MPI_CHAR, 0, comm);
    more = head[1] != 0;
    return mine;
  }

 private:
  std::vector<std::string> shares_;
  bool more_ = true;
};

}  // namespace

SearchResult search(const Context& context, int top, int own, int shared,
                    const SoughtFiles& sought) {
  SearchResult result;
  Complaint failed;
  const auto guarded = [&](const auto& action) {
    if (failed) return;
    try {
      action();
    } catch (...) {
      failed = exception_message();
    }
  };
  const bool first = context.rank == 0;
  Listing listing(first ? shared : -1);
  Shares shares(context.size);
  for (bool more = true; more;) {
    if (first) shares.take(listing, sought, result);
    const std::string names = shares.divide(context.comm, more);
    guarded([&] {
      for (std::size_t at = 0; at < names.size(); at += std::strlen(names.data() + at) + 1) {
        unless_stopped();
        result.found += fits(shared, names.data() + at, sought) ? 1 : 0;
      }
    });
  }
  guarded([&] {
    search_alone(own, false, sought, result);
    if (first) search_alone(top, true, sought, result);
  });
  if (const Complaint agreed = agree(context.comm, failed)) throw KernelError(*agreed);
  return result;
}

}  // namespace assay
