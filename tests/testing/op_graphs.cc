#include <algorithm>
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

// Builds what an op that works on handles or references needs before it, in the graph of a case.
class Surroundings {
 public:
  Surroundings(proto::GraphDef& graph, const OpCase& op_case) : graph_(graph), op_case_(op_case) {}

  // Adds what gives input `i`, a handle or a reference of `type`, and returns its name.
  std::string AddHandle(DType type, int i) {
    name_ = absl::StrCat("h", i);
    init_ = absl::StrCat("init", i);
    const absl::string_view op = op_case_.node.op();
    if (absl::StartsWith(op, "TensorArray")) {
      AddTensorArray(IsRef(type) || op == "TensorArrayGrad" ? "" : type == DType::kString ? "V2" : "V3");
    } else if (absl::StartsWith(op, "Stack")) {
      AddStack(IsRef(type) ? "" : "V2");
    } else if (op == "DestroyTemporaryVariable") {
      AddTemporary(BaseType(type));
    } else {
      AddVariable(IsRef(type), IsRef(type) ? BaseType(type) : HeldType(op_case_));
    }
    return name_;
  }
  // Gives the variable `variable` the value of a Placeholder.
  void AddAssign(bool is_v1, DType held, const std::string& variable) {
    AddPlaceholder(graph_, init_, held);
    proto::NodeDef* const assign =
        Add("/assign", is_v1 ? "Assign" : "AssignVariableOp", {variable, init_}, is_v1 ? "T" : "dtype", held);
    if (is_v1) (*assign->mutable_attr())["validate_shape"].set_b(false);
  }
  // Nodes that must have run before the op.
  const std::vector<std::string>& before() const { return before_; }

 private:
  proto::NodeDef* Add(absl::string_view suffix, const std::string& op, const std::vector<std::string>& inputs,
                      const char* type_attr, DType type) {
    proto::NodeDef* const node = AddNode(graph_, absl::StrCat(name_, suffix), op, inputs);
    (*node->mutable_attr())[type_attr] = TypeAttrValue(type);
    return node;
  }
  std::string AddInt(absl::string_view suffix, int32_t value) {
    const std::string name = absl::StrCat(name_, suffix);
    *graph_.add_node() = ConstNodeDef(name, Tensor::Scalar<int32_t>(value));
    return name;
  }

  // An array of four elements; where the op reads, they have all been written.
  void AddTensorArray(const std::string& version) {
    const DType held = HeldType(op_case_);
    Add("", absl::StrCat("TensorArray", version), {AddInt("/size", 4)}, "dtype", held);
    const absl::string_view op = op_case_.node.op();
    const auto has = [op](absl::string_view part) { return absl::StrContains(op, part); };
    if (!has("Read") && !has("Gather") && !has("Pack") && !has("Concat")) return;
    AddPlaceholder(graph_, init_, held);
    const std::string flow = absl::StrCat(name_, "/flow");
    *graph_.add_node() = ConstNodeDef(flow, Tensor::Scalar(0.0f));
    for (int32_t element = 0; element < 4; ++element) {
      const std::string suffix = absl::StrCat("/write", element);
      Add(suffix, absl::StrCat("TensorArrayWrite", version),
          {name_, AddInt(absl::StrCat("/index", element), element), init_, flow}, "T", held);
      before_.push_back(absl::StrCat(name_, suffix));
    }
  }
  // A stack; where the op pops, of one value.
  void AddStack(const std::string& version) {
    const DType held = HeldType(op_case_);
    const std::vector<std::string> size =
        version.empty() ? std::vector<std::string>() : std::vector<std::string>{AddInt("/size", 4)};
    Add("", absl::StrCat("Stack", version), size, "elem_type", held);
    if (!absl::StartsWith(op_case_.node.op(), "StackPop")) return;
    AddPlaceholder(graph_, init_, held);
    Add("/push", absl::StrCat("StackPush", version), {name_, init_}, "T", held);
    before_.push_back(absl::StrCat(name_, "/push"));
  }
  void AddTemporary(DType held) {
    proto::NodeDef* const node = Add("", "TemporaryVariable", {}, "dtype", held);
    (*node->mutable_attr())["shape"].mutable_shape()->add_dim()->set_size(2);
    const auto name = op_case_.node.attr().find("var_name");
    if (name != op_case_.node.attr().end()) (*node->mutable_attr())["var_name"] = name->second;
  }
  void AddVariable(bool is_v1, DType held) {
    proto::NodeDef* const node = Add("", is_v1 ? "VariableV2" : "VarHandleOp", {}, "dtype", held);
    (*node->mutable_attr())["shape"].mutable_shape()->set_unknown_rank(true);
    AddAssign(is_v1, held, name_);
    before_.push_back(absl::StrCat(name_, "/assign"));
  }

  proto::GraphDef& graph_;
  const OpCase& op_case_;
  std::string name_ = "h", init_ = "init";
  std::vector<std::string> before_;
};

// Whether the op makes a variable, which cannot be fetched before it has a value.
bool MakesVariable(const OpCase& op_case) {
  const std::vector<DType>& outputs = op_case.signature.outputs;
  return op_case.signature.inputs.empty() && outputs.size() == 1 && IsRef(outputs[0]) &&
         !absl::StartsWith(op_case.node.op(), "Stack");
}

// The latest version of a graph that may hold all these nodes.
int ProducerFor(const proto::GraphDef& graph) {
  int producer = 1087;
  for (const proto::NodeDef& node : graph.node()) {
    const OpSchema* const schema = BuiltinOps().Find(node.op());
    if (schema != nullptr && schema->deprecated_at > 0) producer = std::min(producer, schema->deprecated_at - 1);
  }
  return producer;
}

bool IsPlain(DType type, absl::string_view op) {
  const bool is_text_handle = type == DType::kString && absl::StartsWith(op, "TensorArray") &&
                              (absl::EndsWith(op, "V2") || op == "TensorArrayGrad");
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
  Surroundings surroundings(made.graph, op_case);
  for (size_t i = 0; i < op_case.signature.inputs.size(); ++i) {
    const DType type = op_case.signature.inputs[i];
    const std::string name = absl::StrCat("x", i);
    if (IsPlain(type, op.op())) {
      AddPlaceholder(made.graph, name, type);
      op.add_input(name);
    } else {
      op.add_input(surroundings.AddHandle(type, static_cast<int>(i)));
    }
  }
  for (const std::string& name : surroundings.before()) op.add_input(absl::StrCat("^", name));
  for (size_t i = 0; i < op_case.signature.outputs.size(); ++i) made.fetches.push_back(absl::StrCat("op:", i));
  *made.graph.add_node() = std::move(op);
  made.target = "op";
  if (MakesVariable(op_case)) {
    surroundings.AddAssign(true, BaseType(op_case.signature.outputs[0]), "op");
    made.fetches = {"h/assign:0"};
  }
  made.graph.mutable_versions()->set_producer(ProducerFor(made.graph));
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
