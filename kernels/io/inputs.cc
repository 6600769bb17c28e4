#include "kernels/io/inputs.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/io/glob.h"
#include "kernels/step/file_access.h"

namespace sluice {

absl::StatusOr<std::string> GrantedPath(const KernelContext& context, int i, absl::string_view name, PathUse use) {
  absl::StatusOr<std::string> path = LocalPath(name);
  absl::Status status = path.status();
  if (path.ok()) {
    const SessionState* const session = context.run().session_state;
    status = use == PathUse::kRead ? CheckFileRead(session, *path) : CheckFileWrite(session, *path);
  }
  if (status.ok()) return path;
  return WithChangedFacts(status, [i](ErrorInfo& info) { info.input = i; });
}

absl::StatusOr<std::string> PathInput(const KernelContext& context, int i, absl::string_view what, PathUse use,
                                      bool only_scalar) {
  const Tensor& input = context.input(i);
  if (input.num_elements() != 1 || (only_scalar && input.rank() != 0)) {
    return ShapeError(i, "", input.shape(), absl::StrCat(only_scalar ? "a scalar: " : "one string: ", what));
  }
  return GrantedPath(context, i, input.flat<TString>()[0].view(), use);
}

absl::StatusOr<NamedSlices> NamesAndSlices(const KernelContext& context, int count) {
  for (const int i : {1, 2}) {
    const Tensor& input = context.input(i);
    if (input.rank() == 1 && input.num_elements() == count) continue;
    return ShapeError(
        i, "", input.shape(),
        absl::StrCat(i == 1 ? "the names" : "the slices", " of ", count, " tensors: a vector of ", count));
  }
  return NamedSlices{context.input(1).flat<TString>(), context.input(2).flat<TString>()};
}

}  // namespace sluice
