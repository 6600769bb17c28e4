// The checks of InferenceContext and the errors they make. Op and node are filled in by the runner.

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/made_nodes.h"
#include "graph/shapes/inference_context.h"

namespace sluice {

std::string InferenceContext::InputName(int i) const {
  return i >= 0 && i < num_inputs() ? UserOutputName(graph_, inputs_[static_cast<size_t>(i)]) : "";
}

absl::Status InferenceContext::RankError(int input_index, absl::string_view expected) const {
  const PartialShape& shape = input(input_index);
  return Error(ErrorCode::kShapeRank)
      .Input(input_index, InputName(input_index))
      .Found(absl::StrCat("rank ", shape.rank(), " ", shape.ToString()))
      .Expected(expected);
}

absl::Status InferenceContext::MismatchError(int input_index, absl::string_view text, const PartialShape& found,
                                             const PartialShape& expected) const {
  return Error(ErrorCode::kShapeMismatch)
      .Input(input_index, InputName(input_index))
      .Text(text)
      .Found(found.ToString())
      .Expected(expected.ToString());
}

absl::Status InferenceContext::ValueError(int input_index, absl::string_view text) const {
  return Error(ErrorCode::kShapeValue).Input(input_index, InputName(input_index)).Text(text);
}

absl::Status InferenceContext::AttrError(absl::string_view attr, absl::string_view text) const {
  return Error(ErrorCode::kAttrValue).Attr(attr).Text(text);
}

absl::Status InferenceContext::RequireRank(int i, int rank) const {
  if (!input(i).has_rank() || input(i).rank() == rank) return absl::OkStatus();
  return RankError(i, absl::StrCat("rank ", rank));
}

absl::Status InferenceContext::RequireRankAtLeast(int i, int rank) const {
  if (!input(i).has_rank() || input(i).rank() >= rank) return absl::OkStatus();
  return RankError(i, absl::StrCat("rank ", rank, " or more"));
}

absl::Status InferenceContext::RequireRankAtMost(int i, int rank) const {
  if (!input(i).has_rank() || input(i).rank() <= rank) return absl::OkStatus();
  return RankError(i, absl::StrCat("rank ", rank, " or less"));
}

absl::Status InferenceContext::RequireSameShape(int a, int b, PartialShape* merged) const {
  absl::StatusOr<PartialShape> both = input(a).MergeWith(input(b));
  if (!both.ok() && !input(a).IsCompatibleWith(input(b))) {
    return MismatchError(b, absl::StrCat("does not have the shape of input ", a), input(b), input(a));
  }
  if (merged != nullptr) *merged = both.ok() ? *std::move(both) : input(a);
  return absl::OkStatus();
}

absl::Status InferenceContext::RequireSameDim(int a, int axis_a, int b, int axis_b, int64_t* merged) const {
  const int64_t size_a = dim(a, axis_a);
  const int64_t size_b = dim(b, axis_b);
  if (DimsDiffer(size_a, size_b)) {
    return Error(ErrorCode::kShapeMismatch)
        .Input(b, InputName(b))
        .Text(absl::StrCat("shapes ", input(a).ToString(), " (input ", a, ") and ", input(b).ToString(), " (input ", b,
                           ") do not fit"))
        .Found(absl::StrCat("size ", size_b))
        .Expected(absl::StrCat("size ", size_a));
  }
  if (merged != nullptr) *merged = EitherDim(size_a, size_b);
  return absl::OkStatus();
}

absl::Status InferenceContext::RequireHandleType(int i, size_t part, DType wanted, absl::string_view attr) const {
  const HandleData* const parts = handle(i);
  const DType found = parts != nullptr && part < parts->size() ? (*parts)[part].dtype : DType::kInvalid;
  if (found == DType::kInvalid || wanted == DType::kInvalid || found == wanted) return absl::OkStatus();
  return Error(ErrorCode::kAttrValue)
      .Attr(attr)
      .Input(i, InputName(i))
      .Text("is not the type of what the handle refers to")
      .Found(DTypeName(wanted))
      .Expected(DTypeName(found));
}

absl::Status InferenceContext::NormalizeAxis(int64_t axis, int rank, int input_index, int* out) const {
  if (axis < -rank || axis >= rank) {
    auto error = Error(ErrorCode::kShapeValue);
    if (input_index >= 0) error.Input(input_index, InputName(input_index));
    return error.Text(absl::StrCat("axis ", axis, " is out of range"))
        .Expected(absl::StrCat("an axis from ", -rank, " to below ", rank));
  }
  *out = static_cast<int>(axis < 0 ? axis + rank : axis);
  return absl::OkStatus();
}

}  // namespace sluice
