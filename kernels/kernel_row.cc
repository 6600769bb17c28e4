#include "kernels/kernel_row.h"

#include <algorithm>

#include "kernels/kernel.h"

namespace sluice {

absl::StatusOr<std::unique_ptr<Kernel>> KernelFactory::Make(const KernelConstruction& construction) const {
  return plain_ != nullptr ? plain_(construction) : with_data_(construction, data_);
}

DTypeSet KernelRow::TypesOf(absl::string_view attr) const {
  for (const TypeConstraint& constraint : types()) {
    if (constraint.attr == attr) return constraint.types;
  }
  return kAllTypes;
}

bool Overlap(const KernelRow& a, const KernelRow& b) {
  if (a.op() != b.op() || a.device() != b.device() || a.label() != b.label() || a.priority() != b.priority()) {
    return false;
  }
  const absl::Span<const TypeConstraint> types = a.types();
  return std::all_of(types.begin(), types.end(), [&b](const TypeConstraint& constraint) {
    return constraint.types.Intersects(b.TypesOf(constraint.attr));
  });
}

}  // namespace sluice
