#include "tools/cli/train/train_plan.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/consumers.h"
#include "graph/ir/tensor_id.h"
#include "graph/load/custom_gradients.h"
#include "graph/load/meta_graph_export.h"
#include "graph/passes/fed_shape.h"
#include "graph/training/train_step.h"
#include "graph/training/variable_node.h"
#include "tools/cli/report/contained_ops.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/model_names.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

constexpr absl::string_view kGlobalStep = "global_step";

// Finds the node that computes the mean of all elements of `output`, judging by its shape; else invalid.
NodeId MeanOfAll(const LoadedGraph& model, const Output& output) {
  const Graph& graph = model.graph;
  for (const Use& use : Consumers(graph).of(output.node)) {
    const bool is_mean = graph.Is(use.node, "Mean") && use.slot == output.index && use.input == 0;
    if (is_mean && model.shapes.has_value() && model.shapes->shape({use.node, 0}) == PartialShape::Scalar()) {
      return use.node;
    }
  }
  return NodeId();
}

// The gradient of several numbers is that of their sum, but their mean would be shown: kCannotRun if the loss is known
// to have more than one element, or none with a gradient.
absl::Status CheckLoss(const LoadedGraph& model, const Output& loss) {
  const DType dtype = BaseType(model.graph.output_type(loss.node, loss.index));
  const PartialShape shape = model.shapes.has_value() ? model.shapes->shape(loss) : PartialShape();
  const bool is_real =
      dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBFloat16;
  bool is_one = true;
  for (int i = 0; shape.has_rank() && i < shape.rank(); ++i) is_one = is_one && shape.dim(i) == 1;
  if (is_real && is_one) return absl::OkStatus();
  const NodeId mean = is_real ? MeanOfAll(model, loss) : NodeId();
  const std::string help = !is_real       ? "such values have no gradients: name the number that they are made from"
                           : mean.valid() ? absl::StrCat("--loss ", model.graph.name(mean), " is its mean")
                                          : "name a tensor that is its mean (tf.reduce_mean), or add one to the model";
  return Error(ErrorCode::kCannotRun)
      .Node(model.graph.name(loss.node), model.graph.op_name(loss.node))
      .Found(absl::StrCat(DTypeName(dtype), shape.has_rank() ? absl::StrCat(" ", shape.ToString()) : ""))
      .Expected("one floating-point number as a loss")
      .Help(help);
}

// Whether the op waits for or consumes values of other steps.
bool TakesFromQueue(absl::string_view op) {
  return absl::StartsWith(op, "QueueDequeue") || absl::StrContains(op, "Unstage") ||
         absl::StrContains(op, "AccumulatorTakeGradient") || op == "BarrierTakeMany";
}

// Makes one plan. Lives for one PlanTraining.
class Planner {
 public:
  Planner(LoadedGraph& model, const ModelNames& names, const TrainRequest& request, const LoadLimits& limits)
      : model_(model), graph_(model.graph), names_(names), request_(request), limits_(limits) {}

  absl::StatusOr<TrainPlan> Plan() {
    AddFetch("loss", request_.loss, "loss");
    for (const std::string& metric : request_.metrics) {
      const size_t equals = metric.find('=');
      const bool has_label = equals != std::string::npos && equals > 0;
      AddFetch("metric", has_label ? metric.substr(equals + 1) : metric, has_label ? metric.substr(0, equals) : metric);
    }
    for (const std::string& feed : request_.feeds) AddFixed("--feed", feed, /*is_training=*/true);
    for (const std::string& feed : request_.validation_feeds) AddFixed("--val-feed", feed, /*is_training=*/false);
    for (const std::string& array : request_.arrays) AddArray(array);
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    SLUICE_RETURN_IF_ERROR(request_.train_op.empty() ? AddStep() : FindStep());
    std::vector<NodeId> roots = {graph_.Find(plan_.update)};
    for (const std::string& fetch : plan_.fetches) roots.push_back(graph_.Find(ParseTensorId(fetch).node));
    AddPlaceholders(roots);
    if (!plan_.slot_init.empty()) roots.push_back(graph_.Find(plan_.slot_init));
    SLUICE_RETURN_IF_ERROR(CheckValidation());
    const std::vector<NodeId> variables = VariablesNeededBy(graph_, roots);
    SLUICE_ASSIGN_OR_RETURN(plan_.saver, AddSaver(graph_, variables, "save_training"));
    if (!request_.export_to.empty()) SLUICE_RETURN_IF_ERROR(AddOthers(roots, variables));
    SLUICE_ASSIGN_OR_RETURN(plan_.tables, AddTableNodes(graph_, roots));
    return std::move(plan_);
  }

