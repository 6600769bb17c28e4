#include "kernels/lists/optional.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"
#include "kernels/lists/nested_tensors.h"

namespace sluice {
namespace {

absl::StatusOr<Variant> AddOptionals(const KernelContext& context, const VariantObject& left,
                                     const VariantObject& right) {
  const Optional& a = static_cast<const Optional&>(left);
  const Optional& b = static_cast<const Optional&>(right);
  if (a.has_value() != b.has_value() || a.components().size() != b.components().size()) {
    return ValueError(
        absl::StrCat("optionals of ", a.components().size(), " and ", b.components().size(), " components"),
        "optionals alike");
  }
  if (!a.has_value()) return Variant(MakeCounted<Optional>());
  std::vector<Tensor> sums(a.components().size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const Tensor& x = a.components()[i];
    const Tensor& y = b.components()[i];
    if (x.dtype() != y.dtype()) {
      return ValueError(absl::StrCat(DTypeName(x.dtype()), " and ", DTypeName(y.dtype()), " as component ", i),
                        "equal dtypes");
    }
    SLUICE_ASSIGN_OR_RETURN(sums[i], SumOf(context, x, y));
  }
  return Variant(MakeCounted<Optional>(std::move(sums)));
}

absl::StatusOr<Variant> ZeroOptional(const KernelContext& context, const VariantObject& value) {
  const Optional& optional = static_cast<const Optional&>(value);
  if (!optional.has_value()) return Variant(MakeCounted<Optional>());
  std::vector<Tensor> zeros(optional.components().size());
  for (size_t i = 0; i < zeros.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(zeros[i], ZerosOf(context, optional.components()[i]));
  }
  return Variant(MakeCounted<Optional>(std::move(zeros)));
}

}  // namespace

absl::Status Optional::Encode(std::string* metadata, std::vector<Tensor>* tensors) const {
  metadata->push_back(has_value_ ? 1 : 0);
  tensors->insert(tensors->end(), components_.begin(), components_.end());
  return absl::OkStatus();
}

absl::StatusOr<Variant> Optional::Decode(absl::string_view metadata, absl::Span<Tensor> tensors) {
  if (metadata.size() != 1 || (metadata[0] == 0 && !tensors.empty())) {
    return Error(ErrorCode::kTensorContent).Text("is not an Optional as files have it");
  }
  if (metadata[0] == 0) return Variant(MakeCounted<Optional>());
  return Variant(MakeCounted<Optional>(std::vector<Tensor>(tensors.begin(), tensors.end())));
}

VariantFunctions OptionalFunctions() { return {std::string(Optional::kTypeName), &AddOptionals, &ZeroOptional}; }

}  // namespace sluice
