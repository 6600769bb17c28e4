#ifndef SLUICE_KERNELS_RNN_CELL_VALUES_H_
#define SLUICE_KERNELS_RNN_CELL_VALUES_H_

// Inputs and outputs of cells as floats: halves are converted at the edges, so that all sums are made in float.

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Checks that input `input` has the shape `dims`. kOpShape.
absl::Status CheckCellShape(const KernelContext& context, int input, absl::string_view name,
                            absl::Span<const int64_t> dims);
// Checks its rank alone.
absl::Status CheckCellRank(const KernelContext& context, int input, absl::string_view name, int rank);

// All inputs from `first` to `last` as floats. Holds them. Not thread-safe.
class FloatInputs {
 public:
  static absl::StatusOr<FloatInputs> Make(const KernelContext& context, int first, int last);
  const float* operator[](int input) const { return tensor(input).flat<float>().data(); }
  const Tensor& tensor(int input) const { return tensors_[static_cast<size_t>(input - first_)]; }

 private:
  int first_ = 0;
  absl::InlinedVector<Tensor, 10> tensors_;
};

// Outputs as floats. Not thread-safe.
class FloatOutputs {
 public:
  explicit FloatOutputs(KernelContext& context) : context_(context) {}

  // The elements of output `output`, which must be added in their order, from 0 on. Valid until Finish.
  absl::StatusOr<float*> Add(const Shape& shape);
  // Rounds those that are not floats.
  void Finish();

 private:
  struct Output {
    Tensor* tensor;
    Tensor floats;  // Without a value where the output itself holds floats.
  };
  KernelContext& context_;
  absl::InlinedVector<Output, 8> outputs_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RNN_CELL_VALUES_H_
