#include "tools/cli/draw/drawn_graph.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/check.h"
#include "graph/functions/call_site.h"
#include "graph/functions/function_body.h"
#include "graph/ir/consumers.h"
#include "graph/ir/tensor_id.h"
#include "graph/shapes/inference.h"
#include "tools/cli/report/endpoint_guess.h"

namespace sluice {
namespace {

constexpr int64_t kMaxAddedNodes = 200'000;
constexpr int kMaxDepth = 32;  // Of nested calls; functions that call themselves end here.

struct ScopeTitle {
  absl::string_view scope, shown;
};

constexpr ScopeTitle kScopeTitles[] = {
    {kSaverScope, "(save, restore, init)"}, {kUnsignedScope, "(not in a signature)"}, {kUnusedScope, "(unused)"}};

// Whether `name` is the scope or lies in it.
bool IsIn(absl::string_view name, absl::string_view scope) {
  return absl::StartsWith(name, scope) && (name.size() == scope.size() || name[scope.size()] == '/');
}

absl::string_view LastPart(absl::string_view name) { return name.substr(name.rfind('/') + 1); }

absl::string_view WithoutNumber(absl::string_view name) {
  while (!name.empty() && absl::ascii_isdigit(static_cast<unsigned char>(name.back()))) name.remove_suffix(1);
  absl::ConsumeSuffix(&name, "_");
  return name;
}

// The readable part of a function's name: "conv2d" of "__inference_conv2d_layer_call_fn_1234".
std::string ShortFunctionName(absl::string_view name) {
  for (const absl::string_view start : {"__inference_", "__forward_", "__backward_"}) absl::ConsumePrefix(&name, start);
  name = WithoutNumber(name);
  for (const absl::string_view end : {"_layer_call_fn", "_layer_call_and_return_conditional_losses"}) {
    absl::ConsumeSuffix(&name, end);
  }
  return std::string(name);
}

// Whether TensorFlow's inliner made the node: an argument, a result or an end of a call that is gone, such as
// "Func/net/StatefulPartitionedCall/input/_3".
bool IsOfInliner(absl::string_view name) {
  const absl::string_view scope =
      LastPart(name.substr(0, name.size() - std::min(name.size(), LastPart(name).size() + 1)));
  constexpr absl::string_view kScopes[] = {"input", "output", "input_control_node", "output_control_node"};
  return absl::StartsWith(name, "Func/") && absl::StartsWith(LastPart(name), "_") &&
         std::find(std::begin(kScopes), std::end(kScopes), scope) != std::end(kScopes);
}

bool IsCallOp(absl::string_view name) { return name == "PartitionedCall" || name == "StatefulPartitionedCall"; }

// Makes the graph of one drawing. Lives for one ExpandForDrawing.
class Expander {
 public:
  explicit Expander(const LoadedGraph& model) : model_(model), graph_(model.graph) {}

  Graph Expand() {
    first_added_ = graph_.id_limit();
    DropInlinerNodes();
    NameSignatures();
    MovePlumbing();
    for (int depth = 0; depth < kMaxDepth && ExpandOnce(); ++depth) {
    }
    DropForwarders();
    DropUnusedReads();
    return std::move(graph_);
  }

  // REQUIRES: Expand has been called.
  std::vector<std::string> ScopesToClose() const {
    std::vector<std::string> keys, closed;
    for (const ScopeTitle& title : kScopeTitles) closed.emplace_back(title.shown);
    for (const ModelSignature& signature : model_.meta.signatures) keys.push_back(signature.key);
    std::stable_partition(keys.begin(), keys.end(), [](const std::string& key) { return key == "serving_default"; });
    absl::flat_hash_set<std::string> computed;
    for (const std::string& key : keys) {
      const auto bodies = bodies_in_.find(key);
      if (bodies != bodies_in_.end() && !computed.insert(bodies->second).second) closed.push_back(key);
    }
    return closed;
  }

