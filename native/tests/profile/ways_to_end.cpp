// Ends in the way that its argument names, after two sends of 3 integers around a ring; for
// tests/native/trace/test_endings.py.
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

void ring(int tag) {
  int rank = 0, size = 0, out[3] = {}, in[3] = {};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in, 3, MPI_INT, (rank + size - 1) % size, tag, MPI_COMM_WORLD, &request);
  MPI_Send(out, 3, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Tests a request that can't complete, 1000 times, and leaves it.
void failed_tests() {
  int in = 0, done = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
  for (int i = 0; i < 1000; ++i) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// kB of memory that a library has in use, the variables behind its file included.
long memory_of(const char* library) {
  std::ifstream maps("/proc/self/smaps");
  long total = 0;
  bool mine = false;
  std::string line;
  while (std::getline(maps, line)) {
    const std::size_t dash = line.find('-'), space = line.find(' ');
    if (dash < space && line.find(':') > space) {  // a mapping
      mine = line.find(library) != std::string::npos ||
             (mine && line.find('/') == std::string::npos && line.find('[') == std::string::npos);
    } else if (mine && line.rfind("Rss:", 0) == 0) {
      total += std::atol(line.c_str() + 4);
    }
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  ring(0);
  ring(1);
  if (way == "exit") std::exit(0);
  if (way == "abort") MPI_Abort(MPI_COMM_WORLD, 0);
  if (way == "terminate") raise(SIGTERM);
  if (way == "kill") {
    for (int i = 0; i < 1000; ++i) ring(2);
    usleep(300'000);  // the next call is after a flush is due
    ring(3);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100'000);
    raise(SIGKILL);
  }
  if (way == "limit") {
    const rlimit limit{1024, 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 5000; ++i) ring(2);
  }
  if (way == "tests") failed_tests();
  for (int i = 0; way == "regions" && i < 3; ++i) {  // 20 ms each of which a profile is of
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    usleep(20'000);
    ring(5);
    MPI_Pcontrol(0);
    usleep(100'000);
    ring(6);
  }
  if (way == "fork") {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    waitpid(child, nullptr, 0);
  }
  if (way == "threads") {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([i] {
        for (int k = 0; k < 100; ++k) ring(10 + i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  if (way == "sizes") {  // one entry per size class
    std::vector<char> data(1 << 20);
    for (std::size_t size = 1; size <= data.size(); size *= 2) {
      MPI_Bcast(data.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
    }
  }
  if (way == "memory") {  // as many keys as there can be, and many calls
    std::vector<char> data(1 << 20);
    for (int round = 0; round < 20; ++round) {
      for (int tag = 0; tag < 2000; ++tag) ring(tag);
      for (std::size_t size = 1; size <= data.size(); size *= 2) {
        MPI_Bcast(data.data(), static_cast<int>(size), MPI_BYTE, 0, MPI_COMM_WORLD);
      }
      std::cout << "memory " << memory_of("libassay-trace") << std::endl;
    }
  }
  MPI_Finalize();
}
