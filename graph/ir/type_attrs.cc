#include "graph/ir/type_attrs.h"

#include <algorithm>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

bool Has(const AttrList& attrs, absl::string_view name) {
  return std::any_of(attrs.begin(), attrs.end(), [&](const auto& attr) { return attr.first == name; });
}

// Gives `name` a value unless it has one.
void SetIfAbsent(AttrList& attrs, absl::string_view name, AttrValue value) {
  if (!Has(attrs, name)) attrs.emplace_back(std::string(name), std::move(value));
}

}  // namespace

// Walks arguments and inputs side by side.
absl::Status InferTypeAttrs(const Graph& graph, const OpSchema& schema, absl::Span<const Output> inputs, AttrList* to) {
  AttrList& attrs = *to;
  const size_t lists = static_cast<size_t>(
      std::count_if(schema.inputs.begin(), schema.inputs.end(), [](const ArgSpec& arg) { return arg.is_list(); }));
  const auto type_of = [&](size_t i) {
    if (i >= inputs.size() || !graph.Contains(inputs[i].node)) return DType::kInvalid;
    const std::vector<DType>& outputs = graph.signature(inputs[i].node).outputs;
    const size_t index = static_cast<size_t>(inputs[i].index);
    return index < outputs.size() ? BaseType(outputs[index]) : DType::kInvalid;
  };
  size_t at = 0;
  for (const ArgSpec& arg : schema.inputs) {
    size_t count = 1;
    if (arg.is_list()) {
      const auto given = std::find_if(attrs.begin(), attrs.end(), [&](const auto& attr) {
        return attr.first == (arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr);
      });
      if (given != attrs.end()) {
        if (arg.number_attr.empty()) {
          SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, given->second.view().AsTypeList());
          count = types.size();
        } else {
          SLUICE_ASSIGN_OR_RETURN(const int64_t number, given->second.view().AsInt());
          count = static_cast<size_t>(std::max<int64_t>(number, 0));
        }
      } else if (lists == 1) {
        const size_t others = schema.inputs.size() - 1;
        count = inputs.size() > others ? inputs.size() - others : 0;
      } else {
        return Error(ErrorCode::kAttrMissing)
            .Attr(arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr)
            .Text("cannot be told from the inputs");
      }
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

}  // namespace sluice
