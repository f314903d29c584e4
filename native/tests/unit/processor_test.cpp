#include <cstring>
#include <fstream>
#include <initializer_list>
#include <sstream>

#include "processor/check.hpp"
#include "tests/unit/check.hpp"

namespace {

std::string lacking(const std::string& sets, std::size_t size = 512) {
  std::string text(size, '\0');
  const int count = assay_lacking(sets.c_str(), text.data(), size);
  text.resize(std::strlen(text.c_str()));
  std::istringstream words(text);
  int found = 0;
  for (std::string word; words >> word;) ++found;
  if (size == 512) CHECK_EQUAL(count, found);
  return text;
}

// The flags of the first processor as the kernel reports them; empty if it uses another label.
std::string flags_of_proc() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags") || line.starts_with("Features")) {
      return line.substr(line.find(':') + 1) + " ";
    }
  }
  return "";
}

}  // namespace

TEST(the_processor_has_what_this_was_built_for) { CHECK_EQUAL(lacking(assay_built_for), ""); }

TEST(the_processor_is_asked_and_agrees_with_the_kernel) {
  const std::string flags = flags_of_proc();
  if (flags.empty()) return;
  for (size_t i = 0; assay_known_set(i) != nullptr; ++i) {
    const std::string name = assay_known_set(i);
    // The kernel uses other names for these, or none.
    if (name.empty() || name.find(':') != std::string::npos || name == "apx_f") continue;
    const std::string word = name == "lzcnt" ? "abm" : name == "sse3" ? "pni" : name;
    const bool there = flags.find(" " + word + " ") != std::string::npos;
    CHECK_EQUAL(lacking(name), there ? "" : name + " ");
  }
}

TEST(every_set_that_may_be_built_for_is_known) {
  std::istringstream words(assay_built_for);
  for (std::string word; words >> word;) {
    bool known = false;
    for (size_t i = 0; assay_known_set(i) != nullptr; ++i) known |= word == assay_known_set(i);
    check::report(known, __FILE__, __LINE__, "unknown set '" + word + "'");
  }
}

TEST(odd_lists_are_read_and_room_is_kept) {
  CHECK_EQUAL(lacking(""), "");
  CHECK_EQUAL(lacking("   "), "");
  CHECK_EQUAL(lacking("nobody_knows_this avx5"), "");
  for (std::size_t size : {1, 2, 5}) CHECK(lacking("xop fma4 tbm amx_tile", size).size() < size);
}
