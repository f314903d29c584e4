// What native/device/kfd.cpp reads of a topology.
#include "check_questions.hpp"
#include "device/kfd.hpp"

namespace {

// address folder: the architecture, or -, and bytes of cache.
void node(std::istream& in) {
  std::string address, folder;
  in >> address >> folder;
  const assay::device::KfdNode found = assay::device::kfd_node(address, folder);
  std::printf("%s %llu\n", found.architecture.empty() ? "-" : found.architecture.c_str(),
              static_cast<unsigned long long>(found.cache));
}

const assay::check::Questions questions = {{"node", node}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
