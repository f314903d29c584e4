// A CUDA driver and an NVRTC without a device: kernels are compiled by the host's compiler, and run
// on the processor, item by item. Faults are planted by the environment variable FAKE_CUDA:
// "old" (the driver reports no device), "memory" (allocations fail), "lost:N" (the N-th launch
// fails, and everything after it), "apart" (no device reaches another), "text" (the compiler
// refuses each text), "devices:N", "of:D" (only the process that opened device D loses it),
// "asleep" (the driver never starts), "slow:D" (launches on device D take 300 ms longer), "hang:D"
// and "drop:D" (launches on device D never end, or fail as if it were lost; with "at:F" only those
// of function F); several are separated by commas. FAKE_CUDA_TEXTS: a folder to which the compiler
// writes each text (NAME.cu) and its options (NAME.options, one a line). fake_hip.cpp gives all
// this HIP's names.
#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Handle = void*;
using Pointer = std::uint64_t;

constexpr int kOutOfMemory = 2, kNoDevice = 100, kLost = 214, kNotFound = 500, kCompilation = 6,
              kNoAccess = 217, kNotReady = 600;
constexpr std::size_t kStack = 64 << 10;

std::vector<std::string> faults() {
  const char* const given = std::getenv("FAKE_CUDA");
  std::istringstream text(given == nullptr ? "" : given);
  std::vector<std::string> all;
  for (std::string each; std::getline(text, each, ',');) all.push_back(each);
  return all;
}
bool planted(const std::string& name) {
  const std::vector<std::string> all = faults();
  return std::find(all.begin(), all.end(), name) != all.end();
}
std::string text_of(const std::string& name) {
  for (const std::string& each : faults()) {
    if (each.rfind(name + ":", 0) == 0) return each.substr(name.size() + 1);
  }
  return "";
}
long number_of(const std::string& name, long otherwise) {
  const std::string text = text_of(name);
  return text.empty() ? otherwise : std::stol(text);
}

std::mutex launching;  // kernels run one after another, whatever thread launches them
long launches = 0;
int opened = -1;
thread_local int of_thread = -1;
std::atomic<bool> lost{false};
std::atomic<int> pending{0};  // operations of other libraries that the stream waits for

// Transfers with the host's memory wait until something is added after them, or is waited for: as
// on a device, the memory must stay until then.
struct Transfer {
  void* to;
  const void* from;
  std::size_t bytes;
};
struct Stream {
  void (*begin)(Handle);  // does what waits; for libraries beside this one, so it comes first
  std::vector<Transfer> waiting;
};
void begin_waiting(Handle stream) {
  std::vector<Transfer>& waiting = static_cast<Stream*>(stream)->waiting;
  for (const Transfer& each : waiting) std::memcpy(each.to, each.from, each.bytes);
  waiting.clear();
}

// What was added to the stream before must end first.
void wait_for_stream(Handle stream) {
  while (pending > 0 && !lost) std::this_thread::yield();
  if (!lost) begin_waiting(stream);
}
int add(Handle stream, const Transfer& transfer) {
  wait_for_stream(stream);
  if (lost) return kLost;
  static_cast<Stream*>(stream)->waiting.push_back(transfer);
  return 0;
}

struct Program {
  std::string text, library, log;
};

struct Function {
  std::string name;
  void (*run)(void**);
  bool synchronises;
  int arguments;
};

// Launches that were recorded instead of done.
struct Recorded {
  Handle function;
  unsigned groups, size;
  std::vector<std::uint64_t> words;
};
struct Graph {
  std::vector<Recorded> launches;
};
Graph* recording = nullptr;

void keep_text(const std::string& text, int count, const char* const* options) {
  const char* const folder = std::getenv("FAKE_CUDA_TEXTS");
  if (folder == nullptr) return;
  std::string all;
  for (int i = 0; i < count; ++i) all += std::string(options[i]) + "\n";
  const std::string base =
      std::string(folder) + "/" + std::to_string(std::hash<std::string>()(all + text));
  std::ofstream(base + ".options") << all;
  std::ofstream(base + ".cu") << text;
}

