#include "kernels/math/channels.h"

#include <string>

#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<bool> ReadChannelsComeSecond(const KernelConstruction& construction) {
  if (!construction.HasAttr("data_format")) return false;
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("data_format"));
  if (format == "NHWC") return false;
  if (format == "NCHW") return true;
  return AttrError("data_format", format, "NHWC or NCHW");
}

}  // namespace sluice
