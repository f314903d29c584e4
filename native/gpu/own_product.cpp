#include "gpu/own_product.hpp"

#include <vector>

namespace assay::gpu {
namespace {

constexpr std::size_t kSide = 16;  // items along each side of a group's square
constexpr std::size_t kEach = 8;   // entries of an item along each side
constexpr std::size_t kTile = kSide * kEach;
constexpr std::size_t kDepth = 8;
constexpr std::size_t kPitch = kTile + 1;  // so that neighbours use different banks of the memory

// The type of factors and sums, and how a factor is read.
struct OwnType {
  const char* name;
  std::size_t sum_bytes;
  const char* text;
};

// Halves are read as bits: not every backend has a type for them. In single precision their bits
// are 13 places further left, and the exponent's bias is 112 greater.
constexpr OwnType kOwnTypes[] = {{"fp64", 8, R"(
typedef double FACTOR;
typedef double SUM;
#define READ(x, i) x[i]
)"},
                                 {"fp32", 4, R"(
typedef float FACTOR;
typedef float SUM;
#define READ(x, i) x[i]
)"},
                                 {"fp16", 4, R"(
typedef unsigned short FACTOR;
typedef float SUM;
#ifdef __OPENCL_VERSION__
#define READ(x, i) vload_half(i, (GLOBAL const half*)(x))
#else
union Single {
  unsigned bits;
  float number;
};
static __device__ float number_of(unsigned bits) {
  union Single single;
  single.bits = ((bits & 0x8000u) << 16) | ((bits & 0x7FFFu) << 13);
  return single.number * 5192296858534827628530496329220096.0f;
}
#define READ(x, i) number_of(x[i])
#endif
)"},
                                 {"int8", 4, R"(
typedef signed char FACTOR;
typedef INT SUM;
#define READ(x, i) (SUM)x[i]
)"}};

constexpr const char* kProductText = R"(
FUNCTION multiply(GLOBAL const FACTOR* RESTRICT a, GLOBAL const FACTOR* RESTRICT b,
                  GLOBAL SUM* RESTRICT d, LONG n, GROUP_ARGUMENT(SUM, shared)) {
  GROUP_ARRAY(SUM, shared);
  const LONG tiles = (n + TILE - 1) / TILE;
  const LONG first_row = GROUP % tiles * TILE;
  const LONG first_column = GROUP / tiles * TILE;
  const INT across = (INT)(ITEM % SIDE);
  const INT down = (INT)(ITEM / SIDE);
  SUM sums[EACH][EACH];
#pragma unroll
  for (INT c = 0; c < EACH; ++c)
#pragma unroll
    for (INT r = 0; r < EACH; ++r) sums[c][r] = (SUM)0;
  for (LONG first = 0; first < n; first += DEPTH) {
    for (INT at = (INT)ITEM; at < TILE * DEPTH; at += SIDE * SIDE) {
      const INT k = at % DEPTH;
      const INT line = at / DEPTH;
      const LONG row = first_row + line;
      const LONG column = first_column + line;
      SUM x = (SUM)0;
      SUM y = (SUM)0;
      if (first + k < n && row < n) x = READ(a, row * n + first + k);
      if (first + k < n && column < n) y = READ(b, column * n + first + k);
      shared[k * PITCH + line] = x;
      shared[(DEPTH + k) * PITCH + line] = y;
    }
    SYNCHRONISE;
    for (INT k = 0; k < DEPTH; ++k) {
      SUM x[EACH];
      SUM y[EACH];
#pragma unroll
      for (INT r = 0; r < EACH; ++r) x[r] = shared[k * PITCH + across + SIDE * r];
#pragma unroll
      for (INT c = 0; c < EACH; ++c) y[c] = shared[(DEPTH + k) * PITCH + down + SIDE * c];
#pragma unroll
      for (INT c = 0; c < EACH; ++c)
#pragma unroll
        for (INT r = 0; r < EACH; ++r) sums[c][r] += x[r] * y[c];
    }
    SYNCHRONISE;
  }
#pragma unroll
  for (INT c = 0; c < EACH; ++c) {
    const LONG column = first_column + down + SIDE * c;
#pragma unroll
    for (INT r = 0; r < EACH; ++r) {
      const LONG row = first_row + across + SIDE * r;
      if (row < n && column < n) d[column * n + row] = sums[c][r];
    }
  }
}
)";

const OwnType* find_own_type(const std::string& name) {
  for (const OwnType& each : kOwnTypes) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

std::string macro(const char* name, std::size_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

}  // namespace

OwnProduct::OwnProduct(device::Device& device, const std::string& type) {
  const OwnType* const found = find_own_type(type);
  if (found == nullptr) {
    throw device::DeviceError("assay's own kernel has no product of " + type +
                              " matrices; it has fp64, fp32, fp16 and int8");
  }
  if (type == "fp64" && !device.info().doubles) {
    throw device::DeviceError(device.info().name + " has no double precision; use type=fp32");
  }
  element_ = found->sum_bytes;
  program_ = device.build(
      std::string(found->text) + kProductText,
      std::vector<std::string>{macro("SIDE", kSide), macro("EACH", kEach), macro("TILE", kTile),
                               macro("DEPTH", kDepth), macro("PITCH", kPitch)});
  function_ = program_->function("multiply");
}

void OwnProduct::add(device::Queue& queue, const device::Buffer& a, const device::Buffer& b,
                     device::Buffer& d, std::size_t n) {
  const std::size_t tiles = (n + kTile - 1) / kTile;
  const std::vector<device::Argument> arguments{
      &a, &b, &d, static_cast<std::int64_t>(n),
      device::GroupMemory{2 * kDepth * kPitch * element_}};
  queue.launch(*function_, tiles * tiles, kSide * kSide, arguments);
}

}  // namespace assay::gpu
