// Runs every unit test, or those whose names are given.
#include <algorithm>

#include "tests/unit/check.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  int run = 0;
  for (const auto& test : check::tests()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), test.name) == wanted.end()) {
      continue;
    }
    const int before = check::failures();
    try {
      test.body();
    } catch (const std::exception& error) {
      check::report(false, test.name.c_str(), 0, std::string("exception: ") + error.what());
    }
    ++run;
    std::cout << (check::failures() == before ? "ok   " : "FAIL ") << test.name << "\n";
  }
  std::cout << run << " tests, " << check::failures() << " failures\n";
  return run > 0 && check::failures() == 0 ? 0 : 1;
}
