#include "graph/functions/check.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "graph/functions/attr_binding.h"
#include "graph/functions/call_site.h"
#include "graph/functions/instantiate.h"
#include "graph/functions/recursion_check.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/registered_gradients.h"
#include "graph/ir/runnable_check.h"

namespace sluice {
namespace {

// Larger counts are all the same: far above any limit.
constexpr int64_t kManyNodes = int64_t{1} << 50;

int64_t AddCapped(int64_t a, int64_t b) { return std::min(a + b, kManyNodes); }

// What full expansion of one bound function costs.
struct Expansion {
  int64_t nodes = 0;
  int depth = 1;         // Levels of calls, itself included.
  bool is_open = false;  // Its callees are still being looked at.
};

// The errors of a function that concern all its callers. See Note [Checking functions], 3.
bool IsWrongInItself(const absl::Status& status) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value()) return true;
  switch (info->code) {
    case ErrorCode::kNodeDuplicate:
    case ErrorCode::kInputOrder:
    case ErrorCode::kInputCount:
    case ErrorCode::kInputType:
    case ErrorCode::kFunctionBody:
    case ErrorCode::kFunctionRet:
    case ErrorCode::kCycle:
      return true;
    default:
      return false;
  }
}

// Follows calls from the graph down, each bound function once. Lives for one CheckFunctions.
class CallWalker {
 public:
  CallWalker(const Graph& graph, const FunctionCheckOptions& options, ErrorCollector* errors)
      : graph_(graph), limits_(options.limits), check_runnable_(options.check_runnable), errors_(errors) {}

  // Note [Checking functions], 2.
  void WalkGraph() {
    CallFinder finder(graph_);
    int64_t total = 0;
    bool told = false;
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph_.Contains(id) || finder.KindOf(id) == CallKind::kNone) continue;
      absl::StatusOr<std::vector<BoundFunction>> callees = BindCallees(graph_, id, finder, graph_.library());
      if (!callees.ok()) {
        errors_->Add(callees.status());
        continue;
      }
      for (BoundFunction& callee : *callees) {
        const Expansion cost = Walk(std::move(callee));
        total = AddCapped(total, cost.nodes);
        if (!told) told = CheckLimits(id, total, cost.depth);
      }
    }
  }

  // Note [Checking functions], 3.
  void CheckUncalled() {
    for (const std::string& name : graph_.library().Names()) {
      if (called_.contains(name)) continue;
      absl::StatusOr<BoundFunction> function = BindFunction(graph_.library(), name, {});
      if (!function.ok()) continue;  // Its attrs are for callers to bind.
      for (const absl::Status& error : AllErrors(Instantiate(*function).status())) {
        if (!error.ok() && IsWrongInItself(error)) errors_->Add(error);
      }
    }
  }

 private:
  // A bound function whose callees are being walked.
  struct Open {
    std::string key;
    std::vector<BoundFunction> callees;
    size_t next = 0;
    Expansion cost;
  };

  absl::StatusOr<FunctionGraph> Instantiate(const BoundFunction& function) const {
    InstantiateOptions options;
    options.with_library = false;
    options.versions = graph_.versions();
    return InstantiateFunction(graph_.library(), graph_.ops(), function, options);
  }

  // Whether it added an error: one is enough, what comes behind exceeds the limits too.
  bool CheckLimits(NodeId id, int64_t total, int depth) {
    if (depth > limits_.max_call_depth) {
      errors_->Add(graph_.Locate(
          id, Error(ErrorCode::kLimitCallDepth)
                  .Limit("max_call_depth", limits_.max_call_depth)
                  .Text("nests calls too deeply")
                  .Found(absl::StrCat(too_deep_ ? "more than " : "", too_deep_ ? depth - 1 : depth, " levels"))));
      return true;
    }
    if (total <= limits_.max_expanded_nodes) return false;
    errors_->Add(graph_.Locate(id, Error(ErrorCode::kLimitNodes)
                                       .Limit("max_expanded_nodes", limits_.max_expanded_nodes)
                                       .Text(absl::StrCat("makes the graph's calls expand to ",
                                                          total >= kManyNodes ? "more than " : "", total, " nodes"))));
    return true;
  }

  // What `root` expands to. Checks it and all it reaches that was not checked before.
  Expansion Walk(BoundFunction root) {
    std::vector<Open> path;
    Expansion result;
    if (!Enter(std::move(root), &path, &result)) return result;
    while (!path.empty()) {
      Open& open = path.back();
      Expansion callee;
      if (open.next < open.callees.size()) {
        BoundFunction next = std::move(open.callees[open.next++]);
        if (Enter(std::move(next), &path, &callee)) continue;
      } else {
        callee = open.cost;
        Close(open);
        path.pop_back();
        if (path.empty()) return callee;
      }
      Expansion& cost = path.back().cost;
      cost.nodes = AddCapped(cost.nodes, callee.nodes);
      cost.depth = std::max(cost.depth, callee.depth + 1);
    }
    return result;
  }

  void Close(const Open& open) {
    Expansion& known = expansions_[open.key];
    known = open.cost;
    known.is_open = false;
  }

  // Puts `function` on the path, or gives its cost when that is known already.
  bool Enter(BoundFunction function, std::vector<Open>* path, Expansion* cost) {
    std::string key = Canonicalize(function.name(), function.attrs);
    const auto found = expansions_.find(key);
    if (found != expansions_.end() && !found->second.is_open) {
      *cost = found->second;
      return false;
    }
    // Open: only attrs can lead back here, as CheckRecursion found no way by name. Deep: attrs may grow for ever.
    const bool is_deep = static_cast<int>(path->size()) > limits_.max_call_depth;
    if (found != expansions_.end() || is_deep || checked_nodes_ > limits_.max_expanded_nodes) {
      if (found != expansions_.end()) errors_->Add(AttrRecursion(function));
      too_deep_ = too_deep_ || is_deep;
      cost->nodes = checked_nodes_;
      return false;
    }
    called_.insert(function.name());
    expansions_[key].is_open = true;
    Open open;
    open.key = std::move(key);
    Check(function, &open);
    path->push_back(std::move(open));
    return true;
  }

  static absl::Status AttrRecursion(const BoundFunction& function) {
    return Error(ErrorCode::kFunctionRecursion)
        .Function(function.name())
        .Text(absl::StrCat("function '", PrintableName(function.name()), "' calls itself through a function attr"));
  }

  // Checks one body and finds its callees.
  void Check(const BoundFunction& function, Open* open) {
    const absl::StatusOr<FunctionGraph> body = Instantiate(function);
    open->cost.nodes = static_cast<int64_t>(function.definition->nodes.size());
    checked_nodes_ += open->cost.nodes + 1;
    if (!body.ok()) {
      errors_->Add(body.status());
      return;
    }
    // Many edges cost as much as a node.
    constexpr int64_t kEdgesPerNode = 64;
    int64_t edges = 0;
    for (NodeId id : body->graph.Nodes()) edges += static_cast<int64_t>(body->graph.all_inputs(id).size());
    open->cost.nodes = static_cast<int64_t>(body->graph.num_nodes()) + edges / kEdgesPerNode;
    CheckFrames(function, *body);
    if (check_runnable_) {
      ErrorCollector of_body;
      errors_->Add(CheckRunnable(body->graph, &of_body));
      for (const absl::Status& error : AllErrors(of_body.Finish())) errors_->Add(WithFunction(error, function.name()));
    }
    CallFinder finder(body->graph);
    for (NodeId id : body->graph.Nodes()) {
      if (finder.KindOf(id) == CallKind::kNone) continue;
      absl::StatusOr<std::vector<BoundFunction>> callees = BindCallees(body->graph, id, finder, graph_.library());
      if (!callees.ok()) {
        errors_->Add(WithFunction(InBody(callees.status()), function.name()));
        continue;
      }
      std::move(callees->begin(), callees->end(), std::back_inserter(open->callees));
    }
  }

  // Loops of a body match, and what it gives lies outside of them: inside, there is a value per iteration.
  void CheckFrames(const BoundFunction& function, const FunctionGraph& body) {
    const absl::StatusOr<ControlFlowInfo> info = BuildControlFlowInfo(body.graph, limits_);
    if (!info.ok()) {
      for (const absl::Status& error : AllErrors(info.status())) errors_->Add(WithFunction(error, function.name()));
      return;
    }
    for (const NodeId result : body.results) {
      if (info->frame(result) == 0) continue;
      const std::string& frame = info->frames[static_cast<size_t>(info->frame(result))].name;
      const Output value = body.graph.inputs(result)[0];
      errors_->Add(Error(ErrorCode::kFetchInFrame)
                       .Node(body.graph.name(value.node), body.graph.op(value.node).name)
                       .Function(function.name())
                       .Text(absl::StrCat("cannot be a result of the function: it has one value per iteration of the "
                                          "loop '",
                                          PrintableName(frame), "'")));
    }
  }

  const Graph& graph_;
  const LoadLimits& limits_;
  const bool check_runnable_;
  ErrorCollector* const errors_;
  HashMap<std::string, Expansion> expansions_;  // By canonical key.
  HashSet<std::string> called_;                 // Functions by name.
  int64_t checked_nodes_ = 0;                   // In bodies instantiated so far.
  bool too_deep_ = false;
};

