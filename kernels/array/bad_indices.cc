#include "kernels/array/bad_indices.h"

#include <string>

#include "graph/base/error.h"

namespace sluice {

absl::StatusOr<BadIndices> ReadBadIndices(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string policy, construction.GetString("bad_indices_policy"));
  if (policy == "IGNORE") return BadIndices::kAreSkipped;
  if (policy.empty() || policy == "DEFAULT" || policy == "ERROR") return BadIndices::kAreErrors;
  return Error(ErrorCode::kOpAttr).Attr("bad_indices_policy").Found(policy).Expected("DEFAULT, ERROR or IGNORE");
}

}  // namespace sluice
