// A librocm_smi64.so without a device, for tests: one device at 0000:c1:00.0. FAKE_OLD leaves out
// all functions but those that count devices.
#include <cstdint>
#include <cstdio>

extern "C" {
int rsmi_init(std::uint64_t) { return 0; }
int rsmi_shut_down() { return 0; }
int rsmi_num_monitor_devices(std::uint32_t* count) {
  *count = 1;
  return 0;
}
int rsmi_dev_pci_id_get(std::uint32_t, std::uint64_t* identity) {
  *identity = 0xC1 << 8;
  return 0;
}
#ifndef FAKE_OLD
int rsmi_dev_name_get(std::uint32_t, char* name, std::size_t size) {
  std::snprintf(name, size, "Fake MI300X");
  return 0;
}
int rsmi_dev_ecc_count_get(std::uint32_t, std::uint64_t, std::uint64_t* counts) {
  counts[0] = 3;
  counts[1] = 1;
  return 0;
}
int rsmi_dev_memory_reserved_pages_get(std::uint32_t, std::uint32_t* pages, void*) {
  *pages = 5;
  return 0;
}
#endif
}
