// Whole files as strings, and their names: ReadFile, WriteFile, MatchingFiles, ShardedFilename, ShardedFilespec.

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/io/families.h"
#include "kernels/io/glob.h"
#include "kernels/io/inputs.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

absl::Status Read(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const std::string path,
                          PathInput(context, 0, "the name of a file", PathUse::kRead, /*only_scalar=*/true));
  SLUICE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, std::numeric_limits<int64_t>::max() / 2));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape()));
  out->flat<TString>()[0].assign(bytes);
  return absl::OkStatus();
}

absl::Status Write(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const std::string path,
                          PathInput(context, 0, "the name of a file", PathUse::kWrite, /*only_scalar=*/true));
  const Tensor& contents = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, ""));
  if (path.empty()) return Error(ErrorCode::kFileMissing).Input(0).Text("the file name is empty");
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!directory.empty()) std::filesystem::create_directories(directory, failed);
  return WriteFile(path, contents.flat<TString>()[0].view());  // Also reports a directory that could not be made.
}

absl::Status Match(KernelContext& context) {
  const Tensor& patterns = context.input(0);
  if (patterns.rank() > 1) return ShapeError(0, "", patterns.shape(), "a scalar or a vector");
  std::vector<std::string> all;
  for (const TString& pattern : patterns.flat<TString>()) {
    SLUICE_ASSIGN_OR_RETURN(const std::string path, GrantedPath(context, 0, pattern.view(), PathUse::kRead));
    SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> found, FilesMatching(path));
    for (std::string& file : found) all.push_back(std::move(file));
  }
  std::sort(all.begin(), all.end());
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({static_cast<int64_t>(all.size())})));
  std::copy(all.begin(), all.end(), out->flat<TString>().begin());
  return absl::OkStatus();
}

absl::Status CheckScalars(const KernelContext& context) {
  for (int i = 0; i < context.num_inputs(); ++i) SLUICE_RETURN_IF_ERROR(CheckScalar(context, i, ""));
  return absl::OkStatus();
}

absl::Status SetString(KernelContext& context, absl::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape()));
  out->flat<TString>()[0].assign(text);
  return absl::OkStatus();
}

absl::Status ShardName(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckScalars(context));
  return SetString(context, absl::StrFormat("%s-%05d-of-%05d", context.input(0).flat<TString>()[0].view(),
                                            context.input(1).flat<int32_t>()[0], context.input(2).flat<int32_t>()[0]));
}

absl::Status ShardPattern(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckScalars(context));
  return SetString(context, absl::StrFormat("%s-\?\?\?\?\?-of-%05d", context.input(0).flat<TString>()[0].view(),
                                            context.input(1).flat<int32_t>()[0]));
}

constexpr KernelRow kRows[] = {
    KernelRow("ReadFile", &Call<Read>),
    KernelRow("WriteFile", &Call<Write>).Shared(Sharing::kEqualNodes),
    KernelRow("MatchingFiles", &Call<Match>),
    KernelRow("ShardedFilename", &Call<ShardName>).Cheap(),
    KernelRow("ShardedFilespec", &Call<ShardPattern>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> FileKernels() { return kRows; }

}  // namespace sluice
