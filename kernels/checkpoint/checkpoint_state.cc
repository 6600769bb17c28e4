#include "kernels/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr char kNewest[] = "model_checkpoint_path";
constexpr char kAll[] = "all_model_checkpoint_paths";
constexpr int64_t kMaxBytes = 16 << 20;
constexpr size_t kKept = 5;

// What the file says, word for word.
absl::StatusOr<CheckpointState> ReadState(const std::string& file) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxBytes));
  CheckpointState state;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 1));
    const absl::string_view key = absl::StripAsciiWhitespace(parts.first);
    absl::string_view quoted = absl::StripAsciiWhitespace(parts.second);
    if (key != kNewest && key != kAll) continue;  // Times, and what else there may come to be.
    std::string value;
    const bool is_text = quoted.size() >= 2 && (quoted.front() == '"' || quoted.front() == '\'') &&
                         quoted.back() == quoted.front() &&
                         absl::CUnescape(quoted.substr(1, quoted.size() - 2), &value);
    if (!is_text) {
      return WithLine(WithFile(Error(ErrorCode::kFileText).Text("a path is not a text in quotes"), file), number, 1);
    }
    if (key == kNewest) {
      state.newest = std::move(value);
    } else {
      state.all.push_back(std::move(value));
    }
  }
  return state;
}

std::string Absolute(const std::string& directory, const std::string& path) {
  return fs::path(path).is_absolute() ? path : (fs::path(directory) / path).string();
}

}  // namespace

absl::StatusOr<CheckpointState> ReadCheckpointState(const std::string& directory) {
  absl::StatusOr<CheckpointState> state = ReadState((fs::path(directory) / "checkpoint").string());
  if (!state.ok() && !absl::IsNotFound(state.status())) return state;
  if (!state.ok() || state->newest.empty()) {
    return Error(ErrorCode::kCheckpointMissing)
        .Text(absl::StrCat("the directory '", PrintableName(directory, 1000),
                           "' has no file 'checkpoint' that names a checkpoint"))
        .Expected("the prefix of a checkpoint, or a directory of checkpoints");
  }
  state->newest = Absolute(directory, state->newest);
  for (std::string& path : state->all) path = Absolute(directory, path);
  return state;
}

absl::Status AddToCheckpointState(const std::string& prefix) {
  const fs::path path(prefix);
  const std::string file = (path.parent_path() / "checkpoint").string();
  absl::StatusOr<CheckpointState> state = ReadState(file);
  if (!state.ok()) state = CheckpointState();  // It is replaced, whatever it was.
  state->newest = path.filename().string();
  state->all.erase(std::remove(state->all.begin(), state->all.end(), state->newest), state->all.end());
  state->all.push_back(state->newest);
  if (state->all.size() > kKept) state->all.erase(state->all.begin(), state->all.end() - kKept);
  std::string text = absl::StrCat(kNewest, ": \"", absl::CEscape(state->newest), "\"\n");
  for (const std::string& one : state->all) absl::StrAppend(&text, kAll, ": \"", absl::CEscape(one), "\"\n");
  return WriteFile(file, text);
}

}  // namespace sluice
