/* The ring buffer in which steps are marked: a file in the folder that $ASSAY_HEARTBEAT names, one
 * per process, mapped into its memory. Writing to it needs no system call, and a killed process
 * leaves an intact file. docs/formats/heartbeats.md ("Heartbeats") has its layout.
 */
#define _GNU_SOURCE
#include "heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kVersion = 1, kSlots = 8192, kHeader = 4096, kNames = 1000 };

struct slot {
  uint64_t time;   /* ns of CLOCK_MONOTONIC */
  uint32_t thread; /* of the process, from 1, in the order of their first steps */
  uint32_t number; /* of the step in this file, from 1, modulo 2^32; written last */
};

struct ring {
  uint64_t magic; /* "ASSAY-HB", as it stands in memory */
  uint32_t version;
  uint32_t slots;
  uint32_t pid;
  int32_t rank;  /* of MPI; -1: not known */
  int32_t ranks; /* their number; -1: not known */
  uint32_t unused;
  uint64_t monotonic; /* ns, when the file was created */
  uint64_t utc;       /* ns, at the same time */
  char host[64];
  char padding[16];
  uint64_t count; /* of steps whose write has begun; in a separate cache line */
  char rest[kHeader - 136];
  struct slot slot[kSlots];
};

/* Wiped in a child of fork(), which then creates its own file. */
static volatile uint32_t* alive;
static struct ring* ring;
static int off;
static int opening;
static pid_t owner; /* 0: the kernel wipes `alive`; the pid need not be compared */
static uint32_t threads;
static __thread uint32_t me;

static uint64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int32_t number_of(const char* const* names) {
  for (; *names; ++names) {
    const char* text = getenv(*names);
    char* end = NULL;
    const long value = text ? strtol(text, &end, 10) : -1;
    if (text && end != text && *end == '\0' && value >= 0 && value <= INT_MAX)
      return (int32_t)value;
  }
  return -1;
}

static int make_file(const char* folder, const char* host) {
  char path[PATH_MAX];
  int attempt;
  for (attempt = 0; attempt < kNames; ++attempt) {
    const int length = snprintf(path, sizeof path, "%s/%s-%ld.%d.heartbeat", folder, host,
                                (long)getpid(), attempt);
    int file;
    if (length < 0 || (size_t)length >= sizeof path) return -1;
    file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

static struct ring* map_file(const char* folder) {
  static const char* const rank[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
                                     "SLURM_PROCID", NULL};
  static const char* const ranks[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", NULL};
  struct ring* made;
  uint64_t magic;
  char host[64] = "";
  char* character;
  int file;
  gethostname(host, sizeof host - 1);
  for (character = host; *character; ++character)
    if (*character == '/') *character = '_';
  file = make_file(folder, host);
  if (file < 0) return NULL;
  /* Space is allocated now: a write to a mapped file on a full disk would kill the program. */
  if (posix_fallocate(file, 0, (off_t)sizeof *made) != 0) {
    close(file);
    return NULL;
  }
  made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (made == MAP_FAILED) return NULL;
  made->version = kVersion;
  made->slots = kSlots;
  made->pid = (uint32_t)getpid();
  made->rank = number_of(rank);
  made->ranks = number_of(ranks);
  made->monotonic = now(CLOCK_MONOTONIC);
  made->utc = now(CLOCK_REALTIME);
  memcpy(made->host, host, sizeof host);
  memcpy(&magic, "ASSAY-HB", sizeof magic);
  /* A reader that sees the magic sees the whole header. */
  __atomic_store_n(&made->magic, magic, __ATOMIC_RELEASE);
  return made;
}

static volatile uint32_t* map_alive(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  void* memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  owner = getpid();
#ifdef MADV_WIPEONFORK
  if (madvise(memory, page, MADV_WIPEONFORK) == 0) owner = 0;
#endif
  return memory;
}

static struct ring* opened(void) {
  const int error = errno; /* the program's errno must not change */
  const char* folder = getenv("ASSAY_HEARTBEAT");
  struct ring* made = NULL;
  /* A call while another thread opens the file returns: one missing step does no harm. */
  if (__atomic_exchange_n(&opening, 1, __ATOMIC_ACQUIRE)) return NULL;
  if (folder && *folder) {
    if (!alive) alive = map_alive();
    if (alive) made = map_file(folder);
  }
  if (made) {
    if (owner) owner = getpid();
    *alive = 1;
    __atomic_store_n(&ring, made, __ATOMIC_RELEASE);
  } else {
    __atomic_store_n(&off, 1, __ATOMIC_RELAXED);
  }
  __atomic_store_n(&opening, 0, __ATOMIC_RELEASE);
  errno = error;
  return made;
}

void assay_heartbeat(void) {
  struct ring* to;
  struct slot* slot;
  uint64_t count;
  if (__atomic_load_n(&off, __ATOMIC_RELAXED)) return;
  to = __atomic_load_n(&ring, __ATOMIC_ACQUIRE);
  if (!to || !*alive || (owner && owner != getpid())) {
    to = opened();
    if (!to) return;
  }
  if (!me) me = 1 + __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
  /* The count is written first: it shows readers which slots may be overwritten. */
  count = __atomic_fetch_add(&to->count, 1, __ATOMIC_ACQ_REL);
  slot = &to->slot[count % kSlots];
  __atomic_store_n(&slot->time, now(CLOCK_MONOTONIC), __ATOMIC_RELAXED);
  __atomic_store_n(&slot->thread, me, __ATOMIC_RELAXED);
  __atomic_store_n(&slot->number, (uint32_t)(count + 1), __ATOMIC_RELEASE);
}