 private:
  // Names calls whose results are a signature's after that signature.
  void NameSignatures() {
    for (const ModelSignature& signature : model_.meta.signatures) {
      for (const SignatureTensor& result : signature.outputs) {
        absl::StatusOr<Output> output = graph_.FindOutput(result.name);
        if (!output.ok() || graph_.num_outputs(output->node) == 0) continue;  // An init op has no outputs.
        needed_.push_back(output->node);
        while (IsForwarder(output->node)) *output = graph_.inputs(output->node)[0];
        scope_of_call_.try_emplace(output->node, signature.key);
      }
    }
  }

  // Moves nodes that no signature needs, or savers, into a scope of their own.
  void MovePlumbing() {
    std::vector<bool> is_plumbing;
    if (needed_.empty()) {
      is_plumbing = SaverParts(graph_);
    } else {
      is_plumbing.assign(static_cast<size_t>(graph_.id_limit()), true);
      std::vector<NodeId> open = needed_;
      while (!open.empty()) {
        const auto at = static_cast<size_t>(open.back().value());
        const NodeId id = open.back();
        open.pop_back();
        if (!is_plumbing[at]) continue;
        is_plumbing[at] = false;
        for (const Output& input : graph_.all_inputs(id)) {
          if (input.is_set()) open.push_back(input.node);
        }
      }
    }
    if (needed_.empty()) MoveIsolated(&is_plumbing);
    const std::vector<NodeId> nodes = graph_.Nodes();
    const auto moves = [&is_plumbing](NodeId id) { return is_plumbing[static_cast<size_t>(id.value())]; };
    if (std::all_of(nodes.begin(), nodes.end(), moves)) return;  // Nothing would be left to see.
    const absl::string_view scope = needed_.empty() ? kSaverScope : kUnsignedScope;
    for (const NodeId id : nodes) {
      if (moves(id)) Rename(id, absl::StrCat(scope, "/", graph_.name(id)));
    }
  }

  // Moves nodes without any edge, unless there are no others; they then no longer count as plumbing.
  void MoveIsolated(std::vector<bool>* is_plumbing) {
    const Consumers consumers(graph_);
    const std::vector<NodeId> nodes = graph_.Nodes();
    std::vector<NodeId> isolated;
    for (const NodeId id : nodes) {
      const bool has_edges = !graph_.all_inputs(id).empty() || !consumers.of(id).empty();
      if (!has_edges) isolated.push_back(id);
    }
    if (isolated.size() == nodes.size()) return;
    for (const NodeId id : isolated) {
      (*is_plumbing)[static_cast<size_t>(id.value())] = false;
      Rename(id, absl::StrCat(kUnusedScope, "/", graph_.name(id)));
    }
  }

  // Expands all present calls; returns whether there were any.
  bool ExpandOnce() {
    std::vector<NodeId> calls;
    CallFinder finder(graph_);
    for (const NodeId id : graph_.Nodes()) {
      if (IsExpanded(finder.KindOf(id)) && !IsPlumbing(graph_.name(id)) && !closed_.contains(id)) calls.push_back(id);
    }
    CountCalls(calls);
    replaced_.clear();
    std::vector<NodeId> gone;
    for (const NodeId id : calls) {
      CallFinder own(graph_);
      const CallKind kind = own.KindOf(id);
      const absl::StatusOr<std::vector<BoundFunction>> callees = BindCallees(graph_, id, own, graph_.library());
      closed_.insert(id);
      if (!callees.ok() || callees->empty() || !Fits(*callees)) continue;
      const bool is_call = kind == CallKind::kDirect || kind == CallKind::kCall;
      if (is_call ? ExpandCall(id, (*callees)[0]) : ExpandBranches(id, kind, *callees)) {
        if (is_call) gone.push_back(id);
      }
    }
    Rewire();
    for (const NodeId id : gone) graph_.RemoveNode(id);
    return !calls.empty();
  }

