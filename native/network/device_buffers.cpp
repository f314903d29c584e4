#include "network/device_buffers.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "harness/together.hpp"

namespace assay {
namespace {

// How MPI libraries say that they take addresses of a backend's devices: functions of extensions
// (Open MPI's and MPICH's manuals), and MPICH's number of the kind of device.
struct Awareness {
  const char* backend;
  const char* devices;
  const char* functions[2];
  int kind;
};

constexpr Awareness kAwareness[] = {
    {"cuda", "CUDA", {"MPIX_Query_cuda_support", nullptr}, 0},
    {"hip", "HIP", {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}, 2},
};
constexpr const char* kQueryOfMpich = "MPIX_GPU_query_support";
// Cray MPICH takes addresses of devices if this is 1.
constexpr const char* kVariableOfCray = "MPICH_GPU_SUPPORT_ENABLED";

template <typename F>
F* function(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

// What says that MPI takes such addresses. Throws KernelError if nothing does.
std::string word_of_mpi(const std::string& backend) {
  const Awareness* known = nullptr;
  for (const Awareness& each : kAwareness) {
    if (backend == each.backend) known = &each;
  }
  if (known == nullptr) {
    throw KernelError("memory = device: the backend '" + backend +
                      "' gives no addresses that MPI could take; use memory = host");
  }
  std::string asked;
  for (const char* const name : known->functions) {
    const auto query = name == nullptr ? nullptr : function<int()>(name);
    if (query == nullptr) continue;
    if (query() == 1) return name;
    asked = name;
  }
  if (const auto query = function<int(int, int*)>(kQueryOfMpich)) {
    int takes = 0;
    if (query(known->kind, &takes) == MPI_SUCCESS && takes != 0) return kQueryOfMpich;
    asked = asked.empty() ? kQueryOfMpich : asked;
  }
  const char* const variable = std::getenv(kVariableOfCray);
  if (variable != nullptr && std::string(variable) == "1") return kVariableOfCray;
  throw KernelError(
      std::string("memory = device: this MPI doesn't take memory of ") + known->devices +
      " devices (" +
      (asked.empty() ? std::string("it has no ") + known->functions[0] : asked + " says no") +
      "); use an MPI built for them, or memory = host");
}

class DeviceImage : public BufferImage {
 public:
  DeviceImage(device::Device& device, unsigned char* host, std::size_t bytes)
      : host_(host), bytes_(bytes), queue_(device.queue()), memory_(device.allocate(bytes)) {}

  unsigned char* address() const override {
    return static_cast<unsigned char*>(memory_->address());
  }
  void upload() const override {
    queue_->write(*memory_, 0, host_, bytes_);
    queue_->finish();
  }
  void download() const override {
    queue_->read(*memory_, 0, host_, bytes_);
    queue_->finish();
  }

 private:
  unsigned char* host_;
  std::size_t bytes_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> memory_;
};

}  // namespace

DeviceBuffers::DeviceBuffers(const Context& context, Parameters& parameters)
    : on_device_(parameters.choice("memory", "host", {"host", "device"}) == "device") {
  if (on_device_) choice_ = device::Choice(context, parameters);
}

void DeviceBuffers::open(const Context& context, bool has_buffers) {
  if (!on_device_) return;
  together(context, [&] {
    if (!has_buffers) return;
    chosen_ = choice_.open();
    says_ = word_of_mpi(chosen_.device->info().backend);
  });
}

std::unique_ptr<BufferImage> DeviceBuffers::image_of(unsigned char* host, std::size_t bytes) const {
  return std::make_unique<DeviceImage>(*chosen_.device, host, bytes);
}

std::map<std::string, Value> DeviceBuffers::facts() const {
  if (!chosen_.device) return {};
  std::map<std::string, Value> known = chosen_.facts();
  known["mpi_takes_devices"] = says_;
  return known;
}

}  // namespace assay
