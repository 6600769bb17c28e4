#include "kernels/io/glob.h"

#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr size_t kMaxPaths = 1'000'000;
constexpr char kWildcards[] = "*?[\\";

bool IsThere(const std::string& path) {
  struct stat facts;
  return ::stat(path.c_str(), &facts) == 0;
}

// Adds to `found` what in each directory of `directories` matches the name `pattern`.
absl::Status Descend(const std::vector<std::string>& directories, const std::string& pattern,
                     std::vector<std::string>* found) {
  for (const std::string& directory : directories) {
    const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(directory.empty() ? "." : directory.c_str()),
                                                      &::closedir);
    if (listing == nullptr) continue;
    while (const dirent* const entry = ::readdir(listing.get())) {
      const absl::string_view name = entry->d_name;
      if (name == "." || name == ".." || ::fnmatch(pattern.c_str(), entry->d_name, FNM_PATHNAME) != 0) continue;
      if (found->size() == kMaxPaths) {
        return Error(ErrorCode::kOutOfMemory)
            .Text("too many files match")
            .Expected(absl::StrCat("at most ", kMaxPaths));
      }
      found->push_back(absl::StrCat(directory, name));
    }
  }
  return absl::OkStatus();
}

// Those that are there of the names `part` in `directories`.
std::vector<std::string> Keep(const std::vector<std::string>& directories, absl::string_view part) {
  std::vector<std::string> there;
  for (const std::string& directory : directories) {
    std::string path = absl::StrCat(directory, part);
    if (IsThere(path)) there.push_back(std::move(path));
  }
  return there;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FilesMatching(absl::string_view pattern) {
  const size_t wildcard = pattern.find_first_of(kWildcards);
  if (wildcard == absl::string_view::npos) {
    std::string path(pattern);
    return IsThere(path) ? std::vector<std::string>{std::move(path)} : std::vector<std::string>();
  }
  std::vector<std::string> found = {""};
  const size_t slash = pattern.substr(0, wildcard).rfind('/');
  if (slash == absl::string_view::npos) {
    found = {"./"};
  } else {
    found = {std::string(pattern.substr(0, slash + 1))};
    pattern.remove_prefix(slash + 1);
  }
  const std::vector<std::string> parts = absl::StrSplit(pattern, '/', absl::SkipEmpty());
  for (size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> next;
    if (parts[i].find_first_of(kWildcards) == std::string::npos) {
      next = Keep(found, parts[i]);
    } else {
      SLUICE_RETURN_IF_ERROR(Descend(found, parts[i], &next));
    }
    if (i + 1 < parts.size()) {
      for (std::string& path : next) path += '/';
    }
    found = std::move(next);
  }
  std::sort(found.begin(), found.end());
  return found;
}

absl::StatusOr<std::string> LocalPath(absl::string_view name) {
  if (absl::StrContains(name, '\0')) {
    return Error(ErrorCode::kOpValue).Text("the name of a file holds a zero byte").Found(PrintableName(name));
  }
  const size_t end = name.find("://");
  const bool has_scheme =
      end != absl::string_view::npos && end > 0 && absl::ascii_isalpha(static_cast<unsigned char>(name[0])) &&
      std::all_of(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(end),
                  [](char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.'; });
  if (!has_scheme) return std::string(name);
  if (absl::ConsumePrefix(&name, "file://")) return std::string(name);
  return Error(ErrorCode::kOpUnimplemented)
      .Text(absl::StrCat("there is no file system '", PrintableName(name.substr(0, end)), "' here"))
      .Found(PrintableName(name))
      .Expected("a path");
}

}  // namespace sluice
