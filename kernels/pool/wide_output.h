#ifndef SLUICE_KERNELS_POOL_WIDE_OUTPUT_H_
#define SLUICE_KERNELS_POOL_WIDE_OUTPUT_H_

#include <utility>

#include "absl/status/statusor.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/pool/wide_values.h"

namespace sluice {

// An output of a kernel that is computed in its wide type: in place, or aside where the output is of a narrow one.
class WideOutput {
 public:
  static absl::StatusOr<WideOutput> Make(KernelContext& context, int i, const Shape& shape) {
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(i, shape));
    const DType wide = WideTypeOf(output->dtype());
    if (wide == output->dtype()) return WideOutput(output, Tensor());
    SLUICE_ASSIGN_OR_RETURN(Tensor aside, context.AllocateTemp(wide, shape));
    return WideOutput(output, std::move(aside));
  }

  template <typename W>
  W* data() {
    return (aside_.has_value() ? aside_.flat<W>() : output_->flat<W>()).data();
  }
  // Call once all elements are computed.
  void Finish(WideUse use) {
    if (aside_.has_value()) NarrowInto(aside_, use, output_);
  }

 private:
  WideOutput(Tensor* output, Tensor aside) : output_(output), aside_(std::move(aside)) {}

  Tensor* output_;
  Tensor aside_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_WIDE_OUTPUT_H_
