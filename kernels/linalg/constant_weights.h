#ifndef SLUICE_KERNELS_LINALG_CONSTANT_WEIGHTS_H_
#define SLUICE_KERNELS_LINALG_CONSTANT_WEIGHTS_H_

#include <atomic>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "graph/value/tensor.h"
#include "kernels/linalg/gemm_plugin.h"
#include "kernels/linalg/packed_matrix.h"
#include "kernels/linalg/products.h"

namespace sluice {

// The packed form of a B that is the same in every run, kept by the kernel that uses it, and shared with other kernels
// that read it the same way. Made at the first call. A value is recognised by the address and the shape of its
// elements; holds a reference to them, so that no other value can get that address. Thread-safe.
class ConstantWeights {
 public:
  // The packed elements of `b` (float, double; half and bfloat16 as floats), or none when another value was packed
  // before, or for another plug-in, or memory is short: for good where `b` can be read unpacked, until the next call
  // where it stands in a file (Note [Tensors in files]; then `plugin` is null). Valid as long as this object. `size` is
  // that of the product at hand, `plugin` (may be null) the run's.
  PackedOperand Get(const Tensor& b, bool transposed, const GemmSize& size, const SluiceGemmPlugin* plugin)
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  bool Holds(const Tensor& b) const { return b.raw_data() == source_.raw_data() && b.shape() == source_.shape(); }
  void Pack(const Tensor& b, bool transposed, const GemmSize& size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // In the order of the plug-in. Returns false if there is no plug-in, if it refuses, or if packing does not pay.
  bool PackForPlugin(const Tensor& b, bool transposed, const GemmSize& size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  // Written under mu_ before is_packed_ is set, immutable afterwards.
  Tensor source_;
  std::shared_ptr<const PackedConstant> shared_;  // In our own order.
  Tensor of_plugin_;                              // In that of plugin_.
  const SluiceGemmPlugin* plugin_ = nullptr;
  const SluiceGemmProduct* order_ = nullptr;  // The plug-in's; null: our own.
  std::atomic<bool> is_packed_{false};        // Release and acquire: publishes all five.
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_CONSTANT_WEIGHTS_H_
