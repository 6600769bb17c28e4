#include "tools/cli/conform/conform_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> Strings(const json& object, const char* key) {
  return object.contains(key) ? object.at(key).get<std::vector<std::string>>() : std::vector<std::string>();
}

ExpectedError ReadError(const json& object) {
  ExpectedError error;
  error.code = object.at("code").get<std::string>();
  error.contains = Strings(object, "contains");
  const std::string when = object.value("when", "run");
  if (when == "load") error.when = ExpectedError::When::kLoad;
  if (when == "any") error.when = ExpectedError::When::kAny;
  return error;
}

ConformStep ReadStep(const json& object, size_t index) {
  ConformStep step;
  step.name = object.value("name", absl::StrCat(index));
  step.targets = Strings(object, "targets");
  step.repeat = object.value("repeat", 1);
  if (object.contains("feeds")) {
    for (const auto& feed : object.at("feeds").items()) step.feeds.emplace_back(feed.key(), feed.value());
  }
  if (object.contains("fetches")) {
    for (const json& fetch : object.at("fetches")) {
      const json& file = fetch.at(1);
      step.fetches.push_back({fetch.at(0), file.is_null() ? std::string() : file.get<std::string>()});
    }
  }
  if (object.contains("error")) step.error = ReadError(object.at("error"));
  return step;
}

ConformGradients ReadGradients(const json& object) {
  ConformGradients gradients;
  gradients.ys = Strings(object, "ys");
  gradients.xs = Strings(object, "xs");
  gradients.grad_ys = Strings(object, "grad_ys");
  gradients.stop = Strings(object, "stop");
  gradients.prefix = object.at("prefix").get<std::string>();
  return gradients;
}

// Throws what nlohmann::json throws.
ConformCase ParseCase(const json& object, const fs::path& folder) {
  ConformCase parsed;
  parsed.folder = folder.string();
  parsed.suite = folder.parent_path().filename().string();
  parsed.name = absl::StrCat(parsed.suite, "/", folder.filename().string());
  parsed.graph = object.value("graph", "");
  parsed.saved_model = object.value("saved_model", "");
  parsed.tags = Strings(object, "tags");
  parsed.signature = object.value("signature", "");
  parsed.rtol = object.value("rtol", 0.0);
  parsed.atol = object.value("atol", 0.0);
  parsed.needs = Strings(object, "needs");
  if (object.contains("gradients")) {
    const json& field = object.at("gradients");
    for (const json& one : field.is_array() ? field : json::array({field})) {
      parsed.gradients.push_back(ReadGradients(one));
    }
  }
  if (object.contains("train")) {
    const json& field = object.at("train");
    for (const json& one : field.is_array() ? field : json::array({field})) {
      parsed.training.push_back(ReadTraining(one));
    }
  }
  if (object.contains("inspect")) parsed.inspect = object.at("inspect");
  if (object.contains("steps")) {
    for (const json& step : object.at("steps")) parsed.steps.push_back(ReadStep(step, parsed.steps.size()));
  }
  return parsed;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindCaseFolders(const std::string& path) {
  std::vector<std::string> folders;
  std::error_code failed;
  const fs::path root = fs::absolute(path, failed).lexically_normal();
  if (fs::exists(root / "case.json", failed)) folders.push_back(root.string());
  if (folders.empty()) {
    fs::recursive_directory_iterator it(root, failed), end;
    while (!failed && it != end) {
      if (it->path().filename() == "case.json") folders.push_back(it->path().parent_path().string());
      it.increment(failed);
    }
  }
  if (folders.empty()) {
    return Error(ErrorCode::kFileMissing).Text(absl::StrCat("there is no case.json in or below '", path, "'"));
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

absl::StatusOr<ConformCase> ReadConformCase(const std::string& folder) {
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const fs::path file = fs::path(path) / "case.json";
  std::ifstream in(file);
  if (!in) return Error(ErrorCode::kFileRead).Text(absl::StrCat("cannot read '", file.string(), "'"));
  try {  // The JSON library throws; nothing leaves this function.
    return ParseCase(json::parse(in), fs::path(path));
  } catch (const json::exception& problem) {
    return Error(ErrorCode::kFileText).Text(absl::StrCat("'", file.string(), "' is not a case: ", problem.what()));
  }
}

}  // namespace sluice
