#ifndef SLUICE_KERNELS_NN_CONVOLUTION_CALL_H_
#define SLUICE_KERNELS_NN_CONVOLUTION_CALL_H_

#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/base/mutex.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/packed_matrix.h"
#include "kernels/nn/conv_geometry.h"
#include "kernels/nn/winograd.h"
#include "kernels/worker_scratch.h"

namespace sluice {

// The packed form of the filter of a kernel: kept where the filter is constant. Thread-safe.
class PackedFilter {
 public:
  explicit PackedFilter(bool is_constant) : is_constant_(is_constant) {}

  absl::StatusOr<PackedMatrix> Get(const Tensor& filter, const PackedLayout& layout, Allocator& allocator) const
      ABSL_LOCKS_EXCLUDED(mu_);

 private:
  bool Holds(const Tensor& filter, const PackedLayout& layout) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const bool is_constant_;
  mutable Mutex mu_;
  mutable std::shared_ptr<const PackedConstant> kept_ ABSL_GUARDED_BY(mu_);
};

// The common part of convolution kernels: inputs 0 and 1 are image and filter, of the same dtype. Part of a kernel.
// Thread-safe.
class ConvolutionCall {
 public:
  ConvolutionCall(const KernelConstruction& construction, const ConvForm& form)
      : form_(form), filter_(construction.InputIsConstant(1)), minimal_filter_(construction.InputIsConstant(1)) {}

  // The convolution of the shapes of inputs 0 and 1.
  absl::StatusOr<ConvGeometry> Resolve(const KernelContext& context) const {
    return ConvGeometry::Resolve(form_, context.input(0).shape(), context.input(1).shape());
  }

  // Fills `output`, of geometry.output's shape: of the inputs' dtype; also of floats where that is half or bfloat16,
  // for what is finished before it is rounded. `epilogue` (may be null) is for an output of floats.
  absl::Status Run(const KernelContext& context, const ConvGeometry& geometry, const GemmEpilogue<float>* epilogue,
                   Tensor* output) const;

 private:
  absl::Status RunFloats(const KernelContext& context, const ConvGeometry& geometry, const Tensor& image,
                         const GemmEpilogue<float>* epilogue, Tensor* output) const;
  template <typename T>
  absl::Status RunPlain(const KernelContext& context, const ConvGeometry& geometry, const T* image,
                        const GemmEpilogue<T>* epilogue, T* output) const;

  const ConvForm form_;
  const PackedFilter filter_;
  const MinimalFilter minimal_filter_;
  mutable ScratchKeeper scratch_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_NN_CONVOLUTION_CALL_H_
