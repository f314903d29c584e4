// A program that uses instructions which the processor lacks is killed without a message, often
// before main(), in a static initialiser. So this unit checks first:
//
// - It is compiled for the architecture's baseline (see CMakeLists.txt in this folder), and uses
// neither templates nor inline functions of the C++ library: the linker keeps one copy of such a
// function, which may come from an optimised unit.
// - It runs from .preinit_array, that is before all initialisers, those of shared libraries too
// (System V ABI, "Initialization and Termination Functions"). Libraries that select their code at
// run time, such as OpenBLAS and MPI, need no check.
#include "processor/check.hpp"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/test_build.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

// The program's name, in its messages.
#ifndef ASSAY_PROGRAM
#define ASSAY_PROGRAM "assay-kernels"
#endif

namespace {

#if defined(__x86_64__)

enum Register { kEax, kEbx, kEcx, kEdx };

// State that the operating system must save for a set, as bits of XCR0 (Intel SDM 1, 13.3): SSE and
// AVX; additionally opmask and ZMM; tiles; the further general registers.
constexpr unsigned kNone = 0;
constexpr unsigned kAvx = 0x6;
constexpr unsigned kAvx512 = 0xe6;
constexpr unsigned kTiles = 0x60000;
constexpr unsigned kGeneral = 0x80000;

// Where CPUID reports a set (Intel SDM 2A, CPUID; AMD APM 3, appendix E).
struct Set {
  const char* name;
  unsigned leaf, subleaf;
  Register where;
  int bit;
  unsigned state;
};

constexpr unsigned kExtended = 0x80000001;
constexpr Set kSets[] = {
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"pclmulqdq", 1, 0, kEcx, 1, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"sse4_1", 1, 0, kEcx, 19, kNone},
    {"sse4_2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"aes", 1, 0, kEcx, 25, kNone},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"bmi1", 7, 0, kEbx, 3, kNone},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"adx", 7, 0, kEbx, 19, kNone},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"avx512pf", 7, 0, kEbx, 26, kAvx512},
    {"avx512er", 7, 0, kEbx, 27, kAvx512},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"avx512_vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512_vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512_bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512_vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"avx512_fp16", 7, 0, kEdx, 23, kAvx512},
    {"amx_tile", 7, 0, kEdx, 24, kTiles},
    {"avx_vnni", 7, 1, kEax, 4, kAvx},
    {"avx512_bf16", 7, 1, kEax, 5, kAvx512},
    {"avx_ifma", 7, 1, kEax, 23, kAvx},
    {"apx_f", 7, 1, kEdx, 21, kGeneral},
    {"lzcnt", kExtended, 0, kEcx, 5, kNone},
    {"sse4a", kExtended, 0, kEcx, 6, kNone},
    {"xop", kExtended, 0, kEcx, 11, kAvx},
    {"fma4", kExtended, 0, kEcx, 16, kAvx},
    {"tbm", kExtended, 0, kEcx, 21, kNone},
};

bool cpuid_bit(unsigned leaf, unsigned subleaf, Register where, int bit) {
  unsigned found[4] = {};
  return __get_cpuid_count(leaf, subleaf, &found[kEax], &found[kEbx], &found[kEcx], &found[kEdx]) &&
         (found[where] >> bit & 1u) != 0;
}

// XCR0; 0 if the operating system has not enabled it (OSXSAVE).
unsigned kept_state() {
  if (!cpuid_bit(1, 0, kEcx, 27)) return 0;
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool has(const Set& set) {
  return cpuid_bit(set.leaf, set.subleaf, set.where, set.bit) &&
         (set.state == kNone || (kept_state() & set.state) == set.state);
}

#elif defined(__aarch64__)

// Linux reports the sets in the auxiliary vector (arch/arm64, elf_hwcaps). `bits`: of a vector of
// SVE, if the program was compiled only for that length.
struct Set {
  const char* name;
  unsigned long vector;
  int bit;
  int bits;
};

constexpr Set kSets[] = {
    {"crc32", AT_HWCAP, 7, 0},      {"atomics", AT_HWCAP, 8, 0},    {"asimdhp", AT_HWCAP, 10, 0},
    {"asimdrdm", AT_HWCAP, 12, 0},  {"jscvt", AT_HWCAP, 13, 0},     {"fcma", AT_HWCAP, 14, 0},
    {"lrcpc", AT_HWCAP, 15, 0},     {"asimddp", AT_HWCAP, 20, 0},   {"sve", AT_HWCAP, 22, 0},
    {"sve2", AT_HWCAP2, 1, 0},      {"frint", AT_HWCAP2, 8, 0},     {"i8mm", AT_HWCAP2, 13, 0},
    {"bf16", AT_HWCAP2, 14, 0},     {"sve:128", AT_HWCAP, 22, 128}, {"sve:256", AT_HWCAP, 22, 256},
    {"sve:512", AT_HWCAP, 22, 512},
};

bool has(const Set& set) {
  if ((getauxval(set.vector) >> set.bit & 1ul) == 0) return false;
  constexpr int kGetLength = 51;        // PR_SVE_GET_VL
  constexpr int kLengthBytes = 0xffff;  // PR_SVE_VL_LEN_MASK
  return set.bits == 0 || (prctl(kGetLength, 0, 0, 0, 0) & kLengthBytes) * 8 == set.bits;
}

#else

// Other architectures: no way to query the processor is known here.
struct Set {
  const char* name;
};
constexpr Set kSets[] = {{""}};
bool has(const Set&) { return true; }

#endif

constexpr size_t kCount = sizeof kSets / sizeof kSets[0];

// Appends as much as fits, and the terminating zero.
void append(char* text, size_t size, const char* more, size_t length) {
  const size_t used = strlen(text);
  if (size <= used + 1) return;
  const size_t fits = length < size - used - 1 ? length : size - used - 1;
  memcpy(text + used, more, fits);
  text[used + fits] = '\0';
}

bool is_word(const char* name, const char* word, size_t length) {
  return strlen(name) == length && memcmp(name, word, length) == 0;
}

bool lacks(const char* word, size_t length) {
  for (const Set& set : kSets) {
    if (is_word(set.name, word, length)) return !has(set);
  }
  return false;
}

// In a build for tests: the processor is treated as lacking the sets that this variable names.
const char* pretended(char** environment) {
  static const char name[] = "ASSAY_TEST_PROCESSOR_LACKS=";
  for (char** each = environment; each && *each; ++each) {
    if (strncmp(*each, name, sizeof name - 1) == 0) return *each + sizeof name - 1;
  }
  return nullptr;
}

// Ends the program with a message unless the processor has all sets that it was compiled for.
void check_processor(int, char**, char** environment) {
  char missing[512] = "";
  int count = assay_lacking(assay_built_for, missing, sizeof missing);
  if (const char* lacking = assay::kTestFaults ? pretended(environment) : nullptr) {
    missing[0] = '\0';
    append(missing, sizeof missing, lacking, strlen(lacking));
    append(missing, sizeof missing, " ", 1);
    count = 1;
  }
  if (count == 0) return;
  utsname system = {};
  uname(&system);
  char said[1024] = "";
  const auto say = [&](const char* words) { append(said, sizeof said, words, strlen(words)); };
  say(ASSAY_PROGRAM ": the processor of host '");
  say(system.nodename);
  say("' lacks ");
  append(said, sizeof said, missing, strlen(missing) - 1);  // without the last space
  say(", which this program was built for; build it on that host (assay makes a build for each "
      "kind "
      "of processor)\n");
  const ssize_t written = write(STDERR_FILENO, said, strlen(said));
  (void)written;  // an error can't be reported
  _exit(assay::kExitProcessor);
}

// Called by the dynamic linker, or by the start code of a static program, with main()'s arguments.
__attribute__((section(".preinit_array"), used)) void (*run_first)(int, char**,
                                                                   char**) = check_processor;

}  // namespace

int assay_lacking(const char* sets, char* text, size_t size) {
  int count = 0;
  for (const char* word = sets; *word != '\0';) {
    const size_t length = strcspn(word, " ");
    if (length > 0 && lacks(word, length)) {
      append(text, size, word, length);
      append(text, size, " ", 1);
      ++count;
    }
    word += length + (word[length] == ' ' ? 1 : 0);
  }
  return count;
}

const char* assay_known_set(size_t number) {
  return number < kCount ? kSets[number].name : nullptr;
}
