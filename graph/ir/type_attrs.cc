#include "graph/ir/type_attrs.h"

#include "graph/ir/infer_attrs.h"

namespace sluice {

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
