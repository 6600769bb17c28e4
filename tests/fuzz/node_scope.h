#ifndef SLUICE_TESTS_FUZZ_NODE_SCOPE_H_
#define SLUICE_TESTS_FUZZ_NODE_SCOPE_H_

#include <optional>
#include <string>
#include <vector>

#include "graph/ir/signature.h"
#include "graph/proto/graph.pb.h"

namespace sluice {

using NodeDefs = google::protobuf::RepeatedPtrField<proto::NodeDef>;

// Something that an input can name: an output of a node, or an argument of a function (node -1).
struct ScopeValue {
  std::string text;  // As inputs of this scope name it: "node:1", "node:arg:0", "argument".
  DType type = DType::kInvalid;
  int node = -1;
};

// The nodes of a graph or of one function's body, and the values they give. What is known of them is computed once:
// make a new scope after a change. Borrows the message. Not thread-safe.
class NodeScope {
 public:
  // Of function number `function` of the library; -1: of the graph.
  NodeScope(proto::GraphDef* graph, int function);

  NodeDefs& nodes() { return *nodes_; }
  bool is_body() const { return function_ >= 0; }
  int size() const { return nodes_->size(); }
  proto::NodeDef& node(int i) { return *nodes_->Mutable(i); }
  // Null when the op is unknown or attrs are damaged.
  const Signature* signature(int i) const;
  const std::vector<ScopeValue>& values() const { return values_; }
  // Values of `type` (any: kInvalid), reference or not, those of nodes before `before` first choice.
  std::vector<ScopeValue> ValuesOf(DType type, int before) const;
  std::string NewName(const std::string& prefix) const;
  // Data inputs come first in a sound node: how many there are.
  static int NumDataInputs(const proto::NodeDef& node);

 private:
  const int function_;
  NodeDefs* nodes_;
  std::vector<std::optional<Signature>> signatures_;
  std::vector<ScopeValue> values_;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_NODE_SCOPE_H_
