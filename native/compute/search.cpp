// compute.search: queries looked up in a sequence of DNA word by word, on every rank concurrently.
//
// The method of Altschul et al. (1990) without gaps: an index of the words of the queries, a scan
// of the sequence with a rolling word, and the extension of each hit along its diagonal until the
// score falls too far below its maximum. Integers only.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/draws.hpp"

namespace assay {
namespace {

constexpr int kWord = 8;  // letters of a word, 2 bits each
constexpr std::size_t kWords = std::size_t{1} << (2 * kWord);
constexpr std::uint32_t kMask = static_cast<std::uint32_t>(kWords - 1);
// NCBI's scores of nucleotides; the fall that ends an extension.
constexpr int kMatch = 2;
constexpr int kMismatch = -3;
constexpr int kDrop = 20;
// In a planted copy, one letter in this many differs.
constexpr std::uint64_t kMutation = 16;
constexpr std::int64_t kFewestLetters = 1 << 12;
constexpr std::int64_t kMostLetters = std::int64_t{1} << 28;

using Letters = std::vector<std::uint8_t>;

Letters random_letters(Draws& draws, std::size_t count) {
  Letters letters(count);
  for (std::uint8_t& each : letters) each = static_cast<std::uint8_t>(draws.next() >> 62);
  return letters;
}

std::uint32_t word_at(const Letters& letters, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < kWord; ++i) word = word << 2 | letters[at + i];
  return word;
}

// Where a word of the queries is.
struct Place {
  std::uint32_t query;
  std::uint32_t at;
};

// A match: its score, and where its diagonal meets the first letter of the query.
struct Match {
  int score = 0;
  std::int64_t begin = 0;
};

class Search : public Kernel {
 public:
  Search(const Context& context, Parameters& parameters) : context_(context) {
    letters_ = static_cast<std::size_t>(
        parameters.integer("letters", 1 << 20, kFewestLetters, kMostLetters));
    query_count_ = static_cast<std::size_t>(parameters.integer("queries", 16, 1, 256));
    query_letters_ = static_cast<std::size_t>(parameters.integer("query_letters", 512, 32, 4096));
    if (letters_ < query_count_ * query_letters_ * 2) {
      throw KernelError("parameter 'letters' must be at least twice queries x query_letters, " +
                        std::to_string(query_count_ * query_letters_ * 2) + ", not " +
                        std::to_string(letters_));
    }
    fault_ = PlantedFault(parameters, {"hit", "score"});
  }

  void setup() override {
    Draws draws = draws_of_rank(context_.seed, context_.rank);
    sequence_ = random_letters(draws, letters_);
    queries_.clear();
    copies_.clear();
    const std::size_t room = letters_ / query_count_;
    for (std::size_t q = 0; q < query_count_; ++q) {
      queries_.push_back(random_letters(draws, query_letters_));
      const std::size_t at = q * room + draws.below(room - query_letters_ + 1);
      copies_.push_back(at);
      for (std::size_t i = 0; i < query_letters_; ++i) {
        const bool differs = draws.below(kMutation) == 0;
        const auto letter = static_cast<std::uint8_t>(queries_[q][i] + (differs ? 1 : 0));
        sequence_[at + i] = letter & 3;
      }
    }
    make_index();
  }

  void run(std::int64_t count) override {
    for (std::int64_t each = 0; each < count; ++each) scan();
  }

  // Counts, scores and places are integers, so they must agree exactly.
  Verification verify() override {
    inject_fault();
    double wrong = hits_ == expected_hits() ? 0.0 : 1.0;
    for (std::size_t q = 0; q < query_count_; ++q) {
      const auto copy = static_cast<std::int64_t>(copies_[q]);
      const bool found = best_[q].begin == copy && best_[q].score == plain_score(q, copy);
      wrong += found ? 0.0 : 1.0;
    }
    return {wrong == 0.0, "queries whose best match is not their copy, and a wrong number of hits",
            wrong, 0.0};
  }

  std::map<std::string, Value> facts() const override { return {{"hits", hits_}}; }

 private:
  // The places of all words; the places of word w begin at start_[w].
  void make_index() {
    start_.assign(kWords + 1, 0);
    for_each_word([&](std::uint32_t word, Place) { ++start_[word + 1]; });
    for (std::size_t w = 0; w < kWords; ++w) start_[w + 1] += start_[w];
    places_.resize(start_[kWords]);
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    for_each_word([&](std::uint32_t word, Place place) { places_[next[word]++] = place; });
  }

