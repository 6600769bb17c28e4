#include "executor/functions/kernel_functions.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "executor/compiled/local_executor.h"
#include "executor/executor.h"
#include "executor/functions/kernel_state.h"
#include "executor/plan/call_store.h"
#include "executor/trace/node_observer.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/call_choice.h"
#include "graph/functions/call_site.h"
#include "graph/functions/call_states.h"
#include "graph/functions/inliner.h"
#include "graph/functions/instantiate.h"
#include "graph/functions/needed_parts.h"
#include "graph/gradients/symbolic_gradients.h"
#include "graph/ir/op_class.h"
#include "kernels/kernel_context.h"
#include "kernels/step/span_call_frame.h"

namespace sluice {
namespace {

// Tells the observer of a kernel's run of the nodes in a function that the kernel calls.
class BodyObserver final : public NodeObserver {
 public:
  BodyObserver(NodeObserver* outer, const Graph& body, NodeId call) : outer_(*outer), body_(body), call_(call) {}

  void OnNode(NodeId node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
    outer_.OnCalledNode({body_, node, call_, [] { return std::string(); }}, start_ns, end_ns, context);
  }
  void OnCalledNode(const CalledNode& node, int64_t start_ns, int64_t end_ns, const KernelContext& context) override {
    const auto path = [&] { return absl::StrCat(body_.name(node.call), "/", node.path()); };
    outer_.OnCalledNode({node.body, node.node, call_, path}, start_ns, end_ns, context);
  }

 private:
  NodeObserver& outer_;
  const Graph& body_;
  const NodeId call_;
};

// One call under way: what its run borrows.
struct FunctionCall {
  FunctionCall(const KernelContext& caller, const CompiledGraph& body, bool has_transfers, absl::Span<Tensor> arguments,
               absl::Span<Tensor> results)
      : frame(arguments, results) {
    static_cast<RunContext&>(args) = caller.run();
    if (args.device != body.device()) args.allocator = nullptr;  // It may be for memory that the host cannot reach.
    args.call_frame = &frame;
    args.cancel_on_error = false;  // The manager is that of the kernel's run.
    if (!has_transfers) args.rendezvous = nullptr;
    if (args.observer != nullptr) {
      args.observer = &observer.emplace(args.observer, body.graph(), NodeId(caller.io().id));
    }
    for (Tensor& result : results) result = Tensor();
  }

  // The status of the call, if its run ended with `status`.
  absl::Status End(absl::Status status) {
    const absl::Span<Tensor> results = frame.retvals();
    for (size_t i = 0; i < results.size() && status.ok(); ++i) {
      if (results[i].has_value()) continue;
      status = Error(ErrorCode::kOutputMissing).Text(absl::StrCat("result ", i, " of the function it calls is dead"));
    }
    return status;
  }

  SpanCallFrame frame;
  std::optional<BodyObserver> observer;
  Executor::Args args;
  CallableFunction::Done done;  // Of asynchronous calls.
};

// Appends the functions of `library` that `node` of a body names: its op, or attrs.
void AddNamed(const FunctionLibrary& library, const NodeDefView& node,
              std::vector<std::shared_ptr<const FunctionDefinition>>* found) {
  const auto add = [&](absl::string_view name) {
    std::shared_ptr<const FunctionDefinition> function = library.Find(name);
    if (function != nullptr) found->push_back(std::move(function));
  };
  add(node.op);
  // The last attr first, which decides in which order the library gets them.
  for (auto attr = node.attrs.rbegin(); attr != node.attrs.rend(); ++attr) attr->value.ForEachFunction(add);
}

// Appends the gradients that `from` states for `named`, and tells `to` of them.
void AddStatedGradients(const FunctionLibrary& from, std::vector<std::shared_ptr<const FunctionDefinition>>* named,
                        FunctionLibrary* to) {
  for (size_t i = 0, end = named->size(); i < end; ++i) {
    const std::string& name = (*named)[i]->name();
    std::shared_ptr<const FunctionDefinition> gradient = from.Find(from.FindGradient(name));
    if (gradient == nullptr) continue;
    to->AddGradient(name, gradient->name()).IgnoreError();  // The same as before, where it was told already.
    named->push_back(std::move(gradient));
  }
}

// Gives `to` all functions of `from` that the body of `function` leads to.
absl::Status AddReached(const FunctionLibrary& from, std::shared_ptr<const FunctionDefinition> function,
                        FunctionLibrary* to) {
  std::set<const FunctionDefinition*> seen = {function.get()};
  std::vector<std::shared_ptr<const FunctionDefinition>> open = {std::move(function)};
  while (!open.empty()) {
    const std::shared_ptr<const FunctionDefinition> next = std::move(open.back());
    open.pop_back();
    std::vector<std::shared_ptr<const FunctionDefinition>> named;
    for (const NodeDefView& node : next->nodes) AddNamed(from, node, &named);
    AddStatedGradients(from, &named, to);
    for (std::shared_ptr<const FunctionDefinition>& callee : named) {
      if (!seen.insert(callee.get()).second) continue;
      SLUICE_RETURN_IF_ERROR(to->Add(callee));
      open.push_back(std::move(callee));
    }
  }
  return absl::OkStatus();
}

// `status` of compiling the body of function `name`, which it names.
absl::Status InFunction(const absl::Status& status, const std::string& name) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->node.empty() || !info->function.empty()) return status;
  info->function = name;
  return MakeError(*info);
}

}  // namespace

