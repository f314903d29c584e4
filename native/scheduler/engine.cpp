#include "scheduler/engine.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <vector>

#include "scheduler/order.hpp"
#include "scheduler/strategy.hpp"

namespace assay::scheduler {
namespace {

// In the order in which events of one time are processed.
enum class Kind { end, release, failure, repair, edge, submission };

struct Event {
  double time;
  Kind kind;
  int index;         // of the job, failure or reservation
  std::int64_t run;  // of the job: an event of an earlier run is void

  bool operator<(const Event& other) const {  // the earliest is the greatest
    if (time != other.time) return time > other.time;
    if (kind != other.kind) return kind > other.kind;
    return index > other.index;
  }
};

// Passes at multiples of an interval, counted from the first submission.
class Ticks {
 public:
  Ticks(double interval, double origin) : interval_(interval), origin_(origin) {}

  // The first one at `time` or later that has not been done.
  double next(double time) const {
    double count = std::max(0.0, std::ceil((time - origin_) / interval_));
    // The quotient may be off by one in its last digit.
    while (count > 0 && origin_ + (count - 1) * interval_ >= time) --count;
    while (origin_ + count * interval_ < time) ++count;
    if (origin_ + count * interval_ <= done_) ++count;
    return origin_ + count * interval_;
  }
  void done(double time) { done_ = time; }

 private:
  double interval_, origin_;
  double done_ = -kNever;
};

class Engine {
 public:
  explicit Engine(const Case& whole);
  Schedule run();

 private:
  void process(const Event& event);
  void submit(int job, double submitted);
  void end(int job, double now, State state);
  void finish(int job, double now);
  void passes(double now);
  void pass(double now, bool in_order);
  double next_time() const;
  double next_main(double time) const;
  double next_submitted(double time) const;

