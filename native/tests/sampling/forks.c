/* Programs that fork, by name. Each prints the same with and without sampling. Functions of work
 * use the CPU time (ms) of their arguments. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned long x = 88172645463325252UL;

static double used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static inline __attribute__((always_inline)) void work(double ms) {
  for (const double end = used() + ms; used() < end;) {
    for (int i = 0; i < 20000; ++i) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      __asm__ volatile("" : "+r"(x));
    }
  }
}

__attribute__((noinline)) static void in_parent(double ms) {
  work(ms);
  __asm__ volatile("" : : "i"(1)); /* not merged with the others */
}
__attribute__((noinline)) static void in_child(double ms) {
  work(ms);
  __asm__ volatile("" : : "i"(2)); /* not merged with the others */
}
__attribute__((noinline)) static void in_grandchild(double ms) {
  work(ms);
  __asm__ volatile("" : : "i"(3)); /* not merged with the others */
}

static int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Parent 100 ms, child 200 ms, grandchild 300 ms; children end by exit and by _exit. */
static int generations(void) {
  in_parent(50);
  const pid_t child = fork();
  if (child == 0) {
    in_child(200);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      in_grandchild(300);
      _exit(5);
    }
    exit(status_of(grandchild) + 2);
  }
  in_parent(50);
  printf("%d\n", status_of(child));
  return 0;
}

/* Many children, each shorter than a period. */
static int short_children(int count) {
  int ended = 0;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      in_child(6);
      _exit(0);
    }
    ended += status_of(child) == 0;
  }
  printf("%d\n", ended);
  return 0;
}

static int killed(void) {
  int pipes[2];
  if (pipe(pipes) != 0) return 1;
  const pid_t child = fork();
  if (child == 0) {
    in_child(300);
    if (write(pipes[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char text;
  if (read(pipes[0], &text, 1) != 1) return 1;
  kill(child, SIGTERM);
  printf("%d\n", status_of(child));
  return 0;
}

static volatile int stop;
static void* worker(void* argument) {
  (void)argument;
  while (!stop) in_parent(5);
  return NULL;
}
static void* forker(void* argument) {
  int* ended = argument;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      in_child(30);
      exit(3);
    }
    *ended += status_of(child) == 3;
  }
  return NULL;
}

/* Two threads fork while two others are sampled. */
static int in_threads(void) {
  pthread_t workers[2], forkers[2];
  int ended[2] = {0, 0};
  for (int i = 0; i < 2; ++i) pthread_create(&workers[i], NULL, worker, NULL);
  for (int i = 0; i < 2; ++i) pthread_create(&forkers[i], NULL, forker, &ended[i]);
  for (int i = 0; i < 2; ++i) pthread_join(forkers[i], NULL);
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(workers[i], NULL);
  printf("%d\n", ended[0] + ended[1]);
  return 0;
}

/* A child by vfork, a shell by popen and one by system. */
static int others(void) {
  in_parent(50);
  const pid_t child = vfork();
  if (child == 0) _exit(4);
  printf("%d\n", status_of(child));
  FILE* pipe = popen("echo popen", "r");
  char text[16] = "";
  if (!pipe || !fgets(text, sizeof text, pipe)) return 1;
  pclose(pipe);
  printf("%s%d\n", text, system("exit 3") >> 8);
  in_parent(50);
  return 0;
}

/* A child that goes on when the parent has ended; it ends when the file that is named is there. */
static int daemon_until(const char* path) {
  in_parent(50);
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      fclose(stdout);
      fclose(stderr);
      while (access(path, F_OK) != 0) in_child(20);
      exit(0);
    }
    _exit(0);
  }
  while (wait(NULL) > 0) continue;
  printf("left\n");
  return 0;
}

/* A child that runs another program after some work. */
static int runs_another(char* self) {
  in_parent(50);
  const pid_t child = fork();
  if (child == 0) {
    in_child(150);
    char* words[] = {self, "work", NULL};
    execv(self, words);
    _exit(1);
  }
  printf("%d\n", status_of(child));
  return 0;
}

int main(int count, char** words) {
  const char* kind = count > 1 ? words[1] : "";
  if (strcmp(kind, "generations") == 0) return generations();
  if (strcmp(kind, "short") == 0) return short_children(200);
  if (strcmp(kind, "killed") == 0) return killed();
  if (strcmp(kind, "threads") == 0) return in_threads();
  if (strcmp(kind, "others") == 0) return others();
  if (strcmp(kind, "daemon") == 0 && count > 2) return daemon_until(words[2]);
  if (strcmp(kind, "exec") == 0) return runs_another(words[0]);
  if (strcmp(kind, "work") == 0) {
    in_grandchild(100);
    return 6;
  }
  return 2;
}
