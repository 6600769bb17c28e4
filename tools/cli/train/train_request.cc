#include "tools/cli/train/train_request.h"

#include <filesystem>
#include <limits>
#include <system_error>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "tools/cli/run/option_checks.h"

namespace sluice {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 40;

CLI::Option* Names(CLI::App& app, const char* flag, std::vector<std::string>* names, const char* help) {
  return app.add_option(flag, *names, help)->delimiter(',')->allow_extra_args(false)->option_text("NAME,...");
}

CLI::Option* Pairs(CLI::App& app, const char* flag, std::vector<std::string>* pairs, const char* form,
                   const char* help) {
  return app.add_option(flag, *pairs, help)->allow_extra_args(false)->option_text(form);
}

}  // namespace

void TrainRequest::Declare(CLI::App& app) {
  app.add_option("DATA", data, "a .npz file of arrays whose first axis counts examples, one for each input")
      ->required()
      ->check(NotEmpty())
      ->option_text("(required)");
  DeclareModel(app);
  DeclareData(app);
  optimizer.Declare(app);
  DeclareLength(app);
  DeclareFiles(app);
}

void TrainRequest::DeclareModel(CLI::App& app) {
  app.add_option("--loss", loss, "the tensor to minimise: a node, a tensor or a result of a signature")
      ->required()
      ->option_text("NAME (required)")
      ->group("What to train");
  Names(app, "--metric", &metrics, "tensors whose means are shown beside the loss, also as LABEL=NAME")
      ->group("What to train");
  app.add_option("--train-op", train_op, "a node of the model that does one step: nothing is added to the model then")
      ->check(NotEmpty())
      ->option_text("NAME")
      ->group("What to train");
  Names(app, "--train", &trained, "the variables to train [those that say so, else all that the loss depends on]")
      ->group("What to train");
  Names(app, "--freeze", &frozen, "variables to leave as they are")->group("What to train");
  app.add_option("--signature", signature, "whose keys the names are [the one that has the loss]")
      ->option_text("KEY")
      ->group("What to train");
}

void TrainRequest::DeclareData(CLI::App& app) {
  Pairs(app, "--data", &arrays, "INPUT=ARRAY", "the array for an input; without, the array of its name")->group("Data");
  Pairs(app, "--feed", &feeds, "NAME=VALUE", "one value for a tensor in all steps, instead of an array")->group("Data");
  Pairs(app, "--val-feed", &validation_feeds, "NAME=VALUE", "another one where the model is validated")->group("Data");
  app.add_option(
         "--validate", validation,
         "share of the rows to keep for validation (0.1), or a .npz file of others; validation changes no state "
         "of the training (moving averages, random numbers, counters)")
      ->check(NotEmpty())
      ->option_text("SHARE|FILE")
      ->group("Data");
  app.add_option("--batch", batch, "rows in a step")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->option_text("N [32]")
      ->group("Data");
  app.add_flag("--drop-last", drop_last,
               "leave out the last batch of an epoch where it has fewer rows; else it is a step")
      ->group("Data");
  app.add_option("--seed", seed, "seed of the order of rows: the same seed, the same order")
      ->check(CLI::Range(uint64_t{0}, std::numeric_limits<uint64_t>::max()))
      ->option_text("N [0]")
      ->group("Data");
  app.add_flag("--no-shuffle", no_shuffle, "take the rows in the order of the file, in every epoch")->group("Data");
  app.add_flag("--convert", convert, "convert arrays of numbers to the dtypes of the inputs")->group("Data");
}

void TrainRequest::DeclareLength(CLI::App& app) {
  app.add_option("--epochs", epochs, "how often each row is taken")
      ->check(CLI::Range(int64_t{1}, kMostSteps))
      ->option_text("N [10]")
      ->group("How long");
  app.add_option("--steps", steps, "stop after so many steps, counted from the first start")
      ->check(CLI::Range(int64_t{1}, kMostSteps))
      ->option_text("N")
      ->group("How long");
  app.add_option("--on-nan", on_nan, "what to do if the loss is not a finite number: stop, or warn and continue")
      ->check(CLI::IsMember({"stop", "warn"}))
      ->option_text("stop|warn [stop]")
      ->group("How long");
}

