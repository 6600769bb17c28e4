#ifndef SLUICE_TESTS_TESTING_NODE_SIGNATURE_H_
#define SLUICE_TESTS_TESTING_NODE_SIGNATURE_H_

// What nodes of parsed GraphDefs take and give, for tests that build and damage such messages.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"
#include "graph/ir/signature.h"
#include "graph/proto/graph.pb.h"
#include "graph/value/tensor.h"

namespace sluice {

// The types that `node` takes and gives under its attrs. NOT_FOUND for an op that BuiltinOps() lacks.
absl::StatusOr<Signature> SignatureOf(const proto::NodeDef& node);

// The value of output `index` as bodies of functions name it: "node:arg:0".
std::string BodyValueName(const proto::NodeDef& node, const Signature& signature, int index);

proto::AttrValue TypeAttrValue(DType type);
// A Const node of `value`; REQUIRES: not a resource or a variant.
proto::NodeDef ConstNodeDef(absl::string_view name, const Tensor& value);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_NODE_SIGNATURE_H_
