#include "tools/cli/checkpoint/checkpoint_path.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/checkpoint_state.h"
#include "kernels/checkpoint/file_errors.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Prefix = std::optional<std::string>;

constexpr absl::string_view kIndex = ".index";

// Returns the prefix of `path`, the name of an index or of data; empty if it is neither.
std::string PrefixOfFile(const std::string& path) {
  if (absl::EndsWith(path, kIndex)) return path.substr(0, path.size() - kIndex.size());
  const size_t data = path.rfind(".data-");
  constexpr absl::string_view kNumbers = ".data-00000-of-00001";
  if (data == std::string::npos || path.size() - data != kNumbers.size()) return "";
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    const char c = path[data + i];
    if (absl::ascii_isdigit(static_cast<unsigned char>(kNumbers[i]))
            ? !absl::ascii_isdigit(static_cast<unsigned char>(c))
            : c != kNumbers[i]) {
      return "";
    }
  }
  return path.substr(0, data);
}

// Finds the checkpoint in a directory whose file `checkpoint` names none; there must be just one.
absl::StatusOr<Prefix> OnlyOneIn(const std::string& directory) {
  constexpr size_t kMaxNamed = 5;
  std::vector<std::string> prefixes;
  std::error_code ignored;
  for (fs::directory_iterator file(directory, ignored), end; file != end; file.increment(ignored)) {
    const std::string prefix = PrefixOfFile(file->path().string());
    if (absl::EndsWith(file->path().string(), kIndex) && HasBundleIndex(prefix)) prefixes.push_back(prefix);
  }
  if (prefixes.size() < 2) return prefixes.empty() ? Prefix() : Prefix(prefixes[0]);
  std::sort(prefixes.begin(), prefixes.end());
  const size_t more = prefixes.size() - std::min(prefixes.size(), kMaxNamed);
  prefixes.resize(prefixes.size() - more);
  for (std::string& prefix : prefixes)
    prefix = absl::StrCat("'", PrintableName(fs::path(prefix).filename().string()), "'");
  return Error(ErrorCode::kCheckpointMissing)
      .Help(absl::StrCat("name one of them, with the directory: ", absl::StrJoin(prefixes, ", "),
                         more > 0 ? absl::StrCat(" and ", more, " more") : ""))
      .Text(absl::StrCat("the directory '", PrintableName(directory),
                         "' holds several checkpoints, and no file 'checkpoint' that says which is the newest"));
}

absl::StatusOr<Prefix> FindInDirectory(const std::string& path, bool of_model) {
  std::error_code ignored;
  const fs::path directory(path);
  const bool is_model =
      fs::exists(directory / "saved_model.pb", ignored) || fs::exists(directory / "saved_model.pbtxt", ignored);
  if (is_model && !of_model) return Prefix();
  const std::string variables = (is_model ? directory / "variables" / "variables" : directory / "variables").string();
  if (HasBundleIndex(variables)) return Prefix(variables);
  if (is_model) return Prefix();
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(path);
  if (state.ok()) return Prefix(state->newest);
  return absl::IsNotFound(state.status()) ? OnlyOneIn(path) : state.status();
}

}  // namespace

absl::Status CheckPlainFile(const std::string& path) {
  std::error_code ignored;
  const fs::file_status found = fs::status(path, ignored);
  if (PrefixOfFile(path).empty() || !fs::exists(found) || fs::is_regular_file(found) || fs::is_directory(found)) {
    return absl::OkStatus();
  }
  return NotPlainFile(path);
}

absl::StatusOr<std::optional<std::string>> FindCheckpoint(const std::string& path, bool of_model) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return FindInDirectory(path, of_model);
  SLUICE_RETURN_IF_ERROR(CheckPlainFile(path));
  const std::string prefix = PrefixOfFile(path);
  if (!prefix.empty() && HasBundleIndex(prefix)) return Prefix(prefix);
  if (!prefix.empty() && fs::exists(path, ignored)) {
    return Error(ErrorCode::kCheckpointMissing)
        .Text(absl::StrCat("'", PrintableName(path), "' is the data of a checkpoint, whose index '",
                           PrintableName(BundleIndexFile(prefix)), "' is missing"));
  }
  // A model with the same name as a checkpoint beside it counts as the model.
  if (!fs::exists(path, ignored) && HasBundleIndex(path)) return Prefix(path);
  return Prefix();
}

}  // namespace sluice
