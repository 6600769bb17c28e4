#include "tools/cli/run/result_files.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto.h"
#include "tools/cli/numpy/npy.h"

namespace sluice {

absl::StatusOr<SaveOrder> ParseSaveOrder(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return Error(ErrorCode::kValueSyntax).Text(absl::StrCat("'", text, "' is not of the form NAME=FILE"));
  }
  SaveOrder order{text.substr(0, equals), text.substr(equals + 1)};
  for (const absl::string_view ending : {".npy", ".npz", ".pb"}) {
    if (absl::EndsWith(order.path, ending)) return order;
  }
  return Error(ErrorCode::kValueSyntax)
      .Text(absl::StrCat("'", order.path, "' cannot be written: the name must end in .npy, .npz or .pb"));
}

absl::Status SaveResults(absl::Span<const SaveOrder> orders, absl::Span<const NamedTensor> results) {
  std::map<std::string, std::vector<NamedTensor>> archives;
  for (const SaveOrder& order : orders) {
    const auto result = std::find_if(results.begin(), results.end(),
                                     [&order](const NamedTensor& candidate) { return candidate.first == order.name; });
    SLUICE_CHECK(result != results.end());
    if (absl::EndsWith(order.path, ".npz")) {
      archives[order.path].push_back(*result);
      continue;
    }
    absl::StatusOr<std::string> bytes =
        absl::EndsWith(order.path, ".npy") ? WriteNpy(result->second) : EncodeTensorProto(result->second);
    if (!bytes.ok()) return WithFile(bytes.status(), order.path);
    SLUICE_RETURN_IF_ERROR(WriteFile(order.path, *bytes));
  }
  for (const auto& [path, tensors] : archives) {
    absl::StatusOr<std::string> bytes = WriteNpz(tensors);
    if (!bytes.ok()) return WithFile(bytes.status(), path);
    SLUICE_RETURN_IF_ERROR(WriteFile(path, *bytes));
  }
  return absl::OkStatus();
}

}  // namespace sluice
