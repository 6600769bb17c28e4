#include "kernels/norm/norm_form.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<NormForm> NormForm::Read(const KernelConstruction& construction) {
  NormForm form;
  SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("data_format"));
  form.channels_second = format == "NCHW" || format == "NCDHW";
  if (!form.channels_second && format != "NHWC" && format != "NDHWC") {
    return AttrError("data_format", format, "NHWC, NCHW, NDHWC or NCDHW");
  }
  SLUICE_ASSIGN_OR_RETURN(form.is_training, construction.Get<bool>("is_training"));
  SLUICE_ASSIGN_OR_RETURN(form.epsilon, construction.Get<float>("epsilon"));
  if (construction.HasAttr("exponential_avg_factor")) {
    SLUICE_ASSIGN_OR_RETURN(form.average_factor, construction.Get<float>("exponential_avg_factor"));
  }
  if (!construction.HasAttr("activation_mode")) return form;
  SLUICE_ASSIGN_OR_RETURN(const std::string activation, construction.Get<std::string>("activation_mode"));
  form.is_relu = activation == "Relu";
  if (form.is_relu || activation == "Identity") return form;
  return AttrError("activation_mode", activation, "Identity or Relu");
}

absl::Status CheckImages(const KernelContext& context, int input) {
  const Shape& shape = context.input(input).shape();
  if (shape.rank() == 4 || shape.rank() == 5) return absl::OkStatus();
  return ShapeError(input, "", shape, "4 or 5 dimensions");
}

absl::Status CheckPerChannel(const KernelContext& context, int input, int64_t channels) {
  const Shape& shape = context.input(input).shape();
  if (shape.rank() == 1 && shape.dim(0) == channels) return absl::OkStatus();
  return ShapeError(input, "", shape, absl::StrCat("[", channels, "]"));
}

absl::Status CheckSameShape(const KernelContext& context, int input, const Shape& expected) {
  const Shape& shape = context.input(input).shape();
  if (shape == expected) return absl::OkStatus();
  return ShapeError(input, "", shape, expected.ToString());
}

}  // namespace sluice
