// assay-scheduler: reads cases from the standard input and writes their schedules to the standard
// output, one after the other. Invalid input: a sentence on the standard error, exit status 2.
#include <cstdio>
#include <exception>
#include <new>

#include "scheduler/engine.hpp"
#include "scheduler/io.hpp"

int main() {
  long long number = 0;
  try {
    assay::scheduler::Case read;
    while (assay::scheduler::read_case(stdin, read)) {
      assay::scheduler::write_schedule(stdout, assay::scheduler::simulate(read));
      ++number;
    }
    return 0;
  } catch (const assay::scheduler::InvalidInput& error) {
    std::fprintf(stderr, "assay-scheduler: case %lld: %s\n", number, error.what());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "assay-scheduler: case %lld: There is not enough memory.\n", number);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay-scheduler: case %lld: %s\n", number, error.what());
  }
  return 2;
}
