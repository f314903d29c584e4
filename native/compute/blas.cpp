#include "compute/blas.hpp"

#ifdef ASSAY_HAVE_BLAS
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#endif

namespace assay::blas {

#ifdef ASSAY_HAVE_BLAS
namespace {

// The library is loaded when first needed: a loaded BLAS occupies a megabyte and more, and most
// kernels call none. It is in the executable's folder.
const Table& load() {
  std::array<char, 4096> own{};
  const ssize_t length = readlink("/proc/self/exe", own.data(), own.size());
  std::string path(own.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length)));
  path = path.substr(0, path.rfind('/') + 1) + ASSAY_BLAS_LIBRARY;
  // Global, as if linked: some BLAS load further parts that look for their symbols.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* const found = library == nullptr ? nullptr : dlsym(library, "assay_blas_table");
  if (found == nullptr) {
    const char* const why = dlerror();
    throw KernelError(std::string("the BLAS can't be loaded: ") + (why == nullptr ? "" : why));
  }
  return *reinterpret_cast<decltype(&assay_blas_table)>(found)();
}

const Table& table() {
  static const Table& loaded = load();
  return loaded;
}

}  // namespace

void require() { table(); }

void product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
             std::int64_t leading_c) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  table().add_product(m, n, k, 1.0, a, b, 0.0, c, leading_c);
}

void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
                      std::int64_t leading_c) {
  if (m <= 0 || n <= 0 || k <= 0) return;
  table().add_product(m, n, k, -1.0, a, b, 1.0, c, leading_c);
}

void subtract_product(std::int64_t m, std::int64_t n, Block a, const double* x, double* y) {
  if (m <= 0 || n <= 0) return;
  table().subtract_from_vector(m, n, a, x, y);
}

void solve_unit_lower(std::int64_t m, std::int64_t n, Block l, double* b, std::int64_t leading_b) {
  if (m <= 0 || n <= 0) return;
  table().solve_unit_lower(m, n, l, b, leading_b);
}

void solve_upper(std::int64_t n, Block u, double* x) {
  if (n <= 0) return;
  table().solve_upper(n, u, x);
}

int set_threads(int threads) { return table().set_threads(threads); }

std::map<std::string, Value> facts() {
  std::map<std::string, Value> known{{"blas", std::string(ASSAY_BLAS_NAME)},
                                     {"blas_threading", std::string(table().threading())}};
  if (const char* const build = table().build()) known["blas_config"] = std::string(build);
  if (const char* const core = table().core()) known["blas_core"] = std::string(core);
  return known;
}

#else

void require() {
  throw KernelError(
      "the kernels were built without a BLAS; name one in the toolchain and build again");
}

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
