#include "tools/cli/conform/conform_train.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

using nlohmann::json;

absl::StatusOr<Optimizer::Kind> FindKind(const std::string& name) {
  if (name == "momentum") return Optimizer::Kind::kMomentum;
  if (name == "adagrad") return Optimizer::Kind::kAdagrad;
  if (name == "adadelta") return Optimizer::Kind::kAdadelta;
  if (name == "adam") return Optimizer::Kind::kAdam;
  if (name == "adamw") return Optimizer::Kind::kAdamW;
  if (name == "adamax") return Optimizer::Kind::kAdaMax;
  if (name == "rmsprop") return Optimizer::Kind::kRmsProp;
  if (name == "ftrl") return Optimizer::Kind::kFtrl;
  if (name == "sgd") return Optimizer::Kind::kSgd;
  return Error(ErrorCode::kUnsupported).Text(absl::StrCat("no optimizer is called '", name, "'"));
}

absl::StatusOr<NodeId> FindNode(const Graph& graph, const std::string& name) {
  const NodeId id = graph.Find(name);
  if (graph.Contains(id)) return id;
  return Error(ErrorCode::kTargetUnknown).Text(absl::StrCat("the graph has no variable '", name, "'"));
}

}  // namespace

ConformTraining ReadTraining(const json& object) {
  ConformTraining training;
  training.loss = object.at("loss").get<std::string>();
  training.variables = object.at("variables").get<std::vector<std::string>>();
  training.target = object.at("target").get<std::string>();
  training.init = object.at("init").get<std::string>();
  training.global_step = object.value("global_step", "");
  training.options.clip_norm = object.value("clip_norm", 0.0);
  const json& field = object.at("optimizer");
  const json& rate = field.at("learning_rate");
  if (rate.is_string()) {
    training.learning_rate = rate.get<std::string>();
  } else {
    training.options.learning_rate = rate.get<double>();
  }
  Optimizer& o = training.options.optimizer;
  training.optimizer = field.at("name").get<std::string>();
  o.momentum = field.value("momentum", o.momentum);
  o.nesterov = field.value("nesterov", o.nesterov);
  o.initial_accumulator = field.value("initial_accumulator", o.initial_accumulator);
  o.rho = field.value("rho", o.rho);
  o.epsilon = field.value("epsilon", o.epsilon);
  o.beta1 = field.value("beta1", o.beta1);
  o.beta2 = field.value("beta2", o.beta2);
  o.weight_decay = field.value("weight_decay", o.weight_decay);
  o.decay = field.value("decay", o.decay);
  o.centered = field.value("centered", o.centered);
  o.learning_rate_power = field.value("learning_rate_power", o.learning_rate_power);
  o.l1 = field.value("l1", o.l1);
  o.l2 = field.value("l2", o.l2);
  o.l2_shrinkage = field.value("l2_shrinkage", o.l2_shrinkage);
  return training;
}

absl::Status AddCaseTraining(Graph& graph, const std::vector<ConformTraining>& training) {
  for (const ConformTraining& wanted : training) {
    TrainStepOptions options = wanted.options;
    options.name = wanted.target;
    SLUICE_ASSIGN_OR_RETURN(options.optimizer.kind, FindKind(wanted.optimizer));
    SLUICE_ASSIGN_OR_RETURN(const Output loss, graph.FindOutput(wanted.loss));
    if (!wanted.learning_rate.empty()) {
      SLUICE_ASSIGN_OR_RETURN(options.learning_rate_tensor, graph.FindOutput(wanted.learning_rate));
    }
    if (!wanted.global_step.empty()) {
      SLUICE_ASSIGN_OR_RETURN(options.global_step, FindNode(graph, wanted.global_step));
    }
    std::vector<NodeId> variables;
    for (const std::string& name : wanted.variables) {
      SLUICE_ASSIGN_OR_RETURN(const NodeId variable, FindNode(graph, name));
      variables.push_back(variable);
    }
    SLUICE_ASSIGN_OR_RETURN(const TrainStep step, AddTrainStep(graph, loss, variables, options));
    SLUICE_RETURN_IF_ERROR(graph.Rename(step.init, wanted.init));
  }
  return absl::OkStatus();
}

}  // namespace sluice
