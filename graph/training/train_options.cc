#include "graph/training/train_options.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

using Schedule = LearningRateSchedule;

absl::Status Wrong(absl::string_view option, absl::string_view found, absl::string_view expected) {
  return Error(ErrorCode::kAttrValue)
      .Text(absl::StrCat("option '", option, "' of a training step cannot be used like this"))
      .Found(found)
      .Expected(expected);
}

constexpr double kLowest = std::numeric_limits<double>::lowest();

// A number, and what it must be: not below (or, where `is_open`, above) a limit, and finite.
struct Bound {
  absl::string_view option;
  double value = 0, least = 0;
  bool is_open = false;
};

absl::Status CheckBounds(const std::vector<Bound>& bounds) {
  for (const Bound& bound : bounds) {
    const bool is_large = bound.is_open ? bound.value > bound.least : bound.value >= bound.least;
    if (is_large && std::isfinite(bound.value)) continue;
    return Wrong(bound.option, absl::StrCat(bound.value),
                 absl::StrCat("a finite number ", bound.is_open ? "above " : "not below ", bound.least));
  }
  return absl::OkStatus();
}

absl::Status CheckPiecewise(const Schedule& schedule) {
  const std::vector<int64_t>& b = schedule.boundaries;
  if (schedule.values.size() != b.size() + 1) {
    return Wrong("schedule.values", absl::StrCat(schedule.values.size(), " of them"),
                 absl::StrCat(b.size() + 1, ", one more than boundaries"));
  }
  if (std::adjacent_find(b.begin(), b.end(), std::greater_equal<>()) == b.end()) return absl::OkStatus();
  return Wrong("schedule.boundaries", "a boundary that is not above the one before", "ascending ones");
}

absl::Status CheckSchedule(const Schedule& schedule) {
  SLUICE_RETURN_IF_ERROR(CheckBounds({{"schedule.warmup_steps", static_cast<double>(schedule.warmup_steps)},
                                      {"schedule.warmup_start", schedule.warmup_start, kLowest}}));
  switch (schedule.kind) {
    case Schedule::Kind::kConstant:
      return absl::OkStatus();
    case Schedule::Kind::kPiecewise:
      return CheckPiecewise(schedule);
    case Schedule::Kind::kExponential:
      return CheckBounds({{"schedule.decay_steps", schedule.decay_steps, 0, true},
                          {"schedule.decay_rate", schedule.decay_rate, 0, true}});
    case Schedule::Kind::kPolynomial:
      return CheckBounds({{"schedule.decay_steps", schedule.decay_steps, 0, true},
                          {"schedule.power", schedule.power, 0},
                          {"schedule.end_rate", schedule.end_rate, kLowest}});
    case Schedule::Kind::kCosine:
      return CheckBounds({{"schedule.decay_steps", schedule.decay_steps, 0, true}});
    case Schedule::Kind::kCosineRestarts:
      return CheckBounds({{"schedule.decay_steps", schedule.decay_steps, 0, true},
                          {"schedule.t_mul", schedule.t_mul, 1},
                          {"schedule.m_mul", schedule.m_mul, 0, true}});
  }
  return absl::OkStatus();
}

absl::Status CheckScaling(const LossScaling& scaling) {
  if (scaling.kind == LossScaling::Kind::kNone) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(CheckBounds({{"loss_scaling.scale", scaling.scale, 1}}));
  if (scaling.kind == LossScaling::Kind::kFixed) return absl::OkStatus();
  return CheckBounds({{"loss_scaling.growth_steps", static_cast<double>(scaling.growth_steps), 1},
                      {"loss_scaling.factor", scaling.factor, 1, true}});
}

}  // namespace

absl::Status CheckTrainStepOptions(const TrainStepOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckBounds({{"learning_rate", options.learning_rate, kLowest},
                                      {"clip_norm", options.clip_norm},
                                      {"clip_each_norm", options.clip_each_norm},
                                      {"clip_value", options.clip_value},
                                      {"l2_regularization", options.l2_regularization},
                                      {"weight_decay", options.weight_decay},
                                      {"accumulate_steps", static_cast<double>(options.accumulate_steps), 1}}));
  const int num_clips = (options.clip_norm > 0) + (options.clip_each_norm > 0) + (options.clip_value > 0);
  if (num_clips > 1) {
    return Wrong("clip_norm", "more than one of clip_norm, clip_each_norm and clip_value", "one of them");
  }
  if (options.weight_decay > 0 && options.optimizer.kind == Optimizer::Kind::kAdamW) {
    return Wrong("weight_decay", "given beside AdamW, which has one of its own", "optimizer.weight_decay");
  }
  if (options.schedule.kind == Schedule::Kind::kPiecewise && options.learning_rate_tensor.is_set()) {
    return Wrong("learning_rate_tensor", "given beside a schedule of rates that are given", "one of the two");
  }
  if (!options.gradients.grad_ys.empty()) {
    return Wrong("gradients.grad_ys", "given for a loss, whose gradient begins with ones", "none");
  }
  if (options.name.empty()) return Wrong("name", "nothing", "the name of a node");
  SLUICE_RETURN_IF_ERROR(CheckSchedule(options.schedule));
  return CheckScaling(options.loss_scaling);
}

}  // namespace sluice
