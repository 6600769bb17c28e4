#include "tools/cli/model_argument.h"

#include <sys/stat.h>

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

// From this size on loading takes long enough to say what is being done.
constexpr int64_t kLongLoadBytes = int64_t{32} << 20;

// Errors of one load, each with its facts: they are shown by cause, with exact counts up to here.
constexpr int64_t kMaxKeptErrors = 10'000;

int64_t SizeOf(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

}  // namespace

void ModelArgument::Declare(CLI::App& app, const std::string& name) {
  app.add_option(name, path_,
                 "GraphDef, MetaGraphDef or SavedModel, binary or text; a SavedModel directory; - for standard input")
      ->required()
      ->option_text("(required)");
  app.add_option("--tags", tags_, "which graph of a SavedModel, as a,b; without: the only one, or the one tagged serve")
      ->option_text("TAGS")
      ->group("Model");
  plugins_.Declare(app, "Model");
  app.add_option("--max-file-bytes", max_file_bytes_, "refuse larger files before reading them")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->option_text(absl::StrCat("N [", max_file_bytes_, "]"))
      ->group("Model");
  app.add_option("--max-nodes", max_nodes_, "refuse graphs with more nodes")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()))
      ->option_text(absl::StrCat("N [", max_nodes_, "]"))
      ->group("Model");
}

LoadOptions ModelArgument::Options(LoadOptions defaults) const {
  LoadOptions options = std::move(defaults);
  options.ops = plugins_.added_ops();
  if (!tags_.empty()) options.tags = std::vector<std::string>(absl::StrSplit(tags_, ',', absl::SkipEmpty()));
  options.limits.max_file_bytes = max_file_bytes_;
  options.limits.max_nodes = max_nodes_;
  options.limits.max_kept_errors = kMaxKeptErrors;
  options.allow_empty = false;  // An empty file is a mistake here.
  return options;
}

absl::StatusOr<LoadedGraph> ModelArgument::Load(Console& console, const LoadOptions& options) const {
  if (const int64_t bytes = SizeOf(path_); bytes >= kLongLoadBytes) {
    console.Progress(absl::StrCat("loading ", path_, " (", BytesText(bytes), ") …"));
  } else if (path_ == "-") {
    console.Progress("reading standard input …");
  }
  absl::StatusOr<LoadedGraph> model = LoadGraphFile(path_, options);
  if (model.ok()) {
    for (const std::string& warning : model->warnings) console.Warn(warning);
  }
  console.EndProgress();
  return model;
}

void FreezeOption::Declare(CLI::App& app, absl::string_view kept) {
  CLI::Option* const freeze =
      app.add_flag("--freeze", is_given,
                   absl::StrCat("put the values of variables into the graph, as constants; ", kept))
          ->group("Graph");
  app.add_option("--restore", restore,
                 "with --freeze: take the values from this checkpoint, or from the newest of a directory")
      ->check(NotEmpty())
      ->needs(freeze)
      ->option_text("PREFIX")
      ->group("Graph");
}

}  // namespace sluice
