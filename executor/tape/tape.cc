#include "executor/tape/tape.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/tape/backward_pass.h"
#include "executor/tape/call_limits.h"
#include "executor/tape/custom_call.h"
#include "executor/tape/grad_check.h"
#include "executor/tape/ops.h"
#include "executor/tape/pass_plan.h"
#include "executor/tape/record.h"
#include "executor/tape/saved_values.h"
#include "executor/threads/service_threads.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

// Counts the nested passes of one thread.
int& ThisThreadsDepth() {
  thread_local int depth = 0;
  return depth;
}
constexpr int kMaxDepth = 60;

absl::Status BadRoot(ErrorCode code, size_t i, absl::string_view text) {
  return Error(code).Text(absl::StrCat("root ", i, " ", text));
}

// The arguments of Backward and Grad in one form.
struct PassRequest {
  absl::string_view what;
  absl::Span<const Var> roots, grad_roots;
  absl::Span<const Var> inputs;
  bool has_inputs = false;
  bool accumulates = false;
  BackwardPass::Options options;
};

absl::StatusOr<TapeEdge> RootEdge(TapeCore& core, const Var& root, size_t i) {
  if (!root.defined()) return BadRoot(ErrorCode::kTapeUndefined, i, "is undefined");
  SLUICE_RETURN_IF_ERROR(root.status());
  if (root.state()->core != &core) return BadRoot(ErrorCode::kTapeForeign, i, "is a variable of another tape");
  if (!root.requires_grad()) {
    return BadRoot(ErrorCode::kTapeNeedsNoGrad, i,
                   "does not require a gradient: it was not computed from a variable that does, or not recorded");
  }
  return root.state()->history;
}

// Returns ones for a root without a given gradient.
absl::StatusOr<Tensor> ImplicitSeed(const GradientMeta& meta, size_t i) {
  if (IsComplex(meta.dtype)) {
    return Error(ErrorCode::kTapeRoot)
        .Text(absl::StrCat("root ", i, " has no gradient, which can be implicitly created only for real outputs"))
        .Found(DTypeName(meta.dtype));
  }
  if (meta.dtype == DType::kVariant) {
    return BadRoot(ErrorCode::kTapeRoot, i, "is a list or another variant, whose gradient must be given");
  }
  if (meta.shape.num_elements() != 1) {
    return Error(ErrorCode::kTapeRoot)
        .Text(absl::StrCat("root ", i, " has no gradient, which can be implicitly created only for scalar outputs"))
        .Found(meta.shape.ToString());
  }
  return FilledGrad(meta, 1);
}

absl::StatusOr<TapeValue> SeedOf(TapeCore& core, const TapeEdge& root, const Var* given, size_t i) {
  const GradientMeta& meta = root.node->outputs[root.slot];
  TapeValue seed;
  if (given == nullptr || !given->defined()) {
    SLUICE_ASSIGN_OR_RETURN(seed.value, ImplicitSeed(meta, i));
    return seed;
  }
  SLUICE_RETURN_IF_ERROR(CheckTape(core, *given));
  if (IsComplex(given->dtype()) != IsComplex(meta.dtype)) {
    return Error(ErrorCode::kInputType)
        .Text(absl::StrCat("gradient ", i, " of roots and its root must both be complex, or neither"))
        .Found(DTypeName(given->dtype()))
        .Expected(DTypeName(meta.dtype));
  }
  seed = {given->value(), given->state()->history};
  SLUICE_RETURN_IF_ERROR(CheckGrad(core, meta, "gradient of roots", i, &seed));
  return seed;
}

