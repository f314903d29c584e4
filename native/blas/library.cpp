// The library that kernels load when they first need a BLAS. Only this library is linked with the
// BLAS.
#include <array>

#include "blas/table.hpp"

// CBLAS is declared here instead of by a header. Each BLAS has its own header, with its own macros
// for prefix, suffix and integers, but all have these symbols.
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
constexpr int kTranspose = 112;
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

// Each library's own functions to set its threads. Weak symbols: null in a BLAS without them.
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

namespace assay::blas {
namespace {

struct Threading {
  const char* name;
  void (*set)(int threads);
  int (*get)();
};

// BLIS uses its own integer type, which is 64 bits wide unless configured otherwise; the low half
// of a register holds the number in either case.
void bli_set(int threads) { bli_thread_set_num_threads(threads); }
int bli_get() { return static_cast<int>(bli_thread_get_num_threads()); }

// The first available, or null.
const Threading* threading() {
  static const std::array<Threading, 5> known{{
      // FlexiBLAS first: it forwards to the library behind it.
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

// C = alpha A B + beta C. The caller checks extents on allocation: a rank's part of a matrix has
// fewer than 2^31 rows and columns, so that only their product needs more than BlasInteger.
void add_product(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Block a, Block b,
                 double beta, double* c, std::int64_t leading_c) {
  constexpr auto dgemm = &ASSAY_BLAS_SYMBOL(cblas_dgemm);
  dgemm(kColumnMajor, a.transposed ? kTranspose : kNoTranspose,
        b.transposed ? kTranspose : kNoTranspose, static_cast<BlasInteger>(m),
        static_cast<BlasInteger>(n), static_cast<BlasInteger>(k), alpha, a.entries,
        static_cast<BlasInteger>(a.leading), b.entries, static_cast<BlasInteger>(b.leading), beta,
        c, static_cast<BlasInteger>(leading_c));
}

void subtract_from_vector(std::int64_t m, std::int64_t n, Block a, const double* x, double* y) {
  constexpr auto dgemv = &ASSAY_BLAS_SYMBOL(cblas_dgemv);
  dgemv(kColumnMajor, kNoTranspose, static_cast<BlasInteger>(m), static_cast<BlasInteger>(n), -1.0,
        a.entries, static_cast<BlasInteger>(a.leading), x, 1, 1.0, y, 1);
}

void solve_unit_lower(std::int64_t m, std::int64_t n, Block l, double* b, std::int64_t leading_b) {
  constexpr auto dtrsm = &ASSAY_BLAS_SYMBOL(cblas_dtrsm);
  dtrsm(kColumnMajor, kLeft, kLower, kNoTranspose, kUnit, static_cast<BlasInteger>(m),
        static_cast<BlasInteger>(n), 1.0, l.entries, static_cast<BlasInteger>(l.leading), b,
        static_cast<BlasInteger>(leading_b));
}

void solve_upper(std::int64_t n, Block u, double* x) {
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

const char* threading_name() {
  const Threading* const way = threading();
  return way == nullptr ? "OpenMP or none" : way->name;
}

// The two that follow are null where the BLAS doesn't report the value.

const char* build() {
  if (ASSAY_BLAS_SYMBOL(openblas_get_config) != nullptr) {
    return ASSAY_BLAS_SYMBOL(openblas_get_config)();
  }
  if (MKL_Get_Version_String != nullptr) {
    static std::array<char, 256> text{};
    MKL_Get_Version_String(text.data(), static_cast<int>(text.size() - 1));
    return text.data();
  }
  return bli_info_get_version_str == nullptr ? nullptr : bli_info_get_version_str();
}

const char* core() {
  const auto known = ASSAY_BLAS_SYMBOL(openblas_get_corename);
  return known == nullptr ? nullptr : known();
}

constexpr Table kTable{add_product,
                       subtract_from_vector,
                       solve_unit_lower,
                       solve_upper,
                       set_threads,
                       threading_name,
                       build,
                       core};

}  // namespace
}  // namespace assay::blas

extern "C" const assay::blas::Table* assay_blas_table() { return &assay::blas::kTable; }
