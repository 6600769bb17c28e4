#ifndef SLUICE_GRAPH_FUNCTIONS_BODY_VALUES_H_
#define SLUICE_GRAPH_FUNCTIONS_BODY_VALUES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/functions/attr_binding.h"
#include "graph/ir/graph.h"

namespace sluice {

// Note [Values in bodies]
// Inputs and results are texts: "arg" is all tensors of an argument, "arg:i" one of them; "node:out" is all tensors of
// the output argument `out` of a node, "node:out:i" one of them; "^node" (or "^arg") is a control input. A plain "node"
// is an error. How many tensors an output argument has follows from the op's schema under the node's bound attrs.

// One tensor that a text stands for: output `slot` of body node `node`, or (node -1) the flat argument `slot`.
// Of a control input the slot is kControlIndex, unless it is an argument.
struct BodyValue {
  int32_t node;
  int32_t slot;
};

// Resolves the texts of one function body. See Note [Values in bodies].
// Borrows the function; errors name neither node nor function. Not thread-safe.
class BodyValues {
 public:
  explicit BodyValues(const BoundFunction& function);

  // Adds the next node of the body, numbered from 0. kNodeDuplicate when a node or an argument has that name.
  absl::Status AddNode(absl::string_view name);
  // Declares the outputs of node `node`. Borrows `schema` and `signature`. REQUIRES: called before any text that may
  // name the node is resolved.
  void SetOutputs(int32_t node, const OpSchema& schema, const Signature& signature);

  // The number of the node called `name`, or -1.
  int32_t FindNode(absl::string_view name) const;
  // The first tensor of the argument `name`; nullopt if there is no such argument or it has no tensors.
  std::optional<BodyValue> FindArgument(absl::string_view name) const;
  // Appends the tensors that `text` stands for. kFunctionBody.
  absl::Status Resolve(absl::string_view text, std::vector<BodyValue>* values) const;
  // Appends what the control input `name` (without '^') waits for. kFunctionBody.
  absl::Status ResolveControl(absl::string_view name, std::vector<BodyValue>* values) const;
  DType TypeOf(const BodyValue& value) const;

 private:
  struct Outputs {
    const OpSchema* schema = nullptr;
    const Signature* signature = nullptr;
  };

  // Position of the output argument `name` of `schema`, or -1.
  int32_t FindOutput(const OpSchema& schema, absl::string_view name) const;

  const BoundFunction& function_;
  HashMap<absl::string_view, size_t> args_;  // Arguments of the schema by name.
  HashMap<absl::string_view, int32_t> nodes_;
  std::vector<Outputs> outputs_;  // By node.
  // Output arguments by name, of schemas with many (functions).
  mutable HashMap<const OpSchema*, HashMap<absl::string_view, int32_t>> output_names_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_BODY_VALUES_H_
