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

absl::Status CheckRestoredType(absl::string_view name, DType found, DType wanted) {
  if (found == wanted) return absl::OkStatus();
  return Error(ErrorCode::kCheckpointEntry)
      .Text(absl::StrCat("tensor '", PrintableName(name), "' is of another type"))
      .Found(DTypeName(found))
      .Expected(DTypeName(wanted));
}

absl::Status CheckRestoredShape(absl::string_view name, const Shape& found, const Shape& stated) {
  if (found == stated) return absl::OkStatus();
  return Error(ErrorCode::kCheckpointSlice)
      .Text(absl::StrCat("tensor '", PrintableName(name), "' has another shape than its slice says"))
      .Found(found.ToString())
      .Expected(stated.ToString());
}

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
  SLUICE_RETURN_IF_ERROR(CheckRestoredType(name, tensor->dtype, context.output_type(i)));
  SliceBox box;
  if (spec.empty()) {
    SLUICE_ASSIGN_OR_RETURN(box, BoxOf(WholeSlice(tensor->shape.rank()), tensor->shape));
  } else {
    SLUICE_ASSIGN_OR_RETURN(SliceSpec slice, ParseSliceSpec(spec));
    box = std::move(slice.box);
  }
  SLUICE_RETURN_IF_ERROR(CheckRestoredShape(name, tensor->shape, box.full_shape));
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
