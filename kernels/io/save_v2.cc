// Checkpoints written: SaveV2 and MergeV2Checkpoints.

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "kernels/input_error.h"
#include "kernels/io/families.h"
#include "kernels/io/inputs.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

constexpr int kFirstTensor = 3;

// The error that input `i` does not have the shape of its slice `spec`.
absl::Status NotTheSlice(int i, const Tensor& value, absl::string_view spec) {
  return ShapeError(i, "", value.shape(), absl::StrCat("the shape of slice '", PrintableName(spec), "'"));
}

absl::Status Save(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const std::string prefix,
                          PathInput(context, 0, "the prefix of the checkpoint's files", PathUse::kWrite));
  const int count = context.num_inputs() - kFirstTensor;
  SLUICE_ASSIGN_OR_RETURN(const NamedSlices wanted, NamesAndSlices(context, count));
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (int i = 0; i < count; ++i) {
    if (context.IsCancelled()) return Error(ErrorCode::kRunCancelled);
    const absl::string_view name = wanted.names[static_cast<size_t>(i)].view();
    const absl::string_view spec = wanted.slices[static_cast<size_t>(i)].view();
    const Tensor& value = context.input(kFirstTensor + i);
    if (spec.empty()) {
      SLUICE_RETURN_IF_ERROR(writer->Add(name, value));
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const SliceSpec slice, ParseSliceSpec(spec));
    if (slice.box.shape != value.shape()) return NotTheSlice(kFirstTensor + i, value, spec);
    SLUICE_RETURN_IF_ERROR(writer->AddSlice(name, slice.box.full_shape, slice.slice, value));
  }
  return writer->Finish();
}

// Joins what several SaveV2 have written, and removes the directories where they did, if nothing else is in there.
class MergeKernel : public Kernel {
 public:
  MergeKernel(bool delete_old_dirs, bool allow_missing)
      : delete_old_dirs_(delete_old_dirs), allow_missing_(allow_missing) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const bool delete_old_dirs, construction.Get<bool>("delete_old_dirs"));
    SLUICE_ASSIGN_OR_RETURN(const bool allow_missing, construction.GetOr<bool>("allow_missing_files", false));
    return std::make_unique<MergeKernel>(delete_old_dirs, allow_missing);
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    if (input.rank() != 1) return ShapeError(0, "", input.shape(), "a vector of prefixes");
    SLUICE_ASSIGN_OR_RETURN(const std::string destination, PathInput(context, 1, "the prefix of the whole checkpoint",
                                                                     PathUse::kWrite, /*only_scalar=*/true));
    std::vector<std::string> prefixes;
    for (const TString& prefix : input.flat<TString>()) {
      SLUICE_ASSIGN_OR_RETURN(std::string path, GrantedPath(context, 0, prefix.view(), PathUse::kWrite));
      prefixes.push_back(std::move(path));
    }
    SLUICE_RETURN_IF_ERROR(MergeBundles(prefixes, destination, allow_missing_));
    if (delete_old_dirs_) RemoveDirectories(prefixes, destination);
    return absl::OkStatus();
  }

 private:
  // As far as they are empty.
  static void RemoveDirectories(const std::vector<std::string>& prefixes, const std::string& destination) {
    namespace fs = std::filesystem;
    const fs::path kept = fs::path(destination).parent_path();
    for (const std::string& prefix : prefixes) {
      const fs::path directory = fs::path(prefix).parent_path();
      std::error_code ignored;
      if (directory.empty() || directory == kept || !fs::is_directory(directory, ignored)) continue;
      fs::remove(directory, ignored);
    }
  }

  const bool delete_old_dirs_, allow_missing_;
};

constexpr KernelRow kRows[] = {
    KernelRow("SaveV2", &Call<Save>).Heavy(),
    KernelRow("MergeV2Checkpoints", &New<MergeKernel>).Heavy(),
};

}  // namespace

absl::Span<const KernelRow> SaveV2Kernels() { return kRows; }

}  // namespace sluice
