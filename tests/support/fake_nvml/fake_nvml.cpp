// A libnvidia-ml.so.1 without a device, for tests: two devices at the addresses of fake_cuda. The
// words of FAKE_NVML plant faults on the first device, or on all of them behind "all:".
//   throttle   the power limit and the temperature lower the clock
//   ecc        more uncorrected errors with each reading
//   nvlink     one of four links is down
//   lost       the device is lost; its handle can't be had
//   falls      the device is lost after the handle was had
//   width      half of the lanes
//   mig        divided into instances
//   low        low clocks for applications
//   off        persistence off, compute mode prohibited, ECC off
//   busy       process 1 uses it
//   retired    retired pages, one more waits for a reset
//   xid        an event of the driver before the first question (13), and one after it (31)
//   counter    no counter of energy
//   hang       initialisation never returns
//   driver     no driver is loaded
// FAKE_OLD leaves out the functions that drivers before 2018 lack.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sstream>
#include <string>

namespace {

constexpr int kSuccess = 0, kNotSupported = 3, kNotFound = 6, kTooSmall = 7, kNoDriver = 9,
              kTimeout = 10, kLost = 15;
constexpr int kDevices = 2;

bool fault(const char* name, int device) {
  const char* const text = std::getenv("FAKE_NVML");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; words >> word;) {
    if (word == std::string("all:") + name || (device == 0 && word == name)) return true;
  }
  return false;
}

struct Device {
  int number;
  unsigned long long errors = 0;
};
Device devices[kDevices] = {{0}, {1}};

Device& of(void* handle) { return *static_cast<Device*>(handle); }

int alive(void* handle) { return fault("falls", of(handle).number) ? kLost : kSuccess; }

int give(void* handle, unsigned* value, unsigned found) {
  if (const int status = alive(handle)) return status;
  *value = found;
  return kSuccess;
}

int text(void* handle, char* to, unsigned size, const std::string& found) {
  if (const int status = alive(handle)) return status;
  std::snprintf(to, size, "%s", found.c_str());
  return kSuccess;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string address(int number) {
  char found[32];
  std::snprintf(found, sizeof found, "00000000:%02X:00.0", 0x3B + number);
  return found;
}

constexpr unsigned kMilliwatts = 250'000;

}  // namespace

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, identity, subsystem;
  char address[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned instance, compute;
};
struct EventData {
  void* device;
  unsigned long long type, data;
  unsigned instance, compute;
};

