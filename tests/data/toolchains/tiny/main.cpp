// A miniature kernel program. Rank 0 writes a stream; $TINY selects the behaviour: "" ends
// regularly, "wait" waits for SIGTERM and ends regularly, "stopped" is stopped like a hung rank,
// "segv" is killed by a signal on the last rank.
#include <mpi.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {
volatile sig_atomic_t asked = 0;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* mode = std::getenv("TINY");
  const std::string how = mode ? mode : "";
  signal(SIGTERM, [](int) { asked = 1; });
  std::FILE* out = nullptr;
  if (rank == 0 && argc == 5 && !std::strcmp(argv[3], "--out")) out = std::fopen(argv[4], "a");
  if (out) {
    std::fprintf(
        out,
        "{\"record\":\"start\",\"schema\":1,\"program\":\"tiny\",\"version\":\"%s\","
        "\"job\":\"j\",\"ranks\":%d,\"utc\":0,\"clock\":{\"source\":\"s\",\"overhead\":1e-8,"
        "\"resolution\":1e-9}}\n{\"record\":\"begin\",\"measurement\":\"m-0\",\"kernel\":"
        "\"test.tiny\"}\n",
        ASSAY_VERSION, ranks);
    std::fflush(out);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (how == "segv" && rank == ranks - 1) raise(SIGSEGV);
  if (how == "stopped") raise(SIGSTOP);
  while (how != "" && !asked) usleep(10000);
  if (out) {
    std::fprintf(out,
                 "{\"record\":\"measurement\",\"measurement\":\"m-0\",\"kernel\":\"test.tiny\","
                 "\"status\":\"%s\",\"start\":0,\"wall\":0,\"parameters\":{}}\n"
                 "{\"record\":\"end\",\"measurements\":1,\"reason\":\"%s\"}\n",
                 asked ? "interrupted" : "ok", asked ? "signal" : "complete");
    std::fclose(out);
  }
  MPI_Finalize();
  return 0;
}
