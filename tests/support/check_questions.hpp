// Common part of the programs that give tests access to internals of native code
// (tests/support/check_program.py runs them): questions, one per line, each answered by the
// function named by its first word.
#pragma once

#include <mpi.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>

namespace assay::check {

using Questions = std::map<std::string, void (*)(std::istream&)>;

// The peak memory of this process.
inline double peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return 1024.0 * static_cast<double>(usage.ru_maxrss);
}

// Answers the questions on rank 0's stdin, on all ranks; an unknown one ends the program.
inline int answer_all(int argc, char** argv, const Questions& questions) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string all;
  if (rank == 0) all.assign(std::istreambuf_iterator<char>(std::cin), {});
  auto size = static_cast<int>(all.size());
  MPI_Bcast(&size, 1, MPI_INT, 0, MPI_COMM_WORLD);
  all.resize(static_cast<std::size_t>(size));
  MPI_Bcast(all.data(), size, MPI_CHAR, 0, MPI_COMM_WORLD);
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string question;
    in >> question;
    questions.at(question)(in);
  }
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}

}  // namespace assay::check
