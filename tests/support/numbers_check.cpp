// Short floating-point numbers of native/gpu/numbers.hpp, as bits and as numbers.
#include "check_questions.hpp"
#include "gpu/numbers.hpp"

namespace {

using assay::gpu::ShortFloat;

// exponent_bits stored_bits bias: for all bits below the sign the number, and the bits of this
// number and of its negative.
void all(std::istream& in) {
  ShortFloat type{};
  in >> type.exponent_bits >> type.stored_bits >> type.bias;
  const std::uint32_t sign = 1U << (type.exponent_bits + type.stored_bits);
  for (std::uint32_t bits = 0; bits < sign; ++bits) {
    const double number = assay::gpu::number_of(bits, type);
    const bool finite = std::isfinite(number);
    std::printf("%a %u %u ", number, finite ? assay::gpu::bits_of(number, type) : bits,
                finite ? assay::gpu::bits_of(-number, type) : bits | sign);
  }
  std::printf("\n");
}

const assay::check::Questions questions = {{"all", all}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
