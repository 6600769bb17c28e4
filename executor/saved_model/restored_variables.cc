#include "executor/saved_model/restored_variables.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/ir/function_library.h"
#include "graph/value/tensor.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

// The body of a function that restores: finds which argument gets which tensor.
class RestoreBody {
 public:
  explicit RestoreBody(const FunctionDefinition& function) : function_(function) {
    for (const NodeDefView& node : function.nodes) nodes_.emplace(node.name, &node);
  }

  // By argument: the key of the tensor assigned to it; empty if that is unknown, or there are several.
  HashMap<absl::string_view, std::string> AssignedKeys() {
    HashMap<absl::string_view, std::string> assigned;
    for (const NodeDefView& node : function_.nodes) {
      if (node.op != "AssignVariableOp" || node.inputs.size() < 2) continue;
      const auto [place, is_new] = assigned.emplace(node.inputs[0], KeyOf(node.inputs[1]));
      if (!is_new) place->second.clear();
    }
    return assigned;
  }

 private:
  // The node that `input` ("node:output:0") is an output of, or null.
  const NodeDefView* Find(absl::string_view input) const {
    const auto found = nodes_.find(input.substr(0, input.find(':')));
    return found == nodes_.end() ? nullptr : found->second;
  }

  // Returns the key of the tensor that `value` is, whole and unchanged; else empty.
  std::string KeyOf(absl::string_view value) {
    const NodeDefView* node = Find(value);
    if (node != nullptr && node->op == "Identity" && !node->inputs.empty()) {
      value = node->inputs[0];
      node = Find(value);
    }
    if (node == nullptr || node->op != "RestoreV2" || node->inputs.size() < 3) return std::string();
    const auto [keys, is_new] = keys_.emplace(node, std::vector<std::string>());
    if (is_new) keys->second = WholeKeysOf(*node);
    size_t i = 0;
    const std::vector<absl::string_view> parts = absl::StrSplit(value, ':');
    if (parts.size() != 3 || !absl::SimpleAtoi(parts[2], &i) || i >= keys->second.size()) return std::string();
    return keys->second[i];
  }

  // By output of RestoreV2: the key, or empty if it gives only a part.
  std::vector<std::string> WholeKeysOf(const NodeDefView& restore) const {
    const std::vector<std::string> names = StringsOf(restore.inputs[1]), slices = StringsOf(restore.inputs[2]);
    std::vector<std::string> keys(std::min(names.size(), slices.size()));
    for (size_t i = 0; i < keys.size(); ++i) {
      if (slices[i].empty()) keys[i] = names[i];
    }
    return keys;
  }

  // The strings of the constant `input`.
  std::vector<std::string> StringsOf(absl::string_view input) const {
    std::vector<std::string> strings;
    const NodeDefView* const node = Find(input);
    const NamedAttr* const value = node == nullptr || node->op != "Const" ? nullptr : node->FindAttr("value");
    if (value == nullptr) return strings;
    const absl::StatusOr<absl::string_view> bytes = value->value.AsTensorBytes();
    if (!bytes.ok()) return strings;
    const absl::StatusOr<Tensor> tensor = DecodeTensorProto(*bytes);
    if (!tensor.ok() || tensor->dtype() != DType::kString) return strings;
    for (const TString& string : tensor->flat<TString>()) strings.emplace_back(string.view());
    return strings;
  }

  const FunctionDefinition& function_;
  HashMap<absl::string_view, const NodeDefView*> nodes_;
  HashMap<const NodeDefView*, std::vector<std::string>> keys_;  // Of nodes RestoreV2.
};

}  // namespace

HashMap<std::string, NodeId> RestoredVariables(const Graph& graph, NodeId restore) {
  HashMap<std::string, NodeId> variables;
  const absl::StatusOr<AttrView> attr = graph.GetAttr(restore, "f");
  if (!attr.ok()) return variables;
  const absl::StatusOr<FuncView> called = attr->AsFunc();
  if (!called.ok()) return variables;
  const std::shared_ptr<const FunctionDefinition> function = graph.library().Find(called->name);
  if (function == nullptr) return variables;
  const HashMap<absl::string_view, std::string> assigned = RestoreBody(*function).AssignedKeys();
  const absl::Span<const Output> inputs = graph.inputs(restore);
  for (size_t i = 0; i < std::min(inputs.size(), function->schema.inputs.size()); ++i) {
    const auto found = assigned.find(absl::string_view(function->schema.inputs[i].name));
    if (found == assigned.end() || found->second.empty() || !graph.Is(inputs[i].node, "VarHandleOp")) continue;
    variables.emplace(found->second, inputs[i].node);
  }
  return variables;
}

}  // namespace sluice
