#include "device/blas.hpp"

#include <array>
#include <cstring>
#include <utility>

#include "device/blas_api.hpp"
#include "device/library.hpp"

namespace assay::device {
namespace lt {
namespace {

// What NVIDIA recommends for its largest devices; others need less.
constexpr std::size_t kWorkspace = std::size_t{32} << 20;

std::string status(const Vendor& vendor, int code) {
  const auto place = static_cast<std::size_t>(code);
  if (code < 0 || place >= vendor.status_count || vendor.statuses[place] == nullptr) {
    return "status " + std::to_string(code);
  }
  return std::string(vendor.status_prefix) + vendor.statuses[place] + " (" + std::to_string(code) +
         ")";
}

// What a library made, and destroys.
class Made {
 public:
  Made() = default;
  Made(Handle handle, int (*destroy)(Handle)) : handle_(handle), destroy_(destroy) {}
  ~Made() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  Made(Made&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), destroy_(other.destroy_) {}
  Made& operator=(Made&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
  int (*destroy_)(Handle) = nullptr;
};

// How the numbers of a product are stored, added up and scaled.
struct Kinds {
  int factor, result, compute, scale;
};

Kinds kinds_of(const Vendor& vendor, const Info& info, MatrixType type) {
  switch (type) {
    case MatrixType::fp64:
      return {kReal64, kReal64, vendor.compute_64f, kReal64};
    case MatrixType::fp32:
      return {kReal32, kReal32, vendor.compute_32f, kReal32};
    case MatrixType::tf32:
      return {kReal32, kReal32, vendor.compute_tf32, kReal32};
    case MatrixType::fp16:
      return {kReal16, kReal16, vendor.compute_32f, kReal32};
    case MatrixType::bf16:
      return {kBfloat16, kBfloat16, vendor.compute_32f, kReal32};
    case MatrixType::fp8:
      return {fp8_without_negative_zero(info) ? kFp8WithoutNegativeZero : kFp8, kBfloat16,
              vendor.compute_32f, kReal32};
    case MatrixType::int8:
      break;
  }
  return {kInt8, kInt32, vendor.compute_32i, kInt32};
}

// 1 and 0 in the type by which results are scaled.
struct Scalars {
  explicit Scalars(int type) {
    const double wide = 1.0;
    const float single = 1.0F;
    const std::int32_t whole = 1;
    const void* const from = type == kReal64   ? static_cast<const void*>(&wide)
                             : type == kReal32 ? static_cast<const void*>(&single)
                                               : &whole;
    std::memcpy(one.data(), from, type == kReal64 ? 8 : 4);
  }
  alignas(8) std::array<std::byte, 8> one{};
  alignas(8) std::array<std::byte, 8> zero{};
};

// A library with its functions.
struct Loaded {
  explicit Loaded(const Vendor& its) : vendor(its), file(its.files, its.missing) {
#define ASSAY_FIND(name) file.find(api.name, (std::string(vendor.prefix) + #name).c_str())
    ASSAY_FIND(Create);
    ASSAY_FIND(Destroy);
    ASSAY_FIND(MatmulDescCreate);
    ASSAY_FIND(MatmulDescDestroy);
    ASSAY_FIND(MatmulDescSetAttribute);
    ASSAY_FIND(MatrixLayoutCreate);
    ASSAY_FIND(MatrixLayoutDestroy);
    ASSAY_FIND(MatmulPreferenceCreate);
    ASSAY_FIND(MatmulPreferenceDestroy);
    ASSAY_FIND(MatmulPreferenceSetAttribute);
    ASSAY_FIND(MatmulAlgoGetHeuristic);
    ASSAY_FIND(Matmul);
#undef ASSAY_FIND
  }

  void check(int code, const std::string& doing) const {
    if (code == kSuccess) return;
    throw DeviceError(doing + " failed: " + vendor.name + " says " + status(vendor, code));
  }

  const Vendor& vendor;
  Library file;
  Api api{};
};

class Product : public VendorProduct {
 public:
  Product(const Loaded& library, Handle context, const std::string& name, Device& device,
          MatrixType type, const std::string& type_name, std::size_t n, const Buffer& a,
          const Buffer& b, Buffer& d)
      : library_(library),
        context_(context),
        kinds_(kinds_of(library.vendor, device.info(), type)),
        scalars_(kinds_.scale),
        a_(a.address()),
        b_(b.address()),
        d_(d.address()) {
    const Api& api = library_.api;
    const std::string lacking = name + " has no product of " + type_name +
                                " matrices with n=" + std::to_string(n) + " on " +
                                device.info().name;
    const auto available = [&](int code) {
      if (code == kSuccess) return;
      throw DeviceError(lacking + ": it says " + status(library_.vendor, code) +
                        "; choose another type, or an n that is a multiple of 16");
    };
    available(make(operation_, api.MatmulDescDestroy, [&](Handle* made) {
      return api.MatmulDescCreate(made, kinds_.compute, kinds_.scale);
    }));
    const std::int32_t transposed = library_.vendor.transposed;
    available(api.MatmulDescSetAttribute(operation_.get(), library_.vendor.transpose_a, &transposed,
                                         sizeof transposed));
    const auto layout = [&](Made& made, int kind) {
      available(make(made, api.MatrixLayoutDestroy, [&](Handle* handle) {
        return api.MatrixLayoutCreate(handle, kind, n, n, static_cast<std::int64_t>(n));
      }));
    };
    layout(factor_, kinds_.factor);
    layout(result_, kinds_.result);
    available(choose());
    workspace_ = device.allocate(workspace_bytes());
  }

