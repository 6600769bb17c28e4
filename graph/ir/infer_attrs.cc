#include "graph/ir/infer_attrs.h"

#include <algorithm>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

const AttrValue* FindIn(const AttrList& attrs, absl::string_view name) {
  const auto found = std::find_if(attrs.begin(), attrs.end(), [&](const auto& attr) { return attr.first == name; });
  return found == attrs.end() ? nullptr : &found->second;
}

// Gives `name` a value unless it has one.
void SetIfAbsent(AttrList* attrs, const std::string& name, AttrValue value) {
  if (FindIn(*attrs, name) == nullptr) attrs->emplace_back(name, std::move(value));
}

// The inputs that the list `arg` stands for: as its attr says, or all that the other arguments leave.
absl::StatusOr<size_t> CountOf(const ArgSpec& arg, const OpSchema& schema, size_t num_inputs, const AttrList& attrs) {
  const bool has_types = arg.number_attr.empty();
  const std::string& attr = has_types ? arg.type_list_attr : arg.number_attr;
  if (const AttrValue* const given = FindIn(attrs, attr)) {
    if (has_types) {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, given->view().AsTypeList());
      return types.size();
    }
    SLUICE_ASSIGN_OR_RETURN(const int64_t number, given->view().AsInt());
    return static_cast<size_t>(std::max<int64_t>(number, 0));
  }
  const auto lists =
      std::count_if(schema.inputs.begin(), schema.inputs.end(), [](const ArgSpec& other) { return other.is_list(); });
  if (lists != 1) return Error(ErrorCode::kAttrMissing).Attr(attr).Text("cannot be told from the inputs");
  const size_t others = schema.inputs.size() - 1;
  return num_inputs > others ? num_inputs - others : 0;
}

}  // namespace

absl::Status InferAttrs(const OpSchema& schema, absl::Span<const DType> inputs, AttrList* attrs) {
  const auto type_of = [&](size_t i) { return i < inputs.size() ? inputs[i] : DType::kInvalid; };
  size_t at = 0;
  for (const ArgSpec& arg : schema.inputs) {
    size_t count = 1;
    if (arg.is_list()) {
      SLUICE_ASSIGN_OR_RETURN(count, CountOf(arg, schema, inputs.size(), *attrs));
    }
    if (!arg.number_attr.empty()) SetIfAbsent(attrs, arg.number_attr, static_cast<int64_t>(count));
    if (!arg.type_list_attr.empty()) {
      std::vector<DType> types;
      for (size_t i = at; i < at + count; ++i) types.push_back(type_of(i));
      SetIfAbsent(attrs, arg.type_list_attr, types);
    }
    if (!arg.type_attr.empty() && count > 0 && type_of(at) != DType::kInvalid) {
      SetIfAbsent(attrs, arg.type_attr, type_of(at));
    }
    at += count;
  }
  return absl::OkStatus();
}

absl::Status InferTypeAttrs(const Graph& graph, const OpSchema& schema, absl::Span<const Output> inputs,
                            AttrList* attrs) {
  std::vector<DType> types;
  for (const Output& input : inputs) {
    const std::vector<DType>* const outputs =
        graph.Contains(input.node) ? &graph.signature(input.node).outputs : nullptr;
    const size_t index = static_cast<size_t>(input.index);
    const bool is_known = outputs != nullptr && index < outputs->size();
    types.push_back(is_known ? BaseType((*outputs)[index]) : DType::kInvalid);
  }
  return InferAttrs(schema, types, attrs);
}

}  // namespace sluice