 private:
  bool HasNode(const std::string& endpoint) const { return graph_.Contains(graph_.Find(ParseTensorId(endpoint).node)); }

  void AddFetch(absl::string_view role, const std::string& name, const std::string& label) {
    const std::string endpoint = names_.OutputEndpoint(name);
    if (!HasNode(endpoint)) return errors_.Add(names_.Unknown(ErrorCode::kFetchUnknown, role, name));
    const absl::StatusOr<Output> output = graph_.FindOutput(endpoint);
    if (!output.ok()) return errors_.Add(output.status());
    if (output->is_control() || graph_.num_outputs(output->node) == 0) {
      return errors_.Add(Error(ErrorCode::kFetchNoOutput)
                             .Node(graph_.name(output->node), graph_.op_name(output->node))
                             .Text(absl::StrCat("cannot be a ", role, ": it has no outputs")));
    }
    const DType dtype = BaseType(graph_.output_type(output->node, output->index));
    const bool is_made_small = role == "loss" && request_.train_op.empty();
    if (absl::Status fits = is_made_small ? CheckLoss(model_, *output) : absl::OkStatus(); !fits.ok()) {
      return errors_.Add(std::move(fits));
    }
    if (!IsRealNumber(dtype)) {
      return errors_.Add(Error(ErrorCode::kFeedType)
                             .Node(graph_.name(output->node), graph_.op_name(output->node))
                             .Text(absl::StrCat("cannot be a ", role, ", which must be a number"))
                             .Found(DTypeName(dtype)));
    }
    plan_.labels.push_back(label);
    plan_.fetches.push_back(graph_.OutputName(*output));
  }

  // Finds the output that `name` means as a feed; else returns false and adds an error.
  bool FindFed(absl::string_view role, const std::string& name, Output* output) {
    const std::string endpoint = names_.InputEndpoint(name);
    const absl::StatusOr<Output> found =
        HasNode(endpoint) ? graph_.FindOutput(endpoint) : names_.Unknown(ErrorCode::kFeedUnknown, role, name);
    if (!found.ok() || found->is_control() || found->index >= graph_.num_outputs(found->node)) {
      errors_.Add(found.ok() ? names_.Unknown(ErrorCode::kFeedUnknown, role, name) : found.status());
      return false;
    }
    *output = *found;
    return true;
  }

  void AddFixed(absl::string_view option, const std::string& text, bool is_training) {
    const absl::StatusOr<NamedPart> part = SplitAtEquals(option, text);
    if (!part.ok()) return errors_.Add(part.status());
    Output output;
    if (!FindFed("feed", part->name, &output)) return;
    const DType dtype = BaseType(graph_.output_type(output.node, output.index));
    absl::StatusOr<Tensor> value = ReadFeedValue(part->value, dtype, limits_);
    if (!value.ok()) {
      return errors_.Add(WithChangedFacts(value.status(), [&](ErrorInfo& info) {
        info.text = absl::StrCat("feed '", PrintableName(part->name), "': ", info.text);
      }));
    }
    if (absl::Status fits = CheckFedValue(graph_, output, value->dtype(), value->shape()); !fits.ok()) {
      return errors_.Add(std::move(fits));
    }
    const std::string endpoint = graph_.OutputName(output);
    auto feed = std::find_if(plan_.fixed.begin(), plan_.fixed.end(),
                             [&](const FixedFeed& one) { return one.endpoint == endpoint; });
    if (feed == plan_.fixed.end()) feed = plan_.fixed.insert(feed, FixedFeed{endpoint, Tensor(), Tensor()});
    if (is_training) feed->training = *value;
    feed->validation = *value;  // Until --val-feed, which is read later, sets another one.
    fed_.insert(endpoint);
  }

