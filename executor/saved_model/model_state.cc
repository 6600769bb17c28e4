#include "executor/saved_model/model_state.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "executor/saved_model/restore_by_objects.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/load/format.h"
#include "kernels/checkpoint/checkpoint_state.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// The saver that the model states, or the one that tf.train.Saver would have made. Empty names: nothing.
SaverInfo SaverOf(const LoadedGraph& model) {
  if (model.meta.saver.has_value()) return *model.meta.saver;
  SaverInfo saver;
  if (!model.graph.Contains(model.graph.Find("save/restore_all"))) return saver;
  saver.filename_tensor = "save/Const:0";
  saver.restore_op = "save/restore_all";
  saver.save_tensor = "save/control_dependency:0";
  return saver;
}

// Whether some file of a checkpoint is in the directory. Without its index it is damaged, and restoring says so.
bool HoldsVariables(const fs::path& directory) {
  std::error_code failed;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end; it.increment(failed)) {
    if (absl::StartsWith(it->path().filename().string(), "variables")) return true;
  }
  return false;
}

absl::Status NoSaver() {
  return Error(ErrorCode::kCannotRun)
      .Text("the model does not say which of its nodes read and write checkpoints (it has no saver)");
}

}  // namespace

std::string ModelDirectory(const LoadedGraph& model) {
  if (model.source.empty() || model.source == "-") return "";
  std::error_code ignored;
  const fs::path source(model.source);
  if (fs::is_directory(source, ignored)) return source.string();
  return source.has_parent_path() ? source.parent_path().string() : ".";
}

bool HasSaver(const LoadedGraph& model) { return !SaverOf(model).restore_op.empty(); }

std::string TrainedValuesPrefix(const LoadedGraph& model) {
  std::error_code ignored;
  const fs::path source(model.source);
  if (IsSavedModel(model.format) && model.source != "-") {
    const fs::path variables = fs::path(ModelDirectory(model)) / "variables";
    return HoldsVariables(variables) ? (variables / "variables").string() : "";
  }
  if (source.extension() != ".meta") return "";
  const std::string prefix = fs::path(source).replace_extension().string();
  const bool is_there = fs::exists(prefix + ".index", ignored) || fs::is_regular_file(prefix, ignored);  // V2, V1.
  return is_there ? prefix : "";
}

absl::StatusOr<std::string> CheckpointPrefix(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  SLUICE_ASSIGN_OR_RETURN(const CheckpointState state, ReadCheckpointState(path));
  return state.newest;
}

absl::Status RestoreVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                              const CallOptions& options) {
  const SaverInfo saver = SaverOf(model);
  if (saver.restore_op.empty() || saver.filename_tensor.empty()) return NoSaver();
  SLUICE_ASSIGN_OR_RETURN(const std::string found, CheckpointPrefix(prefix));
  SLUICE_RETURN_IF_ERROR(
      session.Run({{saver.filename_tensor, Tensor::String(found)}}, {}, {saver.restore_op}, options).status());
  return RestoreByObjects(session, model, saver.restore_op, found, options);
}

absl::Status SaveVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                           const CallOptions& options) {
  const SaverInfo saver = SaverOf(model);
  if (saver.save_tensor.empty() || saver.filename_tensor.empty()) return NoSaver();
  SLUICE_RETURN_IF_ERROR(
      session.Run({{saver.filename_tensor, Tensor::String(prefix)}}, {saver.save_tensor}, {}, options).status());
  return AddToCheckpointState(prefix);
}

absl::StatusOr<std::string> AssetPath(const LoadedGraph& model, const ModelAsset& asset) {
  const fs::path name(asset.filename);
  bool is_below = !name.empty() && !name.is_absolute();
  for (const fs::path& part : name) is_below = is_below && part != "..";
  if (is_below) return (fs::path(ModelDirectory(model)) / "assets" / name).string();
  return Error(ErrorCode::kPathEscape).Text(absl::StrCat("asset '", PrintableName(asset.filename), "'"));
}

absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options) {
  if (model.meta.init_ops.empty()) return absl::OkStatus();
  if (model.meta.init_ops.size() > 1) {
    return Error(ErrorCode::kSavedModelSignature)
        .Text(absl::StrCat("the model names ", model.meta.init_ops.size(), " init ops, '",
                           PrintableName(model.meta.init_ops[0]), "' and '", PrintableName(model.meta.init_ops[1]),
                           "' among them: only one can be meant"));
  }
  NamedTensors feeds;
  for (const ModelAsset& asset : model.meta.assets) {
    SLUICE_ASSIGN_OR_RETURN(const std::string path, AssetPath(model, asset));
    feeds.emplace_back(asset.tensor, Tensor::String(path));
  }
  std::vector<std::string> targets;
  for (const std::string& name : model.meta.init_ops) targets.emplace_back(name, 0, name.find(':'));
  return session.Run(feeds, {}, targets, options).status();
}

absl::Status InitialiseModel(Session& session, const LoadedGraph& model, const CallOptions& options) {
  const std::string trained = TrainedValuesPrefix(model);
  if (!trained.empty()) SLUICE_RETURN_IF_ERROR(RestoreVariables(session, model, trained, options));
  return RunModelInit(session, model, options);
}

}  // namespace sluice
