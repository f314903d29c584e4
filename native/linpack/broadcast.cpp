#include "linpack/broadcast.hpp"

#include <algorithm>
#include <span>

namespace assay::linpack {
namespace {

// Doubles in a piece; a piece is passed on while the next arrives. Short compared with a panel of
// millions of doubles, long (a quarter of a MiB) compared with the overhead of a message. More than
// 64 pieces save little time, and each is a request to test.
constexpr std::size_t kPiece = std::size_t{1} << 15;
constexpr std::size_t kMostPieces = 64;

struct Range {
  std::size_t begin;
  std::size_t end;
};

std::vector<Range> in_pieces(Range whole) {
  const std::size_t count = whole.end - whole.begin;
  const std::size_t pieces = std::min((count + kPiece - 1) / kPiece, kMostPieces);
  std::vector<Range> found;
  for (std::size_t i = 0; i < pieces; ++i) {
    found.push_back({whole.begin + count * i / pieces, whole.begin + count * (i + 1) / pieces});
  }
  return found;
}

// The ranks that pass the whole data on in sequence, numbered from the root; a rank is in one path.
using Path = std::vector<int>;

// The paths from the root, which is not part of them. `first_alone`: the root serves the other
// paths only when the first is complete.
struct Paths {
  std::vector<Path> paths;
  bool first_alone = false;
};

Path path(int first, int end) {
  Path ranks;
  for (int rank = first; rank < end; ++rank) ranks.push_back(rank);
  return ranks;
}

Paths paths_of(BroadcastScheme scheme, int ranks) {
  Paths found;
  found.first_alone =
      scheme == BroadcastScheme::modified_ring || scheme == BroadcastScheme::modified_two_rings;
  const bool two =
      scheme == BroadcastScheme::two_rings || scheme == BroadcastScheme::modified_two_rings;
  if (found.first_alone) found.paths.push_back(path(1, std::min(2, ranks)));
  const int first = found.first_alone ? 2 : 1;
  const int middle = two && ranks > first ? first + (ranks - first + 1) / 2 : ranks;
  found.paths.push_back(path(first, middle));
  if (middle < ranks) found.paths.push_back(path(middle, ranks));
  std::erase_if(found.paths, [](const Path& each) { return each.empty(); });
  return found;
}

// Pieces on a path; one if no rank passes it on.
std::vector<Range> pieces_on(const Path& path, std::size_t count) {
  if (path.size() > 1) return in_pieces({0, count});
  return count > 0 ? std::vector<Range>{{0, count}} : std::vector<Range>{};
}

Schedule on_path(const Path& path, int rank, std::size_t count) {
  Schedule schedule;
  const auto here = std::find(path.begin(), path.end(), rank);
  if (here == path.end()) return schedule;
  const int from = here == path.begin() ? 0 : *(here - 1);
  for (const Range& piece : pieces_on(path, count)) {
    schedule.incoming.push_back({from, 0, piece.begin, piece.end - piece.begin});
    if (here + 1 == path.end()) continue;
    const std::size_t here_too = schedule.incoming.size();
    schedule.outgoing.push_back({*(here + 1), 0, piece.begin, piece.end - piece.begin, here_too});
  }
  return schedule;
}

// Sends to the first rank of each path in turn, piece by piece, once `behind` messages are
// complete.
void serve(Schedule& schedule, std::span<const Path> paths, std::size_t count, std::size_t behind) {
  std::vector<std::vector<Range>> pieces;
  std::size_t most = 0;
  for (const Path& path : paths) {
    pieces.push_back(pieces_on(path, count));
    most = std::max(most, pieces.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t to = 0; to < paths.size(); ++to) {
      if (i >= pieces[to].size()) continue;
      const Range piece = pieces[to][i];
      schedule.outgoing.push_back(
          {paths[to].front(), 0, piece.begin, piece.end - piece.begin, 0, behind});
    }
  }
}

Schedule along_paths(const Paths& all, int rank, std::size_t count) {
  if (rank != 0) {
    Schedule schedule;
    for (const Path& path : all.paths) {
      if (schedule.incoming.empty()) schedule = on_path(path, rank, count);
    }
    return schedule;
  }
  Schedule schedule;
  const std::span<const Path> paths(all.paths);
  const std::size_t alone = all.first_alone && !paths.empty() ? 1 : 0;
  serve(schedule, paths.first(alone), count, 0);
  serve(schedule, paths.subspan(alone), count, schedule.outgoing.size());
  return schedule;
}

// Each rank gets its share from the root, and all shares go round the ring of ranks without its
// last edge, which leads to the root. The root's own share goes round like the others.
Schedule by_shares(int rank, int ranks, std::size_t count) {
  const auto pieces_of = [&](int share) {
    const auto parts = static_cast<std::size_t>(ranks);
    const auto limit = [&](std::size_t part) {
      return count / parts * part + count % parts * part / parts;
    };
    const auto part = static_cast<std::size_t>(share);
    return in_pieces({limit(part), limit(part + 1)});
  };
  Schedule schedule;
  if (rank == 0) {
    const auto give = [&](int to, int share) {
      for (const Range& piece : pieces_of(share)) {
        schedule.outgoing.push_back({to, 0, piece.begin, piece.end - piece.begin});
      }
    };
    for (int share = 1; share < ranks; ++share) give(share, share);
    for (int step = 0; step < ranks - 1; ++step) give(1, (ranks - step) % ranks);
    return schedule;
  }
  for (int step = 0; step < ranks; ++step) {
    const int share = (rank - step + ranks) % ranks;
    for (const Range& piece : pieces_of(share)) {
      schedule.incoming.push_back(
          {step == 0 ? 0 : rank - 1, 0, piece.begin, piece.end - piece.begin});
      if (rank + 1 == ranks || share == rank + 1) continue;
      schedule.outgoing.push_back(
          {rank + 1, 0, piece.begin, piece.end - piece.begin, schedule.incoming.size()});
    }
  }
  return schedule;
}

}  // namespace

Schedule broadcast_schedule(BroadcastScheme scheme, int rank, int ranks, int root,
                            std::size_t count) {
  if (ranks == 1) return {};
  const int from_root = (rank - root + ranks) % ranks;
  Schedule schedule = scheme == BroadcastScheme::bandwidth
                          ? by_shares(from_root, ranks, count)
                          : along_paths(paths_of(scheme, ranks), from_root, count);
  for (Incoming& message : schedule.incoming) message.from = (message.from + root) % ranks;
  for (Outgoing& message : schedule.outgoing) message.to = (message.to + root) % ranks;
  return schedule;
}

PanelBroadcast::PanelBroadcast(MPI_Comm row, BroadcastScheme scheme) : scheme_(scheme) {
  MPI_Comm_dup(row, &row_);
  MPI_Comm_rank(row_, &rank_);
  MPI_Comm_size(row_, &ranks_);
}

PanelBroadcast::~PanelBroadcast() {
  finish();
  MPI_Comm_free(&row_);
}

void PanelBroadcast::start(double* buffer, std::size_t count, int root) {
  if (scheme_ == BroadcastScheme::library) {
    if (ranks_ > 1) {
      MPI_Ibcast(buffer, static_cast<int>(count), MPI_DOUBLE, root, row_, &request_);
    }
    return;
  }
  schedule_ = broadcast_schedule(scheme_, rank_, ranks_, root, count);
  transfers_.start(row_, schedule_, buffer, 1, 0);
}

bool PanelBroadcast::progress() {
  if (scheme_ != BroadcastScheme::library) return transfers_.progress();
  if (request_ == MPI_REQUEST_NULL) return true;
  int done = 0;
  MPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

void PanelBroadcast::finish() {
  poll_until([this] { return progress(); });
}

}  // namespace assay::linpack
