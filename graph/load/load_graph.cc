#include "graph/load/load_graph.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/error_groups.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/functions/check.h"
#include "graph/functions/shape_bodies.h"
#include "graph/ir/import.h"
#include "graph/ir/runnable_check.h"
#include "graph/load/findings.h"
#include "graph/load/model_bytes.h"
#include "graph/ops/op_table.h"
#include "graph/placement/placer.h"
#include "graph/shapes/inference.h"

namespace sluice {
namespace {

constexpr absl::string_view kOneCpu = "/job:localhost/replica:0/task:0/device:CPU:0";

bool IsDirectory(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Not a directory, nor a pipe, which would let us wait for its writer.
bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Directories in `path` that hold a SavedModel, as paths, at most `max` by name.
std::vector<std::string> SavedModelsBelow(const std::string& path, size_t max) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored)) {
    const std::string below = entry.path().string();
    if (FileExists(below + "/saved_model.pb") || FileExists(below + "/saved_model.pbtxt")) found.push_back(below);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > max) found.resize(max);
  return found;
}

// What to do about the directory `path`, which holds no SavedModel.
std::string HelpForDirectory(const std::string& path) {
  if (FileExists(path + "/checkpoint")) {
    return "it holds checkpoints: the values of variables, without a graph; name a SavedModel or a .meta file";
  }
  if (FileExists(path + "/saved_model.cpb")) {
    return "it holds saved_model.cpb, the chunked form for models above 2 GiB, which is not read here";
  }
  const std::vector<std::string> below = SavedModelsBelow(path, 3);
  if (!below.empty()) return absl::StrCat("did you mean '", absl::StrJoin(below, "' or '"), "'?");
  return "name the directory that holds saved_model.pb, or a graph file in this one";
}

// A help text for `path`, which does not exist: the path that may be meant; empty if there is no guess.
std::string HelpForMissing(const std::string& path) {
  if (FileExists(path + ".meta")) return absl::StrCat("the graph of this checkpoint is in '", path, ".meta'");
  if (!FileExists(path + ".index")) return "";
  return "this is the prefix of a checkpoint, which holds the values of variables but no graph; the graph is in the "
         "SavedModel or .meta file that was written with it";
}

// The file with the graphs of the SavedModel in directory `path`.
absl::StatusOr<std::string> SavedModelFile(const std::string& path) {
  const std::string base = absl::EndsWith(path, "/") ? path : absl::StrCat(path, "/");
  for (const absl::string_view name : {"saved_model.pb", "saved_model.pbtxt"}) {
    const std::string file = absl::StrCat(base, name);
    if (FileExists(file)) return file;
  }
  const std::string name = PrintableName(path);
  return Error(ErrorCode::kSavedModelMissing)
      .Text(absl::StrCat("'", name, "' holds neither saved_model.pb nor saved_model.pbtxt"))
      .Help(HelpForDirectory(path));
}

// The error that the format is `format` and not the requested one.
absl::Status CheckAccepted(GraphFormat format, const LoadOptions& options) {
  if (options.format.has_value() && *options.format != format) {
    return Error(ErrorCode::kFileNotGraph)
        .Text("the file has another format than the requested one")
        .Found(GraphFormatName(format))
        .Expected(GraphFormatName(*options.format));
  }
  if (options.accepted == AcceptedKind::kGraph && IsSavedModel(format)) {
    return Error(ErrorCode::kSavedModelKind)
        .Text("this is a SavedModel, whose variables are in files beside it, not a graph on its own")
        .Help("give the directory that holds it");
  }
  if (options.accepted == AcceptedKind::kSavedModel && !IsSavedModel(format)) {
    return Error(ErrorCode::kSavedModelKind)
        .Text(absl::StrCat("this is a graph on its own (", GraphFormatName(format), "), not a SavedModel"))
        .Help("give it as a graph file; it has no signatures, so feeds and fetches are named by their tensors");
  }
  return absl::OkStatus();
}

absl::Status NotAGraph(absl::string_view what) {
  return Error(ErrorCode::kFileNotGraph).Text(absl::StrCat("this is ", what, ", not a graph"));
}

// `status`, with which reading the file `name` failed: kFileNotGraph if the damage only shows that it is another kind
// of file.
absl::Status ExplainDamage(const absl::Status& status, absl::string_view bytes, absl::string_view name) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const bool is_damage =
      info.has_value() && (info->code == ErrorCode::kFileWire || info->code == ErrorCode::kFileTruncated);
  if (!is_damage) return status;
  const absl::string_view by_name = FormatOfEnding(name);
  if (!by_name.empty()) return NotAGraph(absl::StrCat("by its name ", by_name));
  if (IsOtherText(bytes)) return NotAGraph("a text, but not that of a graph (node { … })");
  return status;
}

