#include "tools/cli/train/optimizer_option.h"

#include <algorithm>
#include <cmath>

#include "CLI/App.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "tools/cli/run/option_checks.h"
#include "tools/cli/train/step_options.h"

namespace sluice {
namespace {

constexpr char kPiecewise[] = "given by --rate-at";

std::string HelpOf(const OptionOwner& owner, absl::string_view help) {
  if (owner.kind == OptionOwner::Kind::kAll) return std::string(help);
  return absl::StrCat(absl::StrJoin(absl::StrSplit(owner.names, ','), ", "), ": ", help);
}

template <typename Row>
std::string NamesOf(absl::Span<const Row> rows) {
  std::vector<absl::string_view> names;
  for (const Row& row : rows) names.push_back(row.name);
  return absl::StrJoin(names, ", ");
}

// Finds the row of that name; else null, and an error about an unknown `kind`.
template <typename Row>
const Row* FindRow(absl::Span<const Row> rows, absl::string_view kind, const std::string& name,
                   ErrorCollector& errors) {
  std::vector<absl::string_view> names;
  for (const Row& row : rows) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  const std::vector<std::string> near = NearestNames(name, names, 2);
  ErrorBuilder error = Error(ErrorCode::kValueSyntax);
  error.Text(absl::StrCat("no ", kind, " is called '", PrintableName(name), "'")).Expected(NamesOf(rows));
  if (!near.empty()) error.Help(absl::StrCat("did you mean ", absl::StrJoin(near, " or "), "?"));
  errors.Add(error);
  return nullptr;
}

absl::Status Wrong(absl::string_view text, absl::string_view help = "") {
  return Error(ErrorCode::kValueSyntax).Help(help).Text(text);
}

// Reads the options, and notes which are given and belong together. Lives for one Read.
class StepReader {
 public:
  StepReader(const std::string& optimizer, const std::string& schedule) : optimizer_(optimizer), schedule_(schedule) {}

  ErrorCollector& errors() { return errors_; }
  TrainStepOptions& options() { return options_; }

  void CheckOwner(absl::string_view flag, const OptionOwner& owner) {
    if (owner.kind == OptionOwner::Kind::kAll) return;
    const bool is_of_optimizers = owner.kind == OptionOwner::Kind::kOptimizers;
    const std::vector<absl::string_view> those = absl::StrSplit(owner.names, ',');
    const absl::string_view chosen = is_of_optimizers ? optimizer_ : schedule_;
    if (std::find(those.begin(), those.end(), chosen) != those.end()) return;
    const absl::string_view kind = is_of_optimizers ? "optimizer" : "schedule";
    errors_.Add(Wrong(
        absl::StrCat(flag, " means nothing to the ", kind, " ", chosen, ": it belongs to ", absl::StrJoin(those, ", ")),
        absl::StrCat("leave it out, or choose another --", kind)));
  }

  // "100=0.01", "200=0.001": the rate from the given one on, step by step.
  void ReadRates(const std::vector<std::string>& rates) {
    LearningRateSchedule& schedule = options_.schedule;
    schedule.kind = LearningRateSchedule::Kind::kPiecewise;
    schedule.values = {options_.learning_rate};
    for (const std::string& text : rates) {
      const std::vector<absl::string_view> parts = absl::StrSplit(text, '=');
      int64_t step = 0;
      double rate = 0;
      const bool is_pair = parts.size() == 2 && absl::SimpleAtoi(parts[0], &step) && absl::SimpleAtod(parts[1], &rate);
      if (!is_pair || step < 1 || !(rate >= 0) || !std::isfinite(rate)) {
        errors_.Add(Wrong(absl::StrCat("--rate-at '", PrintableName(text), "' is not a step and a rate"),
                          "as in --rate-at 1000=0.01,2000=0.001"));
      } else if (!schedule.boundaries.empty() && step <= schedule.boundaries.back()) {
        errors_.Add(Wrong(absl::StrCat("--rate-at: step ", step, " does not come after step ",
                                       schedule.boundaries.back(), ", which is before it in the list")));
      } else {
        schedule.boundaries.push_back(step);
        schedule.values.push_back(rate);
      }
    }
  }

  void ReadScale(const std::string& text, bool has_growth) {
    LossScaling& scaling = options_.loss_scaling;
    if (text == "dynamic") {
      scaling.kind = LossScaling::Kind::kDynamic;
    } else if (!text.empty()) {
      scaling.kind = LossScaling::Kind::kFixed;
      if (!absl::SimpleAtod(text, &scaling.scale) || !(scaling.scale >= 1) || !std::isfinite(scaling.scale)) {
        errors_.Add(Wrong(absl::StrCat("--loss-scale '", PrintableName(text),
                                       "' is neither a number of 1 or more nor "
                                       "'dynamic'")));
      }
    }
    if (has_growth && scaling.kind != LossScaling::Kind::kDynamic) {
      errors_.Add(Wrong("--loss-scale-growth belongs to --loss-scale dynamic"));
    }
  }

