#include "kernels/linalg/constant_weights.h"

#include <utility>

#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/gemm.h"

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

const void* ConstantWeights::Get(const Tensor& b, bool transposed) {
  if (!is_packed_.load(std::memory_order_acquire)) {
    MutexLock lock(&mu_);
    if (!is_packed_.load(std::memory_order_relaxed)) Pack(b, transposed);
  }
  return packed_.has_value() && Holds(b) ? packed_.raw_data() : nullptr;
}

void ConstantWeights::Pack(const Tensor& b, bool transposed) {
  source_ = b;
  if (b.dtype() == DType::kDouble) {
    packed_ = PackMatrix(b.flat<double>().data(), b.shape(), transposed);
  } else if (b.dtype() == DType::kFloat) {
    packed_ = PackMatrix(b.flat<float>().data(), b.shape(), transposed);
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
