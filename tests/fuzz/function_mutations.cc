#include "tests/fuzz/function_mutations.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/ops/op_table.h"
#include "tests/fuzz/attr_mutations.h"
#include "tests/fuzz/node_scope.h"
#include "tests/testing/op_cases.h"

namespace sluice {
namespace {

// All attrs of the graph and of its bodies that name a function.
std::vector<proto::NameAttrList*> CallsOf(proto::GraphDef* graph) {
  std::vector<proto::NameAttrList*> calls;
  const auto add = [&](NodeDefs* nodes) {
    for (proto::NodeDef& node : *nodes) {
      std::vector<std::string> names;
      for (const auto& [name, value] : node.attr()) names.push_back(name);
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) {
        proto::AttrValue& value = (*node.mutable_attr())[name];
        if (value.has_func()) calls.push_back(value.mutable_func());
        if (!value.has_list()) continue;
        for (proto::NameAttrList& func : *value.mutable_list()->mutable_func()) calls.push_back(&func);
      }
    }
  };
  add(graph->mutable_node());
  for (proto::FunctionDef& function : *graph->mutable_library()->mutable_function()) {
    add(function.mutable_node_def());
  }
  return calls;
}

proto::FunctionDef* AnyFunction(proto::GraphDef* graph, FuzzRandom& random) {
  const int count = graph->library().function_size();
  return count == 0 ? nullptr : graph->mutable_library()->mutable_function(random.Int(count));
}

// Binds attr `name` of function `function` to `value` in all calls.
void BindEverywhere(proto::GraphDef* graph, const std::string& function, const std::string& name,
                    const proto::AttrValue& value) {
  for (proto::NameAttrList* const call : CallsOf(graph)) {
    if (call->name() == function) (*call->mutable_attr())[name] = value;
  }
}

}  // namespace

bool ChangeCallee(proto::GraphDef* graph, FuzzRandom& random) {
  const std::vector<proto::NameAttrList*> calls = CallsOf(graph);
  const proto::FunctionDef* const function = AnyFunction(graph, random);
  if (calls.empty() || function == nullptr) return false;
  proto::NameAttrList* const call = calls[random.Below(calls.size())];
  std::vector<std::string> alike;
  for (const proto::FunctionDef& old : graph->library().function()) {
    if (old.signature().name() != call->name()) continue;
    for (const proto::FunctionDef& other : graph->library().function()) {
      const proto::OpDef &a = old.signature(), &b = other.signature();
      if (a.input_arg_size() == b.input_arg_size() && a.output_arg_size() == b.output_arg_size()) {
        alike.push_back(b.name());
      }
    }
  }
  call->set_name(alike.empty() || random.OneIn(20) ? function->signature().name() : random.Pick(alike));
  return true;
}

bool ChangeBinding(proto::GraphDef* graph, FuzzRandom& random) {
  proto::FunctionDef* const function = AnyFunction(graph, random);
  if (function == nullptr || function->node_def_size() == 0) return false;
  proto::NodeDef& node = *function->mutable_node_def(random.Int(function->node_def_size()));
  const OpSchema* const op = BuiltinOps().Find(node.op());
  if (op == nullptr || op->attrs.empty()) return false;
  const AttrSpec& spec = random.Pick(op->attrs);
  if (spec.type == AttrType::kFunc || IsListType(spec.type)) return false;
  proto::AttrValue& inner = (*node.mutable_attr())[spec.name];
  std::string name = inner.placeholder();
  proto::AttrValue value = inner;
  if (name.empty()) {
    name = absl::StrCat("fuzz_", spec.name, "_", function->signature().attr_size());
    proto::OpDef::AttrDef& declared = *function->mutable_signature()->add_attr();
    declared.set_name(name);
    declared.set_type(AttrTypeName(spec.type));
    if (value.value_case() == proto::AttrValue::VALUE_NOT_SET) value.ParseFromString(spec.default_value);
    inner.set_placeholder(name);
  } else {
    value.clear_value();
    value.ParseFromString(spec.default_value);
  }
  if (!random.OneIn(4)) (void)ChangeAttrValue(spec, random, &value);
  BindEverywhere(graph, function->signature().name(), name, value);
  return true;
}