  void AddArray(const std::string& text) {
    const absl::StatusOr<NamedPart> part = SplitAtEquals("--data", text);
    if (!part.ok()) return errors_.Add(part.status());
    Output output;
    if (FindFed("input", part->name, &output)) AddInput(part->name, output, part->value);
  }

  void AddInput(const std::string& name, const Output& output, const std::string& array) {
    const std::string endpoint = graph_.OutputName(output);
    if (!fed_.insert(endpoint).second) {
      return errors_.Add(Error(ErrorCode::kFeedTwice)
                             .Text(absl::StrCat("the input '", PrintableName(name),
                                                "' is given two values: by --feed and "
                                                "--data, or by --data twice")));
    }
    const DType dtype = BaseType(graph_.output_type(output.node, output.index));
    plan_.inputs.push_back({name, endpoint, array, dtype, FedShape(graph_, output)});
  }

  // The nodes that `roots` need where the endpoints in `fed` have values, in the order of ids.
  std::vector<NodeId> Needed(const std::vector<NodeId>& roots, const std::set<std::string>& fed) const {
    std::vector<bool> seen(static_cast<size_t>(graph_.id_limit()));
    std::vector<NodeId> needed;
    const auto add = [&](NodeId id) {
      if (seen[static_cast<size_t>(id.value())]) return;
      seen[static_cast<size_t>(id.value())] = true;
      needed.push_back(id);
    };
    for (const NodeId root : roots) add(root);
    for (size_t next = 0; next < needed.size(); ++next) {
      for (const Output& input : graph_.all_inputs(needed[next])) {
        if (input.is_control() || fed.count(graph_.OutputName(input)) == 0) add(input.node);
      }
    }
    std::sort(needed.begin(), needed.end());
    return needed;
  }

  // Feeds every other placeholder that `roots` need with the array of its name.
  void AddPlaceholders(const std::vector<NodeId>& roots) {
    for (const NodeId id : Needed(roots, fed_)) {
      if (!graph_.Is(id, "Placeholder") && !graph_.Is(id, "PlaceholderV2")) continue;
      const std::string name = names_.InputName(std::string(graph_.name(id)));
      if (fed_.count(std::string(graph_.name(id))) == 0) AddInput(name, {id, 0}, name);
    }
  }

  // Validation would wait for ever on its own queues and the like, which nothing fills. See Note [Validation leaves no
  // trace].
  absl::Status CheckValidation() const {
    if (request_.validation.empty()) return absl::OkStatus();
    std::vector<NodeId> roots;
    for (const std::string& fetch : plan_.fetches) roots.push_back(graph_.Find(ParseTensorId(fetch).node));
    const ContainedOps takers(graph_, &TakesFromQueue);
    for (const NodeId id : Needed(roots, fed_)) {
      if (!takers.In(id)) continue;
      return graph_.Locate(id, Error(ErrorCode::kUnsupported)
                                   .Help("give what is taken a value with --val-feed, or train without --validate")
                                   .Text("the loss takes values from a queue or a staging area: validation has one of "
                                         "its own, which nothing fills"));
    }
    return absl::OkStatus();
  }

