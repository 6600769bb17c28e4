#include "kernels/linalg/constant_weights.h"

#include <utility>

#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/gemm_library.h"

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

PackedMatrix ConstantWeights::Get(const Tensor& b, bool transposed, const GemmSize& size) {
  if (!is_packed_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    if (!is_packed_.load(std::memory_order_relaxed)) Pack(b, transposed, size);
  }
  if (!packed_.has_value() || !Holds(b)) return {};
  return {packed_.raw_data(), order_};
}

bool ConstantWeights::PackForPlugin(const Tensor& b, bool transposed, const GemmSize& size) {
  const SluiceGemmPlugin* const plugin = IsForPlugin(size) ? FindGemmPlugin() : nullptr;
  if (plugin == nullptr) return false;
  const SluiceGemmProblem problem = {size.m, size.n, size.k, size.k, b.dim(1), size.n, 0, transposed};
  const SluiceGemmProduct* const order = plugin->prepare_packed(&problem, nullptr);
  if (order == nullptr) return false;
  const auto bytes = static_cast<int64_t>(plugin->packed_bytes(order));
  absl::StatusOr<Tensor> packed = Tensor::Make(DType::kUInt8, Shape::Of({bytes}));
  if (!packed.ok() || plugin->pack(order, b.flat<float>().data(), packed->mutable_raw_data()) != 0) return false;
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

bool IsConstantInput(const KernelConstruction& construction, int i) {
  const Graph& graph = construction.graph();
  NodeId node = graph.inputs(construction.node())[static_cast<size_t>(i)].node;
  for (int steps = 0; steps < 8; ++steps) {
    if (graph.Is(node, "Const") || graph.Is(node, "HostConst")) return true;
    const bool hands_on = graph.Is(node, "Identity") || graph.Is(node, "Enter") || graph.Is(node, "StopGradient") ||
                          graph.Is(node, "Snapshot");
    if (!hands_on) return false;
    node = graph.inputs(node)[0].node;
  }
  return false;
}

}  // namespace sluice
