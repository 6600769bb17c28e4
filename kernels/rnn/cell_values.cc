#include "kernels/rnn/cell_values.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/linalg/float_cast.h"

namespace sluice {

absl::Status CheckCellShape(const KernelContext& context, int input, absl::string_view name,
                            absl::Span<const int64_t> dims) {
  const Shape& shape = context.input(input).shape();
  if (shape.dims() == dims) return absl::OkStatus();
  return ShapeError(input, name, shape, absl::StrCat("[", absl::StrJoin(dims, ","), "]"));
}

absl::Status CheckCellRank(const KernelContext& context, int input, absl::string_view name, int rank) {
  const Shape& shape = context.input(input).shape();
  if (shape.rank() == rank) return absl::OkStatus();
  return ShapeError(input, name, shape, absl::StrCat(rank, " dimensions"));
}

absl::StatusOr<FloatInputs> FloatInputs::Make(const KernelContext& context, int first, int last) {
  FloatInputs inputs;
  inputs.first_ = first;
  for (int i = first; i <= last; ++i) {
    SLUICE_ASSIGN_OR_RETURN(Tensor floats, ToFloats(context.input(i), context.allocator()));
    inputs.tensors_.push_back(std::move(floats));
  }
  return inputs;
}

absl::StatusOr<float*> FloatOutputs::Add(const Shape& shape) {
  Output output;
  SLUICE_ASSIGN_OR_RETURN(output.tensor, context_.AllocateOutput(static_cast<int>(outputs_.size()), shape));
  if (output.tensor->dtype() != DType::kFloat) {
    SLUICE_ASSIGN_OR_RETURN(output.floats, context_.AllocateTemp(DType::kFloat, shape));
  }
  outputs_.push_back(std::move(output));
  Output& added = outputs_.back();
  // Small elements lie in the tensor itself, which must not move: see the count of inlined outputs.
  Tensor& floats = added.floats.has_value() ? added.floats : *added.tensor;
  return floats.flat<float>().data();
}

void FloatOutputs::Finish() {
  for (Output& output : outputs_) {
    if (output.floats.has_value()) RoundFloats(output.floats, output.tensor);
  }
}

}  // namespace sluice
