#include "kernels/array/mirror_mode.h"

#include <string>

#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<int64_t> ReadMirrorMode(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string mode, construction.Get<std::string>("mode"));
  if (mode == "REFLECT") return 1;
  if (mode == "SYMMETRIC") return 0;
  return AttrError("mode", mode, "REFLECT or SYMMETRIC");
}

}  // namespace sluice
