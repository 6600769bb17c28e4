#include "graph/ir/attr_minimums.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

absl::Status CheckNode(const Graph& graph, NodeId id) {
  for (const AttrSpec& spec : graph.op(id).attrs) {
    if (!spec.has_minimum || (spec.type != AttrType::kInt && spec.type != AttrType::kListType)) continue;
    AttrView value;
    if (!graph.FindAttr(id, spec.name, &value)) continue;
    int64_t found = 0;
    if (spec.type == AttrType::kInt) {
      SLUICE_ASSIGN_OR_RETURN(found, value.AsInt());
    } else {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, value.AsTypeList());
      found = static_cast<int64_t>(types.size());
    }
    if (found >= spec.minimum) continue;
    return Error(ErrorCode::kAttrValue)
        .Attr(spec.name)
        .Text(spec.type == AttrType::kInt ? "is too small" : "has too few types")
        .Found(absl::StrCat(found))
        .Expected(absl::StrCat("at least ", spec.minimum));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAttrMinimums(const Graph& graph, NodeId id) { return graph.Locate(id, CheckNode(graph, id)); }

absl::Status CheckAttrMinimums(const Graph& graph) {
  for (NodeId id : graph.Nodes()) SLUICE_RETURN_IF_ERROR(CheckAttrMinimums(graph, id));
  return absl::OkStatus();
}

}  // namespace sluice
