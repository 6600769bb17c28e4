#include "kernels/linalg/constant_weights.h"

#include <utility>

#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/gemm_plugin.h"

namespace sluice {
namespace {

// PackedGemm's form of the elements at `from`; without a value when memory is short.
template <typename T>
Tensor PackMatrix(const T* from, const Shape& shape, bool transposed) {
  const int64_t k = shape.dim(transposed ? 1 : 0);
  const int64_t n = shape.dim(transposed ? 0 : 1);
  const GemmIsa<T>& isa = BestGemm<T>();
  const int64_t elements = PackedGemm<T>::PackedElements(isa, k, n);
  absl::StatusOr<Tensor> packed = Tensor::Make(DTypeOf<T>::value, Shape::Of({elements}));
  if (!packed.ok()) return Tensor();
  const MatrixView<T> view = {from, shape.dim(1), transposed};
  PackedGemm<T>::Pack(isa, view, k, n, packed->template flat<T>().data());
  return *std::move(packed);
}

}  // namespace

PackedMatrix ConstantWeights::Get(const Tensor& b, bool transposed, const GemmSize& size,
                                  const SluiceGemmPlugin* plugin) {
  if (!is_packed_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    if (!is_packed_.load(std::memory_order_relaxed)) {
      plugin_ = plugin;
      Pack(b, transposed, size);
    }
  }
  if (!packed_.has_value() || !Holds(b) || (order_ != nullptr && plugin != plugin_)) return {};
  return {packed_.raw_data(), order_};
}

bool ConstantWeights::PackForPlugin(const Tensor& b, bool transposed, const GemmSize& size) {
  if (plugin_ == nullptr || !IsForPlugin(size)) return false;
  const SluiceGemmProblem problem = {size.m, size.n, size.k, size.k, b.dim(1), size.n, 0, transposed};
  const SluiceGemmProduct* const order = plugin_->prepare_packed(&problem, nullptr);
  if (order == nullptr) return false;
  const auto bytes = static_cast<int64_t>(plugin_->packed_bytes(order));
  absl::StatusOr<Tensor> packed = Tensor::Make(DType::kUInt8, Shape::Of({bytes}));
  if (!packed.ok() || plugin_->pack(order, b.flat<float>().data(), packed->mutable_raw_data()) != 0) return false;
  packed_ = *std::move(packed);
  order_ = order;
  return true;
}

void ConstantWeights::Pack(const Tensor& b, bool transposed, const GemmSize& size) {
  source_ = b;
  if (b.dtype() == DType::kDouble) {
    packed_ = PackMatrix(b.flat<double>().data(), b.shape(), transposed);
  } else if (b.dtype() == DType::kFloat) {
    if (!PackForPlugin(b, transposed, size)) packed_ = PackMatrix(b.flat<float>().data(), b.shape(), transposed);
  } else {
    const absl::StatusOr<Tensor> floats = ToFloats(b, HostAllocator());
    if (floats.ok()) packed_ = PackMatrix(floats->flat<float>().data(), b.shape(), transposed);
  }
  is_packed_.store(true, std::memory_order_release);
}

}  // namespace sluice
