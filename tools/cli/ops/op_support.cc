#include "tools/cli/ops/op_support.h"

#include <algorithm>

#include "absl/types/span.h"
#include "graph/functions/call_site.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

// Dtypes of `set` that a tensor can have and that `attr` (null: anything) allows.
std::vector<DType> TypesIn(const DTypeSet& set, const AttrSpec* attr) {
  std::vector<DType> types;
  for (int number = 1; IsSupported(static_cast<DType>(number)); ++number) {
    const DType t = static_cast<DType>(number);
    const bool is_allowed =
        attr == nullptr || attr->allowed_types.empty() ||
        std::find(attr->allowed_types.begin(), attr->allowed_types.end(), t) != attr->allowed_types.end();
    if (is_allowed && set.Contains(t)) types.push_back(t);
  }
  return types;
}

KernelFact FactOf(const KernelRow& row, absl::string_view origin, const OpSchema& op) {
  KernelFact fact;
  fact.device = std::string(DeviceTypeName(row.device()));
  fact.origin = std::string(origin);
  for (const TypeConstraint& constraint : row.types()) {
    fact.attrs.push_back({std::string(constraint.attr), TypesIn(constraint.types, op.FindAttr(constraint.attr))});
  }
  return fact;
}

}  // namespace

OpSupport SupportOf(const KernelRegistry& registry, absl::string_view op) {
  if (NeedsNoKernel(OpClassOf(op))) return OpSupport::kOrder;
  const CallKind kind = CallKindOf(op);
  if (IsExpanded(kind) || kind == CallKind::kGradient) return OpSupport::kExpanded;
  return registry.HasRows(op) ? OpSupport::kKernel : OpSupport::kNone;
}

std::vector<KernelFact> KernelsOf(const KernelRegistry& registry, const OpSchema& op) {
  std::vector<KernelFact> facts;
  for (const OwnedKernelRow* const row : registry.HostRowsOf(op.name)) {
    facts.push_back(FactOf(row->row(), row->origin(), op));
  }
  for (const absl::Span<const KernelRow> table : registry.Tables()) {
    for (const KernelRow& row : table) {
      if (row.op() == op.name) facts.push_back(FactOf(row, "", op));
    }
  }
  return facts;
}

}  // namespace sluice
