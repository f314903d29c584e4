// Kernels that fail on purpose, on the rank and in the way that their parameters name. They are
// built for tests only.
#include <signal.h>
#include <stdlib.h>

#include <cmath>
#include <limits>
#include <new>
#include <thread>

#include "harness/kernel.hpp"

namespace assay {
namespace {

class TestKernel : public Kernel {
 public:
  explicit TestKernel(const Context& context, Parameters& parameters, int rank = -1)
      : context_(context), rank_(parameters.integer("rank", rank)) {}
  void setup() override {}
  void run(std::int64_t) override {}
  Verification verify() override { return {true, "nothing", 0.0, 0.0}; }
  std::int64_t max_batch() const override { return 1; }

 protected:
  // Whether this rank is the one that fails; -1: all are.
  bool chosen() const { return rank_ < 0 || rank_ == context_.rank; }
  Context context_;

 private:
  std::int64_t rank_;
};

// Throws in the function named by "in".
class Throw : public TestKernel {
 public:
  Throw(const Context& context, Parameters& parameters) : TestKernel(context, parameters) {
    in_ = parameters.choice("in", "setup", {"construct", "setup", "run", "verify"});
    what_ = parameters.choice("what", "error", {"error", "memory"});
    go_wrong("construct");
  }
  void setup() override { go_wrong("setup"); }
  void run(std::int64_t) override { go_wrong("run"); }
  Verification verify() override {
    go_wrong("verify");
    return TestKernel::verify();
  }

 private:
  void go_wrong(const std::string& here) const {
    if (here != in_ || !chosen()) return;
    if (what_ == "memory") throw std::bad_alloc();
    throw KernelError("thrown in \"" + here + "\"");
  }
  std::string in_;
  std::string what_;
};
ASSAY_KERNEL("test.throw", Throw);

// Is killed or ends in its third sample.
class Crash : public TestKernel {
 public:
  Crash(const Context& context, Parameters& parameters) : TestKernel(context, parameters) {
    how_ = parameters.choice("how", "segv",
                             {"segv", "bus", "fpe", "ill", "abort", "terminate", "overflow"});
  }
  void run(std::int64_t) override {
    if (++runs_ < 3 || !chosen()) return;
    if (how_ == "segv") raise(SIGSEGV);
    if (how_ == "bus") raise(SIGBUS);
    if (how_ == "fpe") raise(SIGFPE);
    if (how_ == "ill") raise(SIGILL);
    if (how_ == "abort") abort();
    if (how_ == "terminate") terminate();
    if (how_ == "overflow") depth_ = descend(0);
  }

 private:
  static void terminate() {
    std::thread([] { throw KernelError("no code catches \"this\""); }).join();
  }
  // Touches memory beyond any stack, a real invalid access.
  static std::int64_t descend(std::int64_t depth) {
    volatile char frame[1 << 16];
    frame[depth % (1 << 16)] = 1;
    return depth < (std::int64_t{1} << 40) ? descend(depth + 1) + frame[0] : 0;
  }
  std::string how_;
  int runs_ = 0;
  std::int64_t depth_ = 0;
};
ASSAY_KERNEL("test.crash", Crash);

// Fails its verification by NaN though it reports that it passed, or by a wrong value.
class Unverified : public TestKernel {
 public:
  Unverified(const Context& context, Parameters& parameters) : TestKernel(context, parameters) {
    how_ = parameters.choice("how", "nan", {"nan", "wrong"});
  }
  Verification verify() override {
    if (!chosen()) return TestKernel::verify();
    if (how_ == "nan") return {true, "a residual", std::numeric_limits<double>::quiet_NaN(), 1e-9};
    return {false, "a residual", 1.0, 1e-9};
  }

 private:
  std::string how_;
};
ASSAY_KERNEL("test.nan", Unverified);

}  // namespace
}  // namespace assay
