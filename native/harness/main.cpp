// assay-kernels: carries out a job of measurements and writes the stream of records.
#include <cstdio>
#include <optional>
#include <string>

#include "harness/json_writer.hpp"
#include "harness/launch.hpp"
#include "harness/signals.hpp"

namespace {

struct Arguments {
  std::string job;
  std::string out;
  bool thread_multiple = false;  // whether threads of a rank may call MPI at the same time
};

// Nothing, and one line on stderr, if the command line is wrong.
std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  std::string wrong;
  for (int i = 1; i < argc && wrong.empty(); ++i) {
    const std::string word = argv[i];
    if (word == "--thread-multiple") {
      arguments.thread_multiple = true;
      continue;
    }
    std::string* target = word == "--job"   ? &arguments.job
                          : word == "--out" ? &arguments.out
                                            : nullptr;
    if (!target) {
      wrong = "unknown argument '" + word + "'";
    } else if (i + 1 == argc) {
      wrong = word + " needs a path";
    } else {
      *target = argv[++i];
    }
  }
  if (wrong.empty() && arguments.job.empty()) wrong = "--job is missing";
  if (wrong.empty() && arguments.out.empty()) wrong = "--out is missing";
  if (wrong.empty()) return arguments;
  std::fprintf(stderr,
               "assay-kernels: %s; usage: assay-kernels --job JOB.json --out STREAM.jsonl "
               "[--thread-multiple] | --list | --covariates | --version\n",
               wrong.c_str());
  return std::nullopt;
}

std::string covariates_as_json() {
  assay::JsonWriter json;
  json.begin_object();
  for (const auto& each : assay::covariate_meanings()) {
    json.key(each.name).begin_object().field("unit", each.unit);
    json.field("meaning", each.meaning).end_object();
  }
  return json.end_object().text();
}

}  // namespace

int main(int argc, char** argv) {
  const assay::Ticks start = assay::ticks();
  const std::string only = argc == 2 ? argv[1] : "";
  if (only == "--version") {
    std::printf("assay-kernels %s\n", assay::program_version());
    return assay::kExitDone;
  }
  if (only == "--list") {
    std::printf("%s\n", assay::JsonWriter().value(assay::kernel_names()).text().c_str());
    return assay::kExitDone;
  }
  if (only == "--covariates") {
    std::printf("%s\n", covariates_as_json().c_str());
    return assay::kExitDone;
  }
  const std::optional<Arguments> arguments = parse(argc, argv);
  if (!arguments) return assay::kExitUsage;

  int provided = 0;
  const int level = arguments->thread_multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  MPI_Init_thread(&argc, &argv, level, &provided);
  const int status = assay::run_job(arguments->job, arguments->out, start);
  assay::LastCall::arm(status);
  MPI_Finalize();
  assay::LastCall::disarm();
  return status;
}
