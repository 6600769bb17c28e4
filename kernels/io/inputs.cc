#include "kernels/io/inputs.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/io/glob.h"

namespace sluice {

absl::StatusOr<std::string> PathInput(const KernelContext& context, int i, absl::string_view what, bool only_scalar) {
  const Tensor& input = context.input(i);
  if (input.num_elements() != 1 || (only_scalar && input.rank() != 0)) {
    return Error(ErrorCode::kOpShape)
        .Input(i)
        .Found(input.shape().ToString())
        .Expected(absl::StrCat(only_scalar ? "a scalar: " : "one string: ", what));
  }
  absl::StatusOr<std::string> path = LocalPath(input.flat<TString>()[0].view());
  if (path.ok()) return path;
  return WithChangedFacts(path.status(), [i](ErrorInfo& info) { info.input = i; });
}

absl::StatusOr<NamedSlices> NamesAndSlices(const KernelContext& context, int count) {
  for (const int i : {1, 2}) {
    const Tensor& input = context.input(i);
    if (input.rank() == 1 && input.num_elements() == count) continue;
    return Error(ErrorCode::kOpShape)
        .Input(i)
        .Found(input.shape().ToString())
        .Expected(absl::StrCat(i == 1 ? "the names" : "the slices", " of ", count, " tensors: a vector of ", count));
  }
  return NamedSlices{context.input(1).flat<TString>(), context.input(2).flat<TString>()};
}

}  // namespace sluice
