// What the Linux kernel's driver for AMD's devices (KFD) tells of a device, which HIP doesn't.
#pragma once

#include <cstdint>
#include <string>

namespace assay::device {

struct KfdNode {
  std::string architecture;  // "gfx90a"; empty: unknown
  std::uint64_t cache = 0;   // B, of the last cache before memory; 0: unknown
};

// The device with that address on the PCI bus ("0000:c1:00.0"). `nodes`: the folder of the
// topology.
KfdNode kfd_node(const std::string& address,
                 const std::string& nodes = "/sys/class/kfd/kfd/topology/nodes");

}  // namespace assay::device