  void add(Queue& queue) override {
    library_.check(library_.api.Matmul(context_, operation_.get(), scalars_.one.data(), a_,
                                       factor_.get(), b_, factor_.get(), scalars_.zero.data(), d_,
                                       result_.get(), d_, result_.get(), chosen_.data(),
                                       workspace_->address(), workspace_bytes(), queue.handle()),
                   "a product of matrices");
  }

 private:
  // The description of an algorithm, the bytes of workspace that it needs (8 bytes), the status (4)
  // and more that isn't used.
  static constexpr std::size_t kMostResult = 256;

  template <typename Create>
  static int make(Made& made, int (*destroy)(Handle), Create create) {
    Handle handle = nullptr;
    const int code = create(&handle);
    if (code == kSuccess) made = Made(handle, destroy);
    return code;
  }

  // The algorithm that the library itself recommends.
  int choose() {
    const Api& api = library_.api;
    Made preference;
    const std::uint64_t most = kWorkspace;
    int code = make(preference, api.MatmulPreferenceDestroy, api.MatmulPreferenceCreate);
    if (code == kSuccess) {
      code = api.MatmulPreferenceSetAttribute(preference.get(), kMostWorkspace, &most, sizeof most);
    }
    if (code != kSuccess) return code;
    int found = 0;
    code = api.MatmulAlgoGetHeuristic(context_, operation_.get(), factor_.get(), factor_.get(),
                                      result_.get(), result_.get(), preference.get(), 1,
                                      chosen_.data(), &found);
    if (code != kSuccess) return code;
    std::int32_t state = kSuccess;
    std::memcpy(&state, chosen_.data() + library_.vendor.algorithm_bytes + 8, sizeof state);
    return found > 0 ? state : not_supported();
  }

  int not_supported() const {
    for (std::size_t code = 0; code < library_.vendor.status_count; ++code) {
      const char* const name = library_.vendor.statuses[code];
      if (name != nullptr && std::string(name) == "NOT_SUPPORTED") return static_cast<int>(code);
    }
    return -1;
  }

  std::size_t workspace_bytes() const {
    std::uint64_t needed = 0;
    std::memcpy(&needed, chosen_.data() + library_.vendor.algorithm_bytes, sizeof needed);
    return std::max<std::size_t>(needed, 16);
  }

  const Loaded& library_;
  Handle context_;
  Kinds kinds_;
  Scalars scalars_;
  void *a_, *b_, *d_;
  Made operation_, factor_, result_;
  alignas(8) std::array<std::byte, kMostResult> chosen_{};
  std::unique_ptr<Buffer> workspace_;
};

class VendorLibrary : public MatrixLibrary {
 public:
  VendorLibrary(Device& device, const Vendor& vendor) : device_(device), library_(vendor) {
    Handle handle = nullptr;
    library_.check(library_.api.Create(&handle), std::string("starting ") + vendor.name);
    context_ = Made(handle, library_.api.Destroy);
    name_ = std::string(vendor.name) + " " + version();
  }

  const std::string& name() const override { return name_; }

  std::unique_ptr<VendorProduct> product(MatrixType type, const std::string& type_name,
                                         std::size_t n, const Buffer& a, const Buffer& b,
                                         Buffer& d) override {
    return std::make_unique<Product>(library_, context_.get(), name_, device_, type, type_name, n,
                                     a, b, d);
  }

 private:
  std::string version() const {
    std::array<int, 3> parts{};
    if (&library_.vendor == &kCublas) {
      GetProperty property = nullptr;
      library_.file.find(property, "cublasLtGetProperty");
      for (int i = 0; i < 3; ++i)
        library_.check(property(i, &parts[static_cast<std::size_t>(i)]), "asking for a version");
    } else {
      GetVersion of = nullptr;
      library_.file.find(of, "hipblasLtGetVersion");
      int whole = 0;
      library_.check(of(context_.get(), &whole), "asking for a version");
      parts = {whole / 100'000, whole / 100 % 1000, whole % 100};
    }
    return std::to_string(parts[0]) + "." + std::to_string(parts[1]) + "." +
           std::to_string(parts[2]);
  }

  Device& device_;
  Loaded library_;
  Made context_;
  std::string name_;
};

}  // namespace
}  // namespace lt

bool has_matrix_library(const std::string& backend) {
  return backend == lt::kCublas.backend || backend == lt::kHipblas.backend;
}

std::unique_ptr<MatrixLibrary> load_matrix_library(Device& device) {
  const std::string& backend = device.info().backend;
  if (!has_matrix_library(backend)) {
    throw DeviceError("devices of " + backend +
                      " have no vendor's library of matrix products; use library=own");
  }
  return std::make_unique<lt::VendorLibrary>(
      device, backend == lt::kCublas.backend ? lt::kCublas : lt::kHipblas);
}

bool fp8_without_negative_zero(const Info& info) {
  return info.architecture.rfind("gfx94", 0) == 0;
}

}  // namespace assay::device
