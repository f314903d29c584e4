#include "harness/launch.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "harness/agreement.hpp"
#include "harness/host_clocks.hpp"
#include "harness/json_writer.hpp"
#include "harness/measurement.hpp"
#include "harness/ranks.hpp"
#include "harness/signals.hpp"

namespace assay {
namespace {

// Distributes the job, which only rank 0 reads, to every rank. If the job is wrong, returns nothing
// and prints a message on stderr.
std::optional<Job> share_job(const std::string& path) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string text;
  Complaint wrong;
  try {
    if (rank == 0) text = read_job(path);
  } catch (const JobError& error) {
    wrong = error.what();
  }
  if (!agree(MPI_COMM_WORLD, wrong)) {
    broadcast(MPI_COMM_WORLD, 0, text);
    try {
      return parse_job(text);
    } catch (const JobError& error) {
      wrong = error.what();
    }
  }
  if (rank == 0) {
    std::fprintf(stderr, "assay-kernels: job %s: %s\n", path.c_str(), wrong->c_str());
  }
  return std::nullopt;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  // The first line, whichever separators it has.
  std::string line;
  bool gap = false;
  for (const char* c = text; *c != '\0' && *c != '\n'; ++c) {
    const bool space = *c == ' ' || *c == '\t' || *c == '\r';
    if (!space && gap && !line.empty()) line += ' ';
    if (!space) line += *c;
    gap = space;
  }
  return line;
}

// The world's ranks, numbered as the job says. If they already are, this is the world itself, since
// an MPI library may allocate megabytes for more than a few communicators. If the job's order is
// invalid, returns nothing and prints a message on stderr.
MPI_Comm ranks_in_order(const Job& job, const std::string& path, MPI_Comm node) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::vector<Seat> seats = find_seats(MPI_COMM_WORLD, node);
  MPI_Comm ordered = MPI_COMM_NULL;
  try {
    const std::vector<int> numbers = number_ranks(job.order, seats);
    if (std::is_sorted(numbers.begin(), numbers.end())) return MPI_COMM_WORLD;
    MPI_Comm_split(MPI_COMM_WORLD, 0, numbers[static_cast<std::size_t>(rank)], &ordered);
  } catch (const JobError& error) {
    if (rank == 0) {
      std::fprintf(stderr, "assay-kernels: job %s: %s\n", path.c_str(), error.what());
    }
  }
  return ordered;
}

std::string start_record(const Launch& launch, const Job& job) {
  const double utc =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count() -
      seconds(ticks() - launch.start);
  JsonWriter record;
  record.begin_object().field("record", "start").field("schema", kStreamSchema);
  record.field("program", "assay-kernels").field("version", program_version());
  record.field("job", job.job).field("ranks", launch.size).field("utc", utc);
  record.key("clock").begin_object().field("source", "CLOCK_MONOTONIC");
  record.field("overhead", launch.clock.overhead).field("resolution", launch.clock.resolution);
  record.end_object().field("mpi", mpi_version());
#if defined(ASSAY_HAVE_BLAS)
  record.field("blas", ASSAY_BLAS_NAME[0] ? ASSAY_BLAS_NAME : "unnamed");
#endif
#if defined(__clang__)
  record.field("compiler", __VERSION__);
#elif defined(__GNUC__)
  record.field("compiler", "GCC " __VERSION__);
#endif
  return record.end_object().text();
}

// `clocks`: of its host; set on the first rank of each host.
std::string rank_record(const Launch& launch, const std::string& host,
                        const std::optional<HostClocks>& clocks) {
  const Layout& layout = launch.layout;
  JsonWriter record;
  record.begin_object().field("record", "rank").field("rank", launch.rank).field("host", host);
  record.field("pid", static_cast<std::int64_t>(getpid()));
  record.field("local_rank", layout.local_rank).field("cpus", layout.cpus);
  record.field("numa", layout.numa).field("pinned", layout.pinned);
  record.field("oversubscribed", layout.oversubscribed);
  if (clocks && layout.local_rank == 0) write_clocks(record.key("clocks"), *clocks);
  return record.end_object().text();
}

