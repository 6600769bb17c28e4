#include "tests/testing/node_signature.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "graph/value/tensor_proto.h"

namespace sluice {

absl::StatusOr<Signature> SignatureOf(const proto::NodeDef& node) {
  const OpSchema* const schema = BuiltinOps().Find(node.op());
  if (schema == nullptr) return absl::NotFoundError(node.op());
  std::map<std::string, std::string, std::less<>> encoded;
  for (const auto& [name, value] : node.attr()) encoded[name] = value.SerializeAsString();
  return ComputeSignature(
      *schema,
      [&](absl::string_view name, AttrView* value) {
        const auto found = encoded.find(std::string(name));
        if (found != encoded.end()) {
          *value = AttrView(found->second);
          return true;
        }
        const AttrSpec* const spec = schema->FindAttr(name);
        if (spec == nullptr || !spec->has_default) return false;
        *value = AttrView(spec->default_value);
        return true;
      },
      256);
}

std::string BodyValueName(const proto::NodeDef& node, const Signature& signature, int index) {
  const OpSchema* const schema = BuiltinOps().Find(node.op());
  const auto& starts = signature.output_starts;
  size_t argument = 0;
  while (argument + 1 < schema->outputs.size() && starts[argument + 1] <= index) ++argument;
  return absl::StrCat(node.name(), ":", schema->outputs[argument].name, ":", index - starts[argument]);
}

proto::AttrValue TypeAttrValue(DType type) {
  proto::AttrValue value;
  value.set_type(static_cast<proto::DataType>(type));
  return value;
}

proto::NodeDef ConstNodeDef(absl::string_view name, const Tensor& value) {
  proto::NodeDef node;
  node.set_name(std::string(name));
  node.set_op("Const");
  (*node.mutable_attr())["dtype"] = TypeAttrValue(value.dtype());
  const absl::StatusOr<std::string> encoded = EncodeTensorProto(value);
  SLUICE_CHECK_OK(encoded.status());
  SLUICE_CHECK((*node.mutable_attr())["value"].mutable_tensor()->ParseFromString(*encoded));
  return node;
}

}  // namespace sluice