  const Case& whole_;
  LiveJobs live_;
  std::unique_ptr<Strategy> strategy_;
  Schedule schedule_;
  std::priority_queue<Event> events_;
  std::size_t next_submission_ = 0;      // among jobs that are not after others
  std::vector<std::vector<int>> after_;  // jobs that are after a job
  std::vector<char> active_;             // by job: its program runs
  std::vector<char> requeued_;           // by job: it is queued when its nodes are free
  Ticks main_, clock_, backfill_;
  bool main_due_ = false, backfill_due_ = false;  // something has happened since the last pass
  bool submitted_ = false;                        // jobs whose pass in order may be delayed
  double last_submitted_ = -kNever;               // the last pass that only these led to
  double now_ = 0;
  std::vector<Start> starts_;
};

Engine::Engine(const Case& whole)
    : whole_(whole),
      live_(whole.jobs.size()),
      active_(whole.jobs.size()),
      requeued_(whole.jobs.size()),
      main_(whole.policy.timing.main, origin_of(whole)),
      clock_(whole.policy.timing.tick, origin_of(whole) + whole.policy.timing.tick_offset),
      backfill_(whole.policy.timing.backfill, origin_of(whole) + whole.policy.timing.offset) {
  schedule_.jobs.resize(whole.jobs.size());
  for (std::size_t j = 0; j < whole.jobs.size(); ++j) {
    live_[j].limit = whole.jobs[j].limit;
    const int after = whole.jobs[j].after;
    if (after >= 0) {
      if (after_.empty()) after_.resize(whole.jobs.size());
      after_[after].push_back(static_cast<int>(j));
    }
  }
  for (std::size_t k = 0; k < whole.failures.size(); ++k) {
    const Failure& failure = whole.failures[k];
    if (failure.end <= failure.begin) continue;
    events_.push({failure.begin, Kind::failure, static_cast<int>(k), 0});
    if (failure.end < kNever) events_.push({failure.end, Kind::repair, static_cast<int>(k), 0});
  }
  for (std::size_t k = 0; k < whole.reservations.size(); ++k) {
    const Reservation& reservation = whole.reservations[k];
    events_.push({reservation.begin, Kind::edge, static_cast<int>(k), 0});
    if (reservation.end < kNever) {
      events_.push({reservation.end, Kind::edge, static_cast<int>(k), 0});
    }
  }
  strategy_ = choose_strategy(whole, live_);
}

double Engine::next_time() const {
  double time = kNever;
  if (next_submission_ < whole_.jobs.size()) time = whole_.jobs[next_submission_].submit;
  if (!events_.empty()) time = std::min(time, events_.top().time);
  const Timing& timing = whole_.policy.timing;
  if (timing.tick > 0) time = std::min(time, next_submitted(now_));
  if (strategy_->waiting() > 0) {
    if (timing.main > 0 || timing.delay > 0 || timing.tick > 0)
      time = std::min(time, next_main(now_));
    if (timing.backfill > 0 && backfill_due_) time = std::min(time, backfill_.next(now_));
  }
  return time;
}

// The time of the next pass in order, `time` or later; never if no event caused one.
double Engine::next_main(double time) const {
  const double earliest = main_due_ ? time : next_submitted(time);
  return whole_.policy.timing.main > 0 && earliest < kNever ? main_.next(earliest) : earliest;
}

// The time of the next pass caused by submissions, `time` or later.
double Engine::next_submitted(double time) const {
  if (!submitted_) return kNever;
  const Timing& timing = whole_.policy.timing;
  if (timing.tick == 0) return std::max(time, last_submitted_ + timing.delay);
  return clock_.next(std::max(time, std::floor(last_submitted_) + timing.delay));
}

Schedule Engine::run() {
  const auto skip = [this] {
    while (next_submission_ < whole_.jobs.size() && whole_.jobs[next_submission_].after >= 0) {
      ++next_submission_;
    }
  };
  skip();
  if (!whole_.jobs.empty()) now_ = origin_of(whole_);
  while (true) {
    const double time = next_time();
    if (time == kNever) break;
    now_ = std::max(now_, time);
    while (next_submission_ < whole_.jobs.size() && whole_.jobs[next_submission_].submit <= time) {
      events_.push({time, Kind::submission, static_cast<int>(next_submission_), 0});
      ++next_submission_;
      skip();
    }
    while (!events_.empty() && events_.top().time <= time) {
      const Event event = events_.top();
      events_.pop();
      process(event);
    }
    passes(time);
    schedule_.longest_queue =
        std::max(schedule_.longest_queue, static_cast<std::int64_t>(strategy_->waiting()));
  }
  return std::move(schedule_);
}

void Engine::process(const Event& event) {
  switch (event.kind) {
    case Kind::end: {
      if (!active_[event.index] || schedule_.jobs[event.index].runs != event.run) return;
      const double needed = whole_.policy.timing.launch + whole_.jobs[event.index].run;
      const bool killed = whole_.policy.kill && needed > live_[event.index].limit;
      end(event.index, event.time, killed ? State::timeout : State::completed);
      break;
    }
    case Kind::release:
      strategy_->release(event.index);
      if (requeued_[event.index]) {
        requeued_[event.index] = 0;
        strategy_->enqueue(event.index, event.time);
      }
      break;
    case Kind::failure:
      for (const int job : strategy_->fail(whole_.failures[event.index])) {
        if (active_[job]) end(job, event.time, State::node_failure);
      }
      break;
    case Kind::repair:
      strategy_->repair(whole_.failures[event.index]);
      break;
    case Kind::edge:
      break;
    case Kind::submission:
      submit(event.index, event.time);
      break;
  }
  const Timing& timing = whole_.policy.timing;
  backfill_due_ = true;
  if (event.kind == Kind::submission && (timing.delay > 0 || timing.tick > 0)) {
    submitted_ = true;
  } else if (event.kind != Kind::end || timing.done == 0) {
    main_due_ = true;  // the end of a program whose nodes are not free yet lets no job start
  }
}

void Engine::submit(int job, double now) {
  Outcome& outcome = schedule_.jobs[job];
  if (outcome.runs == 0) outcome.submit = now;
  live_[job].submit = now;
  if (strategy_->possible(job)) {
    strategy_->enqueue(job, now);
    return;
  }
  // A job that was killed and now requests too much time stays as it is.
  if (outcome.runs == 0) outcome.state = State::cancelled;
  finish(job, now);
}

// The program of a running job ends.
void Engine::end(int job, double now, State state) {
  Outcome& outcome = schedule_.jobs[job];
  const Policy& policy = whole_.policy;
  active_[job] = 0;
  outcome.end = now;
  outcome.state = state;
  const double free_at = now + policy.timing.done;
  strategy_->ended(job, now, free_at);
  const double work = static_cast<double>(whole_.jobs[job].processors) * (now - outcome.start);
  if (free_at == now) {
    strategy_->release(job);
  } else {
    events_.push({free_at, Kind::release, job, outcome.runs});
  }
  if (state == State::node_failure && policy.requeue) {
    outcome.lost += work;
    outcome.state = State::pending;
    if (free_at == now) {
      strategy_->enqueue(job, now);
    } else {
      requeued_[job] = 1;  // it waits until its nodes are free
    }
  } else if (state == State::timeout && policy.resubmit) {
    const double limit = 2 * live_[job].limit;
    if (limit <= whole_.partitions[whole_.jobs[job].partition].longest) {
      outcome.lost += work;
      outcome.state = State::pending;
      live_[job].limit = limit;
      events_.push({free_at, Kind::submission, job, 0});
    } else {
      finish(job, now);
    }
  } else {
    finish(job, now);
  }
}

// A job is finished for good: jobs that depend on it follow.
void Engine::finish(int job, double now) {
  if (after_.empty()) return;
  for (const int next : after_[job]) {
    events_.push({now + whole_.jobs[next].think, Kind::submission, next, 0});
  }
}

void Engine::passes(double now) {
  const Timing& timing = whole_.policy.timing;
  const bool ticked = timing.tick > 0 && next_submitted(now) == now;
  const bool main_now = next_main(now) == now;
  if (ticked) {
    clock_.done(now);
    last_submitted_ = now;
    submitted_ = false;
  }
  if (strategy_->waiting() == 0) {
    if (timing.main == 0) main_due_ = false;
    return;
  }
  const bool full_now = timing.backfill > 0 ? backfill_.next(now) == now : main_now;
  const bool full = full_now && backfill_due_;
  if (!full && !main_now) return;
  pass(now, !full);
  if (full) {
    if (timing.backfill > 0) backfill_.done(now);
    backfill_due_ = false;
  }
  if (main_now) {
    if (timing.main > 0) main_.done(now);
    if (!main_due_ && timing.tick == 0) last_submitted_ = now;
    if (timing.tick == 0) submitted_ = false;
    main_due_ = false;
  }
}

void Engine::pass(double now, bool in_order) {
  ++schedule_.passes;
  starts_.clear();
  strategy_->pass(now, in_order, starts_);
  for (const Start& start : starts_) {
    Outcome& outcome = schedule_.jobs[start.job];
    outcome.start = now;
    outcome.end = kUnknown;
    outcome.state = State::pending;
    outcome.first_node = start.first_node;
    outcome.backfilled = start.backfilled ? 1 : 0;
    ++outcome.runs;
    active_[start.job] = 1;
    double duration = whole_.policy.timing.launch + whole_.jobs[start.job].run;
    if (whole_.policy.kill) duration = std::min(duration, live_[start.job].limit);
    events_.push({now + duration, Kind::end, start.job, outcome.runs});
  }
}

}  // namespace

Schedule simulate(const Case& whole) { return Engine(whole).run(); }

}  // namespace assay::scheduler
