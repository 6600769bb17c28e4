#include "tools/cli/train/train_start.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/saver_nodes.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/run/initial_values.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

bool Holds(const NamedTensors& tensors, const std::string& name) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.first == name; });
}

// The nodes that give variables their first values, where nothing else does.
std::vector<std::string> FirstAssigns(const LoadedGraph& model, const TrainPlan& plan) {
  const InitialValues initial(model);
  std::vector<std::string> nodes;
  for (const std::string& variable : plan.saver.variables) {
    const std::string usual = absl::StrCat(variable, "/Assign");
    const NodeId id = model.graph.Find(usual);
    const bool is_usual =
        model.graph.Contains(id) && (model.graph.Is(id, "Assign") || model.graph.Is(id, "AssignVariableOp"));
    const std::string node = is_usual ? usual : initial.InitOf(variable);
    const auto& assigns = plan.saver.assigns;
    const bool is_savers = std::find(assigns.begin(), assigns.end(), node) != assigns.end();
    if (!node.empty() && !is_savers) nodes.push_back(node);
  }
  return nodes;
}

// Weights of a checkpoint for a model that has no nodes to read it: by the names of variables.
absl::Status RestoreByName(Session& session, const TrainPlan& plan, const std::string& path, const CallOptions& call) {
  SLUICE_ASSIGN_OR_RETURN(const std::string prefix, CheckpointPrefix(path));
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadCheckpoint(prefix));
  std::vector<std::string> missing;
  for (const std::string& variable : plan.trained) {
    if (!Holds(tensors, variable)) missing.push_back(PrintableName(variable));
  }
  if (!missing.empty()) {
    return Error(ErrorCode::kCheckpointName)
        .Text(absl::StrCat("the checkpoint '", PrintableName(prefix, 1000), "' has no ", absl::StrJoin(missing, ", ")));
  }
  return AssignVariables(session, plan.saver, tensors, call);
}

}  // namespace

absl::Status StartTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                           const ModelSessionOptions& options, const CallOptions& call) {
  const bool by_name = !options.restore.empty() && !HasSaver(model);
  const bool is_trained = !options.untrained && !TrainedValuesPrefix(model).empty();
  const bool has_values = is_trained || !options.restore.empty() || !options.init.empty();
  if (!has_values || by_name) {
    // Before the restored ones, which replace what they give.
    const std::vector<std::string> first =
        model.meta.init_ops.empty() ? FirstAssigns(model, plan) : std::vector<std::string>();
    if (!first.empty()) SLUICE_RETURN_IF_ERROR(session.Run({}, {}, first, call).status());
  }
  if (by_name) {
    SLUICE_RETURN_IF_ERROR(RestoreByName(session, plan, options.restore, call));
  } else {
    SLUICE_RETURN_IF_ERROR(InitialiseSession(session, model, options, call));
  }
  if (!plan.slot_init.empty()) SLUICE_RETURN_IF_ERROR(session.Run({}, {}, {plan.slot_init}, call).status());
  return ReadVariables(session, plan.saver, call).status();
}

absl::Status ContinueTraining(Session& session, const LoadedGraph& model, const TrainPlan& plan,
                              const NamedTensors& checkpoint, const CallOptions& call) {
  std::vector<std::string> missing;
  for (const std::string& variable : plan.saver.variables) {
    if (!Holds(checkpoint, variable)) missing.push_back(PrintableName(variable));
  }
  if (!missing.empty()) {
    constexpr size_t kMostNamed = 5;
    const size_t more = missing.size() > kMostNamed ? missing.size() - kMostNamed : 0;
    missing.resize(missing.size() - more);
    return Error(ErrorCode::kCheckpointName)
        .Help("resume with the model and the --optimizer that the training was started with")
        .Text(absl::StrCat("the checkpoint has no values for ", absl::StrJoin(missing, ", "),
                           more > 0 ? absl::StrCat(" and ", more, " more") : ""));
  }
  SLUICE_RETURN_IF_ERROR(RunModelInit(session, model, call));
  return AssignVariables(session, plan.saver, checkpoint, call);
}

}  // namespace sluice