// The ranks must agree on the clock quality, because they all derive the batch size from it.
ClockQuality worst_clock(MPI_Comm comm) {
  const ClockQuality mine = measure_clock();
  double worst[] = {mine.overhead, mine.resolution};
  MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, comm);
  return {worst[0], worst[1]};
}

// Whether any rank was signalled to stop, and whether the stream has failed.
struct State {
  bool signal = false;
  bool stream_failed = false;
};

State agree_on_state(const Launch& launch, const Stream* stream) {
  int flags[] = {stop_requested() ? 1 : 0, stream && stream->failed() ? 1 : 0};
  MPI_Allreduce(MPI_IN_PLACE, flags, 2, MPI_INT, MPI_MAX, launch.harness);
  return {flags[0] != 0, flags[1] != 0};
}

int work_through(Launch& launch, const Job& job, Stream* stream) {
  Covariates covariates(launch.harness, launch.layout);
  const int nodes = 1 + *std::max_element(launch.nodes.begin(), launch.nodes.end());
  Traffic traffic(launch.harness, launch.layout, nodes);
  const Surroundings surroundings{covariates, traffic};
  std::int64_t done = 0;
  bool all_good = true;
  State state = agree_on_state(launch, stream);
  for (const Order& order : job.measurements) {
    if (state.signal || state.stream_failed) break;
    const Outcome outcome = measure(launch, order, surroundings, stream);
    ++done;
    all_good = all_good && outcome != Outcome::kBad;
    state = agree_on_state(launch, stream);
    if (outcome == Outcome::kInterrupted) state.signal = true;
  }
  if (!state.stream_failed) {
    if (stream) {
      JsonWriter record;
      record.begin_object().field("record", "end").field("measurements", done);
      record.field("reason", state.signal ? "signal" : "complete").end_object();
      stream->write(record.text());
    }
    state.stream_failed = agree_on_state(launch, stream).stream_failed;
  }
  if (state.stream_failed) return kExitStream;
  return all_good ? kExitDone : kExitMeasurement;
}

}  // namespace

const char* program_version() { return ASSAY_VERSION; }

int run_job(const std::string& job_path, const std::string& stream_path, Ticks start) {
  const std::optional<Job> job = share_job(job_path);
  if (!job) return kExitUsage;
  MPI_Comm node = ranks_of_node(MPI_COMM_WORLD);
  Launch launch;
  launch.harness = ranks_in_order(*job, job_path, node);
  if (launch.harness == MPI_COMM_NULL) {
    MPI_Comm_free(&node);
    return kExitUsage;
  }
  MPI_Comm_dup(launch.harness, &launch.kernels);
  MPI_Comm_rank(launch.harness, &launch.rank);
  MPI_Comm_size(launch.harness, &launch.size);
  launch.nodes = nodes_of_ranks(launch.harness, node);
  launch.start = start;
  launch.seed = job->seed;

  std::unique_ptr<Stream> stream;
  if (launch.rank == 0) stream = std::make_unique<Stream>(stream_path);
  const std::string host = host_name();
  const bool writable = stream && !stream->failed();
  install_signal_handlers(launch.rank, host, writable ? stream->descriptor() : -1);

  try {
    launch.layout = lay_out(launch.harness, node, job->threads, job->binding, job->devices);
  } catch (const KernelError& error) {
    if (launch.rank == 0) std::fprintf(stderr, "assay-kernels: binding: %s\n", error.what());
    return kExitUsage;
  }
  launch.clock = worst_clock(launch.harness);
  launch.global_clock = std::make_unique<GlobalClock>(launch.harness);
  const auto clocks = compare_clocks(launch.harness, launch.nodes);
  const auto seats = gather_texts(launch.harness, rank_record(launch, host, clocks));
  if (stream) {
    stream->write(start_record(launch, *job));
    for (const std::string& seat : seats) stream->write(seat);
  }
  const int status = work_through(launch, *job, stream.get());
  launch.global_clock.reset();
  MPI_Comm_free(&launch.layout.node);
  MPI_Comm_free(&launch.kernels);
  if (launch.harness != MPI_COMM_WORLD) MPI_Comm_free(&launch.harness);
  return status;
}

}  // namespace assay
