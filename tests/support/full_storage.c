// Makes writing fail in the ranks of tests as if no space or quota were left: see full_storage.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Whether this is too much for the files whose whole path matches ASSAY_TEST_FULL.
static int refused(int file, const char* name, long long amount) {
  static long long used;
  const char* pattern = getenv("ASSAY_TEST_FULL");
  char link[64], path[PATH_MAX + NAME_MAX + 2];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, PATH_MAX);
  if (!pattern || length < 0) return 0;
  snprintf(path + length, NAME_MAX + 2, "%s%s", name ? "/" : "", name ? name : "");
  if (fnmatch(pattern, path, 0) != 0) return 0;
  if (__sync_add_and_fetch(&used, amount) <= atoll(getenv("ASSAY_TEST_FULL_AFTER"))) return 0;
  errno = atoi(getenv("ASSAY_TEST_FULL_ERRNO"));
  return 1;
}

ssize_t pwrite64(int file, const void* from, size_t bytes, off64_t offset) {
  static ssize_t (*real)(int, const void*, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  return refused(file, NULL, (long long)bytes) ? -1 : real(file, from, bytes, offset);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  return pwrite64(file, from, bytes, offset);
}

ssize_t write(int file, const void* from, size_t bytes) {
  static ssize_t (*real)(int, const void*, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  return refused(file, NULL, (long long)bytes) ? -1 : real(file, from, bytes);
}

// Creating a file counts as one, whatever is written to it.
int openat64(int directory, const char* name, int flags, ...) {
  static int (*real)(int, const char*, int, ...);
  if (!real) real = dlsym(RTLD_NEXT, "openat64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (flags & O_CREAT && refused(directory, name, 1)) return -1;
  return real(directory, name, flags, mode);
}

int openat(int directory, const char* name, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  return openat64(directory, name, flags, mode);
}