struct Event {
  std::chrono::steady_clock::time_point when;
};

// Ranges of the device's memory, which tell what a pointer points to.
std::mutex memory_mutex;
std::map<Pointer, std::size_t> device_memory;

// Programs that any test has compiled are kept. Each process loads a copy of its own, because
// programs have variables.
std::filesystem::path kept_for(const std::string& text) {
  return std::filesystem::path(KEPT_PROGRAMS) / std::to_string(std::hash<std::string>()(text));
}
bool copied(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::error_code failed;
  return std::filesystem::copy_file(from, to, failed) && !failed;
}
bool compile(const std::string& text, const std::string& base, Program& program) {
  std::ofstream(base + ".cpp") << text;
  const std::string command =
      "c++ -std=c++20 -O2 -fPIC -shared -w " + base + ".cpp -o " + base + ".so 2>" + base + ".log";
  const bool compiled = std::system(command.c_str()) == 0;
  std::ifstream log(base + ".log");
  program.log.assign(std::istreambuf_iterator<char>(log), {});
  for (const char* const suffix : {".cpp", ".log"}) unlink((base + suffix).c_str());
  if (!compiled) return false;
  const std::filesystem::path kept = kept_for(text);
  std::filesystem::path mine = kept;
  mine += "." + std::to_string(getpid());
  std::error_code failed;  // it is then compiled again
  if (copied(base + ".so", mine)) std::filesystem::rename(mine, kept, failed);
  return true;
}

// Files of compiled code, which the process removes when it ends.
std::set<std::string> loaded;
void remove_loaded() {
  for (const std::string& each : loaded) unlink(each.c_str());
}

}  // namespace