  // The variables that signatures and the init op need beside those of `roots`, which are `variables`.
  absl::Status AddOthers(std::vector<NodeId> roots, const std::vector<NodeId>& variables) {
    for (const ModelSignature& signature : model_.meta.signatures) {
      for (const SignatureTensor& tensor : signature.outputs)
        roots.push_back(graph_.Find(ParseTensorId(tensor.name).node));
    }
    for (const std::string& init : model_.meta.init_ops) roots.push_back(graph_.Find(ParseTensorId(init).node));
    std::vector<NodeId> others = VariablesNeededBy(graph_, roots);
    const auto is_known = [&](NodeId id) { return std::count(variables.begin(), variables.end(), id) > 0; };
    others.erase(std::remove_if(others.begin(), others.end(), is_known), others.end());
    SLUICE_ASSIGN_OR_RETURN(plan_.others, AddSaver(graph_, others, "save_export"));
    return absl::OkStatus();
  }

  absl::Status FindStep() {
    const NodeId id = graph_.Find(ParseTensorId(request_.train_op).node);
    if (!graph_.Contains(id)) return names_.Unknown(ErrorCode::kTargetUnknown, "--train-op", request_.train_op);
    plan_.update = std::string(graph_.name(id));
    return absl::OkStatus();
  }

  absl::Status AddStep() {
    SLUICE_ASSIGN_OR_RETURN(TrainStepOptions options, request_.optimizer.Read(request_.steps));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> variables, TrainedVariables());
    if (variables.empty()) {
      return Error(ErrorCode::kCannotRun)
          .Help(
              "a model that `convert --freeze` or TensorFlow has frozen has constants in their place: train the model "
              "that it came from")
          .Text("there is nothing to train: the loss depends on no variable of floating point");
    }
    for (const std::string& name : request_.optimizer.not_decayed()) {
      AddVariable("--no-decay", name, &options.not_decayed);
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    options.name = graph_.UniqueName("train");
    options.gradients.name = "gradients";
    options.gradients.limits = limits_;
    SLUICE_ASSIGN_OR_RETURN(const NodeId count_init, AddGlobalStep(variables[0], &options));
    SLUICE_ASSIGN_OR_RETURN(const Output loss, graph_.FindOutput(plan_.fetches[0]));
    for (size_t i = 1; i < plan_.fetches.size(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(const Output metric, graph_.FindOutput(plan_.fetches[i]));
      options.before_update.push_back(metric);
    }
    SLUICE_ASSIGN_OR_RETURN(options.gradients.custom, FindCustomGradients(model_, nullptr, limits_));
    SLUICE_ASSIGN_OR_RETURN(const TrainStep step, AddTrainStep(graph_, loss, variables, options));
    for (size_t i = 0; i < variables.size(); ++i) {
      if (step.gradients[i].is_set()) plan_.trained.emplace_back(graph_.name(variables[i]));
    }
    GraphEditor edit(graph_);
    std::vector<NodeId> inits = {step.init};
    if (count_init.valid()) inits.push_back(count_init);
    const GraphEditor::Scope after = edit.After(inits);
    const Output init = edit.Add("NoOp", absl::StrCat(options.name, "/start"), {});
    SLUICE_RETURN_IF_ERROR(edit.status());
    plan_.slot_init = std::string(graph_.name(init.node));
    plan_.update = std::string(graph_.name(step.update));
    return absl::OkStatus();
  }

  // Finds or adds the variable that counts steps, named as in TensorFlow; returns the initialiser of a new one.
  absl::StatusOr<NodeId> AddGlobalStep(NodeId like, TrainStepOptions* options) {
    options->global_step = graph_.Find(kGlobalStep);
    if (graph_.Contains(options->global_step) && VariableNode::Find(graph_, options->global_step).ok()) return NodeId();
    SLUICE_ASSIGN_OR_RETURN(const VariableNode model, VariableNode::Find(graph_, like));
    GraphEditor edit(graph_);
    const std::string name = UnsharedName(edit, SharedNames(graph_), std::string(kGlobalStep));
    const VariableNode count = model.AddAnother(edit, name, DType::kInt64, PartialShape::Scalar());
    const GraphEditor::Scope scope = edit.InName(name);
    const Output zero =
        edit.Add("Const", "initial", {}, {{"dtype", DType::kInt64}, {"value", Tensor::Scalar(int64_t{0})}});
    const NodeId assign = count.Assign(edit, zero);
    SLUICE_RETURN_IF_ERROR(edit.status());
    options->global_step = count.id();
    return assign;
  }

  // Returns those that --train names; else those that the model calls trainable, else all of floating point, if the
  // loss depends on them.
  absl::StatusOr<std::vector<NodeId>> TrainedVariables() {
    std::vector<NodeId> chosen;
    for (const std::string& name : request_.trained) AddVariable("--train", name, &chosen);
    std::vector<NodeId> frozen;
    for (const std::string& name : request_.frozen) AddVariable("--freeze", name, &frozen);
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    if (chosen.empty()) {
      std::set<std::string> trainable;
      const ModelCollection* collection = model_.meta.FindCollection("trainable_variables");
      for (size_t i = 0; collection != nullptr && i < collection->items.size(); ++i) {
        trainable.emplace(ParseTensorId(DecodeVariableFacts(collection->items[i]).variable).node);
      }
      const NodeId loss = graph_.Find(ParseTensorId(plan_.fetches[0]).node);
      for (const NodeId id : VariablesNeededBy(graph_, {loss})) {
        if (trainable.empty() || trainable.count(std::string(graph_.name(id))) > 0) chosen.push_back(id);
      }
    }
    std::vector<NodeId> variables;
    for (const NodeId id : chosen) {
      SLUICE_ASSIGN_OR_RETURN(const VariableNode variable, VariableNode::Find(graph_, id));
      const DType dtype = variable.dtype();
      const bool is_real =
          dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kHalf || dtype == DType::kBFloat16;
      const bool is_frozen = std::find(frozen.begin(), frozen.end(), id) != frozen.end();
      if (!is_frozen && (is_real || !request_.trained.empty())) variables.push_back(id);
    }
    return variables;
  }

  void AddVariable(absl::string_view option, const std::string& name, std::vector<NodeId>* to) {
    const NodeId id = graph_.Find(ParseTensorId(name).node);
    if (!graph_.Contains(id)) return errors_.Add(names_.Unknown(ErrorCode::kTargetUnknown, option, name));
    const absl::Status is_variable = VariableNode::Find(graph_, id).status();
    is_variable.ok() ? to->push_back(id) : errors_.Add(is_variable);
  }

  LoadedGraph& model_;
  Graph& graph_;
  const ModelNames& names_;
  const TrainRequest& request_;
  const LoadLimits& limits_;
  std::set<std::string> fed_;  // Endpoints.
  TrainPlan plan_;
  ErrorCollector errors_;
};

}  // namespace

