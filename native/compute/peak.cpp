// compute.peak: fused multiply-adds in registers, on every thread of every rank concurrently.
#include <cstring>
#include <string>
#include <vector>

#include "compute/fma.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"

namespace assay {
namespace {

constexpr std::size_t kLine = 128;  // bytes; two cache lines, because prefetchers fetch in pairs

// The state of one thread's chains, on cache lines of its own.
struct alignas(kLine) Chains {
  static constexpr std::size_t kMostLanes = 8;
  alignas(64) double lanes[fma::kChains * kMostLanes];
};

template <typename Width>
void advance(Chains& chains, std::int64_t count, double factor, double term) {
  typename Width::Vector state[fma::kChains];
  std::memcpy(state, chains.lanes, sizeof state);
  fma::advance<Width>(state, count, factor, term, std::make_index_sequence<fma::kChains>{});
  std::memcpy(chains.lanes, state, sizeof state);
}

using Advance = void (*)(Chains&, std::int64_t, double, double);

Advance advance_of(std::int64_t bits) {
  switch (bits) {
    case 64:
      return advance<fma::Scalar>;
#if defined(__FMA__) || defined(__aarch64__)
    case 128:
      return advance<fma::Bits128>;
#endif
#if defined(__x86_64__) && defined(__FMA__)
    case 256:
      return advance<fma::Bits256>;
#endif
#if defined(__AVX512F__)
    case 512:
      return advance<fma::Bits512>;
#endif
    default:
      return nullptr;
  }
}

class Peak : public Kernel {
 public:
  Peak(const Context& context, Parameters& parameters) : context_(context) {
    bits_ = parameters.integer("width", 0);
    if (bits_ == 0) bits_ = fma::kWidest;
    parameters.resolve("width", bits_);
    advance_ = advance_of(bits_);
    if (!advance_) {
      throw KernelError("parameter 'width' must be 0, 64, 128, 256 or 512 and no wider than the " +
                        std::to_string(fma::kWidest) +
                        " bits that the kernels were built for, not " + std::to_string(bits_));
    }
    fault_ = PlantedFault(parameters, {"lane", "nan"});
  }

  void setup() override {
    chains_ = std::vector<Chains>(static_cast<std::size_t>(context_.threads));
    for (Chains& each : chains_) {
      for (double& lane : each.lanes) lane = 0.0;
    }
  }

  // Each step adds 1 to every lane, exactly: the speed of a multiply-add does not depend on its
  // operands, and the sums show that no step was left out.
  void run(std::int64_t count) override {
#pragma omp parallel num_threads(context_.threads)
    {
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < context_.threads; ++thread) {
        advance_(chains_[static_cast<std::size_t>(thread)], count, factor_, term_);
      }
    }
    done_ += count;
  }

  Verification verify() override {
    inject_fault();
    const auto expected = static_cast<double>(done_ * (fma::kInstructions / fma::kChains));
    double wrong = 0.0;
    for (const Chains& each : chains_) {
      for (std::size_t i = 0; i < fma::kChains * lanes(); ++i) {
        wrong += each.lanes[i] == expected ? 0.0 : 1.0;
      }
    }
    return {wrong == 0.0, "sums that miss a multiply-add", wrong, 0.0};
  }

  std::map<std::string, Value> facts() const override {
    return {{"instruction", fma::kFused ? "multiply-add" : "multiplication and addition"},
            {"widest", std::int64_t{fma::kWidest}}};
  }

 private:
  void inject_fault() {
    double& last = chains_.back().lanes[fma::kChains * lanes() - 1];
    if (fault_.is("lane")) last -= 1.0;
    if (fault_.is("nan")) last = last * 0.0 / 0.0;
  }

  std::size_t lanes() const { return static_cast<std::size_t>(bits_) / 64; }

  Context context_;
  std::int64_t bits_ = 0;
  Advance advance_ = nullptr;
  std::vector<Chains> chains_;
  std::int64_t done_ = 0;
  // Not constants: the compiler must not know their values.
  volatile double factor_ = 1.0;
  volatile double term_ = 1.0;
  PlantedFault fault_;
};

ASSAY_KERNEL("compute.peak", Peak);

}  // namespace
}  // namespace assay
