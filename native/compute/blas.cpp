#include "compute/blas.hpp"

#include <array>

// CBLAS is declared here and not taken from a header: each BLAS has its own, with its own macros
// for prefix, suffix and integers, and all of them have this symbol.
#ifdef ASSAY_HAVE_BLAS
#define ASSAY_PASTE_EXPANDED(prefix, name, suffix) prefix##name##suffix
#define ASSAY_PASTE(prefix, name, suffix) ASSAY_PASTE_EXPANDED(prefix, name, suffix)
#define ASSAY_BLAS_SYMBOL(name) ASSAY_PASTE(ASSAY_BLAS_PREFIX, name, ASSAY_BLAS_SUFFIX)

namespace {

#ifdef ASSAY_BLAS_INT64
using BlasInteger = std::int64_t;
#else
using BlasInteger = std::int32_t;
#endif

// The values that the CBLAS standard gives its enumerations.
constexpr int kColumnMajor = 102;
constexpr int kNoTranspose = 111;
constexpr int kUpper = 121;
constexpr int kLower = 122;
constexpr int kNonUnit = 131;
constexpr int kUnit = 132;
constexpr int kLeft = 141;

}  // namespace

extern "C" {
void ASSAY_BLAS_SYMBOL(cblas_dgemm)(int order, int transpose_a, int transpose_b, BlasInteger m,
                                    BlasInteger n, BlasInteger k, double alpha, const double* a,
                                    BlasInteger lda, const double* b, BlasInteger ldb, double beta,
                                    double* c, BlasInteger ldc);
void ASSAY_BLAS_SYMBOL(cblas_dgemv)(int order, int transpose, BlasInteger m, BlasInteger n,
                                    double alpha, const double* a, BlasInteger lda, const double* x,
                                    BlasInteger step_x, double beta, double* y, BlasInteger step_y);
void ASSAY_BLAS_SYMBOL(cblas_dtrsm)(int order, int side, int triangle, int transpose, int diagonal,
                                    BlasInteger m, BlasInteger n, double alpha, const double* a,
                                    BlasInteger lda, double* b, BlasInteger ldb);
void ASSAY_BLAS_SYMBOL(cblas_dtrsv)(int order, int triangle, int transpose, int diagonal,
                                    BlasInteger n, const double* a, BlasInteger lda, double* x,
                                    BlasInteger step_x);

// Weak: null in a BLAS that doesn't have them. Each library's own way to set its threads.
#define ASSAY_WEAK __attribute__((weak))
ASSAY_WEAK void ASSAY_BLAS_SYMBOL(openblas_set_num_threads)(int threads);
ASSAY_WEAK int ASSAY_BLAS_SYMBOL(openblas_get_num_threads)();
ASSAY_WEAK char* ASSAY_BLAS_SYMBOL(openblas_get_config)();
ASSAY_WEAK char* ASSAY_BLAS_SYMBOL(openblas_get_corename)();
ASSAY_WEAK void MKL_Set_Num_Threads(int threads);
ASSAY_WEAK int MKL_Get_Max_Threads();
ASSAY_WEAK void MKL_Get_Version_String(char* text, int length);
ASSAY_WEAK void bli_thread_set_num_threads(std::int64_t threads);
ASSAY_WEAK std::int64_t bli_thread_get_num_threads();
ASSAY_WEAK const char* bli_info_get_version_str();
ASSAY_WEAK void nvpl_blas_set_num_threads(int threads);
ASSAY_WEAK int nvpl_blas_get_max_threads();
ASSAY_WEAK void flexiblas_set_num_threads(int threads);
ASSAY_WEAK int flexiblas_get_num_threads();
}
#endif

namespace assay::blas {

#ifdef ASSAY_HAVE_BLAS
namespace {

struct Threading {
  const char* name;
  void (*set)(int threads);
  int (*get)();
};

// BLIS counts in its own integer, which is 64 bits wide unless it was configured otherwise; the
// low half of a register holds the number in either case.
void bli_set(int threads) { bli_thread_set_num_threads(threads); }
int bli_get() { return static_cast<int>(bli_thread_get_num_threads()); }

// The first that is there, or null.
const Threading* threading() {
  static const std::array<Threading, 5> known{{
      // FlexiBLAS first: it passes on to the library behind it.
      {"FlexiBLAS", flexiblas_set_num_threads, flexiblas_get_num_threads},
      {"OpenBLAS", ASSAY_BLAS_SYMBOL(openblas_set_num_threads),
       ASSAY_BLAS_SYMBOL(openblas_get_num_threads)},
      {"MKL", MKL_Set_Num_Threads, MKL_Get_Max_Threads},
      {"BLIS", bli_thread_set_num_threads ? bli_set : nullptr,
       bli_thread_get_num_threads ? bli_get : nullptr},
      {"NVPL", nvpl_blas_set_num_threads, nvpl_blas_get_max_threads},
  }};
  for (const Threading& each : known) {
    if (each.set != nullptr && each.get != nullptr) return &each;
  }
  return nullptr;
}

}  // namespace

void require() {}

void multiply(std::size_t n, const double* a, const double* b, double* c) {
  const auto order = static_cast<BlasInteger>(n);
  constexpr auto dgemm = &ASSAY_BLAS_SYMBOL(cblas_dgemm);
  dgemm(kColumnMajor, kNoTranspose, kNoTranspose, order, order, order, 1.0, a, order, b, order, 0.0,
        c, order);
}

namespace {

// C = alpha A B + beta C. Extents are checked by whoever allocates: a rank's part of a matrix has
// fewer than 2^31 rows and columns, so that only a product of them needs more than BlasInteger.
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Block a, Block b,
                 double beta, double* c, std::int64_t leading_c) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  constexpr auto dgemm = &ASSAY_BLAS_SYMBOL(cblas_dgemm);
  dgemm(kColumnMajor, kNoTranspose, kNoTranspose, static_cast<BlasInteger>(m),
        static_cast<BlasInteger>(n), static_cast<BlasInteger>(k), alpha, a.entries,
        static_cast<BlasInteger>(a.leading), b.entries, static_cast<BlasInteger>(b.leading), beta,
        c, static_cast<BlasInteger>(leading_c));
}

}  // namespace

