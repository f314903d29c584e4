// Gives tests access to parts of the measuring program of a check. Each line of the input is a
// question, answered by a line.
#include <iostream>
#include <iterator>
#include <limits>
#include <set>
#include <sstream>
#include <string>

#include "check/connection.hpp"
#include "check/machine.hpp"
#include "check/quiet.hpp"
#include "harness/text_file.hpp"

namespace {

void answer(std::istream& in) {
  std::string question;
  in >> question;
  if (question == "ticks") {  // a file, then CPUs
    std::string path;
    in >> path;
    const std::set<int> cpus{std::istream_iterator<int>(in), {}};
    const auto found = assay::check::ticks_of(assay::read_text(path).value_or(""), cpus);
    std::cout << found.busy << ' ' << found.steal << '\n';
  } else if (question == "available") {  // limit and use
    std::string limit;
    std::string use;
    in >> limit >> use;
    const double bytes = assay::check::available_below(limit, use);
    std::cout << (bytes < std::numeric_limits<double>::max() ? std::to_string(bytes) : "all")
              << '\n';
  } else if (question == "listens") {
    std::string self;
    std::string partner;
    in >> self >> partner;
    std::cout << assay::check::listens(self, partner) << '\n';
  } else if (question == "machine") {
    const auto machine = assay::check::read_machine();
    std::cout << machine.cores.size() << ' ' << machine.caches << ' ' << machine.cache_of_core
              << '\n';
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    answer(in);
  }
}
