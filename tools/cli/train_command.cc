#include "tools/cli/train_command.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "executor/saved_model/write_saved_model.h"
#include "executor/session/generator_states.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/functions/call_choice.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/output_file.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/interrupt.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/run/run_advice.h"
#include "tools/cli/train/leftover_files.h"
#include "tools/cli/train/train_directory.h"
#include "tools/cli/train/train_export.h"
#include "tools/cli/train/train_start.h"
#include "tools/cli/train/trainer.h"

namespace sluice {
namespace {

constexpr int kExitInterrupted = 130;  // As shells say of what Ctrl-C has ended.

// `sluice train`: trains a model on arrays. Lives for one run.
class TrainCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    request_.Declare(app);
    session_options_.functions = CallPolicy::kInline;  // See generator_states.h.
    session_options_.Declare(app);
    app.remove_option(app.get_option("--deterministic"));  // Always on: see Note [Resumed training].
    app.remove_option(app.get_option("--functions"));      // Called bodies would keep their own generators.
    app.description(absl::StrCat(app.get_description(), "\n", kFeedValueForms));
  }

  int Run(Console& console) override {
    CancellationManager cancellation;
    const InterruptGuard interrupt(cancellation);
    const absl::Status status = Train(console, cancellation);
    console.EndProgress();
    if (cancellation.IsCancelling()) {
      if (!status.ok() && !absl::IsCancelled(status)) console.Problem(model_.Explained(status));
      return kExitInterrupted;
    }
    if (status.ok()) return kExitOk;
    console.Problem(model_.Explained(status));
    if (loaded_.graph.num_nodes() > 0) {
      for (const std::string& line : AdviceLines(loaded_, {}, session_options_, status)) console.Complain(line);
    }
    return ExitStatusOf(status);
  }

