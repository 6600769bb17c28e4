#include "tests/fuzz/node_scope.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/node_signature.h"

namespace sluice {

NodeScope::NodeScope(proto::GraphDef* graph, int function) : function_(function) {
  if (function >= 0) {
    proto::FunctionDef& def = *graph->mutable_library()->mutable_function(function);
    nodes_ = def.mutable_node_def();
    for (const proto::OpDef::ArgDef& arg : def.signature().input_arg()) {
      if (arg.number_attr().empty() && arg.type_list_attr().empty()) {
        values_.push_back({arg.name(), static_cast<DType>(arg.type()), -1});
      }
    }
  } else {
    nodes_ = graph->mutable_node();
  }
  for (int i = 0; i < nodes_->size(); ++i) {
    const proto::NodeDef& node = nodes_->Get(i);
    absl::StatusOr<Signature> signature = SignatureOf(node);
    signatures_.emplace_back();
    if (!signature.ok()) continue;
    for (int k = 0; k < static_cast<int>(signature->outputs.size()); ++k) {
      const std::string text = is_body() ? BodyValueName(node, *signature, k) : absl::StrCat(node.name(), ":", k);
      values_.push_back({text, signature->outputs[static_cast<size_t>(k)], i});
    }
    signatures_.back() = *std::move(signature);
  }
}

const Signature* NodeScope::signature(int i) const {
  if (i >= static_cast<int>(signatures_.size())) return nullptr;  // Added since.
  const std::optional<Signature>& found = signatures_[static_cast<size_t>(i)];
  return found.has_value() ? &*found : nullptr;
}

std::vector<ScopeValue> NodeScope::ValuesOf(DType type, int before) const {
  std::vector<ScopeValue> earlier, later;
  for (const ScopeValue& value : values_) {
    if (type != DType::kInvalid && BaseType(value.type) != BaseType(type)) continue;
    if (IsRef(type) && !IsRef(value.type)) continue;
    (value.node < before ? earlier : later).push_back(value);
  }
  return earlier.empty() ? later : earlier;
}

std::string NodeScope::NewName(const std::string& prefix) const {
  return absl::StrCat(prefix, "_", nodes_->size(), "_", values_.size());
}

int NodeScope::NumDataInputs(const proto::NodeDef& node) {
  int count = 0;
  while (count < node.input_size() && !absl::StartsWith(node.input(count), "^")) ++count;
  return count;
}

}  // namespace sluice
