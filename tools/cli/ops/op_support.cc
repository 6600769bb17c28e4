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

// `fn(row)` for each row of `op`, until it returns false.
template <typename Fn>
void ForEachRow(const KernelRegistry& registry, absl::string_view op, Fn fn) {
  for (const absl::Span<const KernelRow> table : registry.Tables()) {
    for (const KernelRow& row : table) {
      if (row.op() == op && !fn(row)) return;
    }
  }
}

}  // namespace

OpSupport SupportOf(const KernelRegistry& registry, absl::string_view op) {
  if (NeedsNoKernel(OpClassOf(op))) return OpSupport::kOrder;
  if (IsExpanded(CallKindOf(op))) return OpSupport::kExpanded;
  OpSupport support = OpSupport::kNone;
  ForEachRow(registry, op, [&support](const KernelRow&) {
    support = OpSupport::kKernel;
    return false;
  });
  return support;
}

std::vector<KernelFact> KernelsOf(const KernelRegistry& registry, const OpSchema& op) {
  std::vector<KernelFact> facts;
  ForEachRow(registry, op.name, [&](const KernelRow& row) {
    KernelFact fact;
    fact.device = std::string(DeviceTypeName(row.device()));
    for (const TypeConstraint& constraint : row.types()) {
      fact.attrs.push_back({std::string(constraint.attr), TypesIn(constraint.types, op.FindAttr(constraint.attr))});
    }
    facts.push_back(std::move(fact));
    return true;
  });
  return facts;
}

}  // namespace sluice