  void CheckClips() {
    if ((options_.clip_norm > 0) + (options_.clip_each_norm > 0) + (options_.clip_value > 0) < 2) return;
    errors_.Add(Wrong("--clip-norm, --clip-each-norm and --clip-value exclude each other", "choose one of them"));
  }

  // A decay without a length lasts as long as the training.
  void ChooseLength(bool is_given, int64_t steps) {
    const LearningRateSchedule::Kind kind = options_.schedule.kind;
    if (is_given || kind == LearningRateSchedule::Kind::kConstant || kind == LearningRateSchedule::Kind::kPiecewise) {
      return;
    }
    const int64_t left = steps - options_.schedule.warmup_steps;
    if (left > 0) {
      options_.schedule.decay_steps = static_cast<double>(left);
    } else {
      errors_.Add(Wrong(absl::StrCat("the schedule ", schedule_, " needs to know how many steps it lasts"),
                        "add --decay-steps N, or say with --steps how long the training is"));
    }
  }

 private:
  const std::string& optimizer_;
  const std::string& schedule_;
  TrainStepOptions options_;
  ErrorCollector errors_;
};

}  // namespace

void OptimizerOption::Declare(CLI::App& app) {
  numbers_.resize(NumberOptions().size());
  switches_.resize(SwitchOptions().size());
  const auto declare_name = [&app](const char* flag, std::string* name, bool* is_given, const std::string& help) {
    app.add_option_function<std::string>(
           flag, [name, is_given](const std::string& text) { *name = text, *is_given = true; }, help)
        ->option_text(absl::StrCat("NAME [", *name, "]"));
    return app.get_option(flag);
  };
  declare_name("--optimizer", &optimizer_, &has_optimizer_,
               absl::StrCat("how variables are changed by their gradients: ", NamesOf(OptimizerNames())))
      ->group("Optimizer");
  declare_name("--schedule", &schedule_, &has_schedule_,
               absl::StrCat("how the learning rate changes: ", NamesOf(ScheduleNames())))
      ->group("Learning rate");
  app.add_option("--rate-at", rates_, "instead of a --schedule: a new rate after each of these numbers of steps")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("STEP=RATE,...")
      ->group("Learning rate");
  for (size_t i = 0; i < NumberOptions().size(); ++i) {
    const NumberOption& row = NumberOptions()[i];
    app.add_option(row.flag, numbers_[i], HelpOf(row.owner, row.help))
        ->check(NumberIn(row.least, row.most))
        ->option_text(absl::StrCat("N [", row.shown, "]"))
        ->group(row.group);
  }
  for (size_t i = 0; i < SwitchOptions().size(); ++i) {
    const SwitchOption& row = SwitchOptions()[i];
    app.add_flag_function(
           row.flag, [this, i](std::int64_t) { switches_[i] = 1; }, HelpOf(row.owner, row.help))
        ->group(row.group);
  }
  const char* const gradients = "Gradients and weights";
  app.add_option("--no-decay", not_decayed_, "variables that --weight-decay and --l2-regularization leave alone")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("NAME,...")
      ->group(gradients);
  app.add_option("--loss-scale", loss_scale_,
                 "multiply the loss by this for its gradients, and divide these: keeps small ones of half numbers; "
                 "dynamic: as large as keeps them finite")
      ->option_text("N|dynamic [1]")
      ->group(gradients);
  app.add_option("--sparse-rows", rows_,
                 "what a gradient of some rows does to the others: nothing (lazy), what a gradient of zeros would "
                 "(exact), or as TensorFlow does")
      ->check(CLI::IsMember({"tensorflow", "lazy", "exact"}))
      ->option_text("tensorflow|lazy|exact [tensorflow]")
      ->group(gradients);
}

bool OptimizerOption::is_given() const {
  const bool has_number =
      std::any_of(numbers_.begin(), numbers_.end(), [](const auto& number) { return number.has_value(); });
  const bool has_switch = std::any_of(switches_.begin(), switches_.end(), [](char given) { return given != 0; });
  return has_optimizer_ || has_schedule_ || has_number || has_switch || !rates_.empty() || !not_decayed_.empty() ||
         !loss_scale_.empty() || !rows_.empty();
}

absl::StatusOr<TrainStepOptions> OptimizerOption::Read(int64_t steps) const {
  const std::string schedule_name = rates_.empty() || has_schedule_ ? schedule_ : kPiecewise;
  StepReader reader(optimizer_, schedule_name);
  ErrorCollector& errors = reader.errors();
  TrainStepOptions& options = reader.options();
  const OptimizerName* const optimizer = FindRow(OptimizerNames(), "optimizer", optimizer_, errors);
  const ScheduleName* const schedule = FindRow(ScheduleNames(), "schedule", schedule_, errors);
  if (optimizer == nullptr || schedule == nullptr) return errors.Finish();
  options.optimizer.kind = optimizer->kind;
  options.learning_rate = optimizer->learning_rate;
  options.optimizer.momentum = optimizer->momentum;
  options.optimizer.weight_decay = optimizer->weight_decay;
  options.schedule.kind = schedule->kind;
  const auto number = [this](absl::string_view flag) -> const std::optional<double>& {
    size_t i = 0;
    while (NumberOptions()[i].flag != flag) ++i;
    return numbers_[i];
  };
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const NumberOption& row = NumberOptions()[i];
    if (!numbers_[i].has_value()) continue;
    reader.CheckOwner(row.flag, row.owner);
    if (row.is_whole && *numbers_[i] != std::floor(*numbers_[i])) {
      errors.Add(Wrong(absl::StrCat(row.flag, " ", *numbers_[i], " is not a whole number")));
    }
    row.set(options, *numbers_[i]);
  }
  for (size_t i = 0; i < switches_.size(); ++i) {
    if (switches_[i] == 0) continue;
    reader.CheckOwner(SwitchOptions()[i].flag, SwitchOptions()[i].owner);
    SwitchOptions()[i].field(options) = true;
  }
  if (!rates_.empty() && has_schedule_)
    errors.Add(Wrong("--rate-at takes the place of --schedule", "choose one of them"));
  if (!rates_.empty()) reader.ReadRates(rates_);
  reader.ReadScale(loss_scale_, number("--loss-scale-growth").has_value());
  reader.CheckClips();
  reader.ChooseLength(number("--decay-steps").has_value(), steps);
  if (rows_ == "lazy") options.rows = RowRule::kLazy;
  if (rows_ == "exact") options.rows = RowRule::kExact;
  const absl::Status status = errors.Finish();
  if (!status.ok()) return status;
  return options;
}