// As in PyTorch, this error comes before others about roots.
absl::Status CheckImplicitSeeds(const PassRequest& request) {
  for (size_t i = 0; i < request.roots.size(); ++i) {
    const bool is_given = !request.grad_roots.empty() && request.grad_roots[i].defined();
    if (is_given || !request.roots[i].requires_grad()) continue;
    const TapeEdge& root = request.roots[i].state()->history;
    SLUICE_RETURN_IF_ERROR(ImplicitSeed(root.node->outputs[root.slot], i).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TapeEdge>> InputEdges(TapeCore& core, const PassRequest& request) {
  std::vector<TapeEdge> edges;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const Var& input = request.inputs[i];
    SLUICE_RETURN_IF_ERROR(input.status());
    if (input.defined() && input.state()->core != &core) {
      return Error(ErrorCode::kTapeForeign)
          .Text(absl::StrCat("input ", i, " of ", request.what, " is a variable of another tape"));
    }
    if (!input.requires_grad()) {
      return Error(input.defined() ? ErrorCode::kTapeNeedsNoGrad : ErrorCode::kTapeUndefined)
          .Text(absl::StrCat("input ", i, " of ", request.what, " does not require a gradient"));
    }
    edges.push_back(input.state()->history);
  }
  for (const Var& input : request.inputs) {
    if (request.accumulates) SLUICE_RETURN_IF_ERROR(Var(input).RetainGrad());
  }
  return edges;
}

// Fails before anything runs if some op has no gradient. An op with several outputs may have one for some of them only:
// the pass finds that out when it gets there.
absl::Status CheckGradients(TapeCore& core, const PassPlan& plan) {
  SlotSet only;
  only.Add(0);
  for (const PassPlan::Item& item : plan.items()) {
    if (!item.runs || item.node->kind != TapeNode::Kind::kOp || item.node->gradient != nullptr) continue;
    const GradientRow* const row = item.node->op->row();
    if (row != nullptr && row->kind != GradientRow::Kind::kRefused) {
      if (item.node->outputs.size() == 1) SLUICE_RETURN_IF_ERROR(GradientOfNode(core.ops(), *item.node, only).status());
      continue;
    }
    return Error(ErrorCode::kTapeNoDerivative)
        .Node(item.node->name(), item.node->op->name())
        .Text(row == nullptr ? "no gradient is registered for this op" : "this op has no gradient, as in TensorFlow");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Var>> RunPass(TapeCore& core, const PassRequest& request) {
  if (!request.grad_roots.empty() && request.grad_roots.size() != request.roots.size()) {
    return Error(ErrorCode::kTapeRoot)
        .Text(absl::StrCat(request.what, " needs a gradient for each root, or none at all"))
        .Found(absl::StrCat(request.grad_roots.size()))
        .Expected(absl::StrCat(request.roots.size()));
  }
  if (request.has_inputs && request.inputs.empty()) {
    return Error(ErrorCode::kWrongUse).Text(absl::StrCat(request.what, " has no inputs: the list must not be empty"));
  }
  if (request.roots.size() > 1) SLUICE_RETURN_IF_ERROR(CheckImplicitSeeds(request));
  std::vector<TapeEdge> roots;
  std::vector<TapeValue> seeds;
  for (size_t i = 0; i < request.roots.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(TapeEdge root, RootEdge(core, request.roots[i], i));
    const GradModeScope mode(request.options.creates_graph);
    SLUICE_ASSIGN_OR_RETURN(TapeValue seed,
                            SeedOf(core, root, request.grad_roots.empty() ? nullptr : &request.grad_roots[i], i));
    roots.push_back(std::move(root));
    seeds.push_back(std::move(seed));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<TapeEdge> inputs, InputEdges(core, request));
  if (roots.empty()) return std::vector<Var>(inputs.size());  // As in PyTorch, this is not an error.
  const PassPlan plan(core.discovery(), {roots, request.has_inputs, inputs, request.accumulates});
  SLUICE_RETURN_IF_ERROR(CheckGradients(core, plan));
  BackwardPass pass(core, plan, request.options);
  for (size_t k = 0; k < inputs.size(); ++k) pass.Capture(k, inputs[k], plan.PlaceOfTarget(k));
  const GradModeScope mode(request.options.creates_graph);  // For the sum of two seeds of one root.
  for (size_t i = 0; i < roots.size(); ++i) {
    if (plan.PlaceOfRoot(i) < 0) continue;
    SLUICE_RETURN_IF_ERROR(pass.Seed(roots[i], plan.PlaceOfRoot(i), std::move(seeds[i])));
  }
  SLUICE_RETURN_IF_ERROR(pass.Run());
  std::vector<Var> found;
  for (size_t k = 0; k < inputs.size(); ++k) {
    TapeValue& value = pass.capture(k);
    found.push_back(value.is_set() ? VarOf(core, std::move(value)) : Var());
  }
  return found;
}

// Runs a pass on a service thread, because this thread's stack holds too many already.
class DeepPass final : public ServiceThreads::Task {
 public:
  DeepPass(TapeCore& core, const PassRequest& request)
      : core_(core),
        request_(request),
        outer_(BackwardPass::Current()),
        node_(EvaluatedNode::Current()),
        places_(PlaceScope::Innermost()),
        limits_(CallLimitsScope::Current()),
        records_(IsRecording()),
        detects_anomalies_(DetectsAnomalies()),
        checks_nan_(ChecksNan()) {}

  absl::StatusOr<std::vector<Var>> Run() {
    if (!ServiceThreads::Global().Run(this, ServiceThreads::Urgency::kAtOnce)) {
      return Error(ErrorCode::kOutOfMemory).Text("the system gives no thread for a pass inside of many others");
    }
    done_.WaitForNotification();
    return std::move(result_);
  }
  void RunTask() noexcept override {
    result_ = AsStatus([&] {
      const GradModeScope mode(records_);
      std::optional<AnomalyScope> anomaly;
      if (detects_anomalies_) anomaly.emplace(checks_nan_);
      const PlacesScope places(places_);
      std::optional<CallLimitsScope> limits;
      if (limits_ != nullptr) limits.emplace(limits_);
      const EvaluatedNode evaluated(node_);
      const BackwardPass::Inside inside(outer_);
      return RunPass(core_, request_);
    });
    done_.Notify();
  }

 private:
  TapeCore& core_;
  const PassRequest& request_;
  BackwardPass* const outer_;
  const TapeNode* const node_;
  const PlaceScope* const places_;
  CancellationManager* const limits_;
  const bool records_, detects_anomalies_, checks_nan_;
  absl::StatusOr<std::vector<Var>> result_ = absl::UnknownError("not run");
  Notification done_;
};

absl::StatusOr<std::vector<Var>> RunNested(TapeCore& core, const PassRequest& request) {
  int& depth = ThisThreadsDepth();
  if (depth >= kMaxDepth) return DeepPass(core, request).Run();
  ++depth;
  absl::StatusOr<std::vector<Var>> result = AsStatus([&] { return RunPass(core, request); });
  --depth;
  return result;
}

}  // namespace

Tape::Tape(const TapeOptions& options) : core_(std::make_unique<TapeCore>(options)) {}
Tape::~Tape() = default;

Var Tape::Constant(Tensor value) { return ConstantOf(*core_, std::move(value)); }

Var Tape::Leaf(Tensor value) {
  Var leaf = Constant(std::move(value));
  const absl::Status status = leaf.SetRequiresGrad(true);
  return status.ok() ? leaf : Var::Failed(status);
}

std::vector<Var> Tape::Op(absl::string_view op, absl::Span<const Var> inputs, const EagerOp::Attrs& attrs) {
  for (const Var& input : inputs) {
    const absl::Status status = CheckTape(*core_, input);
    if (!status.ok()) return FailedOutputs(core_->ops().registry(), op, attrs, inputs.size(), status);
  }
  if (!inputs.empty()) return CallOps(op, inputs, attrs);
  std::vector<TapeValue> outputs;
  const absl::Status status = AsStatus([&] { return CallOp(*core_, op, attrs, {}, &outputs); });
  if (!status.ok()) return FailedOutputs(core_->ops().registry(), op, attrs, 0, status);
  std::vector<Var> vars;
  for (TapeValue& output : outputs) vars.push_back(VarOf(*core_, std::move(output)));
  return vars;
}

std::vector<Var> Tape::Apply(const std::shared_ptr<CustomFunction>& function, absl::Span<const Var> inputs) {
  absl::StatusOr<std::vector<Var>> outputs =
      AsStatus([&]() -> absl::StatusOr<std::vector<Var>> { return CustomCall::Apply(*core_, function, inputs); });
  if (outputs.ok()) return *std::move(outputs);
  return {Var::Failed(outputs.status())};
}

absl::Status Tape::Backward(absl::Span<const Var> roots, absl::Span<const Var> grad_roots,
                            const BackwardOptions& options) {
  PassRequest request;
  request.what = "Backward";
  request.roots = roots;
  request.grad_roots = grad_roots;
  request.has_inputs = options.inputs.has_value();
  if (request.has_inputs) request.inputs = *options.inputs;
  request.accumulates = true;
  request.options = {options.retain_graph.value_or(options.create_graph), options.create_graph, options.cancellation};
  return RunNested(*core_, request).status();
}

absl::StatusOr<std::vector<Var>> Tape::Grad(absl::Span<const Var> outputs, absl::Span<const Var> inputs,
                                            absl::Span<const Var> grad_outputs, const GradOptions& options) {
  PassRequest request;
  request.what = "Grad";
  request.roots = outputs;
  request.grad_roots = grad_outputs;
  request.inputs = inputs;
  request.has_inputs = true;
  request.options = {options.retain_graph.value_or(options.create_graph), options.create_graph, options.cancellation};
  SLUICE_ASSIGN_OR_RETURN(std::vector<Var> found, RunNested(*core_, request));
  for (size_t i = 0; i < found.size() && !options.allow_unused; ++i) {
    if (found[i].defined()) continue;
    return Error(ErrorCode::kTapeUnused)
        .Text(absl::StrCat("input ", i, " of Grad was not used to compute the outputs"))
        .Help("set allow_unused to get an undefined gradient");
  }
  return found;
}

int64_t Tape::NumCompiledStructures() const { return core_->structures().num_compiled(); }
int64_t Tape::NumPassesOfKnownStructure() const { return core_->structures().num_hits(); }
int64_t Tape::NodesSeenByLastPass() const { return core_->discovery().nodes_seen.load(std::memory_order_relaxed); }

absl::Status Tape::QueueCallback(absl::AnyInvocable<absl::Status()> callback) {
  BackwardPass* const pass = BackwardPass::Current();
  if (pass == nullptr) return Error(ErrorCode::kTapeHook).Text("final callbacks can be queued during a pass only");
  if (callback == nullptr) return Error(ErrorCode::kTapeHook).Text("the callback is empty");
  pass->AddCallback(std::move(callback));
  return absl::OkStatus();
}

absl::Status Var::Backward() const {
  if (state_ == nullptr) return Error(ErrorCode::kTapeUndefined).Text("an undefined variable has no derivatives");
  if (state_->core == nullptr) return state_->status;
  PassRequest request;
  request.what = "Backward";
  request.roots = absl::MakeConstSpan(this, 1);
  request.accumulates = true;
  return RunNested(*state_->core, request).status();
}

}  // namespace sluice