void TrainRequest::DeclareFiles(CLI::App& app) {
  app.add_option("-o,--out", out, "the directory for checkpoints, the loss curve and TensorBoard's events")
      ->required()
      ->check(NotEmpty())
      ->option_text("DIR (required)")
      ->group("Output");
  app.add_flag("--resume", resume, "continue from the newest checkpoint in DIR: the same bits as without the break")
      ->group("Output");
  app.add_option("--save-every", save_every, "steps from checkpoint to checkpoint, one at the end included")
      ->check(CLI::Range(int64_t{1}, kMostSteps))
      ->option_text("N [an epoch]")
      ->group("Output");
  app.add_option("--keep", keep, "checkpoints to keep")
      ->check(CLI::Range(1, 100'000))
      ->option_text("N [5]")
      ->group("Output");
  app.add_option("--log-every", log_every, "steps from point to point of the loss curve")
      ->check(CLI::Range(int64_t{1}, kMostSteps))
      ->option_text("N [1/20 epoch]")
      ->group("Output");
  app.add_flag("--no-events", no_events, "no event files")->group("Output");
  app.add_option("--export", export_to,
                 "in the end, also write the trained model as a SavedModel, without the training")
      ->check(NotEmpty())
      ->option_text("DIR")
      ->group("Output");
  app.add_flag("--force", force, "with --export: replace the SavedModel in that directory; other files in it stay")
      ->group("Output");
  Names(app, "--output", &outputs,
        "outputs of serving_default in the exported model: results of any signature, tensors or nodes [as in the "
        "model]; its other signatures are kept")
      ->group("Output");
  app.add_flag("--json", json, "one JSON document with the last row of each split, or with the errors")
      ->group("Output");
}

absl::StatusOr<NamedPart> SplitAtEquals(absl::string_view option, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error(ErrorCode::kValueSyntax)
        .Text(absl::StrCat(option, " '", PrintableName(text), "' is not of the form NAME=VALUE"));
  }
  return NamedPart{text.substr(0, equals), text.substr(equals + 1)};
}

std::string TrainRequest::StepSettings() const {
  std::vector<std::string> lines;
  if (train_op.empty()) lines = optimizer.Settings(steps);
  const auto add = [&lines](absl::string_view flag, const std::vector<std::string>& values) {
    if (!values.empty()) lines.push_back(absl::StrCat(flag, " ", absl::StrJoin(values, ",")));
  };
  add("--loss", {loss});
  if (!train_op.empty()) add("--train-op", {train_op});
  add("--train", trained);
  add("--freeze", frozen);
  add("--feed", feeds);
  return absl::StrJoin(lines, "\n");
}

absl::Status TrainRequest::Check() const {
  if (!train_op.empty() && (optimizer.is_given() || !trained.empty() || !frozen.empty())) {
    return Error(ErrorCode::kValueSyntax)
        .Help("leave --train-op out to have a step added by --optimizer")
        .Text(
            "with --train-op the model itself says what a step is: options of an optimizer, --train and --freeze mean "
            "nothing");
  }
  if (export_to.empty() && (!outputs.empty() || force)) {
    return Error(ErrorCode::kValueSyntax)
        .Text(absl::StrCat(force ? "--force is about" : "--output says",
                           " what --export writes, and there is no --export"));
  }
  std::error_code ignored;
  const std::filesystem::path one = std::filesystem::weakly_canonical(export_to, ignored);
  if (!export_to.empty() && one == std::filesystem::weakly_canonical(out, ignored)) {
    return Error(ErrorCode::kValueSyntax).Text("--export and --out name the same directory").Help("name two");
  }
  return train_op.empty() ? optimizer.Read(steps).status() : absl::OkStatus();
}

}  // namespace sluice
