#include "kernels/array/on_bad_index.h"

#include <string>

#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<OnBadIndex> ReadOnBadIndex(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string policy, construction.Get<std::string>("bad_indices_policy"));
  if (policy == "IGNORE") return OnBadIndex::kSkip;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return OnBadIndex::kError;
  return AttrError("bad_indices_policy", policy, "DEFAULT, ERROR or IGNORE");
}

}  // namespace sluice
