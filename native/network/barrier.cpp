// network.barrier: successive MPI_Barrier calls over all ranks.
#include "harness/kernel.hpp"
#include "network/barrier_check.hpp"

namespace assay {
namespace {

class Barrier : public Kernel {
 public:
  Barrier(const Context& context, Parameters&) : context_(context) {
    if (context.size < 2) throw KernelError("network.barrier needs at least two ranks");
  }

  void setup() override {}

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) MPI_Barrier(context_.comm);
  }

  Verification verify() override {
    return verify_barrier(context_, [](MPI_Comm comm) { return MPI_Barrier(comm); });
  }

 private:
  Context context_;
};

ASSAY_KERNEL("network.barrier", Barrier);

}  // namespace
}  // namespace assay
