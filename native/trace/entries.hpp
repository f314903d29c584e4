// The functions that this library puts before those of MPI. On the processors below each is a jump
// through a table, so that it can be passed on with the arguments as the program gave them.
#pragma once

#if defined(__x86_64__)
#define ASSAY_JUMP(place) "endbr64\n jmp *assay_entries+8*" #place "(%rip)\n"
#elif defined(__aarch64__) && defined(__LP64__)
#define ASSAY_JUMP(place)                                                    \
  "hint #34\n adrp x16, assay_entries\n add x16, x16, :lo12:assay_entries\n" \
  " ldr x16, [x16, #8*" #place "]\n br x16\n"
#endif

#ifdef ASSAY_JUMP
inline constexpr bool kJumps = true;
#define ASSAY_ENTRY(name, place)                                                   \
  asm(".text\n .balign 16\n .globl " #name "\n .type " #name ", %function\n" #name \
      ":\n " ASSAY_JUMP(place) " .size " #name ", .-" #name "\n");
#else
inline constexpr bool kJumps = false;
#define ASSAY_ENTRY(name, place) \
  decltype(name) name __attribute__((alias("assay_" #name), visibility("default")));
#endif

#define ASSAY_HIDDEN __attribute__((visibility("hidden"), used))

extern "C" ASSAY_HIDDEN void* assay_entries[];
extern const int kEntryCount;
extern const char* const kEntryNames[];
