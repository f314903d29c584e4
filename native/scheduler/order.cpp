#include "scheduler/order.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/demand.hpp"

namespace assay::scheduler {
namespace {

// A table from Python: for names that it lacks, shares are 1 and priorities 0.
double entry(const std::vector<double>& table, int index, double otherwise) {
  const auto k = static_cast<std::size_t>(index);
  return k < table.size() && !std::isnan(table[k]) ? table[k] : otherwise;
}

int users_of(const Case& whole) {
  int most = 0;
  for (const Job& job : whole.jobs) most = std::max(most, job.user + 1);
  return most;
}

// Groups of jobs with the same account and user, numbered by account, then user.
std::map<std::pair<int, int>, int> pairs_of(const Case& whole) {
  std::map<std::pair<int, int>, int> pairs;
  for (const Job& job : whole.jobs) pairs.emplace(std::pair(job.account, job.user), 0);
  int count = 0;
  for (auto& [pair, index] : pairs) index = count++;
  return pairs;
}

}  // namespace

double origin_of(const Case& whole) { return whole.jobs.empty() ? 0.0 : whole.jobs[0].submit; }

MultifactorPriority::MultifactorPriority(const Case& whole, const LiveJobs& live, double origin)
    : whole_(whole),
      live_(live),
      origin_(origin),
      association_(whole.jobs.size()),
      usage_(pairs_of(whole).size()),
      priority_(whole.jobs.size()),
      computed_(whole.jobs.size()) {
  const Multifactor& weights = whole.policy.multifactor;
  for (const NodeKind& kind : whole.kinds) {
    processors_ += static_cast<double>(kind.amount.processors) * kind.count;
  }
  for (const double priority : weights.qos_priority) {
    if (!std::isnan(priority)) highest_qos_ = std::max(highest_qos_, priority);
  }
  for (const Partition& each : whole.partitions) highest_tier_ = std::max(highest_tier_, each.tier);
  const auto pairs = pairs_of(whole);
  std::map<int, int> accounts;
  std::map<int, double> siblings;
  for (const auto& [pair, index] : pairs) {
    if (accounts.emplace(pair.first, static_cast<int>(accounts.size())).second) {
      accounts_.push_back({entry(weights.account_shares, pair.first, 1.0), 0.0});
    }
    const double share = entry(weights.user_shares, pair.second, 1.0);
    siblings[accounts[pair.first]] += share;
    associations_.push_back({accounts[pair.first], share, 0.0, 1.0});
  }
  double all = 0;
  for (const Account& account : accounts_) all += account.share;
  for (Account& account : accounts_) account.share = all > 0 ? account.share / all : 0.0;
  for (Association& each : associations_) {
    const double sum = siblings[each.account];
    each.share = sum > 0 ? each.share / sum : 0.0;
  }
  for (std::size_t j = 0; j < whole.jobs.size(); ++j) {
    association_[j] = pairs.at({whole.jobs[j].account, whole.jobs[j].user});
  }
}

void MultifactorPriority::submitted(int job, double now) {
  advance(now);
  priority_[job] = compute(job, now);
  computed_[job] = now;
}

void MultifactorPriority::changed(int job, int sign, double now) {
  advance(now);
  usage_.change(association_[job], sign * whole_.jobs[job].processors, now);
}

void MultifactorPriority::update(const std::vector<int>& queue, double now) {
  advance(now);
  const double when = origin_ + static_cast<double>(periods_) * whole_.policy.multifactor.period;
  for (const int job : queue) {
    if (computed_[job] < when) {
      priority_[job] = compute(job, when);
      computed_[job] = when;
    }
  }
}

// Slurm, "Classic Fairshare Algorithm": normalised shares, usage with decay per period, effective
// usage, and F = 2^(−UE ÷ S ÷ d).
void MultifactorPriority::advance(double now) {
  const Multifactor& weights = whole_.policy.multifactor;
  const double decay = std::pow(0.5, weights.period / weights.half_life);
  bool moved = false;
  while (true) {
    const double next = origin_ + static_cast<double>(periods_ + 1) * weights.period;
    if (next > now) break;
    ++periods_;
    moved = true;
    for (std::size_t k = 0; k < associations_.size(); ++k) {
      associations_[k].used = associations_[k].used * decay + usage_.collect(k, next);
    }
  }
  if (!moved) return;
  double all = 0;
  for (Account& account : accounts_) account.used = 0;
  for (const Association& each : associations_) {
    accounts_[each.account].used += each.used;
    all += each.used;
  }
  for (Association& each : associations_) {
    const Account& account = accounts_[each.account];
    const double share = each.share * account.share;
    if (share <= 0) {
      each.factor = 0;
      continue;
    }
    double effective = 0;
    if (all > 0) {
      const double own = each.used / all;
      effective = own + (account.used / all - own) * each.share;
    }
    each.factor = std::pow(2.0, -effective / share / weights.damping);
  }
}

double MultifactorPriority::compute(int job, double when) const {
  const Multifactor& weights = whole_.policy.multifactor;
  const Job& asked = whole_.jobs[job];
  const double age = std::min(1.0, (when - live_[job].submit) / weights.max_age);
  const double nodes = static_cast<double>(least_nodes(whole_, asked)) / whole_.size();
  const double processors = static_cast<double>(asked.processors) / processors_;
  double size = (nodes + processors) / 2;
  if (weights.favor_small) size = 1 - size;
  const double qos =
      highest_qos_ > 0 ? entry(weights.qos_priority, asked.qos, 0.0) / highest_qos_ : 0.0;
  const double partition =
      highest_tier_ > 0
          ? static_cast<double>(whole_.partitions[asked.partition].tier) / highest_tier_
          : 0.0;
  return weights.age * age + weights.size * size +
         weights.fair_share * associations_[association_[job]].factor + weights.qos * qos +
         weights.partition * partition;
}

MauiPriority::MauiPriority(const Case& whole, const LiveJobs& live, double origin)
    : whole_(whole),
      live_(live),
      origin_(origin),
      users_(static_cast<std::size_t>(users_of(whole))),
      usage_(users_),
      used_(static_cast<std::size_t>(whole.policy.maui.windows), std::vector<double>(users_)),
      percent_(users_),
      priority_(whole.jobs.size()) {}

void MauiPriority::changed(int job, int sign, double now) {
  if (whole_.policy.maui.fair_share == 0) return;
  advance(now);
  usage_.change(static_cast<std::size_t>(whole_.jobs[job].user), sign * whole_.jobs[job].processors,
                now);
}

// Updates the use of each window; the present window is used_[0].
void MauiPriority::advance(double now) {
  const double length = whole_.policy.maui.window;
  while (true) {
    const double next = origin_ + static_cast<double>(window_ + 1) * length;
    if (next > now) break;
    for (std::size_t user = 0; user < users_; ++user) {
      used_[0][user] += usage_.collect(user, next);
    }
    std::rotate(used_.begin(), used_.end() - 1, used_.end());
    std::fill(used_[0].begin(), used_[0].end(), 0.0);
    ++window_;
  }
}

void MauiPriority::update(const std::vector<int>& queue, double now) {
  const Maui& weights = whole_.policy.maui;
  if (weights.fair_share != 0) {
    advance(now);
    double all = 0;
    for (std::size_t user = 0; user < users_; ++user) {
      used_[0][user] += usage_.collect(user, now);
      double weight = 1;
      percent_[user] = 0;
      for (const std::vector<double>& window : used_) {
        percent_[user] += weight * window[user];
        weight *= weights.decay;
      }
      all += percent_[user];
    }
    for (double& percent : percent_) percent = all > 0 ? 100 * percent / all : 0.0;
  }
  for (const int job : queue) {
    const Job& asked = whole_.jobs[job];
    const double wait = now - live_[job].submit;
    const double target = entry(weights.targets, asked.user, kUnknown);
    const double fair =
        std::isnan(target) ? 0.0 : target - percent_[static_cast<std::size_t>(asked.user)];
    priority_[job] = weights.queue_time * (wait / 60) +
                     weights.expansion * ((wait + live_[job].limit) / live_[job].limit) +
                     weights.processors * static_cast<double>(asked.processors) +
                     weights.fair_share * fair;
  }
}

}  // namespace assay::scheduler
