#include "kernels/io/table_restore.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "kernels/io/glob.h"

namespace sluice {

absl::StatusOr<TableCheckpoint> OpenTables(const std::string& pattern) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesMatching(pattern));
  if (files.empty()) {
    return Error(ErrorCode::kCheckpointMissing)
        .Text(absl::StrCat("there is no checkpoint '", PrintableName(pattern, 1000), "'"));
  }
  return TableCheckpoint::Open(files);
}

absl::Status RestoreOutput(KernelContext& context, const TableCheckpoint& checkpoint, int i, absl::string_view name,
                           absl::string_view spec) {
  SLUICE_ASSIGN_OR_RETURN(const TableTensor* const tensor, checkpoint.Find(name));
  if (tensor->dtype != context.output_type(i)) {
    return Error(ErrorCode::kCheckpointEntry)
        .Text(absl::StrCat("tensor '", PrintableName(name), "' is of another type"))
        .Found(DTypeName(tensor->dtype))
        .Expected(DTypeName(context.output_type(i)));
  }
  SliceBox box;
  if (spec.empty()) {
    SLUICE_ASSIGN_OR_RETURN(box, BoxOf(WholeSlice(tensor->shape.rank()), tensor->shape));
  } else {
    SLUICE_ASSIGN_OR_RETURN(SliceSpec slice, ParseSliceSpec(spec));
    box = std::move(slice.box);
  }
  if (box.full_shape != tensor->shape) {
    return Error(ErrorCode::kCheckpointSlice)
        .Text(absl::StrCat("tensor '", PrintableName(name), "' has another shape than its slice says"))
        .Found(tensor->shape.ToString())
        .Expected(box.full_shape.ToString());
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const to, context.AllocateOutput(i, box.shape));
  return checkpoint.Read(name, *tensor, box, to);
}

absl::Status RestoreFromTables(KernelContext& context, const std::string& pattern, const NamedSlices& wanted) {
  SLUICE_ASSIGN_OR_RETURN(const TableCheckpoint checkpoint, OpenTables(pattern));
  for (int i = 0; i < context.num_outputs(); ++i) {
    const size_t at = static_cast<size_t>(i);
    SLUICE_RETURN_IF_ERROR(RestoreOutput(context, checkpoint, i, wanted.names[at].view(), wanted.slices[at].view()));
  }
  return absl::OkStatus();
}

}  // namespace sluice
