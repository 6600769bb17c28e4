#include "tools/cli/train/optimizer_option.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

// An optimizer, by its name, and where it begins from other numbers than TrainStepOptions does.
struct NameRow {
  absl::string_view name;
  Optimizer::Kind kind;
  double learning_rate;
  double momentum = 0, weight_decay = 0;
};

constexpr NameRow kNames[] = {
    {"sgd", Optimizer::Kind::kSgd, 0.01},          {"momentum", Optimizer::Kind::kMomentum, 0.01, 0.9},
    {"adagrad", Optimizer::Kind::kAdagrad, 0.01},  {"adadelta", Optimizer::Kind::kAdadelta, 1},
    {"adam", Optimizer::Kind::kAdam, 0.001},       {"adamw", Optimizer::Kind::kAdamW, 0.001, 0, 0.004},
    {"rmsprop", Optimizer::Kind::kRmsProp, 0.001}, {"ftrl", Optimizer::Kind::kFtrl, 0.01},
};

// A number of the step: its option, and which optimizers it means something to (empty: all).
struct NumberRow {
  const char* flag;
  absl::string_view optimizers;
  const char* help;
  const char* shown;  // The value that it has without the option.
  double least, most;
  double& (*field)(TrainStepOptions& options);
};

constexpr double kMost = 1e30;

constexpr NumberRow kNumbers[] = {
    {"--learning-rate,--lr", "", "how far a step goes", "0.01; adam, adamw, rmsprop 0.001; adadelta 1", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.learning_rate; }},
    {"--clip-norm", "", "scale all gradients down to this norm where theirs, together, is larger", "none", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.clip_norm; }},
    {"--momentum", "momentum,rmsprop", "share of the step before", "momentum 0.9, rmsprop 0", 0, 1,
     [](TrainStepOptions& o) -> double& { return o.optimizer.momentum; }},
    {"--beta1", "adam,adamw", "decay of the mean of gradients", "0.9", 0, 1,
     [](TrainStepOptions& o) -> double& { return o.optimizer.beta1; }},
    {"--beta2", "adam,adamw", "decay of the mean of their squares", "0.999", 0, 1,
     [](TrainStepOptions& o) -> double& { return o.optimizer.beta2; }},
    {"--epsilon", "adam,adamw,adadelta,rmsprop", "added to what is divided by", "1e-8", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.epsilon; }},
    {"--weight-decay", "adamw", "share of the weights that a step takes away, times the rate", "0.004", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.weight_decay; }},
    {"--decay", "rmsprop", "decay of the mean of squares", "0.9", 0, 1,
     [](TrainStepOptions& o) -> double& { return o.optimizer.decay; }},
    {"--rho", "adadelta", "decay of the means of squares", "0.95", 0, 1,
     [](TrainStepOptions& o) -> double& { return o.optimizer.rho; }},
    {"--initial-accumulator", "adagrad,ftrl", "what sums of squares begin with", "0.1", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.initial_accumulator; }},
    {"--l1", "ftrl", "weight of the sum of sizes", "0", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.l1; }},
    {"--l2", "ftrl", "weight of the sum of squares", "0", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.l2; }},
    {"--l2-shrinkage", "ftrl", "the same, of the gradient", "0", 0, kMost,
     [](TrainStepOptions& o) -> double& { return o.optimizer.l2_shrinkage; }},
    {"--learning-rate-power", "ftrl", "power of the accumulators", "-0.5", -kMost, 0,
     [](TrainStepOptions& o) -> double& { return o.optimizer.learning_rate_power; }},
};

struct FlagRow {
  const char* flag;
  absl::string_view optimizers;
  const char* help;
  bool& (*field)(TrainStepOptions& options);
};

constexpr FlagRow kFlags[] = {
    {"--nesterov", "momentum", "Nesterov's momentum",
     [](TrainStepOptions& o) -> bool& { return o.optimizer.nesterov; }},
    {"--centered", "rmsprop", "divide by the deviation instead of the mean square",
     [](TrainStepOptions& o) -> bool& { return o.optimizer.centered; }},
};

