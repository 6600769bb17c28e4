#include "tools/cli/model_argument.h"

#include <sys/stat.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/checkpoint/checkpoint_path.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

// From this size on loading takes long enough to show progress.
constexpr int64_t kLongLoadBytes = int64_t{32} << 20;

// The largest values of limits: what protobuf can read, and what would cost stack (functions that kernels call) or
// memory for each running loop.
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kMostNesting = LoadLimits().max_nesting;
constexpr int64_t kMostCallDepth = 256;
constexpr int64_t kMostFrameDepth = 10'000;
constexpr int64_t kMostParallelIterations = 65'536;

// Errors kept of one load: they are shown by cause, with exact counts up to here.
constexpr int64_t kMaxKeptErrors = 10'000;

// Bytes of a path in a suggested command.
constexpr size_t kMaxPath = 1000;

constexpr absl::string_view kPluginHelp = "an op of a plug-in needs --plugin FILE";

int64_t SizeOf(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_size) : 0;
}

// Says how to make a readable model from another program's file; empty if unknown.
std::string WayFrom(absl::string_view path) {
  if (absl::EndsWith(path, ".keras") || absl::EndsWith(path, ".h5") || absl::EndsWith(path, ".hdf5")) {
    return absl::StrCat("in Python, keras.models.load_model('", PrintableName(path),
                        "').export('DIR') writes a "
                        "SavedModel, which is read here");
  }
  return "";
}

// An option that raises a limit of LoadLimits, and its maximum.
struct LimitOption {
  absl::string_view limit, option;
  int64_t most = kAny;
};

constexpr LimitOption kLimitOptions[] = {{"max_file_bytes", "--max-file-bytes"},
                                         {"max_nodes", "--max-nodes"},
                                         {"max_expanded_nodes", "--max-expanded-nodes"},
                                         {"max_tensor_bytes", "--max-tensor-bytes"},
                                         {"max_name_bytes", "--max-name-bytes"},
                                         {"max_attrs_per_node", "--max-attrs"},
                                         {"max_inputs_per_node", "--max-inputs"},
                                         {"max_nesting", "--max-nesting", kMostNesting},
                                         {"max_call_depth", "--max-call-depth", kMostCallDepth},
                                         {"max_frame_depth", "--max-frame-depth", kMostFrameDepth}};

// Says what to do about an exceeded limit; empty if no option raises it.
std::string HelpForLimit(const ErrorInfo& info) {
  for (const LimitOption& row : kLimitOptions) {
    if (row.limit != info.limit) continue;
    if (info.limit_value < row.most) return absl::StrCat(row.option, " N allows more");
    return absl::StrCat(CountText(row.most), " is the most that ", row.option, " can allow");
  }
  return "";
}

// Says what to do with a checkpoint given as a model; empty if it is not a checkpoint.
std::string HelpForCheckpoint(ErrorCode code, const std::string& path) {
  const bool is_no_model =
      code == ErrorCode::kFileMissing || code == ErrorCode::kFileNotGraph || code == ErrorCode::kSavedModelMissing;
  if (!is_no_model) return "";
  const absl::StatusOr<std::optional<std::string>> found = FindCheckpoint(path, /*of_model=*/false);
  if (!found.ok() || !found->has_value()) return "";
  return absl::StrCat("`sluice show ", PrintableName(path, kMaxPath), "` lists the tensors of this checkpoint");
}

void AddHelp(const std::string& help, ErrorInfo* info) {
  if (help.empty() || absl::StrContains(info->suggestion, help)) return;
  absl::StrAppend(&info->suggestion, info->suggestion.empty() ? "" : "; ", help);
}

// Whether an unknown op may come from a plug-in: not if its name is nearly that of a known op, nor TensorFlow's
// internal ones (_FusedMatMul).
bool MayBeOfPlugin(const ErrorInfo& info) {
  return info.code == ErrorCode::kOpUnknown && info.suggestion.empty() && !info.op.empty() && info.op[0] != '_';
}