  bool Fits(const std::vector<BoundFunction>& callees) {
    int64_t nodes = 0;
    for (const BoundFunction& callee : callees) nodes += static_cast<int64_t>(callee.definition->nodes.size());
    if (added_ + nodes > kMaxAddedNodes) return false;
    added_ += nodes;
    return true;
  }

  // Counts the calls in each scope.
  void CountCalls(const std::vector<NodeId>& calls) {
    calls_in_.clear();
    for (const NodeId id : calls) ++calls_in_[std::string(ScopeOf(graph_.name(id)))];
  }

  static absl::string_view ScopeOf(absl::string_view name) {
    const size_t slash = name.rfind('/');
    return slash == absl::string_view::npos ? absl::string_view() : name.substr(0, slash);
  }

  // Returns the prefix of names in the body of the call, with its slash.
  std::string PrefixOf(NodeId id, const BoundFunction& callee) const {
    const absl::string_view name = graph_.name(id);
    const auto signature = scope_of_call_.find(id);
    if (signature != scope_of_call_.end()) return absl::StrCat(signature->second, "/");
    if (!IsCallOp(WithoutNumber(LastPart(name)))) return absl::StrCat(name, "/");
    const absl::string_view scope = ScopeOf(name);
    const std::string outer = scope.empty() ? "" : absl::StrCat(scope, "/");
    // A body that only calls another one needs no box of its own.
    const auto count = calls_in_.find(std::string(scope));
    const bool is_wrapped = id.value() >= first_added_ && count != calls_in_.end() && count->second == 1;
    if (is_wrapped) return outer;
    return absl::StrCat(outer, ShortFunctionName(callee.name()), "/");
  }

  std::vector<Output> Resolved(absl::Span<const Output> inputs) const {
    std::vector<Output> outputs;
    for (const Output& input : inputs) outputs.push_back(Resolve(input));
    return outputs;
  }

  Output Resolve(Output output) const {
    for (auto at = replaced_.find(output); at != replaced_.end(); at = replaced_.find(output)) output = at->second;
    return output;
  }

  bool ExpandCall(NodeId id, const BoundFunction& callee) {
    BodyOptions options;
    options.prefix = PrefixOf(id, callee);
    options.args = Resolved(graph_.inputs(id));
    options.prune = true;
    const absl::StatusOr<BodyNodes> body = AddFunctionBody(graph_, callee, options);
    if (!body.ok()) return false;
    NoteBody(options.prefix, callee);
    for (const Output& result : body->results) results_.insert(result.node);
    for (size_t i = 0; i < body->results.size(); ++i) {
      replaced_[Output{id, static_cast<int32_t>(i)}] = body->results[i];
    }
    return true;
  }

  // Adds the bodies of a conditional or a loop. Its node stays, after them: their results are its own.
  bool ExpandBranches(NodeId id, CallKind kind, const std::vector<BoundFunction>& callees) {
    std::vector<Output> args = Resolved(graph_.inputs(id));
    if (kind != CallKind::kWhile && !args.empty()) args.erase(args.begin());
    for (size_t i = 0; i < callees.size(); ++i) {
      const std::string role = kind == CallKind::kIf      ? (i == 0 ? "then" : "else")
                               : kind == CallKind::kWhile ? (i == 0 ? "cond" : "body")
                                                          : absl::StrCat("branch_", i);
      BodyOptions options;
      options.prefix = absl::StrCat(graph_.name(id), "/", role, "/");
      options.args = args;
      options.prune = true;
      const absl::StatusOr<BodyNodes> body = AddFunctionBody(graph_, callees[i], options);
      if (!body.ok()) continue;
      NoteBody(options.prefix, callees[i]);
      DropRepeatedScopes(*body, options.prefix, graph_.name(id));
      for (const Output& result : body->results) {
        if (result.node.value() >= first_added_ && result.node != id) {
          graph_.AddControl(id, result.node).IgnoreError();
        }
      }
    }
    return true;
  }

