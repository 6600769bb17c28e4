#include "kernels/linalg/constant_weights.h"

#include <utility>

#include "kernels/linalg/gemm_plugin.h"
#include "kernels/memory/file_tensor.h"

namespace sluice {

PackedOperand ConstantWeights::Get(const Tensor& b, bool transposed, const GemmSize& size,
                                   const SluiceGemmPlugin* plugin) {
  if (!is_packed_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    if (!is_packed_.load(std::memory_order_relaxed)) {
      plugin_ = plugin;
      Pack(b, transposed, size);
      if (!is_packed_.load(std::memory_order_relaxed)) return {};
    }
  }
  if (!Holds(b)) return {};
  if (shared_ != nullptr) return {shared_->packed.data(), nullptr};
  if (order_ == nullptr || plugin != plugin_) return {};
  return {of_plugin_.raw_data(), order_};
}

bool ConstantWeights::PackForPlugin(const Tensor& b, bool transposed, const GemmSize& size) {
  if (plugin_ == nullptr || !IsForPlugin(size)) return false;
  const SluiceGemmProblem problem = {size.m, size.n, size.k, size.k, b.dim(1), size.n, 0, transposed};
  const SluiceGemmProduct* const order = plugin_->prepare_packed(&problem, nullptr);
  if (order == nullptr) return false;
  const auto bytes = static_cast<int64_t>(plugin_->packed_bytes(order));
  absl::StatusOr<Tensor> packed = Tensor::Make(DType::kUInt8, Shape::Of({bytes}));
  if (!packed.ok() || plugin_->pack(order, b.flat<float>().data(), packed->mutable_raw_data()) != 0) return false;
  of_plugin_ = *std::move(packed);
  order_ = order;
  return true;
}

void ConstantWeights::Pack(const Tensor& b, bool transposed, const GemmSize& size) {
  source_ = b;
  if (b.dtype() != DType::kFloat || !PackForPlugin(b, transposed, size)) {
    shared_ = SharedPackedConstant(b, {b.dim(transposed ? 1 : 0), b.dim(transposed ? 0 : 1), transposed});
  }
  // A matrix in a file cannot be read unpacked: the next call tries again where memory was short.
  const bool is_over = shared_ != nullptr || !IsInFile(b);
  is_packed_.store(is_over, std::memory_order_release);
}

}  // namespace sluice