extern "C" {

struct Place {
  unsigned x;
};
Place threadIdx, blockIdx, blockDim, gridDim;

// ---- items of a group that wait for each other -------------------------------------------------

namespace {
struct Item {
  ucontext_t context{};
  std::unique_ptr<char[]> stack;
  bool ended = false;
};
ucontext_t scheduler;
std::vector<Item> items;
unsigned current = 0;
Function* running = nullptr;
void** arguments = nullptr;

void begin_item() {
  running->run(arguments);
  items[current].ended = true;
  swapcontext(&items[current].context, &scheduler);
}
}  // namespace

void fake_synchronise() {
  swapcontext(&items[current].context, &scheduler);
  threadIdx.x = current;
}

static void run_group_in_turns(unsigned size) {
  items.resize(size);
  for (Item& item : items) {
    if (!item.stack) item.stack = std::make_unique<char[]>(kStack);
    item.ended = false;
    getcontext(&item.context);
    item.context.uc_stack.ss_sp = item.stack.get();
    item.context.uc_stack.ss_size = kStack;
    item.context.uc_link = &scheduler;
    makecontext(&item.context, begin_item, 0);
  }
  for (bool more = true; more;) {
    more = false;
    for (current = 0; current < size; ++current) {
      if (items[current].ended) continue;
      threadIdx.x = current;
      swapcontext(&scheduler, &items[current].context);
      more = more || !items[current].ended;
    }
  }
}

// ---- NVRTC -------------------------------------------------------------------------------------

int nvrtcVersion(int* major, int* minor) {
  *major = 12;
  *minor = 4;
  return 0;
}

int nvrtcCreateProgram(Handle* program, const char* text, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{text, "", ""};
  return 0;
}

int nvrtcCompileProgram(Handle handle, int count, const char* const* options) {
  auto& program = *static_cast<Program*>(handle);
  keep_text(program.text, count, options);
  if (planted("text")) {
    program.log = "kernel.cu(3): error: identifier \"x\" is undefined\n1 error detected\n";
    return kCompilation;
  }
  // Each function gets one that takes its arguments from an array of pointers.
  std::string whole = R"(
#include <utility>
#define __global__
#define __shared__
#define __device__
#define __restrict__ __restrict
#define __syncthreads fake_synchronise
struct Place { unsigned x; };
extern "C" Place threadIdx, blockIdx, blockDim, gridDim;
extern "C" void fake_synchronise();
template <typename... Types, std::size_t... places>
void call(void (*function)(Types...), void** given, std::index_sequence<places...>) {
  function(*static_cast<Types*>(given[places])...);
}
template <typename... Types>
void call(void (*function)(Types...), void** given) {
  call(function, given, std::index_sequence_for<Types...>());
}
template <typename... Types>
constexpr int number_of_arguments(void (*)(Types...)) {
  return sizeof...(Types);
}
)";
  for (int i = 0; i < count; ++i) {
    const std::string option = options[i];
    if (option.rfind("-D", 0) != 0) continue;
    const std::size_t equals = option.find('=');
    whole += "#define " + option.substr(2, equals - 2) + " " + option.substr(equals + 1) + "\n";
  }
  whole += program.text + "\n";
  std::string kernels = program.text.substr(program.text.find("#define INDEX"));
  const std::regex array(R"(GROUP_ARRAY\((\w+), (\w+)\))"), named(R"(FUNCTION (\w+)\()");
  for (std::sregex_iterator it(kernels.begin(), kernels.end(), array), end; it != end; ++it) {
    whole += (*it)[1].str() + " " + (*it)[2].str() + "[1 << 14];\n";
  }
  for (std::sregex_iterator it(kernels.begin(), kernels.end(), named), end; it != end; ++it) {
    const std::string name = (*it)[1].str();
    const std::size_t body = static_cast<std::size_t>(it->position());
    const std::string own = kernels.substr(body, kernels.find("FUNCTION", body + 1) - body);
    const bool waits = own.find("SYNCHRONISE") != std::string::npos;
    whole += "extern \"C\" void run_" + name + "(void** given) { call(" + name + ", given); }\n";
    whole += "extern \"C\" const int arguments_" + name + " = number_of_arguments(" + name + ");\n";
    whole += "extern \"C\" const bool waits_" + name + " = " + (waits ? "true" : "false") + ";\n";
  }
  std::string base = "/tmp/fake-cuda-XXXXXX";
  if (const char* const folder = std::getenv("TMPDIR")) base = std::string(folder) + "/XXXXXX";
  const int file = mkstemp(base.data());
  if (file < 0) return kCompilation;
  close(file);
  program.library = base + ".so";
  const bool compiled = copied(kept_for(whole), program.library) || compile(whole, base, program);
  unlink(base.c_str());
  return compiled ? 0 : kCompilation;
}