  // Bodies repeat the call's name: "while/Less" in the condition of "net/while" would become
  // "net/while/cond/while/Less".
  void DropRepeatedScopes(const BodyNodes& body, absl::string_view prefix, absl::string_view call) {
    for (const NodeId id : body.nodes) {
      const std::string name(absl::StripPrefix(graph_.name(id), prefix));
      absl::string_view repeated = call;
      while (!absl::StartsWith(name, absl::StrCat(repeated, "/"))) {
        const size_t slash = repeated.find('/');
        if (slash == absl::string_view::npos) break;
        repeated.remove_prefix(slash + 1);
      }
      std::string rest = name;
      if (absl::StartsWith(rest, absl::StrCat(repeated, "/"))) rest.erase(0, repeated.size() + 1);
      if (rest != name) Rename(id, absl::StrCat(prefix, rest));
    }
  }

  // Keeps the name where the new one is taken.
  void Rename(NodeId id, const std::string& name) {
    SLUICE_DCHECK(IsValidNodeName(name, /*internal=*/true));
    graph_.Rename(id, name).IgnoreError();
  }

  // Makes all nodes read the replacements of their inputs. Control edges to removed calls are dropped.
  void Rewire() {
    if (replaced_.empty()) return;
    absl::flat_hash_map<NodeId, NodeId> end_of_call;
    for (const auto& [from, to] : replaced_) end_of_call[from.node] = Resolve(to).node;
    for (const NodeId id : graph_.Nodes()) {
      const std::vector<Output> inputs = Resolved(graph_.inputs(id));
      std::vector<NodeId> controls;
      bool changed = !std::equal(inputs.begin(), inputs.end(), graph_.inputs(id).begin());
      for (const Output& control : graph_.controls(id)) {
        const auto end = end_of_call.find(control.node);
        changed = changed || end != end_of_call.end();
        const NodeId source = end == end_of_call.end() ? control.node : end->second;
        if (source != id && std::find(controls.begin(), controls.end(), source) == controls.end())
          controls.push_back(source);
      }
      if (changed) graph_.SetInputs(id, inputs, controls).IgnoreError();
    }
  }

  // Removes nodes that only end bodies: the Identity of each result, and the NoOp that waits for reads.
  void DropForwarders() {
    std::vector<NodeId> gone;
    for (const NodeId id : graph_.Nodes()) {
      if (id.value() < first_added_) continue;
      const bool is_result = graph_.Is(id, "Identity") && WithoutNumber(LastPart(graph_.name(id))) == "Identity";
      if (is_result || graph_.Is(id, "NoOp")) gone.push_back(id);
    }
    Bypass(gone);
  }

  // Removes leftovers of TensorFlow's inliner, and the NoOps that end the bodies that it inlined.
  void DropInlinerNodes() {
    const Consumers consumers(graph_);
    std::vector<NodeId> gone, ends;
    for (const NodeId id : graph_.Nodes()) {
      const bool is_forwarder = graph_.Is(id, "Identity") || graph_.Is(id, "NoOp");
      const bool is_end = graph_.Is(id, "NoOp") && WithoutNumber(LastPart(graph_.name(id))) == "NoOp";
      if (is_forwarder && IsOfInliner(graph_.name(id))) gone.push_back(id);
      if (is_end && !consumers.of(id).empty()) ends.push_back(id);
    }
    if (gone.empty()) return;
    gone.insert(gone.end(), ends.begin(), ends.end());
    Bypass(gone);
  }

  bool IsForwarder(NodeId id) const {
    return graph_.Is(id, "Identity") && !graph_.inputs(id).empty() && graph_.inputs(id)[0].is_set();
  }

