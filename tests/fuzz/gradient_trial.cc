#include "tests/fuzz/gradient_trial.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/edit/validate.h"
#include "graph/gradients/gradients.h"
#include "graph/training/train_step.h"
#include "graph/training/variable_node.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/trial_requests.h"
#include "tests/graph/ir/graph_equal.h"
#include "tests/testing/hostile_values.h"

namespace sluice {
namespace {

// By node: whether it is one of `outputs` or a value goes from it to one of them.
std::vector<bool> Above(const Graph& graph, const std::vector<Output>& outputs) {
  std::vector<bool> is_above(static_cast<size_t>(graph.id_limit()));
  std::vector<NodeId> waiting;
  const auto add = [&](NodeId id) {
    if (is_above[static_cast<size_t>(id.value())]) return;
    is_above[static_cast<size_t>(id.value())] = true;
    waiting.push_back(id);
  };
  for (const Output& output : outputs) add(output.node);
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    for (const Output& input : graph.inputs(id)) add(input.node);
  }
  return is_above;
}

// Chooses outputs of one graph by their names, so that a graph made smaller is differentiated in the same way. Lives
// for one trial.
class Chooser {
 public:
  Chooser(const Graph& graph, uint64_t seed) : graph_(graph), seed_(seed) {}

  // At most `count` outputs; now and then one that nothing can be differentiated by. `is_above`: of these nodes alone.
  std::vector<Output> Choose(uint64_t salt, size_t count, const std::vector<bool>* is_above) const {
    std::vector<std::pair<uint64_t, Output>> ranked;
    for (const NodeId id : graph_.Nodes()) {
      if (is_above != nullptr && !(*is_above)[static_cast<size_t>(id.value())]) continue;
      for (int32_t i = 0; i < graph_.num_outputs(id); ++i) {
        const uint64_t hash = HashOf(graph_.OutputName({id, i}), seed_ + salt);
        if (!IsDifferentiable(graph_.output_type(id, i)) && hash % 64 != 0) continue;
        ranked.emplace_back(hash, Output{id, i});
      }
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ranked.resize(std::min(ranked.size(), count));
    std::vector<Output> chosen;
    for (const auto& [hash, output] : ranked) chosen.push_back(output);
    return chosen;
  }

 private:
  const Graph& graph_;
  const uint64_t seed_;
};

GradientOptions RandomOptions(FuzzRandom& random) {
  GradientOptions options;
  options.unconnected = static_cast<GradientOptions::Unconnected>(random.Int(2));
  options.aggregation = static_cast<GradientOptions::Aggregation>(random.Int(3));
  options.colocate = random.OneIn(2);
  return options;
}

TrainStepOptions RandomTraining(FuzzRandom& random) {
  TrainStepOptions options;
  options.optimizer.kind = static_cast<Optimizer::Kind>(random.Int(9));
  options.optimizer.momentum = random.OneIn(2) ? 0.9 : 0;
  options.optimizer.nesterov = random.OneIn(2);
  options.optimizer.centered = random.OneIn(2);
  options.learning_rate = 0.01;
  options.schedule.kind = static_cast<LearningRateSchedule::Kind>(random.Int(6));
  options.schedule.values = {0.1, 0.01};
  options.schedule.boundaries = {1};
  options.schedule.warmup_steps = random.Int(3);
  options.schedule.cycle = options.schedule.staircase = random.OneIn(2);
  const int clip = random.Int(6);
  if (clip == 0) options.clip_norm = 1;
  if (clip == 1) options.clip_each_norm = 1;
  if (clip == 2) options.clip_value = 1;
  options.l2_regularization = random.OneIn(3) ? 0.01 : 0;
  options.weight_decay = random.OneIn(3) && options.optimizer.kind != Optimizer::Kind::kAdamW ? 0.01 : 0;
  options.rows = static_cast<RowRule>(random.Int(3));
  options.accumulate_steps = random.OneIn(3) ? 2 : 1;
  options.loss_scaling.kind = static_cast<LossScaling::Kind>(random.Int(3));
  options.gradients = RandomOptions(random);
  return options;
}

void AddOutput(const Graph& graph, const Output& output, std::vector<std::string>* names) {
  if (output.is_set()) names->push_back(absl::StrCat(graph.name(output.node), ":", output.index));
}

absl::Status Train(const Output& loss, const std::vector<NodeId>& variables, FuzzRandom& random,
                   DifferentiatedGraph* made) {
  const std::string loss_name = made->graph.OutputName(loss);
  SLUICE_ASSIGN_OR_RETURN(const TrainStep step, AddTrainStep(made->graph, loss, variables, RandomTraining(random)));
  for (const NodeId id : made->graph.Nodes()) {
    const absl::string_view op = made->graph.op(id).name;
    const bool is_of_step = absl::StartsWith(made->graph.name(id), "train");
    if ((op == "Assign" || op == "AssignVariableOp") && !is_of_step) made->starts.emplace_back(made->graph.name(id));
  }
  made->starts.emplace_back(made->graph.name(step.init));
  made->targets.emplace_back(made->graph.name(step.update));
  made->fetches.push_back(loss_name);
  return absl::OkStatus();
}

absl::Status Add(const Chooser& chooser, FuzzRandom& random, const std::vector<Output>& ys,
                 const std::vector<bool>& is_above, DifferentiatedGraph* made) {
  const std::vector<Output> xs = chooser.Choose(1, 1 + random.Below(3), random.OneIn(8) ? nullptr : &is_above);
  GradientOptions options = RandomOptions(random);
  if (random.OneIn(6)) options.stop = chooser.Choose(2, 1, &is_above);
  if (random.OneIn(6)) options.grad_ys.push_back(random.OneIn(2) ? ys[0] : kNoOutput);
  if (!options.grad_ys.empty()) options.grad_ys.resize(ys.size(), kNoOutput);
  std::vector<std::string> names;
  for (const Output& x : xs) names.push_back(made->graph.OutputName(x));
  SLUICE_ASSIGN_OR_RETURN(GradientResult found, AddGradients(made->graph, ys, xs, options));
  std::vector<Output> seconds;
  for (const Gradient& gradient : found.xs) {
    for (const Output& part : {gradient.value, gradient.indices, gradient.dense_shape}) {
      AddOutput(made->graph, part, &made->fetches);
    }
    if (gradient.value.is_set()) seconds.push_back(gradient.value);
  }
  // Gradients of gradients: what was added is a graph like any other. xs are found anew: calls have other ids.
  if (seconds.empty() || !random.OneIn(3)) return absl::OkStatus();
  std::vector<Output> again;
  for (const std::string& name : names) {
    const absl::StatusOr<Output> x = made->graph.FindOutput(name);
    if (x.ok()) again.push_back(*x);
  }
  if (again.empty()) return absl::OkStatus();
  SLUICE_ASSIGN_OR_RETURN(found, AddGradients(made->graph, seconds, again, RandomOptions(random)));
  for (const Gradient& gradient : found.xs) AddOutput(made->graph, gradient.value, &made->fetches);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DifferentiatedGraph> Differentiate(const Graph& graph, uint64_t seed) {
  FuzzRandom random(seed);
  const Chooser chooser(graph, seed);
  DifferentiatedGraph made = {graph, {}, {}, {}};
  const std::vector<Output> ys = chooser.Choose(0, 1 + random.Below(3), nullptr);
  if (ys.empty()) return made;
  const std::vector<bool> is_above = Above(graph, ys);
  std::vector<NodeId> variables;
  for (const NodeId id : graph.Nodes()) {
    if (is_above[static_cast<size_t>(id.value())] && VariableNode::Find(graph, id).ok()) variables.push_back(id);
  }
  const bool is_training = !variables.empty() && random.OneIn(2);
  const absl::Status status =
      is_training ? Train(ys[0], variables, random, &made) : Add(chooser, random, ys, is_above, &made);
  std::string why;
  if (!status.ok()) {
    // The first gradients stay where those of second order are refused.
    const bool is_unchanged = !made.fetches.empty() || GraphsEqual(graph, made.graph, &why);
    Promise(is_unchanged, "a refused gradient changes nothing", why);
    return status;
  }
  // Errors in a body are found when the call is inlined; loading leaves some things to the run.
  const absl::Status sound = ValidateGraph(made.graph);
  const bool may_be_unsound = graph.library().size() > 0 || !ValidateGraph(graph).ok();
  Promise(sound.ok() || may_be_unsound, "a graph with gradients is sound", sound.ToString());
  SLUICE_RETURN_IF_ERROR(sound);
  return made;
}

}  // namespace sluice
