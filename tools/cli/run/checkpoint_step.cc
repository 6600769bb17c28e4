#include "tools/cli/run/checkpoint_step.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/families/register_all.h"
#include "tools/cli/ops/op_support.h"

namespace sluice {
namespace {

bool HasKernelFor(absl::string_view op) { return SupportOf(BuiltinKernels(), op) == OpSupport::kKernel; }

absl::Status NoKernels(absl::string_view op, absl::string_view what) {
  return Error(ErrorCode::kCannotRun)
      .Help("give variables their values with --init, or freeze them into the graph as constants")
      .Text(absl::StrCat("this build has no checkpoint kernels (", op, "), so it cannot ", what, " variables"));
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

}  // namespace

bool CanRestore() { return HasKernelFor("RestoreV2"); }
bool CanSave() { return HasKernelFor("SaveV2"); }

absl::Status RestoreVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                              const CallOptions& options) {
  if (!CanRestore()) return NoKernels("RestoreV2", "read");
  const SaverInfo saver = SaverOf(model);
  if (saver.restore_op.empty() || saver.filename_tensor.empty()) return NoSaver();
  return session.Run({{saver.filename_tensor, Tensor::String(prefix)}}, {}, {saver.restore_op}, options).status();
}

absl::Status SaveVariables(Session& session, const LoadedGraph& model, const std::string& prefix,
                           const CallOptions& options) {
  if (!CanSave()) return NoKernels("SaveV2", "write");
  const SaverInfo saver = SaverOf(model);
  if (saver.save_tensor.empty() || saver.filename_tensor.empty()) return NoSaver();
  return session.Run({{saver.filename_tensor, Tensor::String(prefix)}}, {saver.save_tensor}, {}, options).status();
}

std::string SavedVariablesPrefix(const LoadedGraph& model) {
  struct stat info;
  const std::string prefix = absl::StrCat(model.source, "/variables/variables");
  return ::stat(absl::StrCat(prefix, ".index").c_str(), &info) == 0 ? prefix : "";
}

absl::Status RunModelInit(Session& session, const LoadedGraph& model, const CallOptions& options) {
  if (model.meta.init_ops.empty()) return absl::OkStatus();
  NamedTensors feeds;
  for (const ModelAsset& asset : model.meta.assets) {
    feeds.emplace_back(asset.tensor, Tensor::String(absl::StrCat(model.source, "/assets/", asset.filename)));
  }
  std::vector<std::string> targets;
  for (const std::string& name : model.meta.init_ops) targets.emplace_back(name, 0, name.find(':'));
  return session.Run(feeds, {}, targets, options).status();
}

}  // namespace sluice
