// Moves points in time so that none comes before the points that it depends on: the replay of the
// controlled logical clock (Becker, Rabenseifner, Wolf & Linford, Parallel Computing 35, 2009).
#include <cstdint>
#include <memory>

// `time` (s): points of all ranks; those of rank r are first[r] .. first[r + 1] - 1, in order.
// Point `i` has to be later, by `after`, than each point needs[need_begin[i]] ..
// needs[need_begin[i + 1] - 1], which are on other ranks or before it. A correction shrinks by
// `decay` per s. Returns how many points could be placed: all of them, unless points need each
// other.
extern "C" std::int64_t assay_order(double* time, const std::int64_t* first, std::int64_t ranks,
                                    const std::int64_t* need_begin, const std::int64_t* needs,
                                    double after, double decay) {
  struct Rank {
    std::int64_t at, end;
    double shift, last;
  };
  const std::int64_t total = first[ranks];
  const auto state = std::make_unique<Rank[]>(static_cast<std::size_t>(ranks));
  const auto placed = std::make_unique<bool[]>(static_cast<std::size_t>(total));
  for (std::int64_t r = 0; r < ranks; ++r) {
    state[r] = {first[r], first[r + 1], 0.0, first[r] < first[r + 1] ? time[first[r]] : 0.0};
  }
  std::int64_t done = 0;
  for (bool moved = true; moved && done < total;) {
    moved = false;
    for (std::int64_t r = 0; r < ranks; ++r) {
      Rank& rank = state[r];
      for (; rank.at < rank.end; ++rank.at) {
        double least = 0.0;
        bool ready = true, bound = false;
        for (std::int64_t k = need_begin[rank.at]; k < need_begin[rank.at + 1]; ++k) {
          const std::int64_t need = needs[k];
          if (need < 0 || need >= total || !placed[need]) {
            ready = false;
            break;
          }
          least = !bound || time[need] + after > least ? time[need] + after : least;
          bound = true;
        }
        if (!ready) break;
        const double measured = time[rank.at];
        rank.shift -= decay * (measured - rank.last);
        rank.shift = rank.shift > 0.0 ? rank.shift : 0.0;
        rank.last = measured;
        if (bound && measured + rank.shift < least) rank.shift = least - measured;
        time[rank.at] = measured + rank.shift;
        placed[rank.at] = true;
        moved = true;
        ++done;
      }
    }
  }
  return done;
}