// A compiled function.
class KernelFunctions::Function final : public CallableFunction {
 public:
  // `has_transfers`, `depth`: of functions that kernels in it call, too; `depth` counts those that kernels call out of
  // one another, this included.
  Function(std::string name, Signature signature, std::shared_ptr<const CompiledGraph> compiled,
           std::unique_ptr<const Executor> executor, bool has_transfers, int depth)
      : name_(std::move(name)),
        signature_(std::move(signature)),
        compiled_(std::move(compiled)),
        executor_(std::move(executor)),
        has_transfers_(has_transfers),
        depth_(depth) {}

  const Signature& signature() const override { return signature_; }
  int depth() const { return depth_; }
  bool has_transfers() const { return has_transfers_; }

  absl::Status Run(const KernelContext& caller, absl::Span<Tensor> arguments,
                   absl::Span<Tensor> results) const override {
    return AsStatus([&]() -> absl::Status {
      SLUICE_RETURN_IF_ERROR(Check(arguments, results));
      FunctionCall call(caller, *compiled_, has_transfers_, arguments, results);
      return call.End(executor_->Run(call.args));
    });
  }

  void RunAsync(const KernelContext& caller, absl::Span<Tensor> arguments, absl::Span<Tensor> results,
                Done done) const noexcept override {
    std::unique_ptr<FunctionCall> call;
    const absl::Status begun = AsStatus([&]() -> absl::Status {
      SLUICE_RETURN_IF_ERROR(Check(arguments, results));
      call = std::make_unique<FunctionCall>(caller, *compiled_, has_transfers_, arguments, results);
      return absl::OkStatus();
    });
    if (!begun.ok()) return CallDone(std::move(done), begun);
    call->done = std::move(done);
    const Executor::Args args = call->args;  // The call may end inside of RunAsync.
    // One pointer: what AnyInvocable holds without an allocation.
    executor_->RunAsync(args, [call = std::move(call)](absl::Status status) mutable {
      const absl::Status outcome = AsStatus([&] { return call->End(std::move(status)); });
      Done done = std::move(call->done);
      call.reset();  // What it borrows may go in `done`.
      CallDone(std::move(done), outcome);
    });
  }

 private:
  absl::Status Check(absl::Span<Tensor> arguments, absl::Span<Tensor> results) const {
    if (arguments.size() != signature_.inputs.size() || results.size() != signature_.outputs.size()) {
      return Error(ErrorCode::kWrongUse)
          .Found(absl::StrCat(arguments.size(), " arguments, ", results.size(), " results"))
          .Expected(absl::StrCat(signature_.inputs.size(), " and ", signature_.outputs.size()))
          .Text(absl::StrCat("calls the function '", PrintableName(name_), "' with the wrong number of tensors"));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].has_value() && arguments[i].dtype() == signature_.inputs[i]) continue;
      return Error(ErrorCode::kWrongUse)
          .Found(arguments[i].has_value() ? DTypeName(arguments[i].dtype()) : "no value")
          .Expected(DTypeName(signature_.inputs[i]))
          .Text(absl::StrCat("calls the function '", PrintableName(name_), "' with the wrong argument ", i));
    }
    return absl::OkStatus();
  }

  const std::string name_;
  const Signature signature_;
  const std::shared_ptr<const CompiledGraph> compiled_;
  const std::unique_ptr<const Executor> executor_;
  const bool has_transfers_;
  const int depth_;
};

