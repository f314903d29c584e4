#include "process.hpp"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

namespace assay::trace {
namespace {

#define ASSAY_TEXT(value) #value
#define ASSAY_NUMBERS(a, b, c) ASSAY_TEXT(a) "." ASSAY_TEXT(b) "." ASSAY_TEXT(c)
#if defined(OPEN_MPI)
constexpr char kMpi[] =
    "Open MPI " ASSAY_NUMBERS(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
constexpr char kMpi[] = "Intel MPI " I_MPI_VERSION;
#elif defined(MPICH_VERSION)
constexpr char kMpi[] = "MPICH " MPICH_VERSION;
#else
constexpr char kMpi[] = "";  // assay knows it from elsewhere
#endif

constexpr int kMostNames = 10'000;
// Maximum number of ancestors of this process that are searched for a launcher.
constexpr int kMostAncestors = 12;
constexpr char kControlPort[] = "--control-port";

struct Process {
  bool named = false;
  bool spawned = false;
  char stem[4096] = {};
  char fields[2048] = {};
};
constinit Process the_process;

// Reads a file of /proc, with a terminating 0; returns the number of bytes without it.
std::size_t content(const char* path, char* text, std::size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  std::size_t used = 0;
  while (file >= 0 && used + 1 < size) {
    const ssize_t count = read(file, text + used, size - 1 - used);
    if (count <= 0) break;
    used += static_cast<std::size_t>(count);
  }
  if (file >= 0) close(file);
  text[used] = 0;
  return used;
}

// The parent of a process; 0: unknown. "PID (NAME) STATE PARENT …", where NAME may hold anything.
int parent_of(int process) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  content(path, text, sizeof text);
  const char* behind = strrchr(text, ')');
  int parent = 0;
  return behind && sscanf(behind + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

// MPICH's launcher, Hydra, starts ranks by proxies, and tells all those of one launch the same
// port.
void hydra(char* text, std::size_t size) {
  text[0] = 0;
  int process = getppid();
  for (int i = 0; i < kMostAncestors && process > 1; ++i, process = parent_of(process)) {
    char path[64], words[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", process);
    const char* const end = words + content(path, words, sizeof words);
    for (const char* word = words; word < end; word += strlen(word) + 1) {
      if (strcmp(word, kControlPort) != 0 || word + sizeof kControlPort >= end) continue;
      snprintf(text, size, "%s", word + sizeof kControlPort);
      return;
    }
  }
}

// The launcher's or scheduler's name of the launch; "" if neither gives one.
void world(char* text, std::size_t size) {
  char port[128];
  hydra(port, sizeof port);
  const char* space = getenv("PMIX_NAMESPACE");
  snprintf(text, size, "%s%s%s", space ? space : "", space && port[0] ? " " : "", port);
  if (text[0]) return;
  if (const char* step = getenv("SLURM_STEP_ID")) {
    const char* job = getenv("SLURM_HET_JOB_ID");
    if (!job) job = getenv("SLURM_JOB_ID");
    snprintf(text, size, "%s.%s", job ? job : "", step);
    return;
  }
  for (const char* name : {"PALS_APID", "ALPS_APP_ID", "FLUX_JOB_ID", "JSM_NAMESPACE"}) {
    const char* value = getenv(name);
    if (!value) continue;
    snprintf(text, size, "%s", value);
    return;
  }
}

// Appends `text`, as the inside of a string of JSON; never half a character.
void quoted(char* to, std::size_t size, std::size_t* used, const char* text) {
  for (; *text; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    char one[8];
    snprintf(one, sizeof one,
             c == '"' || c == '\\'   ? "\\%c"
             : c < 0x20 || c >= 0x7f ? "\\u%04x"
                                     : "%c",
             c);
    const std::size_t length = strlen(one);
    if (*used + length + 1 >= size) return;
    memcpy(to + *used, one, length + 1);
    *used += length;
  }
}

void write_fields() {
  Process& mine = the_process;
  char launch[256], command[512];
  world(launch, sizeof launch);
  const std::size_t length = content("/proc/self/cmdline", command, sizeof command);
  for (std::size_t i = 0; i + 1 < length; ++i) {
    if (command[i] == 0) command[i] = ' ';
  }
  // The room behind the strings is for the rest of the text.
  constexpr std::size_t kRest = 160;
  std::size_t used = static_cast<std::size_t>(snprintf(mine.fields, 16, "\"world\":\""));
  quoted(mine.fields, sizeof mine.fields / 2, &used, launch);
  used += static_cast<std::size_t>(snprintf(mine.fields + used, kRest,
                                            "\",\"spawned\":%s,\"command\":\"",
                                            mine.spawned ? "true" : "false"));
  quoted(mine.fields, sizeof mine.fields - kRest, &used, command);
  snprintf(mine.fields + used, kRest, "\",\"mpi\":\"%s\"", kMpi);
}

}  // namespace

void claim_files(int rank) noexcept {
  Process& mine = the_process;
  const char* folder = getenv("ASSAY_PROFILE_DIR");
  if (mine.named || !folder || !*folder) return;
  const int number = rank < 0 ? getpid() : rank;
  for (int i = 1; i <= kMostNames && !mine.named; ++i) {
    char part[4160], whole[4160], suffix[16] = {};
    if (i > 1) snprintf(suffix, sizeof suffix, "-%d", i);
    const int length =
        snprintf(mine.stem, sizeof mine.stem, "%s/rank-%d%s", folder, number, suffix);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof mine.stem) {
      mine.stem[0] = 0;
      return;
    }
    snprintf(whole, sizeof whole, "%s.jsonl", mine.stem);
    snprintf(part, sizeof part, "%s.part", whole);
    const int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) continue;
    if (file >= 0) close(file);
    // Another process may have written its file. It is renamed, so that one of the two always
    // exists.
    if (file >= 0 && access(whole, F_OK) == 0) {
      unlink(part);
      continue;
    }
    mine.named = true;  // if the file can't be made, writing it will say why
  }
}

const char* file_stem() noexcept { return the_process.named ? the_process.stem : nullptr; }

void note_parent(bool spawned) noexcept { the_process.spawned = spawned; }

const char* process_fields() noexcept {
  if (!the_process.fields[0]) write_fields();
  return the_process.fields;
}

}  // namespace assay::trace