absl::Status CheckIsGraph(absl::string_view bytes, const std::string& name, const LoadOptions& options) {
  if (static_cast<int64_t>(bytes.size()) > options.limits.max_file_bytes) {
    return Error(ErrorCode::kLimitFileSize)
        .Found(absl::StrCat(bytes.size(), " bytes"))
        .Limit("max_file_bytes", options.limits.max_file_bytes)
        .Help("keep large constants in a checkpoint beside the graph");
  }
  if (bytes.empty() && !options.allow_empty) return Error(ErrorCode::kFileEmpty);
  const absl::string_view foreign = ForeignFormat(bytes, name);
  return foreign.empty() ? absl::OkStatus() : NotAGraph(foreign);
}

// Whether the shapes of a graph with this error can be inferred: the types of all nodes with known ops are right.
bool LeavesTypesRight(const absl::Status& error) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(error);
  if (!info.has_value()) return false;
  return info->code == ErrorCode::kOpUnknown;
}

// The same of all errors that `errors` stands for; false where some of them were only counted.
bool AllLeaveTypesRight(const absl::Status& errors) {
  const std::vector<absl::Status> all = AllErrors(errors);
  return CountErrors(errors) == static_cast<int64_t>(all.size()) &&
         std::all_of(all.begin(), all.end(), LeavesTypesRight);
}

// What was found in a graph. See Note [What TensorFlow imports].
struct Findings {
  explicit Findings(const LoadLimits& limits)
      : refused(static_cast<size_t>(std::max<int64_t>(limits.max_kept_errors, 1))),
        deferred(static_cast<size_t>(std::max<int64_t>(limits.max_kept_errors, 1))) {}

  ErrorCollector refused, deferred;
};

// Functions, frames and nodes, as far as the checks are asked for.
void CheckStructure(const LoadOptions& options, LoadedGraph* model, Findings* findings) {
  constexpr size_t kMaxSorted = 10'000;
  ErrorCollector found(kMaxSorted);
  if (options.check_functions) {
    FunctionCheckOptions functions;
    functions.limits = options.limits;
    functions.check_runnable = options.check_runnable;
    found.Add(CheckFunctions(model->graph, functions, &found));
  }
  if (options.check_runnable) found.Add(CheckRunnable(model->graph, &found));
  if (options.check_control_flow) {
    absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(model->graph, options.limits);
    if (info.ok()) model->control_flow = *std::move(info);
    if (!info.ok()) found.Add(info.status());
  }
  SortFindings(model->graph, found.Finish(), &findings->refused, &findings->deferred);
}

absl::Status PlaceOnOneCpu(Graph& graph) {
  const std::vector<std::string> names = {std::string(kOneCpu)};
  SLUICE_ASSIGN_OR_RETURN(const DeviceList devices, DeviceList::Create(names));
  return PlaceGraph(graph, devices, AllowAllCatalog(), PlacementOptions());
}

// All that is looked at after import, every error at once. `findings` are those that the import has survived.
absl::Status CheckGraph(const LoadOptions& options, Findings findings, LoadedGraph* model) {
  const absl::Status of_import = findings.refused.Finish();
  findings.refused = Findings(options.limits).refused;
  findings.refused.Add(of_import);
  const auto look = [&] { return options.stop != nullptr ? options.stop->Look() : absl::OkStatus(); };
  SLUICE_RETURN_IF_ERROR(look());
  // Checks rely on nodes of known ops having the inputs that their ops say.
  if (AllLeaveTypesRight(of_import)) CheckStructure(options, model, &findings);
  SLUICE_RETURN_IF_ERROR(look());
  if (options.check_meta_graph) {
    findings.deferred.Add(CheckMetaGraph(model->graph, model->meta, options.check_signatures));
  }
  model->deferred = findings.deferred.Finish();
  if (options.refuse_deferred) findings.refused.Add(model->deferred);
  const absl::Status refused = findings.refused.Finish();
  if (!options.keep_unsound) SLUICE_RETURN_IF_ERROR(refused);
  model->unsound = refused;
  SLUICE_RETURN_IF_ERROR(look());
  if (options.infer_shapes && AllLeaveTypesRight(refused)) {
    ShapeBodies bodies(model->graph, options.limits);
    InferenceOptions inferring;
    if (options.shapes_of_calls) inferring.bodies = &bodies;
    SLUICE_ASSIGN_OR_RETURN(model->shapes, InferShapes(model->graph, inferring));
    if (options.reject_shape_problems) SLUICE_RETURN_IF_ERROR(model->shapes->FirstCertainProblem());
  }
  SLUICE_RETURN_IF_ERROR(look());
  return options.place_on_one_cpu ? PlaceOnOneCpu(model->graph) : absl::OkStatus();
}