void CheckNames(const Graph& graph, ErrorCollector* errors) {
  for (const std::string& name : graph.library().Names()) {
    if (graph.ops()->Find(name) == nullptr) continue;
    errors->Add(Error(ErrorCode::kFunctionDuplicate)
                    .Function(name)
                    .Text(absl::StrCat("function '", PrintableName(name), "' has the name of an op")));
  }
}

void CheckGradients(const FunctionLibrary& library, ErrorCollector* errors) {
  const auto add = [&](const std::string& function, const std::string& text) {
    errors->Add(Error(ErrorCode::kFunctionGradient)
                    .Function(function)
                    .Text(absl::StrCat("the gradient of function '", PrintableName(function), "' ", text)));
  };
  for (const auto& gradient : library.gradients()) {
    // Of a node's op type: a node whose gradient is not there runs all the same.
    if (IsRegisteredGradientKey(gradient.first)) continue;
    if (gradient.first == gradient.second) {
      add(gradient.first, "is declared to be the function itself");
    } else if (!library.Contains(gradient.first)) {
      add(gradient.first, "is given, but there is no such function");
    } else if (!library.Contains(gradient.second)) {
      add(gradient.first,
          absl::StrCat("is declared to be '", PrintableName(gradient.second), "', but there is no such function"));
    }
  }
}

}  // namespace

absl::Status CheckFunctions(const Graph& graph, const FunctionCheckOptions& options, ErrorCollector* errors) {
  ErrorCollector own;
  ErrorCollector* const to = errors != nullptr ? errors : &own;
  CheckNames(graph, to);
  CheckGradients(graph.library(), to);
  ErrorCollector recursion;
  CheckRecursion(graph.library(), &recursion);
  if (recursion.empty()) {
    CallWalker walker(graph, options, to);
    walker.WalkGraph();
    walker.CheckUncalled();
  } else {
    to->Add(recursion.Finish());
  }
  return own.Finish();
}

}  // namespace sluice
