#include "executor/functions/body_store.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/plan/kernel_set.h"
#include "executor/serial/serial_program.h"
#include "executor/serial/serial_run.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/call_site.h"
#include "graph/functions/inliner.h"
#include "graph/functions/instantiate.h"
#include "graph/functions/needed_parts.h"
#include "graph/ir/graph_node.h"
#include "kernels/missing_kernel.h"

namespace sluice {

// The bodies that one graph calls, by node.
class BodyStore::BodiesOfGraph final : public CalledBodies {
 public:
  BodiesOfGraph() = default;
  BodiesOfGraph(const BodiesOfGraph&) = delete;
  BodiesOfGraph& operator=(const BodiesOfGraph&) = delete;
  ~BodiesOfGraph() override;

  const CalledBody* Find(const Graph&, NodeId id) const override {
    const auto found = by_node_.find(id.value());
    return found != by_node_.end() ? found->second : nullptr;
  }
  void Add(NodeId id, const CalledBody* body) { by_node_.emplace(id.value(), body); }
  // Of the graph that runs: what keeps its bodies alive. Called once.
  void Keep(std::shared_ptr<const Batch> batch);

 private:
  std::map<int32_t, const CalledBody*> by_node_;
  std::shared_ptr<const Batch> batch_;
};

// One function under its attrs, compiled.
class BodyStore::Body final : public CalledBody {
 public:
  Body(std::string body_key, BoundFunction bound, CallStates::Scope of, BodyRun how)
      : key(std::move(body_key)), function(std::move(bound)), scope(of), run(how) {}

  const SerialProgram* program() const override { return compiled.get(); }
  const absl::Status& status() const override { return failed; }

  absl::Status Compute(KernelContext& context) const override {
    if (!failed.ok()) return failed;
    std::unique_ptr<Entry[]> taken = registers->Take();
    absl::Status status = RunSerialCall(*compiled, taken.get(), context);
    registers->Put(std::move(taken));
    return status;
  }

  const std::string key;
  const BoundFunction function;
  const CallStates::Scope scope;  // Of an instance (Note [State of calls]): then the body is one plan's alone.
  const BodyRun run;
  absl::Status failed;
  // In this order: each uses those before.
  std::optional<Graph> graph;
  BodiesOfGraph calls;
  std::optional<KernelSet> kernels;
  std::unique_ptr<const SerialProgram> compiled;
  std::unique_ptr<RegisterPool> registers;
};

struct BodyStore::Batch {
  std::vector<std::unique_ptr<Body>> bodies;
  // All batches that bodies of this one lead to: ends of long chains are not freed from inside of one another.
  std::set<std::shared_ptr<const Batch>> used;
  // Graphs that run and lead to its bodies. Relaxed: a count only, and pools of registers lock for themselves.
  mutable std::atomic<int> num_graphs{0};

