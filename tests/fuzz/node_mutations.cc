#include "tests/fuzz/node_mutations.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/ops/op_table.h"
#include "tests/fuzz/attr_mutations.h"
#include "tests/testing/node_signature.h"

namespace sluice {
namespace {

// In an order that is the same in every run, unlike the map's.
std::vector<std::string> AttrNames(const proto::NodeDef& node) {
  std::vector<std::string> names;
  for (const auto& [name, value] : node.attr()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

bool DecidesArity(const OpSchema& op, absl::string_view attr) {
  for (const auto* args : {&op.inputs, &op.outputs}) {
    for (const ArgSpec& arg : *args) {
      if (arg.number_attr == attr || arg.type_list_attr == attr) return true;
    }
  }
  return false;
}

// A random node that takes data, or null.
proto::NodeDef* NodeWithInputs(NodeScope& scope, FuzzRandom& random, int* index) {
  for (int attempt = 0; attempt < 8 && scope.size() > 0; ++attempt) {
    *index = random.Int(scope.size());
    if (NodeScope::NumDataInputs(scope.node(*index)) > 0) return &scope.node(*index);
  }
  return nullptr;
}

DType InputType(const NodeScope& scope, int node, int input) {
  const Signature* const signature = scope.signature(node);
  if (signature == nullptr || input >= static_cast<int>(signature->inputs.size())) return DType::kInvalid;
  return signature->inputs[static_cast<size_t>(input)];
}

// A new Const node before all others; its name as an input of the scope.
std::string AddConst(NodeScope& scope, DType type, FuzzRandom& random) {
  proto::NodeDef node;
  node.set_name(scope.NewName("fuzz_const"));
  node.set_op("Const");
  proto::TensorProto value = HostileTensorProto(BaseType(type), random);
  (*node.mutable_attr())["dtype"] = TypeAttrValue(static_cast<DType>(value.dtype()));
  *(*node.mutable_attr())["value"].mutable_tensor() = std::move(value);
  const std::string text = absl::StrCat(node.name(), scope.is_body() ? ":output:0" : "");
  *scope.nodes().Add() = std::move(node);
  return text;
}

std::string NodeOf(const std::string& input) {
  return std::vector<std::string>(absl::StrSplit(absl::StripPrefix(input, "^"), ':'))[0];
}

}  // namespace

bool ChangeAttr(NodeScope& scope, FuzzRandom& random) {
  for (int attempt = 0; attempt < 8 && scope.size() > 0; ++attempt) {
    proto::NodeDef& node = scope.node(random.Int(scope.size()));
    const OpSchema* const op = BuiltinOps().Find(node.op());
    if (op == nullptr || op->attrs.empty()) continue;
    const AttrSpec& spec = random.Pick(op->attrs);
    if (DecidesArity(*op, spec.name) && !random.OneIn(50)) continue;
    proto::AttrValue value;
    const auto found = node.attr().find(spec.name);
    if (found != node.attr().end()) {
      value = found->second;
    } else {
      value.ParseFromString(spec.default_value);
    }
    if (!ChangeAttrValue(spec, random, &value)) continue;
    (*node.mutable_attr())[spec.name] = std::move(value);
    return true;
  }
  return false;
}

bool ChangeArity(NodeScope& scope, FuzzRandom& random) {
  for (int attempt = 0; attempt < 16 && scope.size() > 0; ++attempt) {
    const int index = random.Int(scope.size());
    proto::NodeDef& node = scope.node(index);
    const OpSchema* const op = BuiltinOps().Find(node.op());
    const Signature* const signature = scope.signature(index);
    if (op == nullptr || signature == nullptr) continue;
    for (size_t i = 0; i < op->inputs.size(); ++i) {
      const std::string& number = op->inputs[i].number_attr;
      if (number.empty() || node.attr().count(number) == 0) continue;
      const int begin = signature->input_starts[i], end = signature->input_starts[i + 1];
      if (end > NodeScope::NumDataInputs(node)) return false;
      const int wanted = random.OneIn(3) ? 0 : random.OneIn(10) ? 40 : 1 + random.Int(4);
      std::vector<std::string> inputs(node.input().begin(), node.input().end());
      const std::string last = end > begin ? inputs[static_cast<size_t>(end - 1)] : "";
      if (last.empty() && wanted > 0) return false;
      inputs.erase(inputs.begin() + std::min(begin + wanted, end), inputs.begin() + end);
      if (wanted > end - begin) inputs.insert(inputs.begin() + end, static_cast<size_t>(wanted - (end - begin)), last);
      node.clear_input();
      for (const std::string& input : inputs) node.add_input(input);
      (*node.mutable_attr())[number].set_i(wanted);
      return true;
    }
  }
  return false;
}

bool ChangeInput(NodeScope& scope, FuzzRandom& random) {
  int index = 0;
  proto::NodeDef* const node = NodeWithInputs(scope, random, &index);
  if (node == nullptr) return false;
  const int input = random.Int(NodeScope::NumDataInputs(*node));
  const std::vector<ScopeValue> values = scope.ValuesOf(InputType(scope, index, input), index);
  if (values.empty()) return false;
  node->set_input(input, random.Pick(values).text);
  return true;
}

bool ChangeControl(NodeScope& scope, FuzzRandom& random) {
  if (scope.size() < 2) return false;
  const int index = 1 + random.Int(scope.size() - 1);
  proto::NodeDef& node = scope.node(index);
  const bool has_control = node.input_size() > NodeScope::NumDataInputs(node);
  if (has_control && random.OneIn(2)) {
    node.mutable_input()->RemoveLast();
  } else {
    for (int n = random.OneIn(10) ? 12 : 1; n > 0; --n) {
      node.add_input(absl::StrCat("^", scope.node(random.Int(index)).name()));
    }
  }
  return true;
}

bool ChangeInputToConst(NodeScope& scope, FuzzRandom& random) {
  int index = 0;
  proto::NodeDef* const node = NodeWithInputs(scope, random, &index);
  if (node == nullptr) return false;
  const int input = random.Int(NodeScope::NumDataInputs(*node));
  const DType type = InputType(scope, index, input);
  if (IsRef(type) || type == DType::kResource || type == DType::kVariant || type == DType::kInvalid) return false;
  const std::string text = AddConst(scope, type, random);
  scope.node(index).set_input(input, text);
  return true;
}

bool ChangeOp(NodeScope& scope, const std::vector<OpCase>& ops, FuzzRandom& random) {
  for (int attempt = 0; attempt < 4 && scope.size() > 0; ++attempt) {
    const int index = random.Int(scope.size());
    const Signature* const signature = scope.signature(index);
    if (signature == nullptr) continue;
    const size_t start = random.Below(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      const OpCase& other = ops[(start + i) % ops.size()];
      if (other.signature.inputs != signature->inputs || other.signature.outputs != signature->outputs) continue;
      if (other.node.op() == scope.node(index).op()) continue;
      scope.node(index).set_op(other.node.op());
      *scope.node(index).mutable_attr() = other.node.attr();
      return true;
    }
  }
  return false;
}

bool AddOp(NodeScope& scope, const std::vector<OpCase>& ops, FuzzRandom& random) {
  const OpCase& chosen = random.Pick(ops);
  proto::NodeDef node = chosen.node;
  node.set_name(scope.NewName("fuzz_op"));
  for (const DType type : chosen.signature.inputs) {
    const std::vector<ScopeValue> values = scope.ValuesOf(type, scope.size());
    const bool is_plain = IsTrivial(type) || type == DType::kString;
    if (values.empty() && !is_plain) return false;
    node.add_input(!values.empty() && !random.OneIn(3) ? random.Pick(values).text
                   : is_plain                          ? AddConst(scope, type, random)
                                                       : values[0].text);
  }
  // Somebody before it may use it, as long as nothing of that is used by it: mostly a node that nothing depends on.
  const int index = scope.size();
  *scope.nodes().Add() = std::move(node);
  if (chosen.signature.outputs.empty() || random.OneIn(3)) return true;
  for (int i = index - 1; i >= 0; --i) {
    const Signature* const user = scope.signature(i);
    if (user == nullptr || !random.OneIn(2)) continue;
    for (int k = 0; k < std::min(NodeScope::NumDataInputs(scope.node(i)), static_cast<int>(user->inputs.size())); ++k) {
      if (user->inputs[static_cast<size_t>(k)] != chosen.signature.outputs[0]) continue;
      const proto::NodeDef& made = scope.node(index);
      scope.node(i).set_input(k, scope.is_body() ? BodyValueName(made, chosen.signature, 0) : made.name());
      return true;
    }
  }
  return true;
}

bool ChangeDevice(NodeScope& scope, FuzzRandom& random) {
  static const char* const kDevices[] = {
      "/device:CPU:0", "/device:CPU:1", "/device:CPU:2", "/cpu:1", "", "/job:localhost/replica:0/task:0/device:CPU:1"};
  if (scope.size() == 0) return false;
  proto::NodeDef& node = scope.node(random.Int(scope.size()));
  if (random.OneIn(4)) {
    const std::string other = scope.node(random.Int(scope.size())).name();
    (*node.mutable_attr())["_class"].mutable_list()->add_s(absl::StrCat("loc:@", other));
  } else {
    node.set_device(kDevices[random.Below(6)]);
  }
  return true;
}

bool ChangeTypes(NodeScope& scope, FuzzRandom& random) {
  if (scope.values().empty()) return false;
  const auto from = static_cast<proto::DataType>(BaseType(random.Pick(scope.values()).type));
  const auto to = static_cast<proto::DataType>(1 + random.Int(23));
  for (proto::NodeDef& node : scope.nodes()) {
    for (const std::string& name : AttrNames(node)) {
      proto::AttrValue& value = (*node.mutable_attr())[name];
      if (value.value_case() == proto::AttrValue::kType && value.type() == from) value.set_type(to);
      if (value.has_tensor() && value.tensor().dtype() == from) {
        *value.mutable_tensor() = HostileTensorProto(static_cast<DType>(to), random);
      }
      if (!value.has_list()) continue;
      for (int i = 0; i < value.list().type_size(); ++i) {
        if (value.list().type(i) == from) value.mutable_list()->set_type(i, to);
      }
    }
  }
  return true;
}

bool DropNode(NodeScope& scope, FuzzRandom& random) {
  if (scope.size() < 2) return false;
  const int index = random.Int(scope.size());
  const std::string name = scope.node(index).name();
  for (int i = 0; i < scope.size(); ++i) {
    proto::NodeDef& node = scope.node(i);
    for (int k = node.input_size() - 1; k >= 0; --k) {
      if (NodeOf(node.input(k)) != name) continue;
      if (absl::StartsWith(node.input(k), "^")) {
        node.mutable_input()->DeleteSubrange(k, 1);
        continue;
      }
      std::vector<ScopeValue> values = scope.ValuesOf(InputType(scope, i, k), i);
      values.erase(
          std::remove_if(values.begin(), values.end(), [&](const ScopeValue& value) { return value.node == index; }),
          values.end());
      if (!values.empty()) node.set_input(k, random.Pick(values).text);
    }
  }
  scope.nodes().DeleteSubrange(index, 1);
  return true;
}

bool DamageNode(NodeScope& scope, FuzzRandom& random) {
  if (scope.size() == 0) return false;
  static const char* const kNames[] = {"", "a b", "_x", "_tf.y", "a/../b", "^a", "a:0", "\xff", "/a", "a/", "A.B-c>d"};
  const int index = random.Int(scope.size());
  proto::NodeDef& node = scope.node(index);
  switch (random.Int(12)) {
    case 0:
      scope.nodes().DeleteSubrange(index, 1);
      break;
    case 1:
      node.set_name(kNames[random.Below(11)]);
      break;
    case 2:
      node.set_name(scope.node(random.Int(scope.size())).name());
      break;
    case 3:
      node.set_op(random.OneIn(2) ? "Nonsense" : scope.node(random.Int(scope.size())).op());
      break;
    case 4:
      node.clear_input();
      break;
    case 5:
      node.add_input(absl::StrCat(scope.node(random.Int(scope.size())).name(), ":", HostileInt(random)));
      break;
    case 6:
      for (int n = random.Int(14); n >= 0; --n) {
        node.add_input(random.OneIn(2) ? absl::StrCat("^missing", n)
                                       : absl::StrCat("^", scope.node(random.Int(scope.size())).name()));
      }
      break;
    case 7:
      if (node.input_size() > 0) node.set_input(random.Int(node.input_size()), random.OneIn(2) ? "missing" : "");
      break;
    case 8:
      if (node.input_size() > 1) node.mutable_input()->SwapElements(0, node.input_size() - 1);
      break;
    case 9:
      if (node.attr_size() > 0) node.mutable_attr()->erase(random.Pick(AttrNames(node)));
      break;
    case 10:
      *scope.nodes().Add() = proto::NodeDef(node);
      break;
    default: {
      if (node.attr_size() > 0) DamageAttrValue(random, &(*node.mutable_attr())[random.Pick(AttrNames(node))]);
      break;
    }
  }
  return true;
}

}  // namespace sluice