std::vector<std::string> OptimizerOption::Settings(int64_t steps) const {
  const absl::StatusOr<TrainStepOptions> options = Read(steps);
  if (!options.ok()) return {};
  const auto is_named = [](const auto& name) { return [&name](const auto& row) { return row.name == name; }; };
  const OptimizerName& optimizer =
      *std::find_if(OptimizerNames().begin(), OptimizerNames().end(), is_named(optimizer_));
  std::vector<std::string> lines = {absl::StrCat("--optimizer ", optimizer_)};
  lines.push_back(absl::StrCat("--schedule ", rates_.empty() ? schedule_ : kPiecewise));
  const auto means_something = [this](const OptionOwner& owner) {
    const std::vector<absl::string_view> names = absl::StrSplit(owner.names, ',');
    const std::string& chosen = owner.kind == OptionOwner::Kind::kOptimizers ? optimizer_ : schedule_;
    return owner.kind == OptionOwner::Kind::kAll || std::find(names.begin(), names.end(), chosen) != names.end();
  };
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const NumberOption& row = NumberOptions()[i];
    if (!means_something(row.owner)) continue;
    const std::vector<absl::string_view> flags = absl::StrSplit(row.flag, ',');
    const absl::string_view flag = flags.back();
    double number = 0;
    bool has_number = true;
    if (numbers_[i].has_value()) {
      number = *numbers_[i];
    } else if (flag == "--lr") {
      number = optimizer.learning_rate;
    } else if (flag == "--momentum") {
      number = optimizer.momentum;
    } else if (flag == "--weight-decay") {
      number = optimizer.weight_decay;
    } else if (flag == "--decay-steps") {
      number = options->schedule.decay_steps;
    } else {
      has_number = absl::SimpleAtod(row.shown, &number);
    }
    lines.push_back(absl::StrCat(flag, " ", has_number ? absl::StrCat(number) : row.shown));
  }
  for (size_t i = 0; i < switches_.size(); ++i) {
    const SwitchOption& row = SwitchOptions()[i];
    if (means_something(row.owner)) lines.push_back(absl::StrCat(row.flag, switches_[i] != 0 ? " on" : " off"));
  }
  if (!rates_.empty()) lines.push_back(absl::StrCat("--rate-at ", absl::StrJoin(rates_, ",")));
  if (!not_decayed_.empty()) lines.push_back(absl::StrCat("--no-decay ", absl::StrJoin(not_decayed_, ",")));
  lines.push_back(absl::StrCat("--loss-scale ", loss_scale_.empty() ? "1" : loss_scale_));
  lines.push_back(absl::StrCat("--sparse-rows ", rows_.empty() ? "tensorflow" : rows_));
  return lines;
}

}  // namespace sluice