  void AddGraph() const { num_graphs.fetch_add(1, std::memory_order_relaxed); }
  // With the last one goes what its bodies keep for their next run.
  void RemoveGraph() const {
    if (num_graphs.fetch_sub(1, std::memory_order_relaxed) > 1) return;
    for (const std::unique_ptr<Body>& body : bodies) {
      if (body->registers != nullptr) body->registers->FreeKept();
    }
  }
};

void BodyStore::BodiesOfGraph::Keep(std::shared_ptr<const Batch> batch) {
  batch_ = std::move(batch);
  batch_->AddGraph();
  for (const std::shared_ptr<const Batch>& used : batch_->used) used->AddGraph();
}

BodyStore::BodiesOfGraph::~BodiesOfGraph() {
  if (batch_ == nullptr) return;
  batch_->RemoveGraph();
  for (const std::shared_ptr<const Batch>& used : batch_->used) used->RemoveGraph();
}

namespace {

// Whether `status` says that compiling could not be done now, and not that the body is wrong.
bool EndsCompiling(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:  // Memory and limits.
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Compiles what one graph needs. Lives for one call of Compile.
class BodyStore::Compiler {
 public:
  Compiler(BodyStore* owner, const Graph& graph, const CallChoice& choice, StopPoll* stop, const Plan& plan)
      : owner_(*owner),
        library_(graph.library()),
        graph_(graph),
        choice_(choice),
        stop_(stop),
        plan_(plan),
        version_(plan.version, owner->options_.registry->version()) {}

  absl::StatusOr<Calls> Compile() {
    const int64_t num_cleared = owner_.Begin(version_);
    auto calls = std::make_unique<BodiesOfGraph>();
    SLUICE_RETURN_IF_ERROR(AddCalls(graph_, calls.get()));
    for (size_t i = 0; i < batch_->bodies.size(); ++i) {
      SLUICE_RETURN_IF_ERROR(PollStop(stop_));
      Body& body = *batch_->bodies[i];
      const absl::Status compiled = AsStatus([&] { return CompileBody(&body); });
      if (EndsCompiling(compiled)) return compiled;
      body.failed = compiled;
      if (!why_not_.empty()) return Calls{nullptr, why_not_};
    }
    if (!batch_->bodies.empty()) owner_.Add(batch_, version_, num_cleared);
    calls->Keep(batch_);
    return Calls{std::move(calls), ""};
  }

 private:
  // Finds what each call that is left in `graph` calls.
  absl::Status AddCalls(const Graph& graph, BodiesOfGraph* calls) {
    CallFinder finder(graph);
    for (int32_t i = 0; i < graph.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph.Contains(id)) continue;
      const CallKind kind = finder.KindOf(id);
      if (kind != CallKind::kDirect && kind != CallKind::kCall) continue;
      absl::StatusOr<std::vector<BoundFunction>> callees = BindCallees(graph, id, finder, graph.library());
      if (!callees.ok()) return &graph == &graph_ ? callees.status() : InBody(callees.status());
      SLUICE_ASSIGN_OR_RETURN(const Body* const body,
                              FindOrBegin(std::move((*callees)[0]), ScopeOfCallee(graph, id), BodyRunOf(graph, id)));
      calls->Add(id, body);
    }
    return absl::OkStatus();
  }

  CallStates::Scope ScopeOfCallee(const Graph& graph, NodeId id) const {
    if (plan_.states == nullptr || !graph.HasAttr(id, CallStates::kCallAttr)) return CallStates::Scope();
    return plan_.states->ScopeOf(graph.GetInt(id, CallStates::kCallAttr).value_or(0));
  }

  absl::StatusOr<const Body*> FindOrBegin(BoundFunction function, const CallStates::Scope& scope, BodyRun run) {
    if (choice_.RunsTheSame(function.name())) run = BodyRun::kResults;  // One body for all.
    // A name may stand for another definition in a later version of the graph.
    std::string key = absl::StrCat(Canonicalize(function.name(), function.attrs), " ",
                                   reinterpret_cast<uintptr_t>(function.definition.get()), " ", scope.instance, " ",
                                   static_cast<int>(run));
    const auto begun = begun_.find(key);
    if (begun != begun_.end()) return begun->second;
    if (scope.instance > 0) {
      SLUICE_RETURN_IF_ERROR(CountInstance(function, static_cast<int64_t>(function.definition->nodes.size())));
    }
    const Known known = scope.instance == 0 ? owner_.Find(key, version_) : Known();
    if (known.body != nullptr) {
      batch_->used.insert(known.batch);
      batch_->used.insert(known.batch->used.begin(), known.batch->used.end());
      return begun_.emplace(std::move(key), known.body).first->second;
    }
    batch_->bodies.push_back(std::make_unique<Body>(key, std::move(function), scope, run));
    return begun_.emplace(std::move(key), batch_->bodies.back().get()).first->second;
  }

  // Counts nodes of one instance: of its definition, and what is inlined there.
  absl::Status CountInstance(const BoundFunction& function, int64_t nodes) {
    const int64_t limit = owner_.options_.limits.max_expanded_nodes;
    instance_nodes_ += nodes;
    if (instance_nodes_ <= limit) return absl::OkStatus();
    return Error(ErrorCode::kLimitNodes)
        .Limit("max_expanded_nodes", limit)
        .Text(absl::StrCat("the instances of '", PrintableName(function.name()),
                           "' and of other functions that keep state have too many nodes"));
  }

  absl::Status CompileBody(Body* body) {
    SLUICE_RETURN_IF_ERROR(MakeGraph(body));
    SLUICE_RETURN_IF_ERROR(AddCalls(*body->graph, &body->calls));
    const int32_t instance = body->scope.instance;
    const std::string scope =
        instance > 0 ? CallStates::KeyOf(instance)
                     : absl::StrCat("function ", Canonicalize(body->function.name(), body->function.attrs), "/");
    KernelSet::Options of_kernels;
    of_kernels.registry = owner_.options_.registry;
    of_kernels.device = owner_.options_.device;
    of_kernels.store = owner_.options_.store;
    of_kernels.call_store = plan_.call_store;
    of_kernels.store_scope = scope;
    of_kernels.bodies = &body->calls;
    of_kernels.stop = stop_;
    absl::StatusOr<KernelSet> kernels = KernelSet::Create(*body->graph, of_kernels);
    if (!kernels.ok()) return WithAllMissingKernels(*body, kernels.status());
    body->kernels.emplace(*std::move(kernels));
    std::string why_not;
    SLUICE_ASSIGN_OR_RETURN(
        body->compiled, SerialProgram::Compile(*body->graph, *body->kernels, &why_not, stop_, owner_.options_.limits));
    if (body->compiled == nullptr) {
      why_not_ = absl::StrCat("the body of '", PrintableName(body->function.name()), "': ", why_not);
      return absl::OkStatus();
    }
    body->registers = std::make_unique<RegisterPool>(body->compiled->num_registers(), owner_.kept_);
    return absl::OkStatus();
  }

  // `status`; if it says that one node of the body has no kernel, the error for all such nodes.
  absl::Status WithAllMissingKernels(const Body& body, const absl::Status& status) const {
    const std::optional<ErrorInfo> info = ErrorInfoOf(status);
    if (!info.has_value() || info->code != ErrorCode::kNoKernel) return status;
    const KernelRegistry& kernels = *owner_.options_.registry;
    const absl::string_view device = DeviceTypeName(owner_.options_.device->kind());
    ErrorCollector errors;
    for (const NodeId id : body.graph->Nodes()) {
      if (body.calls.Find(*body.graph, id) != nullptr || kernels.HasKernel(*body.graph, id, device)) continue;
      errors.Add(MissingKernel(kernels, GraphNode(*body.graph, id), device));
    }
    return errors.empty() ? status : errors.Finish();
  }

  absl::Status MakeGraph(Body* body) {
    InstantiateOptions instantiation;
    instantiation.prune = true;
    instantiation.keep_effects = body->run != BodyRun::kResults;
    instantiation.with_library = false;  // A copy for each body would be quadratic.
    instantiation.versions = graph_.versions();
    SLUICE_ASSIGN_OR_RETURN(FunctionGraph made,
                            InstantiateFunction(library_, graph_.ops(), body->function, instantiation));
    SLUICE_RETURN_IF_ERROR(AddToLibrary(*body->function.definition, &made.graph.library()));
    InlineOptions inlining;
    inlining.limits = owner_.options_.limits;
    inlining.lower_unmarked = true;
    inlining.ignore_marks = true;
    inlining.choice = &choice_;
    inlining.states = plan_.states;
    inlining.names = plan_.call_store != nullptr ? &plan_.call_store->names : nullptr;
    inlining.scope = body->scope;
    inlining.stop = stop_;
    inlining.run = body->run;
    InlinedParts parts = PartsOf(made, body->run);
    inlining.parts = &parts;
    const absl::StatusOr<InlineReport> report = InlineFunctionCalls(made.graph, inlining);
    if (!report.ok()) return InBody(report.status());
    PruneInlined(made.graph, parts);
    if (body->scope.instance > 0) SLUICE_RETURN_IF_ERROR(CountInstance(body->function, report->nodes_added));
    // A copy is without what adding nodes has needed, which for a small body is most of it.
    body->graph.emplace(static_cast<const Graph&>(made.graph));
    return absl::OkStatus();
  }

  // Gives `library` what the body of `function` calls, and what the bodies call that may be inlined there: where there
  // are effects, calls that could stay may be among them (see InlineFunctionCalls).
  absl::Status AddToLibrary(const FunctionDefinition& function, FunctionLibrary* library) const {
    const bool may_inline_all = choice_.MayHaveEffects(function.name());
    std::vector<const FunctionDefinition*> open = {&function};
    std::set<const FunctionDefinition*> seen = {&function};
    while (!open.empty()) {
      const FunctionDefinition& from = *open.back();
      open.pop_back();
      for (const absl::string_view name : choice_.CalleesOf(from.name())) {
        const std::shared_ptr<const FunctionDefinition> callee = library_.Find(name);
        if (callee == nullptr || !seen.insert(callee.get()).second) continue;
        SLUICE_RETURN_IF_ERROR(library->Add(callee));
        if (may_inline_all || !choice_.IsCalled(name)) open.push_back(callee.get());
      }
    }
    return absl::OkStatus();
  }

  BodyStore& owner_;
  const FunctionLibrary& library_;
  const Graph& graph_;
  const CallChoice& choice_;
  StopPoll* const stop_;
  const Plan& plan_;
  const Version version_;
  const std::shared_ptr<Batch> batch_ = std::make_shared<Batch>();
  std::map<std::string, const Body*, std::less<>> begun_;
  int64_t instance_nodes_ = 0;
  std::string why_not_;
};

absl::StatusOr<BodyStore::Calls> BodyStore::Compile(const Graph& graph, const CallChoice& choice, StopPoll* stop,
                                                    const Plan& plan) {
  return Compiler(this, graph, choice, stop, plan).Compile();
}

int64_t BodyStore::Begin(const Version& version) {
  std::map<std::string, Known, std::less<>> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  if (version > version_) {
    version_ = version;
    ended.swap(known_);
  }
  return num_cleared_;
}

BodyStore::Known BodyStore::Find(const std::string& key, const Version& version) const {
  MutexLock lock(&mu_);
  if (version != version_) return Known();
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : Known();
}

void BodyStore::Add(const std::shared_ptr<const Batch>& batch, const Version& version, int64_t num_cleared) {
  MutexLock lock(&mu_);
  if (version != version_ || num_cleared != num_cleared_) return;
  for (const std::unique_ptr<Body>& body : batch->bodies) {
    // The host may add what is missing.
    if (body->failed.ok() && body->scope.instance == 0) known_.emplace(body->key, Known{body.get(), batch});
  }
}

void BodyStore::Clear() {
  std::map<std::string, Known, std::less<>> ended;  // Freed outside of the lock.
  MutexLock lock(&mu_);
  ++num_cleared_;
  ended.swap(known_);
}

size_t BodyStore::num_bodies() const {
  MutexLock lock(&mu_);
  return known_.size();
}

}  // namespace sluice