absl::StatusOr<std::string> ChooseSignature(const LoadedGraph& model, const TrainRequest& request) {
  SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, request.signature));
  const std::string endpoint = names.OutputEndpoint(request.loss);
  if (!request.signature.empty() || model.graph.Contains(model.graph.Find(ParseTensorId(endpoint).node))) {
    return request.signature;
  }
  std::vector<std::string> keys;
  for (const ModelSignature& signature : model.meta.signatures) {
    const bool has_loss = std::any_of(signature.outputs.begin(), signature.outputs.end(),
                                      [&](const SignatureTensor& tensor) { return tensor.key == request.loss; });
    if (has_loss) keys.push_back(signature.key);
  }
  if (keys.size() < 2) return keys.empty() ? request.signature : keys[0];
  return Error(ErrorCode::kSavedModelSignatureUnknown)
      .Help("choose one with --signature")
      .Text(absl::StrCat("several signatures have a result '", PrintableName(request.loss), "'"))
      .Found(PrintableName(absl::StrJoin(keys, ", "), 400));
}

absl::StatusOr<TrainPlan> PlanTraining(LoadedGraph& model, const TrainRequest& request, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const ModelNames names, ModelNames::Create(model, request.signature));
  return Planner(model, names, request, limits).Plan();
}

}  // namespace sluice