// Finds functions for the kernels of a function that is being compiled. Lives as long as that takes.
class KernelFunctions::CompilingFunction final : public FunctionFinder {
 public:
  CompilingFunction(KernelFunctions* owner, const std::string& name, const std::string& key, CompilingFunction* outer)
      : owner_(*owner), name_(name), key_(key), outer_(outer), depth_(outer != nullptr ? outer->depth() + 1 : 1) {}

  absl::StatusOr<std::shared_ptr<const CallableFunction>> Find(const FunctionAttr& function) override {
    return owner_.FindFrom(function, this);
  }
  const std::string& name() const { return name_; }
  const std::string& key() const { return key_; }
  const CompilingFunction* outer() const { return outer_; }
  int depth() const { return depth_; }
  // Of the functions found so far, the greatest depth, and whether one of them has transfers.
  int found_depth() const { return found_depth_.load(); }
  bool found_transfers() const { return found_transfers_.load(); }
  void HasFound(const Function& function) {
    int known = found_depth();
    while (known < function.depth() && !found_depth_.compare_exchange_weak(known, function.depth())) {
    }
    if (function.has_transfers()) found_transfers_.store(true);
  }

 private:
  KernelFunctions& owner_;
  const std::string& name_;
  const std::string& key_;
  const CompilingFunction* const outer_;
  const int depth_;
  std::atomic<int> found_depth_{0};
  std::atomic<bool> found_transfers_{false};
};

KernelFunctions::KernelFunctions(const Graph& graph, const CompiledGraph::Options& options)
    : library_(graph.library()), ops_(graph.ops()), versions_(graph.versions()), options_(options) {}

KernelFunctions::~KernelFunctions() = default;

bool KernelFunctions::AreCalledIn(const Graph& graph) {
  if (graph.library().empty()) return false;
  CallFinder finder(graph);
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (graph.Contains(NodeId(i)) && finder.KindOf(NodeId(i)) == CallKind::kOther) return true;
  }
  return false;
}

bool KernelFunctions::HasTransfers() const {
  for (const std::string& name : library_.Names()) {
    const std::shared_ptr<const FunctionDefinition> function = library_.Find(name);
    for (const NodeDefView& node : function->nodes) {
      if (IsTransfer(OpClassOf(node.op))) return true;
    }
  }
  return false;
}

absl::StatusOr<std::shared_ptr<const CallableFunction>> KernelFunctions::Find(const FunctionAttr& function) {
  return FindFrom(function, nullptr);
}

absl::StatusOr<std::shared_ptr<const CallableFunction>> KernelFunctions::FindFrom(const FunctionAttr& function,
                                                                                  CompilingFunction* caller) {
  std::vector<NamedAttr> given;
  for (const auto& attr : function.attrs) given.push_back({attr.first, attr.second.view()});
  SLUICE_ASSIGN_OR_RETURN(const BoundFunction bound, BindFunction(library_, function.name, given));
  const std::string key = Canonicalize(bound.name(), bound.attrs);
  std::shared_ptr<const Function> found = FindKnown(key);
  if (found == nullptr) {
    SLUICE_RETURN_IF_ERROR(CheckChain(bound, key, caller));
    absl::StatusOr<std::shared_ptr<const Function>> made = Compile(bound, key, caller);
    if (!made.ok()) return InFunction(made.status(), bound.name());
    MutexLock lock(&mu_);
    // Of two that were compiled at once, the first is for all.
    found = known_.emplace(key, *std::move(made)).first->second;
  }
  if (caller != nullptr) {
    SLUICE_RETURN_IF_ERROR(CheckDepth(bound, caller->depth() + found->depth()));
    caller->HasFound(*found);
  }
  return found;
}