 private:
  absl::Status Train(Console& console, CancellationManager& cancellation) {
    SLUICE_RETURN_IF_ERROR(request_.Check());
    SLUICE_RETURN_IF_ERROR(CheckOutputDirectory(request_.out));
    if (!request_.export_to.empty()) {
      SLUICE_RETURN_IF_ERROR(CheckOutputDirectory(request_.export_to));
      SLUICE_RETURN_IF_ERROR(CheckExportPlace(request_));
    }
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<TrainDirectory> directory, TrainDirectory::Open(request_.out));
    if (!directory->former().empty()) {
      console.Note(absl::StrCat("took over ", request_.out, " from ", directory->former(),
                                ", which has ended without giving it back"));
    }
    SLUICE_ASSIGN_OR_RETURN(TrainCheckpoints checkpoints,
                            TrainCheckpoints::Open(request_.out, request_.keep, /*meta_graph=*/""));
    if (!request_.resume && !checkpoints.newest().empty()) return IsStarted(checkpoints.newest());
    RemoveLeftovers(request_.out);
    const absl::Status status = TrainWith(checkpoints, console, cancellation);
    if (status.ok() || !checkpoints.newest().empty()) directory->Keep();
    return status;
  }

  absl::Status TrainWith(TrainCheckpoints& checkpoints, Console& console, CancellationManager& cancellation) {
    SLUICE_RETURN_IF_ERROR(model_.LoadPlugins());
    LoadOptions load = model_.Options();
    load.check_signatures = false;
    SLUICE_ASSIGN_OR_RETURN(loaded_, model_.Load(console, load));
    SLUICE_RETURN_IF_ERROR(ChooseNames(console));
    SLUICE_ASSIGN_OR_RETURN(const TrainPlan plan, PlanTraining(loaded_, request_, load.limits));
    std::optional<ModelExport> what;
    if (!request_.export_to.empty()) {
      SLUICE_ASSIGN_OR_RETURN(what, PlanExport(loaded_, plan, request_));
    }
    SLUICE_RETURN_IF_ERROR(CheckState(loaded_, session_options_, {}, /*answers=*/false, console).status());
    SLUICE_RETURN_IF_ERROR(ReadData(plan, load.limits));
    SLUICE_ASSIGN_OR_RETURN(std::string meta_graph, TrainingMetaGraph(loaded_, plan));
    checkpoints.set_meta_graph(std::move(meta_graph));

    session_options_.limits = load.limits;
    session_options_.deterministic = true;  // See Note [Resumed training].
    // The session shares the graph, which no longer changes.
    const std::shared_ptr<const LoadedGraph> shared(&loaded_, [](const LoadedGraph*) {});
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            OpenSession(shared, session_options_, model_.kernels()));
    std::unique_ptr<Session> validation_session;
    if (validation_.has_value()) {
      SLUICE_ASSIGN_OR_RETURN(validation_session, OpenSession(shared, session_options_, model_.kernels()));
    }
    SLUICE_RETURN_IF_ERROR(TrainIn(*session, validation_session.get(), plan, checkpoints, console, cancellation));
    if (!what.has_value() || cancellation.IsCancelling()) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(NamedTensors values, ReadVariables(*session, plan.saver));
    SLUICE_ASSIGN_OR_RETURN(const NamedTensors others, ReadVariables(*session, plan.others));
    values.insert(values.end(), others.begin(), others.end());
    SLUICE_RETURN_IF_ERROR(ExportTrained(request_, loaded_, *what, values));
    console.Note(absl::StrCat("wrote ", request_.export_to, " (a SavedModel)"));
    return absl::OkStatus();
  }

  // Chooses the signature whose keys the command line uses, and notes it if there is a choice.
  absl::Status ChooseNames(Console& console) {
    const bool is_asked_for = !request_.signature.empty();
    SLUICE_ASSIGN_OR_RETURN(request_.signature, ChooseSignature(loaded_, request_));
    if (is_asked_for || request_.signature.empty()) return absl::OkStatus();
    console.Note(absl::StrCat("training with the signature '", PrintableName(request_.signature), "', which gives '",
                              PrintableName(request_.loss), "'; --signature chooses another one"));
    return absl::OkStatus();
  }

  absl::Status TrainIn(Session& session, Session* validation_session, const TrainPlan& plan,
                       TrainCheckpoints& checkpoints, Console& console, CancellationManager& cancellation) {
    CallOptions call;
    call.cancellation = &cancellation;
    TrainState state(plan.labels);
    state.settings = Settings();
    state.step_settings = request_.StepSettings();
    NamedTensors checkpoint;
    if (request_.resume && !checkpoints.newest().empty()) {
      SLUICE_ASSIGN_OR_RETURN(checkpoint, ReadCheckpoint(checkpoints.newest()));
      absl::StatusOr<TrainState> before = TrainState::From(checkpoint, state, order_->batches_per_epoch());
      if (!before.ok()) return WithFile(before.status(), checkpoints.newest());
      for (const std::string& change : TrainState::ChangesSince(checkpoint, state)) {
        console.Warn(absl::StrCat("other than in the training so far: ", change));
      }
      state = *std::move(before);
      SLUICE_RETURN_IF_ERROR(ContinueTraining(session, loaded_, plan, session_options_, checkpoint, call));
      console.Note(absl::StrCat("going on after step ", CountText(state.step), ", from ", checkpoints.newest()));
    } else {
      if (request_.resume) console.Note("there is no checkpoint yet: training starts from the beginning");
      SLUICE_RETURN_IF_ERROR(StartTraining(session, loaded_, plan, session_options_, call));
    }
    SLUICE_RETURN_IF_ERROR(ReadVariables(session, plan.others, call).status());  // Checks that all exports have values.
    if (validation_session != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(const NamedTensors values, ReadVariables(session, plan.saver, call));
      SLUICE_RETURN_IF_ERROR(ContinueTraining(*validation_session, loaded_, plan, session_options_, values, call));
    }
    SLUICE_ASSIGN_OR_RETURN(TrainLog log, OpenLog(plan, state));
    const TrainData* const validation_data = own_validation_ ? &validation_data_ : nullptr;
    const TrainRun run = {session, validation_session, plan, request_, data_, validation_data, console, cancellation};
    Trainer trainer(run, *std::move(order_), std::move(validation_), std::move(state));
    SLUICE_RETURN_IF_ERROR(trainer.Prepare());
    SLUICE_RETURN_IF_ERROR(RestoreGeneratorStates(session, checkpoint));
    TrainDisplay display(console, plan.labels, !request_.validation.empty(), !request_.json);
    SLUICE_RETURN_IF_ERROR(trainer.Run(checkpoints, log, display));
    if (trainer.was_interrupted()) {
      console.Complain(absl::StrCat("interrupted after step ", CountText(trainer.state().step), ", which ",
                                    checkpoints.newest(), " holds; --resume continues from there"));
    } else {
      Report(console, plan, log, trainer.state(), checkpoints.newest());
    }
    return absl::OkStatus();
  }

  static absl::Status IsStarted(const std::string& newest) {
    return Error(ErrorCode::kCannotRun)
        .Help("add --resume to go on from there, or name another --out directory")
        .Text(absl::StrCat("a training has been started in this directory: '", PrintableName(newest, 1000),
                           "' is a checkpoint of it"));
  }

  // Reads the rows for training and validation, and sets their order.
  absl::Status ReadData(const TrainPlan& plan, const LoadLimits& limits) {
    if (plan.inputs.empty()) {
      return Error(ErrorCode::kFeedMissing)
          .Text(
              "no tensor that the training needs takes an array: there is nothing to "
              "feed rows to");
    }
    const ArrayRules rules = {request_.convert, request_.batch, limits};
    SLUICE_ASSIGN_OR_RETURN(data_, TrainData::Read(request_.data, plan.inputs, rules));
    std::vector<int64_t> rows(static_cast<size_t>(data_.num_rows())), kept;
    std::iota(rows.begin(), rows.end(), 0);
    double share = 0;
    if (!request_.validation.empty() && absl::SimpleAtod(request_.validation, &share)) {
      SLUICE_RETURN_IF_ERROR(SplitRows(share, &rows, &kept));
    } else if (!request_.validation.empty()) {
      own_validation_ = true;
      SLUICE_ASSIGN_OR_RETURN(validation_data_, TrainData::Read(request_.validation, plan.inputs, rules));
      kept.resize(static_cast<size_t>(validation_data_.num_rows()));
      std::iota(kept.begin(), kept.end(), 0);
    }
    bool keep_last = !request_.drop_last;
    for (const TrainInput& input : plan.inputs) {  // A placeholder with a fixed number of rows takes no fewer.
      keep_last = keep_last && (!input.shape.has_rank() || input.shape.rank() == 0 || input.shape.dim(0) < 0);
    }
    const BatchOrder::Options options = {request_.batch, request_.seed, !request_.no_shuffle, keep_last};
    order_.emplace(std::move(rows), options);
    if (order_->batches_per_epoch() == 0) return NoBatch(order_->num_rows(), request_.data);
    if (request_.validation.empty()) return absl::OkStatus();
    BatchOrder::Options in_order = options;
    in_order.shuffle = false;
    validation_.emplace(std::move(kept), in_order);
    return validation_->batches_per_epoch() > 0 ? absl::OkStatus()
                                                : NoBatch(validation_->num_rows(), "the rows for validation");
  }

  absl::Status NoBatch(int64_t rows, const std::string& where) const {
    return Error(ErrorCode::kCannotRun)
        .Help(rows == 0 ? "an example is a row of the first axis" : "choose a smaller --batch, or keep the last batch")
        .Text(
            absl::StrCat("there is nothing to train with: ", PrintableName(where, 1000), " has ", CountOf(rows, "row")))
        .Expected(absl::StrCat(rows == 0 ? 1 : request_.batch, " or more"));
  }

  // Takes the last rows of a shuffle for validation: files often hold one class after the other.
  absl::Status SplitRows(double share, std::vector<int64_t>* rows, std::vector<int64_t>* kept) const {
    constexpr uint64_t kSplit = ~uint64_t{0};  // No epoch's number.
    if (!(share > 0 && share < 1)) {
      return Error(ErrorCode::kValueSyntax)
          .Text(absl::StrCat("--validate ", PrintableName(request_.validation), " is not a share of the rows"))
          .Expected("a number between 0 and 1, or a .npz file");
    }
    const std::vector<int64_t> order = ShuffledNumbers(data_.num_rows(), request_.seed, kSplit);
    const auto count = static_cast<std::ptrdiff_t>(static_cast<double>(order.size()) * share + 0.5);
    kept->assign(order.end() - count, order.end());
    rows->assign(order.begin(), order.end() - count);
    std::sort(rows->begin(), rows->end());
    std::sort(kept->begin(), kept->end());
    return absl::OkStatus();
  }

  std::string Settings() const {
    return absl::StrCat("rows ", order_->num_rows(), "\nbatches of an epoch ", order_->batches_per_epoch(),
                        "\n--batch ", request_.batch, "\n--seed ", request_.seed,
                        request_.no_shuffle ? "\n--no-shuffle" : "");
  }

  absl::StatusOr<TrainLog> OpenLog(const TrainPlan& plan, const TrainState& state) const {
    TrainLog::Options options;
    options.directory = request_.out;
    options.labels = plan.labels;
    options.title =
        absl::StrCat(model_.path(), ", ", request_.train_op.empty() ? request_.optimizer.name() : request_.train_op);
    options.step = state.step;
    options.is_resumed = request_.resume;
    options.has_events = !request_.no_events;
    return TrainLog::Open(std::move(options));
  }

  void Report(Console& console, const TrainPlan& plan, const TrainLog& log, const TrainState& state,
              const std::string& newest) const {
    console.Note(absl::StrCat("wrote ", newest, ", ", log.csv_path(), ", ", log.svg_path()));
    if (!request_.json) return;
    nlohmann::ordered_json document = {
        {"model", model_.path()}, {"step", state.step}, {"epoch", state.epoch}, {"checkpoint", newest}};
    for (const bool is_validation : {false, true}) {
      const CurveRow* last = nullptr;
      for (const CurveRow& row : log.rows()) last = row.is_validation == is_validation ? &row : last;
      if (last == nullptr) continue;
      nlohmann::ordered_json values = {{"step", last->step}};
      for (size_t i = 0; i < last->values.size(); ++i) values[plan.labels[i]] = last->values[i];
      document[is_validation ? "validation" : "train"] = std::move(values);
    }
    console.Write(JsonDocument(document, -1));
  }

  ModelArgument model_;
  TrainRequest request_;
  ModelSessionOptions session_options_;
  LoadedGraph loaded_;
  TrainData data_, validation_data_;
  bool own_validation_ = false;  // Rows for validation come from a file of their own.
  std::optional<BatchOrder> order_, validation_;
};

}  // namespace

std::unique_ptr<Command> MakeTrainCommand() { return std::make_unique<TrainCommand>(); }

}  // namespace sluice
