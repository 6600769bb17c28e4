#ifndef SLUICE_GRAPH_IR_NODE_PROPERTIES_H_
#define SLUICE_GRAPH_IR_NODE_PROPERTIES_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/attr.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/signature.h"

namespace sluice {

// What a kernel, or anything else that is made for one op, may know of its node: op, attrs, types, name; nothing of its
// neighbours but whether they are constant. A node of a graph has properties (GraphNode in graph_node.h), and so has an
// op that is called without a graph (LooseNode in loose_node.h).
// Views and references are valid as long as the node. Thread-safety: const methods from any thread.
class NodeProperties {
 public:
  NodeProperties(const NodeProperties&) = delete;
  NodeProperties& operator=(const NodeProperties&) = delete;
  virtual ~NodeProperties() = default;

  const OpSchema& op() const { return op_; }
  // Types of inputs and outputs under the node's attrs.
  const Signature& signature() const { return signature_; }

  virtual absl::string_view name() const = 0;
  // The device that the node asks for; may be empty or a part of a name.
  virtual absl::string_view device() const = 0;
  // The node's value, else the op's default; false when there is neither.
  virtual bool FindAttr(absl::string_view name, AttrView* value) const = 0;
  // Whether input `i` is a constant as far as can be seen: a feed, or a later rewrite of the graph, may still bring
  // another value.
  virtual bool InputIsConstant(int32_t i) const = 0;
  // What keeps `bytes`, a part of one of the attrs, alive beyond the node; null: nothing, copy them.
  virtual std::shared_ptr<const void> SourceOwner(absl::string_view bytes) const = 0;
  // An error about this node, with op, name and place in the file filled in.
  virtual absl::Status Locate(const absl::Status& status) const = 0;

 protected:
  NodeProperties(const OpSchema& op, const Signature& signature) : op_(op), signature_(signature) {}

 private:
  const OpSchema& op_;
  const Signature& signature_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_NODE_PROPERTIES_H_