void product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
             std::int64_t leading_c) {
  add_product(m, n, k, 1.0, a, b, 0.0, c, leading_c);
}

void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
                      std::int64_t leading_c) {
  add_product(m, n, k, -1.0, a, b, 1.0, c, leading_c);
}

void subtract_product(std::int64_t m, std::int64_t n, Block a, const double* x, double* y) {
  if (m <= 0 || n <= 0) return;
  constexpr auto dgemv = &ASSAY_BLAS_SYMBOL(cblas_dgemv);
  dgemv(kColumnMajor, kNoTranspose, static_cast<BlasInteger>(m), static_cast<BlasInteger>(n), -1.0,
        a.entries, static_cast<BlasInteger>(a.leading), x, 1, 1.0, y, 1);
}

void solve_unit_lower(std::int64_t m, std::int64_t n, Block l, double* b, std::int64_t leading_b) {
  if (m <= 0 || n <= 0) return;
  constexpr auto dtrsm = &ASSAY_BLAS_SYMBOL(cblas_dtrsm);
  dtrsm(kColumnMajor, kLeft, kLower, kNoTranspose, kUnit, static_cast<BlasInteger>(m),
        static_cast<BlasInteger>(n), 1.0, l.entries, static_cast<BlasInteger>(l.leading), b,
        static_cast<BlasInteger>(leading_b));
}

void solve_upper(std::int64_t n, Block u, double* x) {
  if (n <= 0) return;
  constexpr auto dtrsv = &ASSAY_BLAS_SYMBOL(cblas_dtrsv);
  dtrsv(kColumnMajor, kUpper, kNoTranspose, kNonUnit, static_cast<BlasInteger>(n), u.entries,
        static_cast<BlasInteger>(u.leading), x, 1);
}

int set_threads(int threads) {
  const Threading* const way = threading();
  if (way == nullptr) return 0;
  way->set(threads);
  return way->get();
}

std::map<std::string, Value> facts() {
  const Threading* const way = threading();
  std::map<std::string, Value> known{
      {"blas", std::string(ASSAY_BLAS_NAME)},
      {"blas_threading", std::string(way == nullptr ? "OpenMP or none" : way->name)}};
  if (ASSAY_BLAS_SYMBOL(openblas_get_config) != nullptr) {
    known["blas_config"] = std::string(ASSAY_BLAS_SYMBOL(openblas_get_config)());
  } else if (MKL_Get_Version_String != nullptr) {
    std::array<char, 256> text{};
    MKL_Get_Version_String(text.data(), static_cast<int>(text.size() - 1));
    known["blas_config"] = std::string(text.data());
  } else if (bli_info_get_version_str != nullptr) {
    known["blas_config"] = std::string(bli_info_get_version_str());
  }
  if (ASSAY_BLAS_SYMBOL(openblas_get_corename) != nullptr) {
    known["blas_core"] = std::string(ASSAY_BLAS_SYMBOL(openblas_get_corename)());
  }
  return known;
}

#else

void require() {
  throw KernelError(
      "the kernels were built without a BLAS; name one in the toolchain and build again");
}

void multiply(std::size_t, const double*, const double*, double*) { require(); }
void product(std::int64_t, std::int64_t, std::int64_t, Block, Block, double*, std::int64_t) {
  require();
}
void subtract_product(std::int64_t, std::int64_t, std::int64_t, Block, Block, double*,
                      std::int64_t) {
  require();
}
void subtract_product(std::int64_t, std::int64_t, Block, const double*, double*) { require(); }
void solve_unit_lower(std::int64_t, std::int64_t, Block, double*, std::int64_t) { require(); }
void solve_upper(std::int64_t, Block, double*) { require(); }
int set_threads(int) { return 0; }
std::map<std::string, Value> facts() { return {}; }

#endif

}  // namespace assay::blas
