#include "graph/load/load_graph.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/functions/check.h"
#include "graph/ir/import.h"
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

bool FileExists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

// The file with the graphs of the SavedModel in directory `path`.
absl::StatusOr<std::string> SavedModelFile(const std::string& path) {
  const std::string base = absl::EndsWith(path, "/") ? path : absl::StrCat(path, "/");
  for (const absl::string_view name : {"saved_model.pb", "saved_model.pbtxt"}) {
    const std::string file = absl::StrCat(base, name);
    if (FileExists(file)) return file;
  }
  const std::string name = PrintableName(path);
  const bool is_chunked = FileExists(absl::StrCat(base, "saved_model.cpb"));
  return Error(ErrorCode::kSavedModelMissing)
      .Text(absl::StrCat("'", name, "' holds neither saved_model.pb nor saved_model.pbtxt"))
      .Help(is_chunked ? "it holds saved_model.cpb, the chunked form for models above 2 GiB, which is not read here"
                       : "name the directory that holds saved_model.pb, or a graph file in this one");
}

// What `format` is, as against what was asked for.
absl::Status CheckAccepted(GraphFormat format, const LoadOptions& options) {
  if (options.format.has_value() && *options.format != format) {
    return Error(ErrorCode::kFileNotGraph)
        .Text("the file is of another format than said")
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

absl::Status CheckIsGraph(absl::string_view bytes, const LoadOptions& options) {
  if (static_cast<int64_t>(bytes.size()) > options.limits.max_file_bytes) {
    return Error(ErrorCode::kLimitFileSize)
        .Found(absl::StrCat(bytes.size(), " bytes"))
        .Limit("max_file_bytes", options.limits.max_file_bytes)
        .Help("keep large constants in a checkpoint beside the graph");
  }
  if (bytes.empty() && !options.allow_empty) return Error(ErrorCode::kFileEmpty);
  const absl::string_view foreign = ForeignFormat(bytes);
  if (foreign.empty()) return absl::OkStatus();
  return Error(ErrorCode::kFileNotGraph).AtByte(0).Text(absl::StrCat("this is ", foreign, ", not a graph"));
}

// All that is looked at after import, every error at once.
absl::Status CheckGraph(const LoadOptions& options, LoadedGraph* model) {
  ErrorCollector errors(static_cast<size_t>(std::max<int64_t>(options.limits.max_kept_errors, 1)));
  if (options.check_functions) errors.Add(CheckFunctions(model->graph, options.limits, &errors));
  if (options.check_control_flow) {
    absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(model->graph, options.limits);
    if (info.ok())
      model->control_flow = *std::move(info);
    else
      errors.Add(info.status());
  }
  if (options.check_meta_graph) errors.Add(CheckMetaGraph(model->graph, model->meta));
  if (!errors.empty()) return errors.Finish();
  if (options.infer_shapes) {
    SLUICE_ASSIGN_OR_RETURN(model->shapes, InferShapes(model->graph));
    if (options.reject_shape_problems) SLUICE_RETURN_IF_ERROR(model->shapes->FirstCertainProblem());
  }
  if (options.place_on_one_cpu) {
    const std::vector<std::string> names = {std::string(kOneCpu)};
    SLUICE_ASSIGN_OR_RETURN(const DeviceList devices, DeviceList::Create(names));
    SLUICE_RETURN_IF_ERROR(PlaceGraph(model->graph, devices, AllowAllCatalog(), PlacementOptions()).status());
  }
  return absl::OkStatus();
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
  SLUICE_RETURN_IF_ERROR(CheckIsGraph(bytes, options));
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
  ImportOptions import;
  import.limits = options.limits;
  import.ops = options.ops != nullptr ? options.ops : NewOpRegistry();
  import.allow_internal_ops = options.allow_internal_ops;
  LoadedGraph model;
  SLUICE_ASSIGN_OR_RETURN(model.graph, ImportGraph(std::move(source), import));
  model.format = format;
  model.source = name;
  model.source_bytes = static_cast<int64_t>(bytes.size());
  model.meta = std::move(found.meta);
  model.tag_sets = std::move(found.tag_sets);
  model.control_flow.frames.resize(1);
  SLUICE_RETURN_IF_ERROR(CheckGraph(options, &model));
  AddWarnings(bytes, &model);
  return model;
}

}  // namespace

absl::Status LoadedGraph::Locate(NodeId id, const absl::Status& status) const {
  return WithFile(graph.Locate(id, status), source);
}

absl::StatusOr<LoadedGraph> LoadGraphBytes(absl::string_view bytes, std::shared_ptr<const void> owner,
                                           const std::string& name, const LoadOptions& options) {
  absl::StatusOr<LoadedGraph> model = Load(bytes, std::move(owner), name, options);
  if (!model.ok()) return WithFile(model.status(), name);
  return model;
}

absl::StatusOr<LoadedGraph> LoadGraphFile(const std::string& path, const LoadOptions& options) {
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
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const MappedFile> mapped,
                            MappedFile::Open(file, options.limits.max_file_bytes));
    bytes = mapped->bytes();
    owner = std::move(mapped);
  }
  SLUICE_ASSIGN_OR_RETURN(LoadedGraph model,
                          LoadGraphBytes(bytes, std::move(owner), path == "-" ? "standard input" : file, options));
  model.source = path;
  return model;
}

}  // namespace sluice
