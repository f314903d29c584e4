/* Programs that make sampling difficult, by name. Each prints the same with and without it. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static unsigned long work(long n) {
  unsigned long x = 88172645463325252UL;
  for (long i = 0; i < n * 1000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    __asm__ volatile("" : "+r"(x));
  }
  return x;
}

static volatile sig_atomic_t ticks;
static void tick(int number) {
  (void)number;
  ++ticks;
}

/* The program's own profiler. */
static int uses_sigprof(void) {
  const struct itimerval times = {{0, 20000}, {0, 20000}};
  signal(SIGPROF, tick);
  setitimer(ITIMER_PROF, &times, NULL);
  work(200000);
  printf("%s\n", ticks > 2 ? "profiled" : "not profiled");
  return 0;
}

/* Handlers for all signals. */
static int handles_all(void) {
  work(50000);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = tick;
  for (int number = 1; number <= SIGRTMAX; ++number) sigaction(number, &action, NULL);
  work(100000);
  printf("%d ticks\n", (int)ticks);
  return 0;
}

static int forks(void) {
  work(50000);
  const pid_t child = fork();
  if (child == 0) {
    work(50000);
    exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  work(50000);
  printf("%d\n", WEXITSTATUS(status));
  return 0;
}

static int crashes(void) {
  work(800000);
  fflush(stdout);
  raise(SIGSEGV);
  return 0;
}

static void* one_of_many(void* argument) {
  work(8000);
  return argument;
}

static int many_threads(void) {
  pthread_t threads[100];
  for (int i = 0; i < 100; ++i) pthread_create(&threads[i], NULL, one_of_many, NULL);
  for (int i = 0; i < 100; ++i) pthread_join(threads[i], NULL);
  printf("100\n");
  return 0;
}

static int fills_disk(void) {
  work(400000);
  printf("done\n");
  return 0;
}

__attribute__((noinline)) static unsigned long descends(int calls) {
  return calls > 0 ? 1 + descends(calls - 1) : work(500);
}

/* Computes on ever different stacks, until its input ends. */
static int waits_for_input(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  unsigned long sum = 0;
  for (int i = 0; poll(&input, 1, 0) == 0; ++i) sum += descends(i * 37 % 150);
  printf("%s\n", sum ? "done" : "nothing");
  return 0;
}

/* Code that was made at run time, which calls `work` and has neither a table nor a name. */
static int compiles(void) {
  unsigned char* code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#if defined(__x86_64__)
  const uint64_t target = (uint64_t)&work;
  unsigned char bytes[] = {0x55, 0x48, 0x89, 0xe5,                   /* push %rbp; mov %rsp, %rbp */
                           0x48, 0xb8, 0,    0,    0, 0, 0, 0, 0, 0, /* mov target, %rax */
                           0xff, 0xd0, 0x5d, 0xc3};                  /* call *%rax; pop %rbp; ret */
  memcpy(bytes + 6, &target, sizeof target);
  memcpy(code, bytes, sizeof bytes);
  ((unsigned long (*)(long))code)(200000);
#endif
  printf("compiled\n");
  return 0;
}

/* Code that uses the frame pointer as a number. */
static int misleads(void) {
#if defined(__x86_64__)
  unsigned char* code =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const unsigned char bytes[] = {
      0x55, 0x48, 0xc7, 0xc5, 0x08, 0,    0,   0, /* push %rbp; mov $8, %rbp */
      0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};  /* 1: dec %rdi; jne 1b; pop %rbp; ret */
  memcpy(code, bytes, sizeof bytes);
  ((void (*)(long))code)(500000000L);
#endif
  printf("misled\n");
  return 0;
}

static void* on_own_stack(void* argument) {
  (void)argument;
  work(100000);
  return NULL;
}

/* A handler on a stack of its own, and a thread with a small stack. */
static void in_handler(int number) {
  (void)number;
  work(100000);
}

static int has_stacks(void) {
  static char room[1 << 16];
  const stack_t other = {.ss_sp = room, .ss_size = sizeof room};
  sigaltstack(&other, NULL);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = in_handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  pthread_t thread;
  pthread_create(&thread, &attributes, on_own_stack, NULL);
  pthread_join(thread, NULL);
  printf("stacks\n");
  return 0;
}

/* Runs WORDS where the kernel refuses these two calls. */
static int without(unsigned first, unsigned second, char** words) {
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 3;
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 3;
  execv(words[0], words);
  return 4;
}

int main(int count, char** words) {
  static const struct {
    const char* name;
    int (*run)(void);
  } kinds[] = {{"sigprof", uses_sigprof}, {"all-signals", handles_all}, {"fork", forks},
               {"crash", crashes},        {"threads", many_threads},    {"full", fills_disk},
               {"compiled", compiles},    {"misleading", misleads},     {"stacks", has_stacks},
               {"input", waits_for_input}};
  static const struct {
    const char* name;
    unsigned first, second;
  } refused[] = {{"without-timers", SYS_timer_create, SYS_timer_create},
                 {"without-clocks", SYS_timer_create, SYS_perf_event_open},
                 {"without-reads", SYS_process_vm_readv, SYS_process_vm_readv}};
  for (size_t i = 0; count > 2 && i < sizeof refused / sizeof *refused; ++i) {
    if (strcmp(words[1], refused[i].name) == 0)
      return without(refused[i].first, refused[i].second, words + 2);
  }
  for (size_t i = 0; count > 1 && i < sizeof kinds / sizeof *kinds; ++i) {
    if (strcmp(words[1], kinds[i].name) == 0) return kinds[i].run();
  }
  return 2;
}
