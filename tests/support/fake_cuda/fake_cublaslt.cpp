// A cuBLASLt without a device, which multiplies on the processor; with FAKE_HIP defined, a
// hipBLASLt. Faults are planted by the environment variable FAKE_CUBLASLT: "no:TYPE" (the device
// lacks a type of factors, by its number), "matmul:N" (the N-th product fails), "wrong" (A isn't
// transposed), "start" (the library can't start).
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifdef FAKE_HIP
#define NAME(name) hipblasLt##name
constexpr int kInvalid = 3, kFailed = 5, kUnsupported = 7, kNotStarted = 1;
constexpr int k32F = 2, kTf32 = 6, k64F = 7, k32I = 9;
constexpr int kTransposeA = 0, kPlain = 111, kTransposed = 112;
constexpr std::size_t kAlgorithmBytes = 24;
#else
#define NAME(name) cublasLt##name
constexpr int kInvalid = 7, kFailed = 13, kUnsupported = 15, kNotStarted = 1;
constexpr int k32F = 68, kTf32 = 77, k64F = 70, k32I = 72;
constexpr int kTransposeA = 3, kPlain = 0, kTransposed = 1;
constexpr std::size_t kAlgorithmBytes = 64;
#endif

namespace {

enum Type {
  kFloat = 0,
  kDouble = 1,
  kHalf = 2,
  kByte = 3,
  kInt = 10,
  kBrain = 14,
  kEight = 28,
  kEightFnuz = 1000
};
constexpr std::uint64_t kNeeded = 1 << 20;
constexpr char kMagic[] = "fake algorithm";

std::string fault() {
  const char* const given = std::getenv("FAKE_CUBLASLT");
  return given == nullptr ? "" : given;
}

struct Operation {
  int compute, scale, transpose_a;
};
struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t leading;
};
struct Preference {
  std::uint64_t most;
};
// The result of a search, as the libraries' manuals lay it out.
struct Found {
  unsigned char algorithm[kAlgorithmBytes];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// ---- numbers -----------------------------------------------------------------------------------

// The value of a short floating-point number, by its parts.
double short_float(unsigned bits, int exponent_bits, int stored_bits, int bias) {
  const int exponent = static_cast<int>(bits >> stored_bits) & ((1 << exponent_bits) - 1);
  const double stored = bits & ((1U << stored_bits) - 1);
  const double unit = std::pow(2.0, -stored_bits);
  const double size = exponent == 0 ? stored * unit * std::pow(2.0, 1 - bias)
                                    : (1.0 + stored * unit) * std::pow(2.0, exponent - bias);
  return (bits >> (exponent_bits + stored_bits)) & 1U ? -size : size;
}

double at(const void* data, std::size_t i, int type) {
  const auto get = [&](auto number) {
    std::memcpy(&number, static_cast<const char*>(data) + i * sizeof number, sizeof number);
    return number;
  };
  switch (type) {
    case kDouble:
      return get(double{});
    case kFloat:
      return get(float{});
    case kHalf:
      return short_float(get(std::uint16_t{}), 5, 10, 15);
    case kBrain:
      return short_float(get(std::uint16_t{}), 8, 7, 127);
    case kEight:
      return short_float(get(std::uint8_t{}), 4, 3, 7);
    case kEightFnuz:
      return short_float(get(std::uint8_t{}), 4, 3, 8);
    default:
      return get(std::int8_t{});
  }
}

// The nearest number of a short type, as bits; ties to even. Normal numbers, zero, and those below.
std::uint16_t rounded(double value, int exponent_bits, int stored_bits, int bias) {
  const std::uint16_t sign = static_cast<std::uint16_t>(std::signbit(value) ? 1 : 0)
                             << (exponent_bits + stored_bits);
  if (value == 0.0) return sign;
  int exponent = std::max(std::ilogb(value), 1 - bias);
  const double whole = std::nearbyint(std::scalbn(std::abs(value), stored_bits - exponent));
  // A whole that reaches the next power of two carries into the exponent by itself.
  const double bits = std::scalbn(exponent + bias - 1, stored_bits) + whole;
  return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(bits));
}

void set(void* data, std::size_t i, int type, double value) {
  const auto put = [&](auto number) {
    std::memcpy(static_cast<char*>(data) + i * sizeof number, &number, sizeof number);
  };
  if (type == kDouble) put(value);
  if (type == kFloat) put(static_cast<float>(value));
  if (type == kInt) put(static_cast<std::int32_t>(value));
  if (type == kHalf) put(rounded(value, 5, 10, 15));
  if (type == kBrain) put(rounded(value, 8, 7, 127));
}

bool is_supported(const Operation& operation, const Layout& a, const Layout& d) {
  if (fault() == "no:" + std::to_string(a.type)) return false;
  const bool tn = operation.transpose_a == kTransposed;
  switch (a.type) {
    case kDouble:
      return operation.compute == k64F && operation.scale == kDouble && d.type == kDouble;
    case kFloat:
      return (operation.compute == k32F || operation.compute == kTf32) &&
             operation.scale == kFloat && d.type == kFloat;
    case kHalf:
    case kBrain:
      return operation.compute == k32F && operation.scale == kFloat && d.type == a.type;
    case kEight:
    case kEightFnuz:
      return tn && a.rows % 16 == 0 && d.columns % 16 == 0 && operation.compute == k32F &&
             operation.scale == kFloat && d.type == kBrain;
    case kByte:
      return tn && a.rows % 4 == 0 && operation.compute == k32I && operation.scale == kInt &&
             d.type == kInt;
    default:
      return false;
  }
}

long products = 0;

}  // namespace

