#include "tools/cli/train/train_start.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "executor/saved_model/model_state.h"
#include "executor/saved_model/saver_nodes.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/run/initial_values.h"
#include "tools/cli/train/train_checkpoints.h"

namespace sluice {
namespace {

std::set<absl::string_view> NamesOf(const NamedTensors& tensors) {
  std::set<absl::string_view> names;
  for (const auto& [name, tensor] : tensors) names.insert(name);
  return names;
}

// By node: whether plan.slot_init runs it.
std::vector<bool> RunBySlotInit(const Graph& graph, const TrainPlan& plan) {
  std::vector<bool> is_run(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> waiting;
  const auto add = [&](NodeId id) {
    if (!graph.Contains(id) || is_run[static_cast<size_t>(id.value())]) return;
    is_run[static_cast<size_t>(id.value())] = true;
    waiting.push_back(id);
  };
  if (!plan.slot_init.empty()) add(graph.Find(plan.slot_init));
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    for (const Output& input : graph.all_inputs(id)) add(input.node);
  }
  return is_run;
}

// Returns the nodes that initialise variables that nothing else does, without the slots, which come afterwards, since
// their shapes may depend on the variables.
std::vector<std::string> FirstAssigns(const LoadedGraph& model, const TrainPlan& plan) {
  const InitialValues initial(model);
  const std::vector<bool> is_run_later = RunBySlotInit(model.graph, plan);
  const std::set<absl::string_view> assigns(plan.saver.assigns.begin(), plan.saver.assigns.end());
  std::vector<std::string> nodes;
  for (const std::string& variable : plan.saver.variables) {
    const std::string usual = absl::StrCat(variable, "/Assign");
    const NodeId id = model.graph.Find(usual);
    const bool is_usual =
        model.graph.Contains(id) && (model.graph.Is(id, "Assign") || model.graph.Is(id, "AssignVariableOp"));
    const std::string node = is_usual ? usual : initial.InitOf(variable);
    if (node.empty() || assigns.count(node) > 0) continue;
    const NodeId assign = model.graph.Find(node);
    const bool is_later = model.graph.Contains(assign) && is_run_later[static_cast<size_t>(assign.value())];
    if (!is_later) nodes.push_back(node);
  }
  return nodes;
}

// Restores a checkpoint by the names of variables, for a model without nodes to read it.
absl::Status RestoreByName(Session& session, const TrainPlan& plan, const std::string& path, const CallOptions& call) {
  SLUICE_ASSIGN_OR_RETURN(const std::string prefix, CheckpointPrefix(path));
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors tensors, ReadCheckpoint(prefix));
  const std::set<absl::string_view> held = NamesOf(tensors);
  std::vector<std::string> missing;
  for (const std::string& variable : plan.trained) {
    if (held.count(variable) == 0) missing.push_back(PrintableName(variable));
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
    // Run before restoring, which replaces their values.
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
                              const ModelSessionOptions& options, const NamedTensors& checkpoint,
                              const CallOptions& call) {
  const std::set<absl::string_view> held = NamesOf(checkpoint);
  std::vector<std::string> missing;
  for (const std::string& variable : plan.saver.variables) {
    if (held.count(variable) == 0) missing.push_back(PrintableName(variable));
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
  const std::string trained = options.restore.empty() ? TrainedValuesPrefix(model) : options.restore;
  if (!plan.others.variables.empty() && !trained.empty() && HasSaver(model)) {
    SLUICE_RETURN_IF_ERROR(RestoreVariables(session, model, trained, call));
  }
  SLUICE_RETURN_IF_ERROR(RunModelInit(session, model, call));
  // These also fill tables; their values of variables are replaced.
  for (const std::string& node : options.init) SLUICE_RETURN_IF_ERROR(session.Run({}, {}, {node}, call).status());
  SLUICE_RETURN_IF_ERROR(AssignTables(session, plan.tables, checkpoint));
  return AssignVariables(session, plan.saver, checkpoint, call);
}

}  // namespace sluice
