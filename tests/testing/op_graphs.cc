#include <climits>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/ops/op_table.h"
#include "tests/testing/node_signature.h"
#include "tests/testing/op_cases.h"

namespace sluice {
namespace {

proto::NodeDef* AddNode(proto::GraphDef& graph, const std::string& name, const std::string& op,
                        const std::vector<std::string>& inputs) {
  proto::NodeDef* const node = graph.add_node();
  node->set_name(name);
  node->set_op(op);
  for (const std::string& input : inputs) node->add_input(input);
  return node;
}

void AddPlaceholder(proto::GraphDef& graph, const std::string& name, DType type) {
  (*AddNode(graph, name, "Placeholder", {})->mutable_attr())["dtype"] = TypeAttrValue(type);
}

// The type of the values that the handles of `op_case` lead to.
DType HeldType(const OpCase& op_case) {
  for (const char* const attr : {"dtype", "T", "elem_type", "Tparams"}) {
    const auto found = op_case.node.attr().find(attr);
    if (found == op_case.node.attr().end()) continue;
    const DType type = static_cast<DType>(found->second.type());
    if (IsTrivial(type) || type == DType::kString) return type;
  }
  return DType::kFloat;
}

// Adds what gives input `i` of the case, a handle or a reference of `type`, and returns its name.
std::string AddHandle(proto::GraphDef& graph, const OpCase& op_case, DType type, int i) {
  const std::string name = absl::StrCat("h", i), &op = op_case.node.op();
  const bool is_v1 = IsRef(type);
  const DType held = is_v1 && !absl::StartsWith(op, "Stack") && !absl::StartsWith(op, "TensorArray")
                         ? BaseType(type)
                         : HeldType(op_case);
  if (absl::StartsWith(op, "TensorArray")) {
    const std::string version = is_v1 ? "" : type == DType::kString ? "V2" : "V3";
    *graph.add_node() = ConstNodeDef(absl::StrCat(name, "/size"), Tensor::Scalar<int32_t>(4));
    proto::NodeDef* const node =
        AddNode(graph, name, absl::StrCat("TensorArray", version), {absl::StrCat(name, "/size")});
    (*node->mutable_attr())["dtype"] = TypeAttrValue(held);
    return name;
  }
  if (absl::StartsWith(op, "Stack")) {
    proto::NodeDef* const node = AddNode(graph, name, is_v1 ? "Stack" : "StackV2", {});
    if (!is_v1) {
      *graph.add_node() = ConstNodeDef(absl::StrCat(name, "/size"), Tensor::Scalar<int32_t>(4));
      node->add_input(absl::StrCat(name, "/size"));
    }
    (*node->mutable_attr())["elem_type"] = TypeAttrValue(held);
    return name;
  }
  proto::NodeDef* const node = AddNode(graph, name, is_v1 ? "VariableV2" : "VarHandleOp", {});
  (*node->mutable_attr())["dtype"] = TypeAttrValue(held);
  (*node->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
  const std::string init = absl::StrCat("init", i);
  AddPlaceholder(graph, init, held);
  proto::NodeDef* const assign =
      AddNode(graph, absl::StrCat(name, "/assign"), is_v1 ? "Assign" : "AssignVariableOp", {name, init});
  (*assign->mutable_attr())[is_v1 ? "T" : "dtype"] = TypeAttrValue(held);
  if (is_v1) (*assign->mutable_attr())["validate_shape"].set_b(false);
  return name;
}

bool IsPlain(DType type, absl::string_view op) {
  const bool is_text_handle = type == DType::kString && absl::StartsWith(op, "TensorArray") && absl::EndsWith(op, "V2");
  return !IsRef(type) && type != DType::kResource && !is_text_handle;
}

// The output that "node:1" names; none where it is not a small number.
int SlotOf(const std::vector<std::string>& parts) {
  int slot = 0;
  return parts.size() < 2 || (absl::SimpleAtoi(parts[1], &slot) && slot >= 0) ? slot : INT_MAX;
}

// Input names of a graph as a body has them: arguments alone, others as "node:arg:i".
class BodyNames {
 public:
  explicit BodyNames(const proto::GraphDef& graph) {
    for (const proto::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  bool IsArgument(const std::string& name) const {
    const auto found = nodes_.find(name);
    return found != nodes_.end() && found->second->op() == "Placeholder";
  }
  // Controls on arguments have no counterpart: empty.
  std::string Translate(const std::string& input) const {
    if (absl::StartsWith(input, "^")) return IsArgument(input.substr(1)) ? "" : input;
    const std::vector<std::string> parts = absl::StrSplit(input, ':');
    const auto found = nodes_.find(parts[0]);
    if (found == nodes_.end()) return "missing:output:0";
    const proto::NodeDef& node = *found->second;
    if (node.op() == "Placeholder") return node.name();
    const absl::StatusOr<Signature> signature = SignatureOf(node);
    const int index = SlotOf(parts);
    if (!signature.ok() || index >= static_cast<int>(signature->outputs.size())) return "missing:output:0";
    return BodyValueName(node, *signature, index);
  }
  DType Type(const std::string& fetch) const {
    const std::vector<std::string> parts = absl::StrSplit(fetch, ':');
    const absl::StatusOr<Signature> signature = SignatureOf(*nodes_.at(parts[0]));
    const size_t slot = static_cast<size_t>(SlotOf(parts));
    return signature.ok() && slot < signature->outputs.size() ? signature->outputs[slot] : DType::kInvalid;
  }

 private:
  std::map<std::string, const proto::NodeDef*> nodes_;
};

// Moves the attrs of `node` to the signature, where the call binds them.
void BindAttrs(proto::NodeDef& node, proto::OpDef& signature, proto::NameAttrList& call) {
  const OpSchema* const schema = BuiltinOps().Find(node.op());
  if (schema == nullptr) return;
  // In the order of the schema, not in the map's, which differs from run to run.
  for (const AttrSpec& spec : schema->attrs) {
    if (node.attr().count(spec.name) == 0) continue;
    proto::AttrValue& value = (*node.mutable_attr())[spec.name];
    proto::OpDef::AttrDef& declared = *signature.add_attr();
    declared.set_name(spec.name);
    declared.set_type(AttrTypeName(spec.type));
    (*call.mutable_attr())[spec.name] = value;
    value.set_placeholder(spec.name);
  }
}

}  // namespace

OpGraph MakeOpGraph(const OpCase& op_case, OpPlace place) {
  OpGraph made;
  proto::NodeDef op = op_case.node;
  for (size_t i = 0; i < op_case.signature.inputs.size(); ++i) {
    const DType type = op_case.signature.inputs[i];
    const std::string name = absl::StrCat("x", i);
    if (IsPlain(type, op.op())) {
      AddPlaceholder(made.graph, name, type);
      op.add_input(name);
    } else {
      op.add_input(AddHandle(made.graph, op_case, type, static_cast<int>(i)));
    }
  }
  const int num_nodes = made.graph.node_size();
  for (int i = 0; i < num_nodes; ++i) {
    const std::string& name = made.graph.node(i).name();
    if (absl::EndsWith(name, "/assign")) op.add_input(absl::StrCat("^", name));
  }
  for (size_t i = 0; i < op_case.signature.outputs.size(); ++i) made.fetches.push_back(absl::StrCat("op:", i));
  *made.graph.add_node() = std::move(op);
  made.graph.mutable_versions()->set_producer(1087);
  made.target = "op";
  if (place == OpPlace::kGraph) return made;
  return WrapInFunction(made, place == OpPlace::kBodyPlaceholders ? "op" : "");
}

OpGraph WrapInFunction(const OpGraph& graph, const std::string& bound_node) {
  const BodyNames names(graph.graph);
  OpGraph made;
  *made.graph.mutable_library() = graph.graph.library();
  *made.graph.mutable_versions() = graph.graph.versions();
  proto::FunctionDef& function = *made.graph.mutable_library()->add_function();
  proto::OpDef& signature = *function.mutable_signature();
  signature.set_name("Body");
  signature.set_is_stateful(true);
  proto::NodeDef call;
  call.set_name("call");
  call.set_op("StatefulPartitionedCall");
  proto::NameAttrList& target = *(*call.mutable_attr())["f"].mutable_func();
  target.set_name("Body");
  auto& in = *(*call.mutable_attr())["Tin"].mutable_list();
  auto& out = *(*call.mutable_attr())["Tout"].mutable_list();
  for (const proto::NodeDef& node : graph.graph.node()) {
    if (node.op() == "Placeholder") {
      *made.graph.add_node() = node;
      call.add_input(node.name());
      const proto::DataType type = node.attr().at("dtype").type();
      in.add_type(type);
      proto::OpDef::ArgDef& argument = *signature.add_input_arg();
      argument.set_name(node.name());
      argument.set_type(type);
      continue;
    }
    proto::NodeDef& inner = *function.add_node_def();
    inner = node;
    inner.clear_input();
    for (const std::string& input : node.input()) {
      const std::string translated = names.Translate(input);
      if (!translated.empty()) inner.add_input(translated);
    }
    if (node.name() == bound_node) BindAttrs(inner, signature, target);
  }
  for (const std::string& fetch : graph.fetches) {
    const DType type = names.Type(fetch);
    if (type == DType::kInvalid) continue;
    const std::string name = absl::StrCat("r", out.type_size());
    proto::OpDef::ArgDef& result = *signature.add_output_arg();
    result.set_name(name);
    result.set_type(static_cast<proto::DataType>(BaseType(type)));
    (*function.mutable_ret())[name] = names.Translate(fetch);
    made.fetches.push_back(absl::StrCat("call:", out.type_size()));
    out.add_type(static_cast<proto::DataType>(BaseType(type)));
  }
  // Nodes without a result have to run all the same.
  (*function.mutable_control_ret())["done"] = graph.target;
  signature.add_control_output("done");
  *made.graph.add_node() = std::move(call);
  made.target = "call";
  return made;
}

}  // namespace sluice