  template <typename Visit>
  void for_each_word(Visit visit) const {
    for (std::size_t q = 0; q < query_count_; ++q) {
      for (std::size_t at = 0; at + kWord <= query_letters_; ++at) {
        visit(word_at(queries_[q], at),
              Place{static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(at)});
      }
    }
  }

  void scan() {
    hits_ = 0;
    best_.assign(query_count_, {});
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < kWord - 1; ++i) word = word << 2 | sequence_[i];
    for (std::size_t end = kWord - 1; end < letters_; ++end) {
      word = (word << 2 | sequence_[end]) & kMask;
      const std::size_t at = end + 1 - kWord;
      for (std::uint32_t i = start_[word]; i < start_[word + 1]; ++i) {
        const Place place = places_[i];
        ++hits_;
        const int score = extended(place, at);
        Match& best = best_[place.query];
        if (score > best.score) {
          best = {score, static_cast<std::int64_t>(at) - static_cast<std::int64_t>(place.at)};
        }
      }
    }
  }

  // The score of a hit, extended to the right and to the left of its word.
  int extended(Place place, std::size_t at) const {
    const std::uint8_t* const query = queries_[place.query].data();
    const std::uint8_t* const sequence = sequence_.data();
    const std::size_t right = std::min(query_letters_ - place.at, letters_ - at);
    int best_right = 0;
    int score = 0;
    for (std::size_t i = kWord; i < right && score > best_right - kDrop; ++i) {
      score += query[place.at + i] == sequence[at + i] ? kMatch : kMismatch;
      best_right = std::max(best_right, score);
    }
    const std::size_t left = std::min<std::size_t>(place.at, at);
    int best_left = 0;
    score = 0;
    for (std::size_t i = 1; i <= left && score > best_left - kDrop; ++i) {
      score += query[place.at - i] == sequence[at - i] ? kMatch : kMismatch;
      best_left = std::max(best_left, score);
    }
    return kWord * kMatch + best_right + best_left;
  }

  // Pairs of equal words, from how often each occurs on both sides.
  std::int64_t expected_hits() const {
    std::vector<std::int64_t> of_queries(kWords, 0);
    for_each_word([&](std::uint32_t word, Place) { ++of_queries[word]; });
    std::int64_t hits = 0;
    for (std::size_t at = 0; at + kWord <= letters_; ++at)
      hits += of_queries[word_at(sequence_, at)];
    return hits;
  }

  // The best score along the diagonal of a copy, by prefix sums: of all words that are equal, the
  // highest sum reached to the right before it falls too far, and to the left.
  int plain_score(std::size_t q, std::int64_t copy) const {
    std::vector<int> scores(query_letters_);
    for (std::size_t i = 0; i < query_letters_; ++i) {
      const bool equal = queries_[q][i] == sequence_[static_cast<std::size_t>(copy) + i];
      scores[i] = equal ? kMatch : kMismatch;
    }
    int best = 0;
    for (std::size_t at = 0; at + kWord <= query_letters_; ++at) {
      const auto word = scores.begin() + static_cast<std::ptrdiff_t>(at);
      if (std::count(word, word + kWord, kMatch) != kWord) continue;
      const int right = highest(word + kWord, scores.end());
      const int left = highest(std::make_reverse_iterator(word), scores.rend());
      best = std::max(best, kWord * kMatch + right + left);
    }
    return best;
  }

  template <typename Iterator>
  static int highest(Iterator at, Iterator end) {
    int sum = 0;
    int highest = 0;
    for (; at != end; ++at) {
      if (sum <= highest - kDrop) break;
      sum += *at;
      highest = std::max(highest, sum);
    }
    return highest;
  }

  void inject_fault() {
    if (fault_.is("hit")) ++hits_;
    if (fault_.is("score")) --best_[query_count_ - 1].score;
  }

  Context context_;
  std::size_t letters_ = 0;
  std::size_t query_count_ = 0;
  std::size_t query_letters_ = 0;
  Letters sequence_;
  std::vector<Letters> queries_;
  std::vector<std::size_t> copies_;
  std::vector<std::uint32_t> start_;
  std::vector<Place> places_;
  std::vector<Match> best_;
  std::int64_t hits_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("compute.search", Search);

}  // namespace
}  // namespace assay
