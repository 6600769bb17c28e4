#include "kernels/ragged/ragged_value.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"
#include "kernels/lists/nested_tensors.h"

namespace sluice {
namespace {

absl::StatusOr<Variant> AddRagged(const KernelContext& context, const VariantObject& left, const VariantObject& right) {
  const RaggedValue& a = static_cast<const RaggedValue&>(left);
  const RaggedValue& b = static_cast<const RaggedValue&>(right);
  bool fits = a.values().dtype() == b.values().dtype() && a.splits().size() == b.splits().size();
  for (size_t i = 0; fits && i < a.splits().size(); ++i) {
    const Tensor& x = a.splits()[i];
    const Tensor& y = b.splits()[i];
    fits = x.dtype() == y.dtype() && x.shape() == y.shape() && x.bytes() == y.bytes();
  }
  if (!fits) {
    return ValueError(absl::StrCat("ragged tensors of ", DTypeName(a.values().dtype()), " with ", a.splits().size(),
                                   " ragged axes and of ", DTypeName(b.values().dtype()), " with ", b.splits().size()),
                      "equal dtypes, axes and row splits");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor sum, SumOf(context, a.values(), b.values()));
  return Variant(MakeCounted<RaggedValue>(a.splits(), std::move(sum)));
}

absl::StatusOr<Variant> ZeroRagged(const KernelContext& context, const VariantObject& value) {
  const RaggedValue& ragged = static_cast<const RaggedValue&>(value);
  SLUICE_ASSIGN_OR_RETURN(Tensor zeros, ZerosOf(context, ragged.values()));
  return Variant(MakeCounted<RaggedValue>(ragged.splits(), std::move(zeros)));
}

}  // namespace

absl::Status RaggedValue::Encode(std::string*, std::vector<Tensor>* tensors) const {
  tensors->insert(tensors->end(), splits_.begin(), splits_.end());
  tensors->push_back(values_);
  return absl::OkStatus();
}

absl::StatusOr<Variant> RaggedValue::Decode(absl::string_view, absl::Span<Tensor> tensors) {
  if (tensors.empty()) return Error(ErrorCode::kTensorContent).Text("is not a RaggedTensor as files have it");
  std::vector<Tensor> splits(tensors.begin(), tensors.end() - 1);
  return Variant(MakeCounted<RaggedValue>(std::move(splits), std::move(tensors.back())));
}

VariantFunctions RaggedValueFunctions() { return {std::string(RaggedValue::kTypeName), &AddRagged, &ZeroRagged}; }

}  // namespace sluice
