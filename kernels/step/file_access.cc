#include "kernels/step/file_access.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/step/session_state.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// With a '/' at its end: what lies below it begins with that.
std::string AsDirectory(const fs::path& path) {
  std::string text = path.lexically_normal().string();
  if (text.empty() || text.back() != '/') text += '/';
  return text;
}

// `path` from the root on, links as they are; empty where the process has no directory.
fs::path Absolute(absl::string_view path) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(fs::path(std::string(path)), failed);
  return failed ? fs::path() : absolute;
}

// Where `path` leads, as far as it is there.
fs::path Resolved(absl::string_view path) {
  std::error_code failed;
  const fs::path resolved = fs::weakly_canonical(Absolute(path), failed);
  return failed ? fs::path() : resolved;
}

bool IsBelow(const fs::path& path, const std::vector<std::string>& directories) {
  if (path.empty()) return false;
  const std::string text = path.lexically_normal().string();
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return absl::StartsWith(text, directory) || absl::StrCat(text, "/") == directory;
  });
}

bool HasParentSteps(const fs::path& path) { return std::find(path.begin(), path.end(), "..") != path.end(); }

absl::Status Denied(absl::string_view what, absl::string_view path) {
  return Error(ErrorCode::kPathEscape)
      .Text(absl::StrCat("may not ", what, " '", PrintableName(path, 1000), "': the session grants no access to it"))
      .Help("if the model is to be trusted with it, grant the directory: SessionOptions::files");
}

void AddTo(absl::string_view directory, std::vector<std::string>* directories) {
  if (directory.empty()) return;  // Not a directory; a path made of it would be the process's.
  directories->push_back(AsDirectory(Absolute(directory)));
  if (const fs::path resolved = Resolved(directory); !resolved.empty()) directories->push_back(AsDirectory(resolved));
}

}  // namespace

FileAccess FileAccess::All() {
  FileAccess access;
  access.has_all_ = true;
  return access;
}

FileAccess& FileAccess::Read(absl::string_view directory) {
  AddTo(directory, &readable_);
  return *this;
}

FileAccess& FileAccess::Write(absl::string_view directory) {
  AddTo(directory, &writable_);
  return Read(directory);
}

FileAccess& FileAccess::Add(const FileAccess& other) {
  has_all_ = has_all_ || other.has_all_;
  readable_.insert(readable_.end(), other.readable_.begin(), other.readable_.end());
  writable_.insert(writable_.end(), other.writable_.begin(), other.writable_.end());
  return *this;
}

absl::Status FileAccess::CheckRead(const std::string& path) const {
  if (has_all_) return absl::OkStatus();
  // A step up may begin behind a link, where names alone do not say what it leads to.
  const bool is_plain = !HasParentSteps(fs::path(path));
  if (is_plain && IsBelow(Absolute(path), readable_)) return absl::OkStatus();
  return IsBelow(Resolved(path), readable_) ? absl::OkStatus() : Denied("read", path);
}

absl::Status FileAccess::CheckWrite(const std::string& path) const {
  if (has_all_ || IsBelow(Resolved(path), writable_)) return absl::OkStatus();
  return Denied("write", path);
}

absl::Status CheckFileRead(const SessionState* session, const std::string& path) {
  return session != nullptr ? session->files().CheckRead(path) : FileAccess().CheckRead(path);
}

absl::Status CheckFileWrite(const SessionState* session, const std::string& path) {
  return session != nullptr ? session->files().CheckWrite(path) : FileAccess().CheckWrite(path);
}

}  // namespace sluice
