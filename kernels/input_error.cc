#include "kernels/input_error.h"

#include "graph/base/error.h"
#include "kernels/kernel_context.h"

namespace sluice {

absl::Status ShapeError(int input, absl::string_view name, const Shape& found, absl::string_view expected) {
  return ShapeError(input, name, found.ToString(), expected);
}

absl::Status ShapeError(int input, absl::string_view name, absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kOpShape).Input(input, name).Found(found).Expected(expected);
}

absl::Status ShapesError(int input, absl::string_view name, const Shape& found, absl::string_view expected) {
  return ShapesError(input, name, found.ToString(), expected);
}

absl::Status ShapesError(int input, absl::string_view name, absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kOpShapes).Input(input, name).Found(found).Expected(expected);
}

absl::Status ShapesError(absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kOpShapes).Found(found).Expected(expected);
}

absl::Status ValueError(const absl::AlphaNum& found, absl::string_view expected) {
  return Error(ErrorCode::kOpValue).Found(found.Piece()).Expected(expected);
}

absl::Status ValueError(int input, absl::string_view name, const absl::AlphaNum& found, absl::string_view expected) {
  return Error(ErrorCode::kOpValue).Input(input, name).Found(found.Piece()).Expected(expected);
}

absl::Status AttrError(absl::string_view attr, const absl::AlphaNum& found, absl::string_view expected) {
  return Error(ErrorCode::kOpAttr).Attr(attr).Found(found.Piece()).Expected(expected);
}

absl::Status CheckScalar(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& tensor = context.input(input);
  return tensor.rank() == 0 ? absl::OkStatus() : ShapeError(input, name, tensor.shape(), "a scalar");
}

absl::Status CheckVector(const KernelContext& context, int input, absl::string_view name) {
  const Tensor& tensor = context.input(input);
  return tensor.rank() == 1 ? absl::OkStatus() : ShapeError(input, name, tensor.shape(), "a vector");
}

}  // namespace sluice
