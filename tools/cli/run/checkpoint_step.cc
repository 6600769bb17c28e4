#include "tools/cli/run/checkpoint_step.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/load/format.h"
#include "kernels/families/register_all.h"
#include "tools/cli/ops/op_support.h"

namespace sluice {
namespace {

bool HasKernelFor(absl::string_view op) { return SupportOf(BuiltinKernels(), op) == OpSupport::kKernel; }

absl::Status NoKernels(absl::string_view op, absl::string_view what) {
  return Error(ErrorCode::kCannotRun)
      .Help(kFreezeHint)
      .Text(absl::StrCat(what, ": this build of Sluice has no ", op, " yet"));
}

// What the model says about its saver, or what tf.train.Saver would have made. Empty names: nothing.
SaverInfo SaverOf(const LoadedGraph& model) {
  if (model.meta.saver.has_value()) return *model.meta.saver;
  SaverInfo saver;
  if (!model.graph.Contains(model.graph.Find("save/restore_all"))) return saver;
  saver.filename_tensor = "save/Const:0";
  saver.restore_op = "save/restore_all";
  saver.save_tensor = "save/control_dependency:0";
  return saver;
}

absl::Status NoSaver() {
  return Error(ErrorCode::kCannotRun)
      .Text("the model does not say which of its nodes read and write checkpoints (it has no saver)");
}

// The directory of a SavedModel that may have been named by its saved_model.pb.
std::filesystem::path SavedModelRoot(const LoadedGraph& model) {
  std::error_code ignored;
  const std::filesystem::path source(model.source);
  return std::filesystem::is_directory(source, ignored) ? source : source.parent_path();
}

}  // namespace

bool CanRestore() { return HasKernelFor("RestoreV2"); }
bool CanSave() { return HasKernelFor("SaveV2"); }

absl::Status RestoreVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                              const CallOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckCanRestore("the checkpoint", prefix));
  const SaverInfo saver = SaverOf(model);
  if (saver.restore_op.empty() || saver.filename_tensor.empty()) return NoSaver();
  return session.Run({{saver.filename_tensor, Tensor::String(prefix)}}, {}, {saver.restore_op}, options).status();
}

absl::Status SaveVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                           const CallOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckCanSave("the checkpoint", prefix));
  const SaverInfo saver = SaverOf(model);
  if (saver.save_tensor.empty() || saver.filename_tensor.empty()) return NoSaver();
  return session.Run({{saver.filename_tensor, Tensor::String(prefix)}}, {saver.save_tensor}, {}, options).status();
}

absl::Status CheckCanRestore(absl::string_view option, const std::string& prefix) {
  if (prefix.empty() || CanRestore()) return absl::OkStatus();
  return NoKernels("RestoreV2", absl::StrCat(option, " '", PrintableName(prefix, kMaxPathBytes), "' cannot be read"));
}

absl::Status CheckCanSave(absl::string_view option, const std::string& prefix) {
  if (prefix.empty() || CanSave()) return absl::OkStatus();
  return NoKernels("SaveV2", absl::StrCat(option, " '", PrintableName(prefix, kMaxPathBytes), "' cannot be written"));
}

bool HasSaver(const LoadedGraph& model) { return !SaverOf(model).restore_op.empty(); }

std::string TrainedValuesPrefix(const LoadedGraph& model) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path source(model.source);
  if (IsSavedModel(model.format) && model.source != "-") {
    const fs::path variables = SavedModelRoot(model) / "variables";
    const bool has_some = fs::is_directory(variables, ignored) && !fs::is_empty(variables, ignored);
    return has_some ? (variables / "variables").string() : "";
  }
  if (source.extension() != ".meta") return "";
  const std::string prefix = fs::path(source).replace_extension().string();
  return fs::exists(prefix + ".index", ignored) ? prefix : "";
}

absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options) {
  if (model.meta.init_ops.empty()) return absl::OkStatus();
  NamedTensors feeds;
  for (const ModelAsset& asset : model.meta.assets) {
    const std::filesystem::path file = SavedModelRoot(model) / "assets" / asset.filename;
    feeds.emplace_back(asset.tensor, Tensor::String(file.string()));
  }
  std::vector<std::string> targets;
  for (const std::string& name : model.meta.init_ops) targets.emplace_back(name, 0, name.find(':'));
  return session.Run(feeds, {}, targets, options).status();
}

}  // namespace sluice