std::string ForWhom(absl::string_view optimizers) {
  if (optimizers.empty()) return "";
  return absl::StrCat(absl::StrJoin(absl::StrSplit(optimizers, ','), ", "), ": ");
}

absl::Status CheckBelongs(absl::string_view flag, absl::string_view optimizers, const std::string& name) {
  const std::vector<absl::string_view> those = absl::StrSplit(optimizers, ',');
  if (optimizers.empty() || std::find(those.begin(), those.end(), name) != those.end()) return absl::OkStatus();
  return Error(ErrorCode::kValueSyntax)
      .Help(absl::StrCat("leave it out, or choose another --optimizer"))
      .Text(
          absl::StrCat(flag, " means nothing to the optimizer ", name, ": it belongs to ", absl::StrJoin(those, ", ")));
}

absl::Status UnknownOptimizer(const std::string& name) {
  std::vector<absl::string_view> names;
  for (const NameRow& row : kNames) names.push_back(row.name);
  const std::vector<std::string> near = NearestNames(name, names, 2);
  ErrorBuilder error = Error(ErrorCode::kValueSyntax);
  error.Text(absl::StrCat("no optimizer is called '", PrintableName(name), "'"));
  error.Expected(absl::StrJoin(names, ", "));
  if (!near.empty()) error.Help(absl::StrCat("did you mean ", absl::StrJoin(near, " or "), "?"));
  return error;
}

}  // namespace

void OptimizerOption::Declare(CLI::App& app) {
  numbers_.resize(std::size(kNumbers));
  flags_.resize(std::size(kFlags));
  std::vector<absl::string_view> names;
  for (const NameRow& row : kNames) names.push_back(row.name);
  app.add_option_function<std::string>(
         "--optimizer",
         [this](const std::string& name) {
           name_ = name;
           has_name_ = true;
         },
         absl::StrCat("how variables are changed by their gradients: ", absl::StrJoin(names, ", ")))
      ->option_text("NAME [sgd]")
      ->group("Optimizer");
  for (size_t i = 0; i < std::size(kNumbers); ++i) {
    const NumberRow& row = kNumbers[i];
    app.add_option(row.flag, numbers_[i], absl::StrCat(ForWhom(row.optimizers), row.help))
        ->check(NumberIn(row.least, row.most))
        ->option_text(absl::StrCat("N [", row.shown, "]"))
        ->group("Optimizer");
  }
  for (size_t i = 0; i < std::size(kFlags); ++i) {
    app.add_flag_function(
           kFlags[i].flag, [this, i](std::int64_t) { flags_[i] = 1; },
           absl::StrCat(ForWhom(kFlags[i].optimizers), kFlags[i].help))
        ->group("Optimizer");
  }
}

bool OptimizerOption::is_given() const {
  const bool has_number =
      std::any_of(numbers_.begin(), numbers_.end(), [](const auto& number) { return number.has_value(); });
  return has_name_ || has_number || std::any_of(flags_.begin(), flags_.end(), [](char flag) { return flag != 0; });
}

absl::StatusOr<TrainStepOptions> OptimizerOption::Read() const {
  const auto row = std::find_if(std::begin(kNames), std::end(kNames),
                                [this](const NameRow& candidate) { return candidate.name == name_; });
  if (row == std::end(kNames)) return UnknownOptimizer(name_);
  TrainStepOptions options;
  options.optimizer.kind = row->kind;
  options.learning_rate = row->learning_rate;
  options.optimizer.momentum = row->momentum;
  options.optimizer.weight_decay = row->weight_decay;
  ErrorCollector errors;
  for (size_t i = 0; i < std::size(kNumbers); ++i) {
    if (!numbers_[i].has_value()) continue;
    errors.Add(CheckBelongs(kNumbers[i].flag, kNumbers[i].optimizers, name_));
    kNumbers[i].field(options) = *numbers_[i];
  }
  for (size_t i = 0; i < std::size(kFlags); ++i) {
    if (flags_[i] == 0) continue;
    errors.Add(CheckBelongs(kFlags[i].flag, kFlags[i].optimizers, name_));
    kFlags[i].field(options) = true;
  }
  const absl::Status status = errors.Finish();
  if (!status.ok()) return status;
  return options;
}

}  // namespace sluice
