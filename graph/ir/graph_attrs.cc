// Reading the attrs of nodes.

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/graph.h"

namespace sluice {

std::vector<NamedAttr> Graph::attrs(NodeId id) const {
  const Record& record = rec(id);
  std::vector<NamedAttr> result;
  result.reserve(record.num_attrs);
  for (uint32_t i = 0; i < record.num_attrs; ++i) {
    const AttrRecord& attr = attrs_[record.first_attr + i];
    result.push_back({symbols_[attr.name], AttrView(absl::string_view(attr.data, attr.size))});
  }
  return result;
}

bool Graph::FindAttr(NodeId id, absl::string_view wanted, AttrView* value) const {
  const Record& record = rec(id);
  for (uint32_t i = 0; i < record.num_attrs; ++i) {
    const AttrRecord& attr = attrs_[record.first_attr + i];
    if (symbols_[attr.name] != wanted) continue;
    *value = AttrView(absl::string_view(attr.data, attr.size));
    return true;
  }
  const AttrSpec* const spec = record.op->FindAttr(wanted);
  if (spec == nullptr || !spec->has_default) return false;
  *value = AttrView(spec->default_value);
  return true;
}

bool Graph::HasAttr(NodeId id, absl::string_view wanted) const {
  AttrView value;
  return FindAttr(id, wanted, &value);
}

absl::StatusOr<AttrView> Graph::GetAttr(NodeId id, absl::string_view wanted) const {
  AttrView value;
  if (FindAttr(id, wanted, &value)) return value;
  return Locate(id, Error(ErrorCode::kAttrMissing).Attr(wanted).Text("is missing"));
}

// One typed reader: finds the attr, decodes it, names attr and node in errors.
#define SLUICE_GRAPH_READER(Type, Get, As)                                     \
  absl::StatusOr<Type> Graph::Get(NodeId id, absl::string_view wanted) const { \
    SLUICE_ASSIGN_OR_RETURN(const AttrView view, GetAttr(id, wanted));         \
    absl::StatusOr<Type> value = view.As();                                    \
    if (!value.ok()) return Locate(id, WithAttr(value.status(), wanted));      \
    return value;                                                              \
  }
SLUICE_GRAPH_READER(int64_t, GetInt, AsInt)
SLUICE_GRAPH_READER(bool, GetBool, AsBool)
SLUICE_GRAPH_READER(float, GetFloat, AsFloat)
SLUICE_GRAPH_READER(absl::string_view, GetString, AsString)
SLUICE_GRAPH_READER(DType, GetType, AsType)
SLUICE_GRAPH_READER(PartialShape, GetShape, AsShape)
#undef SLUICE_GRAPH_READER

}  // namespace sluice
