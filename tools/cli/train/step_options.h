#ifndef SLUICE_TOOLS_CLI_TRAIN_STEP_OPTIONS_H_
#define SLUICE_TOOLS_CLI_TRAIN_STEP_OPTIONS_H_

// The options of `sluice train` for a step, as tables.

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/training/train_options.h"

namespace sluice {

// An optimizer, by its name, with its defaults that differ from TrainStepOptions.
struct OptimizerName {
  absl::string_view name;
  Optimizer::Kind kind;
  double learning_rate;
  double momentum = 0, weight_decay = 0;
};
absl::Span<const OptimizerName> OptimizerNames();

// A way for the learning rate to change that --schedule names. The rates of kPiecewise are given by --rate-at instead.
struct ScheduleName {
  absl::string_view name;
  LearningRateSchedule::Kind kind;
};
absl::Span<const ScheduleName> ScheduleNames();

// The optimizers or schedules that an option applies to.
struct OptionOwner {
  enum class Kind { kAll, kOptimizers, kSchedules };
  Kind kind = Kind::kAll;
  absl::string_view names;  // With commas.
};

// A number of the step.
struct NumberOption {
  const char* flag;
  OptionOwner owner;
  const char* group;  // In the help.
  const char* help;
  const char* shown;  // The value that it has without the option.
  double least, most;
  bool is_whole;
  void (*set)(TrainStepOptions& options, double number);  // The kinds of optimizer and schedule are known by then.
};
absl::Span<const NumberOption> NumberOptions();

// An option without a value.
struct SwitchOption {
  const char* flag;
  OptionOwner owner;
  const char* group;
  const char* help;
  bool& (*field)(TrainStepOptions& options);
};
absl::Span<const SwitchOption> SwitchOptions();

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_TRAIN_STEP_OPTIONS_H_