int nvrtcGetProgramLogSize(Handle handle, std::size_t* size) {
  *size = static_cast<Program*>(handle)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(Handle handle, char* to) {
  std::strcpy(to, static_cast<Program*>(handle)->log.c_str());
  return 0;
}
int nvrtcGetPTXSize(Handle handle, std::size_t* size) {
  *size = static_cast<Program*>(handle)->library.size() + 1;
  return 0;
}
int nvrtcGetPTX(Handle handle, char* to) {
  std::strcpy(to, static_cast<Program*>(handle)->library.c_str());
  return 0;
}
int nvrtcDestroyProgram(Handle* handle) {
  delete static_cast<Program*>(*handle);
  *handle = nullptr;
  return 0;
}
const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_COMPILATION"; }

// ---- driver ------------------------------------------------------------------------------------

int cuInit(unsigned) {
  while (planted("asleep")) std::this_thread::sleep_for(std::chrono::seconds(1));
  return planted("old") ? kNoDevice : 0;
}
int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number_of("devices", 1));
  return 0;
}
int cuDeviceGet(int* device, int place) {
  *device = place;
  return 0;
}
int cuDeviceGetName(char* name, int, int device) {
  std::sprintf(name, "Fake device %d", device);
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = std::size_t{1} << 30;
  return 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  switch (which) {
    case 1:
      *value = 1024;
      break;  // items of a group
    case 8:
      *value = 48 << 10;
      break;  // bytes of group memory
    case 13:
      *value = 1980000;
      break;  // kHz
    case 16:
      *value = 4;
      break;  // multiprocessors
    case 38:
      *value = 1 << 20;
      break;  // bytes of cache
    case 75:
      *value = 9;
      break;
    default:
      *value = 0;
  }
  return 0;
}
int cuDeviceGetPCIBusId(char* address, int, int device) {
  std::sprintf(address, "0000:%02X:00.0", 0x3B + device);
  return 0;
}
int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = !planted("apart") && device != peer ? 1 : 0;
  return 0;
}
int cuCtxEnablePeerAccess(Handle, unsigned) { return planted("apart") ? kNoAccess : 0; }
int cuCtxDisablePeerAccess(Handle) { return 0; }
int cuDevicePrimaryCtxRetain(Handle* context, int device) {
  opened = device;
  *context = reinterpret_cast<Handle>(static_cast<std::uintptr_t>(device) + 1);
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxSetCurrent(Handle context) {
  of_thread = static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
  return 0;
}

int cuMemAlloc_v2(Pointer* at, std::size_t bytes) {
  if (planted("memory")) return kOutOfMemory;
  *at = reinterpret_cast<Pointer>(std::malloc(bytes));
  const std::scoped_lock lock(memory_mutex);
  device_memory[*at] = bytes;
  return 0;
}
// CU_POINTER_ATTRIBUTE_MEMORY_TYPE only: memory of the device, or unknown to CUDA.
int cuPointerGetAttribute(void* value, int attribute, Pointer at) {
  const std::scoped_lock lock(memory_mutex);
  auto after = device_memory.upper_bound(at);
  if (attribute != 2 || after == device_memory.begin()) return 1;
  --after;
  if (at - after->first >= after->second) return 1;
  *static_cast<unsigned*>(value) = 2;
  return 0;
}
int cuMemFree_v2(Pointer at) {
  {
    const std::scoped_lock lock(memory_mutex);
    device_memory.erase(at);
  }
  std::free(reinterpret_cast<void*>(at));
  return 0;
}
int cuMemHostAlloc(void** at, std::size_t bytes, unsigned) {
  *at = std::malloc(bytes);
  return 0;
}
int cuMemFreeHost(void* at) {
  std::free(at);
  return 0;
}
int cuMemcpyHtoDAsync_v2(Pointer to, const void* from, std::size_t bytes, Handle stream) {
  return add(stream, {reinterpret_cast<void*>(to), from, bytes});
}
int cuMemcpyDtoHAsync_v2(void* to, Pointer from, std::size_t bytes, Handle stream) {
  return add(stream, {to, reinterpret_cast<const void*>(from), bytes});
}
int cuMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, Handle stream) {
  wait_for_stream(stream);
  if (lost) return kLost;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuStreamCreate(Handle* stream, unsigned) {
  *stream = new Stream{&begin_waiting, {}};
  return 0;
}
int cuStreamDestroy_v2(Handle stream) {
  delete static_cast<Stream*>(stream);
  return 0;
}
int cuStreamSynchronize(Handle stream) {
  wait_for_stream(stream);
  return lost ? kLost : 0;
}
int cuStreamQuery(Handle stream) {
  if (lost) return kLost;
  if (pending > 0) return kNotReady;
  begin_waiting(stream);
  return 0;
}

// For libraries beside this one that add work to a stream.
void fake_cuda_pending(int change) { pending += change; }
void fake_cuda_lose() { lost = true; }

int cuEventCreate(Handle* event, unsigned) {
  *event = new Event;
  return 0;
}
int cuEventRecord(Handle event, Handle stream) {
  wait_for_stream(stream);
  static_cast<Event*>(event)->when = std::chrono::steady_clock::now();
  return lost ? kLost : 0;
}
int cuEventElapsedTime(float* milliseconds, Handle begin, Handle end) {
  const auto span = static_cast<Event*>(end)->when - static_cast<Event*>(begin)->when;
  *milliseconds = std::chrono::duration<float, std::milli>(span).count();
  return 0;
}
int cuEventDestroy_v2(Handle event) {
  delete static_cast<Event*>(event);
  return 0;
}

int cuModuleLoadData(Handle* module, const void* image) {
  // The compiled kernels use variables and functions of this library.
  Dl_info own{};
  dladdr(reinterpret_cast<void*>(&cuModuleLoadData), &own);
  dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  const char* const path = static_cast<const char*>(image);
  *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  // Other devices may load the same code.
  static const int registered = std::atexit(remove_loaded);
  (void)registered;
  const std::scoped_lock lock(memory_mutex);
  loaded.insert(path);
  return *module == nullptr ? kNotFound : 0;
}
int cuModuleUnload(Handle) { return 0; }
int cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  void* const run = dlsym(module, (std::string("run_") + name).c_str());
  const void* const waits = dlsym(module, (std::string("waits_") + name).c_str());
  const void* const count = dlsym(module, (std::string("arguments_") + name).c_str());
  if (run == nullptr || waits == nullptr || count == nullptr) return kNotFound;
  *function = new Function{name, reinterpret_cast<void (*)(void**)>(run),
                           *static_cast<const bool*>(waits), *static_cast<const int*>(count)};
  return 0;
}