  // Removes the nodes: readers of an Identity read its input, and control edges from them go.
  void Bypass(const std::vector<NodeId>& gone) {
    replaced_.clear();
    for (const NodeId id : gone) {
      if (IsForwarder(id)) replaced_[Output{id, 0}] = graph_.inputs(id)[0];
    }
    for (const NodeId id : gone) {
      if (results_.contains(id) && !graph_.inputs(id).empty()) results_.insert(Resolve({id, 0}).node);
    }
    const absl::flat_hash_set<NodeId> is_gone(gone.begin(), gone.end());
    for (const NodeId id : graph_.Nodes()) {
      std::vector<NodeId> controls;
      for (const Output& control : graph_.controls(id)) {
        NodeId source = control.node;
        if (replaced_.contains(Output{source, 0})) source = Resolve({source, 0}).node;
        if (!is_gone.contains(source) && source != id) controls.push_back(source);
      }
      std::sort(controls.begin(), controls.end());
      controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
      graph_.SetInputs(id, Resolved(graph_.inputs(id)), controls).IgnoreError();
    }
    for (const NodeId id : gone) graph_.RemoveNode(id);
  }

  // Bodies of loops and layers often read weights that only other bodies use.
  void DropUnusedReads() {
    const Consumers consumers(graph_);
    std::vector<NodeId> unused;
    for (const NodeId id : graph_.Nodes()) {
      const bool is_read = id.value() >= first_added_ && graph_.Is(id, "ReadVariableOp");
      if (is_read && consumers.of(id).empty() && !results_.contains(id)) unused.push_back(id);
    }
    for (const NodeId id : unused) graph_.RemoveNode(id);
  }

  // Notes that `scope` has the body of `callee`. Skips a body that is only a call: the body that it calls comes later.
  void NoteBody(absl::string_view scope, const BoundFunction& callee) {
    const std::vector<NodeDefView>& nodes = callee.definition->nodes;
    const bool is_wrapper = std::all_of(nodes.begin(), nodes.end(), [](const NodeDefView& node) {
      return node.op == "Identity" || node.op == "NoOp" || IsCallOp(node.op);
    });
    if (!is_wrapper) absl::StrAppend(&bodies_in_[scope.substr(0, scope.find('/'))], callee.name(), "\n");
  }

  const LoadedGraph& model_;
  Graph graph_;
  int32_t first_added_ = 0;  // Nodes from this number on come from bodies.
  int64_t added_ = 0;
  std::vector<NodeId> needed_;                               // Results of signatures.
  absl::flat_hash_map<NodeId, std::string> scope_of_call_;   // By call: the signature that it computes.
  absl::flat_hash_set<NodeId> results_;                      // Results of bodies.
  absl::flat_hash_set<NodeId> closed_;                       // Visited calls.
  absl::flat_hash_map<std::string, int> calls_in_;           // By scope.
  absl::flat_hash_map<std::string, std::string> bodies_in_;  // By outermost scope: functions, in order of expansion.
  absl::flat_hash_map<Output, Output> replaced_;             // Outputs of calls, by their replacements.
};

}  // namespace

bool IsPlumbing(absl::string_view node) {
  return std::any_of(std::begin(kScopeTitles), std::end(kScopeTitles), [node](const ScopeTitle& title) {
    return IsIn(node, title.scope) && node.size() > title.scope.size();
  });
}

std::string ShownName(absl::string_view name) {
  for (const ScopeTitle& title : kScopeTitles) {
    if (IsIn(name, title.scope)) return absl::StrCat(title.shown, name.substr(title.scope.size()));
  }
  return std::string(name);
}

DrawnGraph ExpandForDrawing(const LoadedGraph& model) {
  Expander expander(model);
  DrawnGraph drawn = {expander.Expand(), std::nullopt, {}};
  drawn.closed = expander.ScopesToClose();
  absl::StatusOr<ShapeMap> shapes = InferShapes(drawn.graph);
  if (shapes.ok()) drawn.shapes = *std::move(shapes);
  return drawn;
}

}  // namespace sluice