extern "C" {

int nvmlInit_v2() {
  if (fault("driver", 0)) return kNoDriver;
  if (fault("hang", 0)) {
    while (true) pause();
  }
  return kSuccess;
}
int nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(int status) {
  return status == kNoDriver ? "Driver Not Loaded" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char* to, unsigned size) {
  std::snprintf(to, size, "550.54.15");
  return kSuccess;
}
int nvmlSystemGetNVMLVersion(char* to, unsigned size) {
  std::snprintf(to, size, "12.550.54.15");
  return kSuccess;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = kDevices;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned place, void** device) {
  if (fault("lost", static_cast<int>(place))) return kLost;
  *device = &devices[place];
  return kSuccess;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* wanted, void** device) {
  unsigned domain = 0, bus = 0;
  std::sscanf(wanted, "%x:%x", &domain, &bus);
  const int place = static_cast<int>(bus) - 0x3B;
  if (domain != 0 || place < 0 || place >= kDevices) return kNotFound;
  return nvmlDeviceGetHandleByIndex_v2(static_cast<unsigned>(place), device);
}
int nvmlDeviceGetPciInfo_v3(void* device, Pci* info) {
  std::memset(info, 0, sizeof *info);
  std::snprintf(info->address, sizeof info->address, "%s", address(of(device).number).c_str());
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* to, unsigned size) {
  return text(device, to, size, "Fake H100");
}
int nvmlDeviceGetUUID(void* device, char* to, unsigned size) {
  return text(device, to, size, "GPU-" + std::to_string(of(device).number));
}
int nvmlDeviceGetVbiosVersion(void* device, char* to, unsigned size) {
  return text(device, to, size, "96.00.74.00.01");
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  if (const int status = alive(device)) return status;
  *memory = {80ULL << 30, 79ULL << 30, 1ULL << 30};
  return kSuccess;
}
int nvmlDeviceGetCurrPcieLinkGeneration(void* device, unsigned* value) {
  return give(device, value, 5);
}
int nvmlDeviceGetMaxPcieLinkGeneration(void* device, unsigned* value) {
  return give(device, value, 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(void* device, unsigned* value) {
  return give(device, value, fault("width", of(device).number) ? 8 : 16);
}
int nvmlDeviceGetMaxPcieLinkWidth(void* device, unsigned* value) { return give(device, value, 16); }
int nvmlDeviceGetClockInfo(void* device, unsigned domain, unsigned* value) {
  const bool slow = fault("throttle", of(device).number);
  return give(device, value, domain == 2 ? 2619 : slow ? 990 : 1980);
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned domain, unsigned* value) {
  return give(device, value, domain == 2 ? 2619 : 1980);
}
int nvmlDeviceGetApplicationsClock(void* device, unsigned domain, unsigned* value) {
  return give(device, value, domain == 2 ? 2619 : fault("low", of(device).number) ? 1200 : 1980);
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* mask) {
  if (const int status = alive(device)) return status;
  *mask = fault("throttle", of(device).number) ? 0x4 | 0x40 : 0;
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* value) {
  return give(device, value, kMilliwatts);
}
int nvmlDeviceGetTemperature(void* device, unsigned, unsigned* value) {
  return give(device, value, fault("throttle", of(device).number) ? 91 : 45);
}
int nvmlDeviceGetTemperatureThreshold(void* device, unsigned, unsigned* value) {
  return give(device, value, 87);
}
int nvmlDeviceGetEccMode(void* device, unsigned* current, unsigned* pending) {
  *pending = 1;
  return give(device, current, fault("off", of(device).number) ? 0 : 1);
}
int nvmlDeviceGetTotalEccErrors(void* device, unsigned kind, unsigned, unsigned long long* count) {
  if (const int status = alive(device)) return status;
  const bool some = kind == 1 && fault("ecc", of(device).number);
  *count = some ? static_cast<unsigned long long>(now()) + ++of(device).errors : 0;
  return kSuccess;
}
int nvmlDeviceGetRetiredPages(void* device, unsigned cause, unsigned* count, void* pages) {
  const bool some = cause == 1 && fault("retired", of(device).number);
  if (some && pages == nullptr) {
    *count = 2;
    return kTooSmall;
  }
  *count = 0;
  return kSuccess;
}
int nvmlDeviceGetRetiredPagesPendingStatus(void* device, unsigned* value) {
  return give(device, value, fault("retired", of(device).number));
}
int nvmlDeviceGetPersistenceMode(void* device, unsigned* value) {
  return give(device, value, !fault("off", of(device).number));
}
int nvmlDeviceGetComputeMode(void* device, unsigned* value) {
  return give(device, value, fault("off", of(device).number) ? 2 : 0);
}
int nvmlDeviceGetNvLinkState(void* device, unsigned link, unsigned* active) {
  if (link >= 4) return kNotSupported;
  return give(device, active, !(link == 3 && fault("nvlink", of(device).number)));
}

struct Events {
  int device;
  int waits;
};
int nvmlEventSetCreate(void** set) {
  *set = new Events{-1, 0};
  return kSuccess;
}
int nvmlEventSetFree(void* set) {
  delete static_cast<Events*>(set);
  return kSuccess;
}
int nvmlDeviceRegisterEvents(void* device, unsigned long long, void* set) {
  static_cast<Events*>(set)->device = of(device).number;
  return kSuccess;
}
int nvmlEventSetWait_v2(void* set, EventData* data, unsigned) {
  Events& events = *static_cast<Events*>(set);
  // A reader asks until there is none any more: the first two questions belong together.
  const int wait = ++events.waits;
  if ((wait != 1 && wait != 3) || !fault("xid", events.device)) return kTimeout;
  *data = {&devices[events.device], 0x8, wait == 1 ? 13U : 31U, 0, 0};
  return kSuccess;
}

#ifndef FAKE_OLD
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* value) {
  return give(device, value, 700'000);
}
int nvmlDeviceGetPowerManagementDefaultLimit(void* device, unsigned* value) {
  return give(device, value, 700'000);
}
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* value) {
  if (const int status = alive(device)) return status;
  if (fault("counter", of(device).number)) return kNotSupported;
  *value = static_cast<unsigned long long>(now() * kMilliwatts);
  return kSuccess;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  *pending = 0;
  return give(device, current, fault("mig", of(device).number));
}
int nvmlDeviceGetRemappedRows(void* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  *uncorrected = *pending = *failed = 0;
  return give(device, corrected, 0);
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* found) {
  if (const int status = alive(device)) return status;
  const bool busy = fault("busy", of(device).number);
  if (busy) found[0] = {1, 12ULL << 30, 0, 0};
  *count = busy;
  return kSuccess;
}
#endif
}