extern "C" {

int NAME(Create)(void** handle) {
  if (fault() == "start") return kNotStarted;
  *handle = new int{1};
  return 0;
}
int NAME(Destroy)(void* handle) {
  delete static_cast<int*>(handle);
  return 0;
}
#ifdef FAKE_HIP
int hipblasLtGetVersion(void* handle, int* version) {
  *version = handle == nullptr ? 0 : 100'202;
  return handle == nullptr ? kInvalid : 0;
}
#else
int cublasLtGetProperty(int which, int* value) {
  constexpr int kVersion[] = {12, 9, 2};
  if (which < 0 || which > 2) return kInvalid;
  *value = kVersion[which];
  return 0;
}
#endif

int NAME(MatmulDescCreate)(void** made, int compute, int scale) {
  if (compute != k32F && compute != kTf32 && compute != k64F && compute != k32I) return kInvalid;
  *made = new Operation{compute, scale, kPlain};
  return 0;
}
int NAME(MatmulDescDestroy)(void* made) {
  delete static_cast<Operation*>(made);
  return 0;
}
int NAME(MatmulDescSetAttribute)(void* made, int which, const void* value, std::size_t size) {
  if (which != kTransposeA || size != sizeof(std::int32_t)) return kInvalid;
  std::memcpy(&static_cast<Operation*>(made)->transpose_a, value, size);
  return 0;
}
int NAME(MatrixLayoutCreate)(void** made, int type, std::uint64_t rows, std::uint64_t columns,
                             std::int64_t leading) {
  if (leading < static_cast<std::int64_t>(rows)) return kInvalid;
  *made = new Layout{type, rows, columns, leading};
  return 0;
}
int NAME(MatrixLayoutDestroy)(void* made) {
  delete static_cast<Layout*>(made);
  return 0;
}
int NAME(MatmulPreferenceCreate)(void** made) {
  *made = new Preference{0};
  return 0;
}
int NAME(MatmulPreferenceDestroy)(void* made) {
  delete static_cast<Preference*>(made);
  return 0;
}
int NAME(MatmulPreferenceSetAttribute)(void* made, int which, const void* value, std::size_t size) {
  if (which != 1 || size != sizeof(std::uint64_t)) return kInvalid;
  std::memcpy(&static_cast<Preference*>(made)->most, value, size);
  return 0;
}

int NAME(MatmulAlgoGetHeuristic)(void* handle, void* operation, void* a, void*, void*, void* d,
                                 void* preference, int wanted, void* results, int* count) {
  if (handle == nullptr || wanted < 1) return kInvalid;
  *count = 0;
  if (static_cast<Preference*>(preference)->most < kNeeded) return kUnsupported;
  if (!is_supported(*static_cast<Operation*>(operation), *static_cast<Layout*>(a),
                    *static_cast<Layout*>(d))) {
    return kUnsupported;
  }
  Found found{};
  std::memcpy(found.algorithm, kMagic, sizeof kMagic);
  found.workspace = kNeeded;
  found.waves = 1.0F;
  std::memcpy(results, &found, sizeof found);
  *count = 1;
  return 0;
}

int NAME(Matmul)(void* handle, void* given, const void* alpha, const void* a, void* a_given,
                 const void* b, void* b_given, const void* beta, const void* c, void* c_given,
                 void* d, void* d_given, const void* algorithm, void* workspace,
                 std::size_t workspace_bytes, void* stream) {
  const auto& operation = *static_cast<Operation*>(given);
  const auto& a_layout = *static_cast<Layout*>(a_given);
  const auto& b_layout = *static_cast<Layout*>(b_given);
  const auto& d_layout = *static_cast<Layout*>(d_given);
  if (handle == nullptr || stream == nullptr || c != d || c_given != d_given) return kInvalid;
  if (std::memcmp(algorithm, kMagic, sizeof kMagic) != 0) return kInvalid;
  if (workspace == nullptr || workspace_bytes < kNeeded) return kInvalid;
  // What waits in the stream comes first: the device's streams begin with the function that does
  // it.
  (*static_cast<void (**)(void*)>(stream))(stream);
  if (fault() == "matmul:" + std::to_string(++products)) return kFailed;
  std::memset(workspace, 0, workspace_bytes);
  const auto scalar = [&](const void* from) {
    if (operation.scale == kDouble) return *static_cast<const double*>(from);
    if (operation.scale == kFloat) return static_cast<double>(*static_cast<const float*>(from));
    return static_cast<double>(*static_cast<const std::int32_t*>(from));
  };
  if (scalar(beta) != 0.0) return kInvalid;
  const bool turned = operation.transpose_a == kTransposed && fault() != "wrong";
  const std::uint64_t m = d_layout.rows, n = d_layout.columns, inner = b_layout.rows;
  const auto numbers = [](const void* from, const Layout& layout) {
    std::vector<double> all(layout.rows * layout.columns);
    for (std::uint64_t column = 0; column < layout.columns; ++column) {
      for (std::uint64_t row = 0; row < layout.rows; ++row) {
        all[row + column * layout.rows] =
            at(from, row + column * static_cast<std::uint64_t>(layout.leading), layout.type);
      }
    }
    return all;
  };
  const std::vector<double> left = numbers(a, a_layout), right = numbers(b, b_layout);
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = 0; i < m; ++i) {
      double wide = 0.0;
      float single = 0.0F;
      for (std::uint64_t k = 0; k < inner; ++k) {
        const double x = left[turned ? k + i * a_layout.rows : i + k * a_layout.rows];
        const double product = x * right[k + j * inner];
        wide += product;
        single += static_cast<float>(product);
      }
      const double sum = operation.scale == kFloat ? static_cast<double>(single) : wide;
      set(d, i + j * static_cast<std::uint64_t>(d_layout.leading), d_layout.type,
          scalar(alpha) * sum);
    }
  }
  return 0;
}

}  // extern "C"
