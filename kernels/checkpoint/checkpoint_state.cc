#include "kernels/checkpoint/checkpoint_state.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/file_errors.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

constexpr char kNewest[] = "model_checkpoint_path";
constexpr char kAll[] = "all_model_checkpoint_paths";
constexpr int64_t kMaxBytes = 16 << 20;
constexpr size_t kKept = 5;

// Walks the fields of a message in text form that has no nested messages.
class TextFields {
 public:
  explicit TextFields(absl::string_view text) : text_(text), rest_(text) {}

  // Advances to the next field; returns false at the end, or if the text is not such a message.
  bool Next() {
    SkipSpace();
    name_ = TakeWord();
    SkipSpace();
    if (name_.empty() || !absl::ConsumePrefix(&rest_, ":")) return false;
    SkipSpace();
    value_.clear();
    is_text_ = false;
    while (!rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'')) {  // Neighbours are one text.
      if (!TakeText()) return false;
      is_text_ = true;
      SkipSpace();
    }
    return is_text_ || !TakeWord().empty();
  }
  bool AtEnd() const { return rest_.empty(); }
  absl::string_view name() const { return name_; }
  // Reads a quoted value; returns false for other values.
  bool is_text() const { return is_text_; }
  const std::string& value() const { return value_; }
  int64_t line() const {
    return 1 + std::count(text_.begin(), text_.end() - static_cast<std::ptrdiff_t>(rest_.size()), '\n');
  }

 private:
  // Blanks, comments, and what may stand between fields.
  void SkipSpace() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == ';' || c == ',') {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  absl::string_view TakeWord() {
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isalnum(static_cast<unsigned char>(rest_[size])) || absl::StrContains("_.+-", rest_[size]))) {
      ++size;
    }
    const absl::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return word;
  }
  bool TakeText() {
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != rest_.front() && rest_[end] != '\n') end += rest_[end] == '\\' ? 2 : 1;
    std::string piece;
    const bool is_closed = end < rest_.size() && rest_[end] == rest_.front();
    if (!is_closed || !absl::CUnescape(rest_.substr(1, end - 1), &piece)) return false;
    value_ += piece;
    rest_.remove_prefix(end + 1);
    return true;
  }

  const absl::string_view text_;
  absl::string_view rest_, name_;
  std::string value_;
  bool is_text_ = false;
};

// The fields as the file states them, unresolved.
absl::StatusOr<CheckpointState> ReadState(const std::string& file) {
  std::error_code ignored;
  const fs::file_status found = fs::status(file, ignored);
  if (fs::exists(found) && !fs::is_regular_file(found) && !fs::is_directory(found)) return NotPlainFile(file);
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxBytes));
  const auto wrong = [&file](const TextFields& fields, absl::string_view what) {
    return WithLine(WithFile(Error(ErrorCode::kFileText).Text(what), file), fields.line(), 1);
  };
  CheckpointState state;
  TextFields fields(text);
  while (fields.Next()) {
    if (fields.name() != kNewest && fields.name() != kAll) continue;  // Times, and what else there may come to be.
    if (!fields.is_text()) return wrong(fields, "a path is not a text in quotes");
    if (fields.name() == kNewest) {
      state.newest = fields.value();
    } else {
      state.all.push_back(fields.value());
    }
  }
  if (!fields.AtEnd()) return wrong(fields, "is not a list of fields with their values: a path is a text in quotes");
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

absl::Status WriteCheckpointState(const std::string& directory, const CheckpointState& state) {
  const auto field = [&directory](absl::string_view name, const std::string& prefix) {
    const fs::path path(prefix);
    const bool is_here = path.parent_path() == fs::path(directory);
    return absl::StrCat(name, ": \"", absl::CEscape(is_here ? path.filename().string() : prefix), "\"\n");
  };
  std::string text = field(kNewest, state.newest);
  for (const std::string& one : state.all) absl::StrAppend(&text, field(kAll, one));
  return WriteFile((fs::path(directory) / "checkpoint").string(), text);
}

absl::Status AddToCheckpointState(const std::string& prefix) {
  const fs::path path(prefix);
  const std::string directory = path.parent_path().string();
  absl::StatusOr<CheckpointState> state = ReadState((fs::path(directory) / "checkpoint").string());
  if (!state.ok()) state = CheckpointState();  // It is replaced, whatever it was.
  state->newest = path.filename().string();
  state->all.erase(std::remove(state->all.begin(), state->all.end(), state->newest), state->all.end());
  state->all.push_back(state->newest);
  if (state->all.size() > kKept) state->all.erase(state->all.begin(), state->all.end() - kKept);
  return WriteCheckpointState(directory, *state);
}

}  // namespace sluice
