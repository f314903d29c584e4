#include "sampling/walk.hpp"

#include <dlfcn.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

namespace assay::trace {
namespace {

// The unwinder is the one of GCC's run-time library, which reads the unwind tables (.eh_frame). It
// is linked into this library, so that tables that the program registers take no lock here. With
// glibc 2.35 it finds tables by _dl_find_object, which takes no lock either.
struct Walk {
  Stack* to;
  std::uint64_t first;  // the interrupted instruction
  std::uint64_t low, high;
  std::uint64_t last;  // the stack pointer of the frame before
  int own;             // frames of the handler so far
  bool seen;           // they are past
  bool pointer;        // the present frame is taken for one with a frame pointer
};

thread_local Walk* current __attribute__((tls_model("initial-exec"))) = nullptr;

// Rules for code without a table, as DWARF 5, 6.4 has them. The return address of a function is the
// last word of its frame (System V ABI).
struct __attribute__((packed)) Rules {
  std::uint32_t cie_length = 20;
  std::uint32_t cie_id = 0;
  std::uint8_t version = 1;
  char augmentation[1] = {};
  std::uint8_t code_alignment = 1;
  std::uint8_t data_alignment = 0x78;  // -8
  std::uint8_t return_register;
  std::uint8_t rules[11];
  std::uint32_t fde_length = 20;
  std::uint32_t fde_cie = 28;  // from here back to the CIE
  std::uint64_t begin = 1;     // all code
  std::uint64_t size = ~std::uint64_t{0} >> 1;
};
constexpr std::uint8_t kDefineFrame = 0x0c, kSaved = 0x80;  // DW_CFA_def_cfa, DW_CFA_offset

#if defined(__x86_64__)
constexpr std::uint8_t kPointer = 6, kReturn = 16, kStack = 7;
#elif defined(__aarch64__)
constexpr std::uint8_t kPointer = 29, kReturn = 30, kStack = 31;
#else
constexpr std::uint8_t kPointer = 0, kReturn = 0, kStack = 0;
#endif
constexpr bool kHasRules = kReturn != 0;

// Code with frame pointers, as compilers at run time make it: the pointer points to that of the
// caller, which the return address follows. `good` checks the pointer before it is used.
constinit Rules pointer_rules{
    .return_register = kReturn,
    .rules = {kDefineFrame, kPointer, 16, kSaved | kPointer, 2, kSaved | kReturn, 1}};
// The trampoline of Python 3.12 on x86-64, whose frame is one word.
constinit Rules trampoline_rules{.return_register = kReturn,
                                 .rules = {kDefineFrame, kStack, 16, kSaved | kReturn, 1}};

// Whether that code returns to `address + 1`: add $8, %rsp; ret. The kernel reads the bytes, since
// the address may be wrong.
bool is_trampoline(void* address) {
#if defined(__x86_64__)
  constexpr std::uint8_t kEnd[] = {0x48, 0x83, 0xc4, 0x08, 0xc3};
  std::uint8_t found[sizeof kEnd] = {};
  iovec to{found, sizeof found}, from{static_cast<char*>(address) + 1, sizeof found};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof found &&
         memcmp(found, kEnd, sizeof kEnd) == 0;
#else
  (void)address;
  return false;
#endif
}

struct Bases {  // dwarf_eh_bases of GCC's unwind-dw2-fde.h
  void* text;
  void* data;
  void* function;
};

bool good(const Walk& walk, std::uint64_t pointer) {
  return pointer >= walk.last && pointer % 8 == 0 && pointer < walk.high &&
         walk.high - pointer >= 16;
}

// The stack pointer in a frame, marked if the frame is of Python's interpreter.
std::uint64_t top_of(_Unwind_Context* context, std::uint64_t stack) {
  const std::uint64_t function = interpreter_function.load(std::memory_order_relaxed);
  const bool runs =
      function != 0 && static_cast<std::uint64_t>(_Unwind_GetRegionStart(context)) == function;
  return (stack & ~kInterpreter) | (runs ? kInterpreter : 0);
}

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  int exact = 0;
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIPInfo(context, &exact));
  const auto stack = static_cast<std::uint64_t>(_Unwind_GetCFA(context));
  if (!walk.seen) {
    walk.seen = exact && address == walk.first;
    if (!walk.seen) return ++walk.own < 12 ? _URC_NO_REASON : _URC_END_OF_STACK;
    walk.last = stack;
    walk.to->tops[0] = top_of(context, stack);
  } else {
    if (walk.to->count == kMostFrames) {
      walk.to->cut = true;
      return _URC_END_OF_STACK;
    }
    // A return address lies after its call, which may be the last instruction of a function.
    walk.to->tops[walk.to->count] = top_of(context, stack);
    walk.to->frames[walk.to->count++] = exact ? address : address - 1;
  }
  if (stack < walk.last || stack < walk.low || stack >= walk.high) return _URC_END_OF_STACK;
  walk.last = stack;
  if (walk.pointer && !good(walk, static_cast<std::uint64_t>(_Unwind_GetGR(context, kPointer)))) {
    return _URC_END_OF_STACK;
  }
  return _URC_NO_REASON;
}

std::uint64_t interrupted(const void* context) {
  const auto* state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uint64_t>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return state->uc_mcontext.pc;
#else
  (void)state;
  return 0;
#endif
}

}  // namespace

constinit std::atomic<std::uint64_t> interpreter_function{0};
// GCC's unwinder asks _dl_find_object since GCC 12, if the C library has it (glibc 2.35).
bool walks_without_locks() noexcept {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
  return false;
#else
  return dlsym(RTLD_DEFAULT, "_dl_find_object") != nullptr;
#endif
}

void walk(void* context, std::uint64_t low, std::uint64_t high, Stack& to) noexcept {
  to.count = 0;
  to.cut = false;
  Walk mine{&to, interrupted(context), low, high, 0, 0, false, false};
  to.tops[0] = 0;
  to.frames[to.count++] = mine.first;
  if (high == 0) return;
  current = &mine;
  _Unwind_Backtrace(step, &mine);
  current = nullptr;
}

}  // namespace assay::trace

// The linker directs the unwinder's search for tables here (--wrap).
extern "C" {

const void* __real__Unwind_Find_FDE(void* address, assay::trace::Bases* bases);

const void* __wrap__Unwind_Find_FDE(void* address, assay::trace::Bases* bases) {
  const void* found = __real__Unwind_Find_FDE(address, bases);
  auto* const current = assay::trace::current;
  if (!current) return found;
  current->pointer = false;
  if (found || !assay::trace::kHasRules) return found;
  // The kernel's frame of the signal may have no table, as on AArch64: the unwinder knows its code.
  const bool interrupted = reinterpret_cast<std::uint64_t>(address) == current->first;
  if (!current->seen && !interrupted) return nullptr;
  *bases = {nullptr, nullptr, reinterpret_cast<void*>(1)};
  if (assay::trace::is_trampoline(address)) return &assay::trace::trampoline_rules.fde_length;
  current->pointer = true;
  return &assay::trace::pointer_rules.fde_length;
}
}
