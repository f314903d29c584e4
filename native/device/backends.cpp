#include "device/backends.hpp"

#include "device/cuda.hpp"
#include "device/hip.hpp"
#include "device/opencl.hpp"

namespace assay::device {
namespace {

struct Named {
  const char* name;
  std::unique_ptr<Backend> (*load)();  // throws DeviceError
};

// Where ROCm is installed, OpenCL offers the same devices: the vendor's own interface comes first.
constexpr Named kBackends[] = {{"cuda", cuda::load}, {"hip", hip::load}, {"opencl", opencl::load}};

}  // namespace

const std::vector<std::string>& backend_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> found;
    for (const Named& each : kBackends) found.emplace_back(each.name);
    return found;
  }();
  return names;
}

std::unique_ptr<Backend> load_backend(const std::string& name) {
  std::string problems;
  for (const Named& each : kBackends) {
    if (name != "auto" && name != each.name) continue;
    try {
      return each.load();
    } catch (const DeviceError& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  throw DeviceError(problems.empty() ? "there is no backend '" + name + "'" : problems);
}

}  // namespace assay::device
