#include "tests/graph/ir/graph_equal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/proto/graph.pb.h"
#include "tests/graph/ir/fixed_order.h"

namespace sluice {
namespace {

std::vector<NamedAttr> Sorted(std::vector<NamedAttr> attrs) {
  std::sort(attrs.begin(), attrs.end(), [](const NamedAttr& a, const NamedAttr& b) { return a.name < b.name; });
  return attrs;
}

// Values that cannot be decoded are equal if protobuf reads the same: a tensor of no type, a shape without limits.
bool ValuesEqual(AttrView a, AttrView b) {
  if (AttrView::Equal(a, b)) return true;
  proto::AttrValue left, right;
  return left.ParseFromString(std::string(a.bytes())) && right.ParseFromString(std::string(b.bytes())) &&
         InFixedOrder(left) == InFixedOrder(right);
}

// The first thing in which two nodes of one name differ, or empty.
std::string NodeDifference(const Graph& a, NodeId x, const Graph& b, NodeId y) {
  if (a.op_name(x) != b.op_name(y)) return "op";
  if (a.device(x) != b.device(y)) return "device";
  const auto inputs = a.all_inputs(x), other = b.all_inputs(y);
  if (inputs.size() != other.size()) return "number of inputs";
  std::vector<std::string> controls, other_controls;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_control() != other[i].is_control()) return "number of inputs";
    if (inputs[i].is_control()) {
      controls.push_back(a.OutputName(inputs[i]));
      other_controls.push_back(b.OutputName(other[i]));
    } else if (a.OutputName(inputs[i]) != b.OutputName(other[i])) {
      return absl::StrCat("input ", i);
    }
  }
  std::sort(controls.begin(), controls.end());
  std::sort(other_controls.begin(), other_controls.end());
  if (controls != other_controls) return "control inputs";
  const std::vector<NamedAttr> attrs = Sorted(a.attrs(x)), other_attrs = Sorted(b.attrs(y));
  if (attrs.size() != other_attrs.size()) return "number of attrs";
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name != other_attrs[i].name || !ValuesEqual(attrs[i].value, other_attrs[i].value)) {
      return absl::StrCat("attr '", attrs[i].name, "'");
    }
  }
  return "";
}

std::string FunctionDifference(const FunctionDefinition& a, const FunctionDefinition& b) {
  if (a.bytes == b.bytes) return "";
  if (EncodeOpDef(a.schema) != EncodeOpDef(b.schema)) return "signature";
  if (a.nodes.size() != b.nodes.size()) return "number of nodes";
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const NodeDefView &x = a.nodes[i], &y = b.nodes[i];
    if (x.name != y.name || x.op != y.op || x.device != y.device || x.inputs != y.inputs) {
      return absl::StrCat("node '", PrintableName(x.name), "'");
    }
    const std::vector<NamedAttr> attrs = Sorted(x.attrs), other = Sorted(y.attrs);
    if (attrs.size() != other.size()) return absl::StrCat("attrs of node '", PrintableName(x.name), "'");
    for (size_t j = 0; j < attrs.size(); ++j) {
      if (attrs[j].name != other[j].name || !ValuesEqual(attrs[j].value, other[j].value)) {
        return absl::StrCat("attr '", attrs[j].name, "' of node '", PrintableName(x.name), "'");
      }
    }
  }
  auto ret = a.ret, other_ret = b.ret, control = a.control_ret, other_control = b.control_ret;
  for (auto* list : {&ret, &other_ret, &control, &other_control}) std::sort(list->begin(), list->end());
  if (ret != other_ret || control != other_control) return "results";
  return "";
}

std::string Difference(const Graph& a, const Graph& b) {
  if (a.num_nodes() != b.num_nodes()) return absl::StrCat("number of nodes: ", a.num_nodes(), ", ", b.num_nodes());
  for (NodeId id : a.Nodes()) {
    const NodeId other = b.Find(a.name(id));
    if (!b.Contains(other)) return absl::StrCat("node '", PrintableName(a.name(id)), "' is in one only");
    const std::string what = NodeDifference(a, id, b, other);
    if (!what.empty()) return absl::StrCat("node '", PrintableName(a.name(id)), "': ", what);
  }
  const GraphVersions &x = a.versions(), &y = b.versions();
  if (x.producer != y.producer || x.min_consumer != y.min_consumer || x.bad_consumers != y.bad_consumers) {
    return "versions";
  }
  if (a.library().Names() != b.library().Names()) return "names of functions";
  if (a.library().gradients() != b.library().gradients()) return "gradients of functions";
  for (const std::string& name : a.library().Names()) {
    const std::string what = FunctionDifference(*a.library().Find(name), *b.library().Find(name));
    if (!what.empty()) return absl::StrCat("function '", PrintableName(name), "': ", what);
  }
  return "";
}

}  // namespace

bool GraphsEqual(const Graph& a, const Graph& b, std::string* why) {
  const std::string difference = Difference(a, b);
  if (why != nullptr) *why = difference;
  return difference.empty();
}

}  // namespace sluice
