#include "harness/measurement.hpp"

#include <cmath>
#include <cstdio>

#include "harness/agreement.hpp"
#include "harness/device_watch.hpp"
#include "harness/json_writer.hpp"
#include "harness/monitor.hpp"
#include "harness/progress.hpp"
#include "harness/sampler.hpp"
#include "harness/signals.hpp"

namespace assay {
namespace {

// The outcome of one measurement, on each rank; only rank 0 writes it.
struct Result {
  Complaint error;
  Complaint left_out;  // why nothing was sampled, although nothing failed
  std::map<std::string, Value> parameters;
  std::map<std::string, Value> facts;
  std::optional<Verification> verification;
  bool verified = false;
  Samples samples;
  std::vector<double> rank_medians;
  std::vector<std::string> series;  // each rank's own, as JSON
  std::map<std::string, std::optional<double>> covariates;
  std::vector<AdapterTraffic> traffic;
};

Context context_of(const Launch& launch, std::size_t memory, const Deadline& deadline) {
  Context context;
  context.comm = launch.kernels;
  context.rank = launch.rank;
  context.size = launch.size;
  context.local_rank = launch.layout.local_rank;
  context.local_size = launch.layout.local_size;
  context.device_place = launch.layout.device_place;
  context.nodes = launch.nodes;
  context.threads = launch.layout.threads;
  context.caches = launch.layout.caches;
  context.node_memory_available = memory;
  context.seed = launch.seed;
  context.deadline = deadline;
  return context;
}

void check_names(const Parameters& parameters) {
  const auto unknown = parameters.unread();
  if (unknown.empty()) return;
  std::string valid;
  for (const auto& [name, value] : parameters.resolved()) {
    valid += (valid.empty() ? "" : ", ") + name;
  }
  throw KernelError("there is no parameter '" + unknown[0] + "'; " +
                    (valid.empty() ? "there are none" : "valid are: " + valid));
}

// Executes the action, and agrees with the other ranks on whether it succeeded.
template <typename Action>
Complaint attempt(MPI_Comm comm, Action action) {
  Complaint mine;
  try {
    action();
  } catch (...) {
    mine = exception_message();
    Watchdog::arm(*mine);
  }
  const Complaint agreed = agree(comm, mine);
  if (mine) Watchdog::disarm();
  return agreed;
}

KernelFactory factory_of(const std::string& name) {
  const KernelFactory factory = find_kernel(name);
  if (!factory) throw KernelError("there is no kernel '" + name + "' in this program");
  return factory;
}

std::string about(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 9.95 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

// The reason to leave out a measurement whose sample and check are expected to take that long; none
// if it fits.
Complaint too_long(double expected, double longest) {
  if (expected <= longest) return std::nullopt;
  return "one sample and its check would take about " + about(expected) + ", and it may take " +
         about(longest);
}

void begin_record(Stream& stream, const Order& order) {
  JsonWriter record;
  record.begin_object().field("record", "begin").field("measurement", order.measurement);
  record.field("kernel", order.kernel).end_object();
  stream.write(record.text());
}

// Each rank's median after warm-up, on rank 0; NaN for a rank whose time doesn't count.
std::vector<double> rank_medians(const Launch& launch, const Kernel& kernel,
                                 const Samples& samples) {
  double mine = std::nan("");
  if (kernel.times_here() && !samples.own.empty()) {
    mine = median({samples.own.begin() + static_cast<std::ptrdiff_t>(samples.summary.warmup),
                   samples.own.end()});
  }
  std::vector<double> all(launch.rank == 0 ? static_cast<std::size_t>(launch.size) : 0);
  MPI_Gather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, 0, launch.harness);
  return all;
}

void write_series(JsonWriter& json, const Series& series, const std::vector<double>& starts) {
  json.begin_object().field("metric", series.metric).field("unit", series.unit);
  json.field("rank", series.rank).field("peer", series.peer);
  json.field("starts", starts).field("values", series.values).end_object();
}

// The kernel's own series of this rank, as the members of a JSON array.
std::string own_series(const Kernel& kernel) {
  std::string text;
  for (const Series& series : kernel.series()) {
    JsonWriter json;
    write_series(json, series, {});
    text += (text.empty() ? "" : ",") + json.text();
  }
  return text;
}

// The kernel's own check on every rank; the result comes from the first rank that fails it.
Complaint verify(const Launch& launch, Kernel& kernel, Result& result) {
  Verification mine;
  const Complaint failure = attempt(launch.harness, [&] { mine = kernel.verify(); });
  if (failure) return failure;
  mine.passed = mine.passed && !std::isnan(mine.value);
  int speaker = mine.passed ? launch.size : launch.rank;
  MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MIN, launch.harness);
  result.verified = speaker == launch.size;
  if (!result.verified && speaker != 0) {
    broadcast(launch.harness, speaker, mine.what);
    double numbers[] = {mine.value, mine.tolerance};
    MPI_Bcast(numbers, 2, MPI_DOUBLE, speaker, launch.harness);
    mine.value = numbers[0];
    mine.tolerance = numbers[1];
    mine.what = "rank " + std::to_string(speaker) + ": " + mine.what;
  }
  result.verification = mine;
  return std::nullopt;
}

// How far the clocks have diverged while the samples were taken. Collective.
void check_clock(const GlobalClock& clock, std::map<std::string, Value>& facts) {
  const GlobalClock::Agreement agreement = clock.check();
  facts["clock_domains"] = std::int64_t{clock.domains()};
  facts["clock_error"] = agreement.error;
  if (clock.domains() > 1) facts["clock_round_trip"] = agreement.round_trip;
}

// Readings per second of a monitor beside the samples: the only parameter that the harness reads
// itself, where a measurement has it.
constexpr const char* kMonitor = "monitor";
constexpr std::int64_t kMostReadings = 10'000;

std::int64_t monitor_rate(const Order& order, Parameters& parameters) {
  if (!order.parameters.contains(kMonitor)) return 0;
  const std::int64_t rate = parameters.integer(kMonitor, 0);
  if (rate < 0 || rate > kMostReadings) {
    throw KernelError("'monitor' is between 0 and " + std::to_string(kMostReadings) + ", not " +
                      std::to_string(rate));
  }
  return rate;
}

// Everything between the begin record and the measurement record.
void carry_out(const Launch& launch, const Order& order, const Surroundings& surroundings,
               Ticks begin, ProgressWriter& progress, Result& result) {
  auto& [covariates, traffic] = surroundings;
  Context context = context_of(launch, covariates.memory_available(), {begin, order.longest});
  if (launch.rank == 0) {
    context.progress = [&progress](double share, std::optional<double> rate) {
      progress.within(share, rate);
    };
  }
  Parameters parameters(order.parameters);
  std::unique_ptr<Kernel> kernel;
  result.parameters = order.parameters;
  const auto resolve = [&] {
    for (const auto& [name, value] : parameters.resolved()) result.parameters[name] = value;
  };
  std::int64_t readings = 0;
  result.error = attempt(launch.harness, [&] {
    kernel = factory_of(order.kernel)(context, parameters);
    readings = monitor_rate(order, parameters);
    check_names(parameters);
  });
  resolve();
  if (result.error) return;

  std::optional<LoosenBlasThreads> loosened;
  if (kernel->uses_blas_threads()) loosened.emplace(launch.layout);
  result.error = attempt(launch.harness, [&] { kernel->setup(); });
  resolve();
  if (result.error) return;
  const double expected = kernel->expected_seconds();
  result.left_out = too_long(expected, order.longest);
  if (result.left_out) result.facts["expected_seconds"] = expected;
  if (result.left_out) return;

  if (kernel->uses_global_clock()) launch.global_clock->synchronise();
  DeviceWatch devices(launch.harness, kernel->device_addresses(), launch.layout.cpus);
  traffic.begin();
  devices.begin();
  covariates.begin();
  Monitor monitor(readings);
  result.samples =
      take_samples(launch.harness, *kernel, order.limits, launch.clock, *launch.global_clock, begin,
                   [&](const auto& values) { progress.samples(values); });
  readings = monitor.end();
  covariates.end();
  devices.end();
  traffic.end();
  result.error = result.samples.failure;
  if (result.error) return;
  if (kernel->uses_global_clock()) check_clock(*launch.global_clock, result.samples.facts);
  const bool interrupted =
      result.samples.stop == Stop::kSignal &&
      result.samples.own.size() < static_cast<std::size_t>(order.limits.min_samples);
  if (!interrupted) result.error = verify(launch, *kernel, result);
  if (result.error) return;
  resolve();
  result.rank_medians = rank_medians(launch, *kernel, result.samples);
  result.covariates = covariates.combined();
  if (traffic.counts()) result.traffic = traffic.gathered();
  result.facts = kernel->facts();
  result.facts.insert(result.samples.facts.begin(), result.samples.facts.end());
  devices.add_to(result.covariates, result.facts);
  if (readings > 0) result.facts["monitor_readings"] = readings;
  result.series = gather_texts(launch.harness, own_series(*kernel));
  result.samples.batch =
      std::llround(static_cast<double>(result.samples.batch) * kernel->operations_per_count());
}

void add_samples(JsonWriter& record, const Launch& launch, const Result& result) {
  const Samples& samples = result.samples;
  if (result.verification) {
    record.field("verified", result.verified);
    record.key("verification").begin_object().field("what", result.verification->what);
    record.field("value", result.verification->value);
    record.field("tolerance", result.verification->tolerance).end_object();
  }
  record.field("batch", samples.batch);
  record.field("warmup", static_cast<std::int64_t>(samples.summary.warmup));
  record.field("stop", stop_name(samples.stop));
  record.field("half_width", samples.summary.half_width);
  std::vector<double> starts;
  for (const Ticks start : samples.starts) starts.push_back(seconds(start - launch.start));
  record.key("series").begin_array();
  write_series(record, {"time", "s", {}, {}, samples.values}, starts);
  if (!samples.fastest.empty()) {
    write_series(record, {"fastest", "s", {}, {}, samples.fastest}, starts);
  }
  for (const std::string& each : result.series) {
    if (!each.empty()) record.raw(each);
  }
  record.end_array();
  record.field("rank_medians", result.rank_medians);
  record.field("covariates", result.covariates);
  if (!result.traffic.empty()) write_traffic(record.key("traffic"), result.traffic);
}

void measurement_record(Stream& stream, const Launch& launch, const Order& order, Ticks begin,
                        const char* status, const Result& result) {
  JsonWriter record;
  record.begin_object().field("record", "measurement").field("measurement", order.measurement);
  record.field("kernel", order.kernel).field("status", status);
  record.field("start", seconds(begin - launch.start));
  record.field("wall", seconds(ticks() - begin));
  record.field("parameters", result.parameters);
  if (result.error) {
    record.field("error", *result.error);
  } else if (result.left_out) {
    record.field("error", *result.left_out);
  } else {
    add_samples(record, launch, result);
  }
  record.field("facts", result.facts).end_object();
  stream.write(record.text());
}

// A failed measurement may leave messages behind; the next one must not receive them.
void renew_kernel_communicator(Launch& launch) {
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(launch.harness, &fresh);
  MPI_Comm_free(&launch.kernels);
  launch.kernels = fresh;
}

}  // namespace

Outcome measure(Launch& launch, const Order& order, const Surroundings& surroundings,
                Stream* stream) {
  const Ticks begin = ticks();
  note_measurement(order.measurement, order.kernel, launch.start);
  if (stream) begin_record(*stream, order);
  Result result;
  ProgressWriter progress(stream, order.measurement, order.limits.confidence, begin);
  carry_out(launch, order, surroundings, begin, progress, result);
  // What fails after a signal fails because of it: kernels end long phases early.
  const bool too_few =
      result.samples.own.size() < static_cast<std::size_t>(order.limits.min_samples);
  const bool interrupted = !result.left_out && result.samples.signalled &&
                           (result.samples.failure || (!result.error && too_few));
  note_no_measurement();
  const char* status = interrupted       ? "interrupted"
                       : result.error    ? "failed"
                       : result.left_out ? "left out"
                                         : "ok";
  if (stream) measurement_record(*stream, launch, order, begin, status, result);
  if (result.error) renew_kernel_communicator(launch);
  if (interrupted) return Outcome::kInterrupted;
  if (result.left_out) return Outcome::kGood;
  return !result.error && result.verified ? Outcome::kGood : Outcome::kBad;
}

}  // namespace assay