int cuLaunchKernel(Handle function, unsigned groups, unsigned, unsigned, unsigned size, unsigned,
                   unsigned, unsigned, Handle stream, void** given, void**) {
  if (recording != nullptr) {
    Recorded one{function, groups, size, {}};
    // Each argument of the caller is a word.
    for (int i = 0; i < static_cast<Function*>(function)->arguments; ++i) {
      one.words.push_back(*static_cast<const std::uint64_t*>(given[i]));
    }
    recording->launches.push_back(one);
    return 0;
  }
  const auto is_planted = [&](const std::string& fault) {
    const std::string at = text_of("at");
    return number_of(fault, -2) == of_thread &&
           (at.empty() || at == static_cast<Function*>(function)->name);
  };
  while (is_planted("hang")) std::this_thread::sleep_for(std::chrono::seconds(1));
  if (is_planted("slow")) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::scoped_lock lock(launching);
  if (is_planted("drop")) return kLost;
  if (++launches == number_of("lost", -1) && number_of("of", opened) == opened) lost = true;
  if (lost) return kLost;
  begin_waiting(stream);
  running = static_cast<Function*>(function);
  arguments = given;
  gridDim.x = groups;
  blockDim.x = size;
  for (blockIdx.x = 0; blockIdx.x < groups; ++blockIdx.x) {
    if (running->synchronises) {
      run_group_in_turns(size);
      continue;
    }
    for (threadIdx.x = 0; threadIdx.x < size; ++threadIdx.x) running->run(arguments);
  }
  return 0;
}

int cuStreamBeginCapture_v2(Handle, int) {
  recording = new Graph;
  return 0;
}
int cuStreamEndCapture(Handle, Handle* graph) {
  *graph = std::exchange(recording, nullptr);
  return 0;
}
int cuGraphDestroy(Handle graph) {
  delete static_cast<Graph*>(graph);
  return 0;
}
int cuGraphInstantiateWithFlags(Handle* instance, Handle graph, unsigned long long) {
  *instance = new Graph(*static_cast<Graph*>(graph));
  return 0;
}
int cuGraphExecDestroy(Handle instance) { return cuGraphDestroy(instance); }
int cuGraphLaunch(Handle instance, Handle stream) {
  for (Recorded& each : static_cast<Graph*>(instance)->launches) {
    std::vector<void*> given;
    for (std::uint64_t& word : each.words) given.push_back(&word);
    const int code = cuLaunchKernel(each.function, each.groups, 1, 1, each.size, 1, 1, 0, stream,
                                    given.data(), nullptr);
    if (code != 0) return code;
  }
  return 0;
}

int cuGetErrorName(int code, const char** name) {
  *name = code == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == kLost      ? "CUDA_ERROR_ECC_UNCORRECTABLE"
                               : "CUDA_ERROR";
  return 0;
}

}  // extern "C"
