#ifndef SLUICE_GRAPH_FUNCTIONS_CALL_SITE_H_
#define SLUICE_GRAPH_FUNCTIONS_CALL_SITE_H_

// Which functions a node calls, and whether they fit it.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/functions/attr_binding.h"
#include "graph/ir/graph.h"

namespace sluice {

enum class CallKind : uint8_t {
  kNone,      // Calls nothing.
  kDirect,    // Its op is a function of the library.
  kCall,      // PartitionedCall, StatefulPartitionedCall: attr f.
  kIf,        // If, StatelessIf: then_branch, else_branch.
  kCase,      // Case, StatelessCase: branches.
  kWhile,     // While, StatelessWhile: cond, body.
  kGradient,  // SymbolicGradient: the function (or op) f, differentiated.
  kOther,     // Any other op with functions among its attrs (MapDataset, ...), called by its kernel.
};

// How nodes of the op named `op` call, as far as its name alone tells: kNone also for functions of a library and for
// ops that have functions among their attrs.
CallKind CallKindOf(absl::string_view op);

// Whether InlineFunctionCalls puts the bodies of what such a node calls in its place.
constexpr bool IsExpanded(CallKind kind) { return kind >= CallKind::kDirect && kind <= CallKind::kWhile; }

// One function that a node names. Views into the graph.
struct Callee {
  absl::string_view attr;  // The attr that names it; empty for a direct call.
  absl::string_view name;
  std::vector<NamedAttr> attrs;  // Values given to the function's attrs.
};

// Tells calls from other nodes, remembering the answer for each op. Borrows the graph. Not thread-safe.
class CallFinder {
 public:
  explicit CallFinder(const Graph& graph) : graph_(graph) {}

  CallKind KindOf(NodeId id);
  // What `id` calls, in order: then before else, cond before body. kAttrMissing, kAttrKind naming the node.
  absl::StatusOr<std::vector<Callee>> Callees(NodeId id);

 private:
  CallKind Classify(const OpSchema& op) const;

  const Graph& graph_;
  HashMap<const OpSchema*, CallKind> kinds_;
  const OpSchema* last_op_ = nullptr;
  CallKind last_kind_ = CallKind::kNone;
};

// Looks the callees of `id` up in `library`, binds their attrs, and checks that arguments and results fit: Tin and Tout
// of calls, equal branches, a loop's body returning what it takes, its condition one value. Callees of kGradient and
// kOther nodes are bound as far as they are in the library. Errors name the node and the attr: kFunctionUnknown (of
// calls), kFunctionMissing (of If, Case, While), kAttrUnbound, kFunctionArity, kBranchMismatch.
absl::StatusOr<std::vector<BoundFunction>> BindCallees(const Graph& graph, NodeId id, CallFinder& finder,
                                                       const FunctionLibrary& library);

// `status` of BindCallees for a node in the body of a function, where TensorFlow looks for functions only in a run:
// kFunctionMissing (NOT_FOUND) instead of kFunctionUnknown.
absl::Status InBody(const absl::Status& status);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_CALL_SITE_H_
