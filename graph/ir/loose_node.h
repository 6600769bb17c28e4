#ifndef SLUICE_GRAPH_IR_LOOSE_NODE_H_
#define SLUICE_GRAPH_IR_LOOSE_NODE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/node_properties.h"
#include "graph/ir/op_registry.h"

namespace sluice {

// An op with attrs and types, of no graph: for ops that are called at once (eagerly).
//
//   LooseNode::Spec spec;
//   spec.op = "MatMul";
//   spec.attrs = {{"transpose_b", true}};
//   spec.inputs = {DType::kFloat, DType::kFloat};
//   SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<LooseNode> node, LooseNode::Make(BuiltinOps(), std::move(spec)));
//
// Owns its attrs and its signature; borrows the schema of the registry, which must outlive it. Immutable; thread-safe.
class LooseNode final : public NodeProperties {
 public:
  struct Spec {
    std::string op;
    std::vector<std::pair<std::string, AttrValue>> attrs;  // Those that the inputs determine may be left out.
    std::vector<DType> inputs;                             // References as RefType.
    std::string name = {};                                 // Empty: the op's.
    std::string device = {};
  };

  // Checks what Graph::AddNode checks of a node alone: kOpUnknown, kAttrMissing, kAttrValue, kInputCount, kInputType
  // and others.
  static absl::StatusOr<std::unique_ptr<LooseNode>> Make(const OpRegistry& ops, Spec spec);

  absl::string_view name() const override { return spec_.name; }
  absl::string_view device() const override { return spec_.device; }
  bool FindAttr(absl::string_view name, AttrView* value) const override;
  bool InputIsConstant(int32_t) const override { return false; }
  std::shared_ptr<const void> SourceOwner(absl::string_view) const override { return nullptr; }
  absl::Status Locate(const absl::Status& status) const override;

 private:
  LooseNode(const OpSchema& op, Spec spec, std::unique_ptr<SignatureCache> signatures, const Signature& signature)
      : NodeProperties(op, signature), spec_(std::move(spec)), signatures_(std::move(signatures)) {}

  const Spec spec_;
  const std::unique_ptr<SignatureCache> signatures_;  // Holds the one signature.
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_LOOSE_NODE_H_