void AddWarnings(absl::string_view bytes, LoadedGraph* model) {
  const GraphVersions& versions = model->graph.versions();
  if (bytes.empty()) model->warnings.push_back("the file has no bytes: a graph without nodes");
  if (versions.producer > kGraphVersion) {
    model->warnings.push_back(absl::StrCat("a newer program wrote this graph (version ", versions.producer,
                                           ", ours is ", kGraphVersion, "): it may mean things we do not know"));
  }
}

absl::StatusOr<LoadedGraph> Load(absl::string_view bytes, std::shared_ptr<const void> owner, const std::string& name,
                                 const LoadOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckIsGraph(bytes, name, options));
  const bool has_content = !bytes.empty() || !options.format.has_value();
  const GraphFormat format = has_content ? DetectGraphFormat(bytes, name) : *options.format;
  SLUICE_RETURN_IF_ERROR(CheckAccepted(format, options));
  SLUICE_ASSIGN_OR_RETURN(ModelBytes found,
                          FindGraphDef(bytes, std::move(owner), format, options.tags, options.limits));
  GraphSource source;
  source.bytes = found.graph_def;
  source.owner = found.owner;
  source.name = name;
  source.offset = found.offset;
  source.lines = std::move(found.lines);
  ImportOptions import_options;
  import_options.limits = options.limits;
  import_options.ops = options.ops != nullptr ? options.ops : NewOpRegistry();
  import_options.allow_internal_ops = options.allow_internal_ops;
  import_options.stop = options.stop;
  Findings findings(options.limits);
  if (options.keep_unsound) import_options.tolerated = &findings.refused;
  import_options.deferred = &findings.deferred;
  LoadedGraph model;
  SLUICE_ASSIGN_OR_RETURN(model.graph, ImportGraph(std::move(source), import_options));
  model.format = format;
  model.source = name;
  model.source_bytes = static_cast<int64_t>(bytes.size());
  model.meta = std::move(found.meta);
  model.objects = std::move(found.objects);
  model.tag_sets = std::move(found.tag_sets);
  model.control_flow.frames.resize(1);
  SLUICE_RETURN_IF_ERROR(CheckGraph(options, std::move(findings), &model));
  AddWarnings(bytes, &model);
  return model;
}

absl::StatusOr<LoadedGraph> LoadFile(const std::string& path, const LoadOptions& options) {
  std::string file = path;
  if (path != "-" && IsDirectory(path)) {
    SLUICE_ASSIGN_OR_RETURN(file, SavedModelFile(path));
  }
  absl::string_view bytes;
  std::shared_ptr<const void> owner;
  if (path == "-") {
    SLUICE_ASSIGN_OR_RETURN(std::string read, ReadStandardInput(options.limits.max_file_bytes));
    auto kept = std::make_shared<const std::string>(std::move(read));
    bytes = *kept;
    owner = std::move(kept);
  } else {
    absl::StatusOr<std::shared_ptr<const MappedFile>> mapped = MappedFile::Open(file, options.limits.max_file_bytes);
    if (absl::IsNotFound(mapped.status())) {
      const std::string help = HelpForMissing(file);
      return WithChangedFacts(mapped.status(), [&help](ErrorInfo& info) {
        if (info.suggestion.empty()) info.suggestion = help;
      });
    }
    if (!mapped.ok()) return mapped.status();
    bytes = (*mapped)->bytes();
    owner = *std::move(mapped);
  }
  SLUICE_ASSIGN_OR_RETURN(LoadedGraph model,
                          LoadGraphBytes(bytes, std::move(owner), path == "-" ? "standard input" : file, options));
  model.source = path;
  return model;
}

}  // namespace

absl::Status LoadedGraph::Locate(NodeId id, const absl::Status& status) const {
  return WithFile(graph.Locate(id, status), source);
}

absl::StatusOr<LoadedGraph> LoadGraphBytes(absl::string_view bytes, std::shared_ptr<const void> owner,
                                           const std::string& name, const LoadOptions& options) {
  // `owner` is kept: what is wrong with damaged bytes is looked for once more.
  absl::StatusOr<LoadedGraph> model = AsStatus([&] { return Load(bytes, owner, name, options); });
  if (model.ok()) return model;
  return AsStatus([&] { return WithFile(ExplainDamage(model.status(), bytes, name), name); });
}

absl::StatusOr<LoadedGraph> LoadGraphFile(const std::string& path, const LoadOptions& options) {
  return AsStatus([&] { return LoadFile(path, options); });
}

}  // namespace sluice
