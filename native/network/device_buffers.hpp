// Buffers of messages in the memory of each rank's device.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/find.hpp"
#include "harness/kernel.hpp"
#include "network/buffer_memory.hpp"

namespace assay {

// The parameter "memory", and "backend" and "device" if it is the device's.
class DeviceBuffers : public BufferMemory {
 public:
  DeviceBuffers(const Context& context, Parameters& parameters);

  bool on_device() const { return on_device_; }

  // Collective. Opens the device of this rank, if buffers lie there and this rank has some. Throws
  // KernelError if MPI doesn't say that it takes their addresses: with one that doesn't take them
  // the program would crash.
  void open(const Context& context, bool has_buffers);

  // Itself, if buffers lie on devices; else nullptr.
  const BufferMemory* memory() const { return on_device_ ? this : nullptr; }
  // After open().
  std::unique_ptr<BufferImage> image_of(unsigned char* host, std::size_t bytes) const override;

  // On a rank with a device.
  std::map<std::string, Value> facts() const;
  // Of the rank's device on the PCI bus, so that its state is watched.
  std::vector<std::string> addresses() const { return chosen_.addresses(); }

 private:
  bool on_device_;
  device::Choice choice_;
  device::Chosen chosen_;
  std::string says_;  // what MPI's word is
};

}  // namespace assay
