#ifndef SLUICE_EXECUTOR_TAPE_GRAD_CHECK_H_
#define SLUICE_EXECUTOR_TAPE_GRAD_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_core.h"
#include "executor/tape/tape_node.h"

namespace sluice {

// Makes `grad`, which `function` has given at `index`, what `meta` says a gradient must be: one of a shape that `meta`
// was broadcast to is summed down, one of another number type is cast. Else kOpShape or kInputType, naming function,
// index and both. Undefined gradients are fine. Sums and casts are recorded as ops are.
absl::Status CheckGrad(TapeCore& core, const GradientMeta& meta, absl::string_view function, size_t index,
                       TapeValue* grad);
// For hooks: kTapeHook if the shape or type changes.
absl::Status CheckReplacement(const GradientMeta& meta, absl::string_view function, size_t index, const Tensor& grad);

// Makes a gradient whose elements are all `value`.
absl::StatusOr<Tensor> FilledGrad(const GradientMeta& meta, double value);
bool HasNan(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_GRAD_CHECK_H_
