#include "sampling/python.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sampling/python_layout.hpp"
#include "sampling/python_names.hpp"
#include "sampling/store.hpp"

namespace assay::trace {
namespace {

std::uint64_t read_pointer(std::uint64_t address) {
  std::uint64_t value = 0;
  return read_memory(address, &value, sizeof value) ? value : 0;
}

// ---- Frames -------------------------------------------------------------------------------------

constexpr std::uint32_t kFrameBytes = 72;

// The first bytes of a frame. Frames lie close to each other, with the inner one above.
const std::uint8_t* frame_at(PythonCalls& calls, std::uint64_t frame) {
  constexpr std::uint64_t kBefore = sizeof calls.frames - kFrameBytes;
  if (frame == 0 || frame % 8 != 0) return nullptr;
  if (calls.near == 0 || frame < calls.near || frame > calls.near + kBefore) {
    calls.near = frame - kBefore;
    if (!read_memory(calls.near, calls.frames, sizeof calls.frames)) {
      calls.near = 0;
      return read_memory(frame, calls.frames, kFrameBytes) ? calls.frames : nullptr;
    }
  }
  return calls.frames + (frame - calls.near);
}

std::uint64_t pointer_in(const std::uint8_t* bytes, std::uint32_t offset) {
  std::uint64_t value = 0;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

// Adds the code object of a frame, whose caller and whether C called it are kept. False: it isn't
// one.
bool add_frame(PythonCalls& calls, std::uint64_t& frame, bool& is_entry) {
  const PythonLayout& layout = *interpreter.layout;
  const std::uint8_t* bytes = frame_at(calls, frame);
  if (!bytes) return false;
  calls.functions[calls.count++] = pointer_in(bytes, layout.code);
  frame = pointer_in(bytes, layout.previous);
  is_entry = layout.is_entry != kNone && bytes[layout.is_entry] != 0;
  return true;
}

// Replaces code objects by the numbers of their functions. False: another thread is in the way.
bool name_functions(PythonCalls& calls) {
  bool found_any = false;
  for (std::uint32_t first = 0; first < calls.count;) {
    iovec to[kCodes], from[kCodes];
    std::size_t wanted = 0;
    for (; wanted < kCodes && first + wanted < calls.count; ++wanted) {
      to[wanted] = {calls.codes[wanted], sizeof(Code)};
      from[wanted] = {reinterpret_cast<void*>(calls.functions[first + wanted]), sizeof(Code)};
    }
    const ssize_t bytes = process_vm_readv(interpreter.process, to, wanted, from, wanted, 0);
    if (bytes < 0 && errno != EFAULT && errno != EIO) interpreter.problem = errno;
    const std::size_t whole = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof(Code) : 0;
    for (std::size_t k = 0; k < whole; ++k) {
      std::uint64_t& function = calls.functions[first + k];
      std::uint64_t number = 0;
      const Found found = number_of(function, calls.codes[k], number);
      if (found == Found::kBusy) return false;
      function = found == Found::kFunction ? kPythonMark | number : 0;
      found_any = found_any || function != 0;
    }
    first += static_cast<std::uint32_t>(whole);
    if (whole < wanted) calls.functions[first++] = 0;  // this one can't be read
  }
  if (found_any) {
    ++interpreter.fitting;
  } else if (calls.sought) {
    ++interpreter.unfitting;
  }
  return true;
}

// The frames of 3.11: those between two calls in C lie behind the structure of the inner call.
void gather_entries(std::uint64_t thread, PythonCalls& calls) {
  const PythonLayout& layout = *interpreter.layout;
  std::uint64_t cframe = read_pointer(thread + layout.cframe);
  for (std::uint64_t last = 0; cframe > last && calls.count < kMostFrames;) {
    std::uint8_t bytes[32];
    if (!read_memory(cframe, bytes, sizeof bytes)) break;
    std::uint64_t frame = at<std::uint64_t>(bytes, layout.cframe_frame);
    calls.sought = calls.sought || frame != 0;
    const std::uint32_t before = calls.count;
    for (bool is_entry = false; !is_entry && calls.count < kMostFrames;) {
      if (!add_frame(calls, frame, is_entry)) break;
    }
    if (calls.count > before) calls.runner[calls.runners++] = {cframe, calls.count - before};
    last = cframe;
    cframe = at<std::uint64_t>(bytes, layout.cframe_previous);
  }
  calls.cut = calls.count == kMostFrames;
}

// The frames of 3.8 to 3.10, of which a call in C runs each. The calls in C are known by their
// structures or else by the stack. They are paired from outside: while a call begins or ends, the
// innermost ones may lack a partner.
void gather_chain(std::uint64_t thread, const Stack& stack, PythonCalls& calls) {
  const PythonLayout& layout = *interpreter.layout;
  std::uint64_t frame = read_pointer(thread + layout.frame);
  calls.sought = frame != 0;
  while (frame && calls.count < kMostFrames) {
    bool is_entry = false;
    if (!add_frame(calls, frame, is_entry)) break;
  }
  calls.cut = frame != 0;
  std::uint32_t count = 0;
  if (layout.cframe != kNone) {
    std::uint64_t cframe = read_pointer(thread + layout.cframe);
    const std::uint64_t root = thread;  // its last structure lies in the thread's state
    for (std::uint64_t last = 0; cframe > last && count < kMostFrames; ++count) {
      if (cframe >= root && cframe - root < 1024) break;
      calls.runner[count] = {cframe, 1};
      last = cframe;
      cframe = read_pointer(cframe + layout.cframe_previous);
    }
  } else {
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (stack.tops[i] & kInterpreter) calls.runner[count++] = {stack.tops[i], 1};
    }
  }
  // The runner of function k is number k + shift.
  const int shift =
      calls.cut || stack.cut ? 0 : static_cast<int>(count) - static_cast<int>(calls.count);
  const std::uint64_t outside = ~std::uint64_t{0};
  if (shift >= 0) {
    for (std::uint32_t k = 0; k < calls.count; ++k) {
      const std::uint32_t from = k + static_cast<std::uint32_t>(shift);
      calls.runner[k] = {from < count ? calls.runner[from].address : outside, 1};
    }
  } else {
    for (std::uint32_t k = calls.count; k-- > 0;) {
      const int from = static_cast<int>(k) + shift;
      const std::uint64_t first = count > 0 ? calls.runner[0].address : outside;
      calls.runner[k] = {from >= 0 ? calls.runner[from].address : first, 1};
    }
  }
  calls.runners = calls.count;
}

// Puts the functions behind the frames that run them, from the outermost one on, which moves
// outwards by as many places as there are functions.
void merge(Stack& stack, const PythonCalls& calls) {
  std::uint32_t to = stack.count + calls.count, function = calls.count, runner = calls.runners;
  const auto place = [&](std::uint64_t frame) {
    if (--to < kMostFrames) stack.frames[to] = frame;
  };
  const bool cut = to > kMostFrames;
  const std::uint32_t count = cut ? kMostFrames : to;
  for (std::uint32_t i = stack.count; i-- > 0;) {
    const std::uint64_t frame = stack.frames[i];
    while (runner > 0 &&
           (i == 0 || (stack.tops[i] & ~kInterpreter) <= calls.runner[runner - 1].address)) {
      for (std::uint32_t k = calls.runner[--runner].count; k > 0; --k) {
        // One without a name leaves its place to the frame itself.
        const std::uint64_t one = calls.functions[--function];
        place(one ? one : frame);
      }
    }
    place(frame);
  }
  stack.cut = stack.cut || calls.cut || cut;
  stack.count = count;
}

}  // namespace

// ---- The interpreter ----------------------------------------------------------------------------

void find_python() noexcept {
  Interpreter& found = interpreter;
  if (found.ready || found.sought.exchange(true)) return;
  const auto symbol = [](const char* name) { return dlsym(RTLD_DEFAULT, name); };
  const auto version = reinterpret_cast<const char* (*)()>(symbol("Py_GetVersion"));
  const char* wanted = getenv("ASSAY_PROFILE_PYTHON");
  if (!version || (wanted && strcmp(wanted, "off") == 0)) {
    found.sought = false;  // a library may bring it later
    return;
  }
  const char* text = version();  // "3.11.2 (main, …"
  int minor = 0;
  if (sscanf(text, "3.%d", &minor) != 1) minor = -1;
  if (minor < 0) {
    snprintf(found.version, sizeof found.version, "%.4s", text);
  } else {
    snprintf(found.version, sizeof found.version, "3.%d", minor);
  }
  found.this_thread = reinterpret_cast<void* (*)()>(symbol("PyGILState_GetThisThreadState"));
  found.code_type = reinterpret_cast<std::uint64_t>(symbol("PyCode_Type"));
  found.text_type = reinterpret_cast<std::uint64_t>(symbol("PyUnicode_Type"));
  found.process = getpid();
  interpreter_function = reinterpret_cast<std::uint64_t>(symbol("_PyEval_EvalFrameDefault"));
  if (sizeof(void*) == 8 && found.this_thread && found.code_type && found.text_type) {
    for (const PythonLayout& one : kPythonLayouts) {
      if (one.minor == minor) found.layout = &one;
    }
    found.this_thread();  // so that the dynamic linker has bound what it calls
  }
  // Later versions have code for each function, if they are asked for it.
  if (minor >= 12) return;
  found.ready.store(true, std::memory_order_release);
}

void follow_python() noexcept {
  interpreter.process = getpid();
  forget_functions();
}

bool add_python(Stack& stack, PythonCalls& calls) noexcept {
  Interpreter& found = interpreter;
  if (!found.ready.load(std::memory_order_acquire) || !found.layout) return true;
  // The key of the threads' states is read from the thread's own memory.
  const auto thread = reinterpret_cast<std::uint64_t>(found.this_thread());
  if (thread == 0) return true;
  calls.count = calls.runners = 0;
  calls.cut = calls.sought = false;
  // Whether the structures are as expected is checked with each stack: the thread's number, and the
  // types of all code objects and names.
  const PythonLayout& layout = *found.layout;
  if (read_pointer(thread + layout.thread_id) != static_cast<std::uint64_t>(pthread_self())) {
    ++found.unfitting;
    return true;
  }
  calls.near = 0;
  if (layout.is_entry != kNone) {
    gather_entries(thread, calls);
  } else {
    gather_chain(thread, stack, calls);
  }
  if (!name_functions(calls)) return false;
  merge(stack, calls);
  return true;
}

void note_python() noexcept {
  Interpreter& found = interpreter;
  if (!found.ready) return;
  const std::uint64_t fitting = found.fitting, unfitting = found.unfitting;
  const char* named = fitting > unfitting || (found.layout && unfitting == 0) ? "yes" : "no";
  const int problem = found.problem;
  sample_store().note(
      "{\"type\":\"interpreter\",\"version\":\"%s\",\"named\":\"%s\",\"problem\":\"%s\"}\n",
      found.version, problem ? "no" : named,
      problem         ? strerror(problem)
      : !found.layout ? "this version has no known layout"
      : unfitting > 0 ? "its structures differ from those of CPython"
                      : "");
}

}  // namespace assay::trace