std::shared_ptr<const KernelFunctions::Function> KernelFunctions::FindKnown(const std::string& key) const {
  MutexLock lock(&mu_);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : nullptr;
}

absl::Status KernelFunctions::CheckChain(const BoundFunction& function, const std::string& key,
                                         const CompilingFunction* caller) const {
  std::vector<std::string> chain = {PrintableName(function.name())};
  for (const CompilingFunction* outer = caller; outer != nullptr; outer = outer->outer()) {
    chain.push_back(PrintableName(outer->name()));
    if (outer->key() != key) continue;
    std::reverse(chain.begin(), chain.end());
    return Error(ErrorCode::kFunctionRecursion)
        .Function(function.name())
        .Text(absl::StrCat("calls itself: ", absl::StrJoin(chain, " -> ")));
  }
  return CheckDepth(function, caller != nullptr ? caller->depth() + 1 : 1);
}

absl::Status KernelFunctions::CheckDepth(const BoundFunction& function, int depth) const {
  if (depth <= options_.limits.max_call_depth) return absl::OkStatus();
  return Error(ErrorCode::kLimitCallDepth)
      .Function(function.name())
      .Limit("max_call_depth", options_.limits.max_call_depth)
      .Text("is called by a kernel that is nested in too many calls of kernels");
}

absl::StatusOr<Graph> KernelFunctions::MakeGraph(const BoundFunction& function, CallStateNames* names) const {
  InstantiateOptions instantiation;
  instantiation.prune = true;
  instantiation.with_library = false;  // A copy for each function would be quadratic.
  instantiation.versions = versions_;
  SLUICE_ASSIGN_OR_RETURN(FunctionGraph made, InstantiateFunction(library_, ops_, function, instantiation));
  SLUICE_RETURN_IF_ERROR(AddReached(library_, function.definition, &made.graph.library()));
  const CallChoice choice(made.graph, CallPolicy::kInline,
                          [this](const OpSchema& op) { return KeepsState(*options_.registry, op); });
  CallStates states;
  InlineOptions inlining;
  inlining.limits = options_.limits;
  inlining.lower_unmarked = true;
  inlining.ignore_marks = true;
  inlining.choice = &choice;
  inlining.states = &states;
  inlining.names = names;
  inlining.stop = options_.stop;
  inlining.run = BodyRun::kByName;
  InlinedParts parts = PartsOf(made, inlining.run);
  inlining.parts = &parts;
  SLUICE_RETURN_IF_ERROR(InBody(InlineCallsAndGradients(made.graph, inlining).status()));
  PruneInlined(made.graph, parts);
  return std::move(made.graph);
}

absl::StatusOr<std::shared_ptr<const KernelFunctions::Function>> KernelFunctions::Compile(const BoundFunction& function,
                                                                                          const std::string& key,
                                                                                          CompilingFunction* caller) {
  // Kernels with state are the function's own.
  CallStore call_store(options_.call_store->scope);
  call_store.prefix = absl::StrCat(CallStateNames::Make("kernel function ", function), "/");
  SLUICE_ASSIGN_OR_RETURN(Graph graph, MakeGraph(function, &call_store.names));
  bool has_transfers = false;
  for (int32_t i = 0; i < graph.id_limit() && !has_transfers; ++i) {
    has_transfers = graph.Contains(NodeId(i)) && IsTransfer(graph.op(NodeId(i)).op_class);
  }
  CompilingFunction inner(this, function.name(), key, caller);
  CompiledGraph::Options options = options_;
  options.node_devices = {};
  options.edges = nullptr;
  options.bodies = nullptr;
  options.call_store = &call_store;
  options.store_scope = "own/";
  options.functions = &inner;
  options.observes_ports = false;
  if (options.driver == Driver::kSerial) options.driver = Driver::kAuto;  // Some functions cannot be run by it.
  SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const CompiledGraph> compiled,
                          CompiledGraph::Create(std::move(graph), options));
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<const Executor> executor,
                          NewExecutor(kDefaultExecutor, compiled, options_.stop));
  return std::make_shared<const Function>(function.name(), function.signature, std::move(compiled), std::move(executor),
                                          has_transfers || inner.found_transfers(), 1 + inner.found_depth());
}

}  // namespace sluice