bool ChangeResult(proto::GraphDef* graph, FuzzRandom& random) {
  const int count = graph->library().function_size();
  if (count == 0) return false;
  const int index = random.Int(count);
  const NodeScope scope(graph, index);
  proto::FunctionDef& function = *graph->mutable_library()->mutable_function(index);
  if (function.signature().output_arg_size() == 0) return false;
  const proto::OpDef::ArgDef& result =
      function.signature().output_arg(random.Int(function.signature().output_arg_size()));
  const std::vector<ScopeValue> values = scope.ValuesOf(static_cast<DType>(result.type()), scope.size());
  if (values.empty()) return false;
  (*function.mutable_ret())[result.name()] = random.Pick(values).text;
  return true;
}

bool MoveIntoFunction(proto::GraphDef* graph, FuzzRandom& random) {
  if (graph->node_size() == 0 || graph->library().function_size() > 20) return false;
  // Inputs that name nothing cannot be translated.
  std::set<std::string> names;
  for (const proto::NodeDef& node : graph->node()) {
    if (!names.insert(node.name()).second || node.name() == "call") return false;
  }
  for (const proto::FunctionDef& function : graph->library().function()) {
    if (function.signature().name() == "Body") return false;
  }
  OpGraph whole;
  for (const proto::NodeDef& node : graph->node()) {
    for (const std::string& input : node.input()) {
      const std::string source = input.substr(input[0] == '^' ? 1 : 0, input.find(':'));
      if (names.count(source) == 0) return false;
    }
  }
  NodeScope scope(graph, -1);
  for (const ScopeValue& value : scope.values()) {
    if (IsRef(value.type) || whole.fetches.size() > 8 || scope.node(value.node).op() == "Placeholder") continue;
    if (random.OneIn(3)) whole.fetches.push_back(value.text);
  }
  whole.graph = *graph;
  const proto::NodeDef& bound = graph->node(random.Int(graph->node_size()));
  whole.target = bound.name();
  if (bound.op() == "Placeholder") return false;
  *graph = WrapInFunction(whole, random.OneIn(2) ? bound.name() : "").graph;
  return true;
}

bool DamageFunction(proto::GraphDef* graph, FuzzRandom& random) {
  proto::FunctionDef* const function = AnyFunction(graph, random);
  if (function == nullptr) return false;
  proto::OpDef& signature = *function->mutable_signature();
  switch (random.Int(10)) {
    case 0:
      function->clear_node_def();
      break;
    case 1:
      function->clear_ret();
      break;
    case 2:
      if (signature.output_arg_size() > 0) {
        (*function->mutable_ret())[signature.output_arg(0).name()] = random.OneIn(2) ? "missing:y:0" : "";
      }
      break;
    case 3:
      if (signature.input_arg_size() > 0) signature.mutable_input_arg()->RemoveLast();
      break;
    case 4:
      if (signature.input_arg_size() > 0) *signature.add_input_arg() = proto::OpDef::ArgDef(signature.input_arg(0));
      break;
    case 5:
      if (signature.output_arg_size() > 0)
        signature.mutable_output_arg(0)->set_type(static_cast<proto::DataType>(random.Int(30)));
      break;
    case 6:
      for (proto::NameAttrList* const call : CallsOf(graph)) call->set_name(signature.name());
      break;
    case 7: {
      proto::GradientDef& gradient = *graph->mutable_library()->add_gradient();
      gradient.set_function_name(signature.name());
      gradient.set_gradient_func(random.OneIn(2) ? signature.name() : "none");
      break;
    }
    case 8:
      (*function->mutable_control_ret())["fuzz"] = random.OneIn(2) ? "missing" : "";
      signature.add_control_output("fuzz");
      break;
    default:
      if (signature.attr_size() > 0) signature.mutable_attr()->RemoveLast();
      break;
  }
  return true;
}

}  // namespace sluice