// Adds to `status` what users of this program can do, if the loader knows no way out. `has_plugins`: the command line
// names some, which lack the still unknown ops.
absl::Status WithWaysOut(const absl::Status& status, const std::string& path, bool has_plugins) {
  bool says_plugin = has_plugins;  // Say it once, however many ops are unknown.
  for (const absl::Status& error : AllErrors(status)) {
    says_plugin = says_plugin || ErrorInfoOf(error).value_or(ErrorInfo()).suggestion == kPluginHelp;
  }
  return WithChangedFacts(status, [&](ErrorInfo& info) {
    if (!says_plugin && MayBeOfPlugin(info)) {
      info.suggestion = std::string(kPluginHelp);
      says_plugin = true;
    }
    if (info.code == ErrorCode::kFileNotGraph && info.suggestion.empty()) info.suggestion = WayFrom(path);
    AddHelp(HelpForLimit(info), &info);
    AddHelp(HelpForCheckpoint(info.code, path), &info);
  });
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
  const auto limit = [&app](const char* name, auto& value, const char* what, int64_t most = kAny, int64_t least = 0) {
    app.add_option(name, value, what)
        ->check(CLI::Range(least, most))
        ->option_text(most == kAny ? absl::StrCat("N [", value, "]") : absl::StrCat("N [", value, "], at most ", most))
        ->group("Limits");
  };
  limit("--max-file-bytes", limits_.max_file_bytes, "refuse larger files before reading them");
  limit("--max-nodes", limits_.max_nodes, "refuse graphs with more nodes");
  limit("--max-expanded-nodes", limits_.max_expanded_nodes, "refuse graphs whose calls would add more nodes");
  limit("--max-tensor-bytes", limits_.max_tensor_bytes, "refuse larger constants and fed values");
  limit("--max-name-bytes", limits_.max_name_bytes, "refuse longer names");
  limit("--max-attrs", limits_.max_attrs_per_node, "refuse nodes with more attrs");
  limit("--max-inputs", limits_.max_inputs_per_node, "refuse nodes with more inputs");
  limit("--max-nesting", limits_.max_nesting, "refuse files whose messages nest deeper", kMostNesting);
  limit("--max-call-depth", limits_.max_call_depth, "refuse functions that call one another deeper", kMostCallDepth);
  limit("--max-frame-depth", limits_.max_frame_depth, "refuse loops that nest deeper", kMostFrameDepth);
  limit("--max-parallel-iterations", limits_.max_parallel_iterations, "run no more iterations of a loop at once",
        kMostParallelIterations, 1);
}

LoadOptions ModelArgument::Options(LoadOptions defaults) const {
  LoadOptions options = std::move(defaults);
  options.ops = plugins_.added_ops();
  if (!tags_.empty()) options.tags = std::vector<std::string>(absl::StrSplit(tags_, ',', absl::SkipEmpty()));
  options.limits = limits_;
  options.limits.max_kept_errors = kMaxKeptErrors;
  options.allow_empty = false;  // An empty file is a user's mistake.
  return options;
}

absl::Status ModelArgument::Explained(const absl::Status& status) const {
  return WithWaysOut(status, path_, plugins_.are_given());
}

absl::StatusOr<LoadedGraph> ModelArgument::Load(Console& console, const LoadOptions& options) const {
  SLUICE_RETURN_IF_ERROR(CheckPlainFile(path_));
  if (const int64_t bytes = SizeOf(path_); bytes >= kLongLoadBytes) {
    console.Progress(absl::StrCat("loading ", path_, " (", BytesText(bytes), ") …"));
  } else if (path_ == "-") {
    console.Progress("reading standard input …");
  }
  absl::StatusOr<LoadedGraph> model = LoadGraphFile(path_, options);
  if (!model.ok()) {
    model = Explained(model.status());
  } else {
    model->unsound = Explained(model->unsound);
    model->deferred = Explained(model->deferred);
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
