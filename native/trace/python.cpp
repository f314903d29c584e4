#include "python.hpp"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "steps.hpp"

namespace assay::trace {
namespace {

// Of Python's stable interface, from 3.9 on. They are looked up: this library is loaded into any
// program. Objects are `void*`.
struct Python {
  int (*is_initialised)();
  void* (*this_thread)();
  int (*take)();
  void (*give)(int);
  void* (*frame)();
  void* (*code_of)(void*);  // a new reference, like the next one
  void* (*caller_of)(void*);
  int (*line_of)(void*);
  void* (*attribute)(void*, const char*);
  const char* (*text)(void*);
  void (*drop)(void*);
  void (*clear_error)();
  void* (*error)();
};
Python python;

template <class Function>
bool find(Function& to, const char* name) {
  to = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return to != nullptr;
}

bool find_python() {
  const char* wanted = getenv("ASSAY_PROFILE_PYTHON");
  if (wanted && strcmp(wanted, "off") == 0) return false;
  // Without a lock of the interpreter, threads could change the table below at once.
  if (dlsym(RTLD_DEFAULT, "PyUnstable_Module_SetGIL")) return false;
  return find(python.is_initialised, "Py_IsInitialized") &&
         find(python.this_thread, "PyGILState_GetThisThreadState") &&
         find(python.take, "PyGILState_Ensure") && find(python.give, "PyGILState_Release") &&
         find(python.frame, "PyEval_GetFrame") && find(python.code_of, "PyFrame_GetCode") &&
         find(python.caller_of, "PyFrame_GetBack") &&
         find(python.line_of, "PyFrame_GetLineNumber") &&
         find(python.attribute, "PyObject_GetAttrString") &&
         find(python.text, "PyUnicode_AsUTF8") && find(python.drop, "Py_DecRef") &&
         find(python.clear_error, "PyErr_Clear") && find(python.error, "PyErr_Occurred");
}

// Lines by code object and line. Entries are made with Python's lock, and only their numbers are
// read without it.
constexpr std::uint32_t kLines = 1U << 11;
constexpr int kMostCallers = 64;
PythonSite lines[kLines];
std::uint32_t used = 0;

std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  return value ^ value >> 32;
}

// Whether an address of code is in an extension module of Python: of the last ones, 2 address + 1
// if it is.
constexpr std::uint32_t kKnown = 1U << 8;
std::atomic<std::uint64_t> known[kKnown];

bool in_extension(std::uint64_t site) {
  auto& slot = known[mixed(site) % kKnown];
  const std::uint64_t found = slot.load(std::memory_order_relaxed);
  if (found >> 1 == site) return found & 1;
  Dl_info info{};
  const char* path =
      dladdr(reinterpret_cast<void*>(site), &info) && info.dli_fname ? info.dli_fname : "";
  const bool is = strstr(path, ".cpython-") || strstr(path, ".abi3.so") || strstr(path, "/mpi4py/");
  slot.store(site << 1 | is, std::memory_order_relaxed);
  return is;
}

void copy(char* to, std::size_t size, const char* from) {
  const std::size_t length = strlen(from);
  // The end of a long path is more informative than its beginning.
  if (length >= size) from += length - (size - 1);
  strncpy(to, from, size - 1);
}

// A text attribute of a code object into `to`; whether there is one.
bool read(void* code, const char* name, char* to, std::size_t size) {
  void* value = python.attribute(code, name);
  const char* text = value ? python.text(value) : nullptr;
  if (text) copy(to, size, text);
  if (value) python.drop(value);
  if (!text && !python.error()) return false;
  if (!text) python.clear_error();
  return text != nullptr;
}

// The entry of a line; nullptr without room. Keeps the reference to `code` if it makes one.
PythonSite* line_of(void* code, int line, bool* kept) {
  std::uint64_t place = mixed(reinterpret_cast<std::uint64_t>(code)) + static_cast<unsigned>(line);
  for (;; ++place) {
    PythonSite& slot = lines[place % kLines];
    if (slot.code == code && slot.line == line) return &slot;
    if (slot.code) continue;
    if (used >= kLines / 4 * 3) return nullptr;
    if (!read(code, "co_filename", slot.file, sizeof slot.file)) return nullptr;
    if (!read(code, "co_qualname", slot.function, sizeof slot.function)) {  // from 3.11 on
      read(code, "co_name", slot.function, sizeof slot.function);
    }
    ++used;
    slot.line = line;
    slot.code = code;
    *kept = true;
    python_step(slot.file, line, reinterpret_cast<std::uint64_t>(&slot));
    return &slot;
  }
}

// Those of the module that calls MPI, and of the import of modules.
bool is_between(const char* file) {
  return strstr(file, "/mpi4py/") || strncmp(file, "<frozen ", 8) == 0;
}

}  // namespace

std::uint64_t python_site(std::uint64_t site) noexcept {
  if (!in_extension(site)) return site;
  static const bool there = find_python();
  if (!there || !python.is_initialised() || !python.this_thread()) return site;
  const int state = python.take();
  // An exception that is being handled, or was raised before the call, stays as it is: nothing
  // below raises one, except for attributes that this Python lacks.
  std::uint64_t found = site;
  if (!python.error()) {
    void* frame = python.frame();  // borrowed
    bool own = false;
    for (int i = 0; frame && i < kMostCallers; ++i) {
      void* code = python.code_of(frame);
      bool kept = false;
      PythonSite* line = line_of(code, python.line_of(frame), &kept);
      if (!kept) python.drop(code);
      if (line && !is_between(line->file)) {
        found = reinterpret_cast<std::uint64_t>(line);
        break;
      }
      void* caller = python.caller_of(frame);
      if (own) python.drop(frame);
      frame = caller;
      own = true;
    }
    if (own && frame) python.drop(frame);
  }
  python.give(state);
  return found;
}

const PythonSite* python_line(std::uint64_t site) noexcept {
  const auto first = reinterpret_cast<std::uint64_t>(&lines[0]);
  if (site < first || site >= first + sizeof lines) return nullptr;
  return &lines[(site - first) / sizeof(PythonSite)];
}

}  // namespace assay::trace
