// Checkpoints of the first form: Save, SaveSlices, Restore, RestoreSlice.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/checkpoint/table_checkpoint.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "kernels/input_error.h"
#include "kernels/io/families.h"
#include "kernels/io/inputs.h"
#include "kernels/io/table_restore.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// `i`: an input of strings, one per tensor.
absl::Status CheckCount(const KernelContext& context, int i, int count) {
  if (context.input(i).num_elements() == count) return absl::OkStatus();
  return ShapeError(i, "", context.input(i).shape(), absl::StrCat("one string for each of ", count, " tensors"));
}

// Save, and with slices SaveSlices, which has one input more.
template <bool kSlices>
absl::Status Save(KernelContext& context) {
  constexpr int kFirstTensor = kSlices ? 3 : 2;
  SLUICE_ASSIGN_OR_RETURN(const std::string path, PathInput(context, 0, "the file of the checkpoint", PathUse::kWrite));
  const int count = context.num_inputs() - kFirstTensor;
  SLUICE_RETURN_IF_ERROR(CheckCount(context, 1, count));
  if (kSlices) SLUICE_RETURN_IF_ERROR(CheckCount(context, 2, count));
  std::vector<TableSource> sources;
  for (int i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(i);
    const Tensor& value = context.input(kFirstTensor + i);
    const absl::string_view spec = kSlices ? context.input(2).flat<TString>()[at].view() : absl::string_view();
    TableSource source;
    source.name = std::string(context.input(1).flat<TString>()[at].view());
    source.full_shape = value.shape();
    source.slice = WholeSlice(value.rank());
    source.value = &value;
    if (!spec.empty()) {
      SLUICE_ASSIGN_OR_RETURN(SliceSpec slice, ParseSliceSpec(spec));
      if (slice.box.shape != value.shape()) {
        return ShapeError(kFirstTensor + i, "", value.shape(),
                          absl::StrCat("the shape of slice '", PrintableName(spec), "'"));
      }
      source.full_shape = slice.box.full_shape;
      source.slice = std::move(slice.slice);
    }
    sources.push_back(std::move(source));
  }
  return WriteTableCheckpoint(path, sources);
}

// Restore, and with a slice RestoreSlice. Which of several files to read first (preferred_shard) changes no answer.
class RestoreKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t shard, construction.Get<int64_t>("preferred_shard"));
    if (shard < -1) return AttrError("preferred_shard", shard, "at least -1");
    return std::make_unique<RestoreKernel>();
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const std::string pattern,
                            PathInput(context, 0, "the files of the checkpoint", PathUse::kRead));
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (context.input(i).num_elements() >= 1) continue;
      return ShapeError(i, "", context.input(i).shape(), "a string");
    }
    SLUICE_ASSIGN_OR_RETURN(const TableCheckpoint checkpoint, OpenTables(pattern));
    const absl::string_view spec =
        context.num_inputs() > 2 ? context.input(2).flat<TString>()[0].view() : absl::string_view();
    return RestoreOutput(context, checkpoint, 0, context.input(1).flat<TString>()[0].view(), spec);
  }
};

constexpr KernelRow kRows[] = {
    KernelRow("Save", &Call<Save<false>>).Heavy(),
    KernelRow("SaveSlices", &Call<Save<true>>).Heavy(),
    KernelRow("Restore", &New<RestoreKernel>).Heavy(),
    KernelRow("RestoreSlice", &New<RestoreKernel>).Heavy(),
};

}  // namespace

absl::Span<const KernelRow> SaveV1Kernels() { return kRows; }

}  // namespace sluice
