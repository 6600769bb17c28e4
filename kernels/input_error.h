#ifndef SLUICE_KERNELS_INPUT_ERROR_H_
#define SLUICE_KERNELS_INPUT_ERROR_H_

// What kernels answer for an input or an attr that is not as it must be: where it is, what came, what was expected.
// `input` counts from 0; `name` is its name in the op's signature, or empty.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/value/shape.h"

namespace sluice {

class KernelContext;

// kOpShape.
absl::Status ShapeError(int input, absl::string_view name, const Shape& found, absl::string_view expected);
absl::Status ShapeError(int input, absl::string_view name, absl::string_view found, absl::string_view expected);
// kOpShapes: an input that does not fit others; several that do not fit each other.
absl::Status ShapesError(int input, absl::string_view name, const Shape& found, absl::string_view expected);
absl::Status ShapesError(int input, absl::string_view name, absl::string_view found, absl::string_view expected);
absl::Status ShapesError(absl::string_view found, absl::string_view expected);
// kOpValue.
absl::Status ValueError(const absl::AlphaNum& found, absl::string_view expected);
absl::Status ValueError(int input, absl::string_view name, const absl::AlphaNum& found, absl::string_view expected);
// kOpAttr.
absl::Status AttrError(absl::string_view attr, const absl::AlphaNum& found, absl::string_view expected);

// kOpShape unless input `input` is a scalar (a vector).
absl::Status CheckScalar(const KernelContext& context, int input, absl::string_view name);
absl::Status CheckVector(const KernelContext& context, int input, absl::string_view name);

}  // namespace sluice

#endif  // SLUICE_KERNELS_INPUT_ERROR_H_
