#include "tools/cli/run_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/saved_model/model_state.h"
#include "executor/trace/chrome_trace.h"
#include "executor/trace/run_summary.h"
#include "executor/trace/step_stats.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "graph/base/stop_poll.h"
#include "kernels/memory/cpu_allocator.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"
#include "tools/cli/file_ending.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/output_file.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/interrupt.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/run/option_checks.h"
#include "tools/cli/run/result_files.h"
#include "tools/cli/run/run_advice.h"
#include "tools/cli/run/run_request.h"
#include "tools/cli/run/stats_text.h"
#include "tools/cli/run/value_text.h"

namespace sluice {
namespace {

constexpr size_t kMaxStatsRows = 20;

// `sluice run`: feeds a model, runs it, shows the results. Lives for one run.
class RunCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    request_.Declare(app);
    session_options_.Declare(app);
    app.add_option("--checkpoint", checkpoint_, "write the variables to this checkpoint after the last step")
        ->check(NotEmpty())
        ->option_text("PREFIX")
        ->group("State");
    app.add_option("--steps", steps_, "run this often; the results are those of the last step")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
        ->option_text("N [1]")
        ->group("How to run");
    app.add_option("--deadline", deadline_,
                   "give up after this time (500ms, 2s, 1m): preparing, init and all steps together, without loading")
        ->check(NotEmpty())
        ->option_text("TIME")
        ->group("How to run");
    app.add_option("--stall-timeout", stall_timeout_,
                   "say on standard error what the run waits for after this time without progress")
        ->check(NotEmpty())
        ->option_text("TIME")
        ->group("How to run");
    app.add_option("--save", saves_, "also write a result to a .npy, .npz or .pb (TensorProto) file; once for each")
        ->allow_extra_args(false)
        ->option_text("NAME=FILE")
        ->group("Output");
    app.add_flag("--full", full_, "all elements of large results")->group("Output");
    app.add_flag("--stats", stats_, "also tables by op and by node: times run, time, bytes")->group("Output");
    app.add_option("--trace", trace_, "write what ran when: .json for chrome://tracing and Perfetto, .pb RunMetadata")
        ->check(NotEmpty())
        ->check(EndsIn({".json", ".pb"}, "a trace: JSON for viewers, or a RunMetadata"))
        ->option_text("FILE")
        ->group("Output");
    app.add_flag("--json", json_, "one JSON document with all elements of the results, or with the errors")
        ->group("Output");
    app.description(absl::StrCat(app.get_description(), "\n", kFeedValueForms));
  }

  int Run(Console& console) override {
    if (const absl::Status usage = ReadOptions(); !usage.ok()) {
      console.Problem(usage);
      return ExitStatusOf(usage);
    }
    if (const absl::Status plugins = model_.LoadPlugins(); !plugins.ok()) {
      console.Problem(plugins);
      return kExitFailed;
    }
    LoadOptions load = model_.Options();
    load.check_signatures = false;  // ResolveRun checks the signature in use.
    absl::StatusOr<LoadedGraph> loaded = model_.Load(console, load);
    if (!loaded.ok()) {
      console.Problem(loaded.status());
      return kExitFailed;
    }
    const auto model = std::make_shared<const LoadedGraph>(*std::move(loaded));
    const absl::Status run = RunModel(model, console);
    if (run.ok()) return kExitOk;
    console.Problem(model_.Explained(run));
    for (const std::string& line : AdviceLines(*model, request_, session_options_, run)) console.Complain(line);
    return ExitStatusOf(run);
  }

 private:
  // Checks the command line by itself.
  absl::Status ReadOptions() {
    SLUICE_ASSIGN_OR_RETURN(time_limit_, ReadTime("--deadline", deadline_));
    SLUICE_ASSIGN_OR_RETURN(patience_, ReadTime("--stall-timeout", stall_timeout_));
    for (const std::string& save : saves_) {
      SLUICE_ASSIGN_OR_RETURN(SaveOrder order, ParseSaveOrder(save));
      const std::vector<std::string>& fetches = request_.fetches;
      const bool is_known = std::find(fetches.begin(), fetches.end(), order.name) != fetches.end();
      if (!is_known) request_.fetches.push_back(order.name);
      orders_.push_back(std::move(order));
    }
    for (const SaveOrder& order : orders_) SLUICE_RETURN_IF_ERROR(CheckOutputFile(order.path));
    SLUICE_RETURN_IF_ERROR(CheckOutputFile(trace_));
    return CheckOutputPrefix(checkpoint_);
  }

  absl::Status RunModel(const std::shared_ptr<const LoadedGraph>& shared, Console& console) {
    const LoadedGraph& model = *shared;
    const LoadLimits limits = model_.Options().limits;
    session_options_.limits = limits;
    CallOptions call;
    call.deadline = absl::Now() + time_limit_;
    SLUICE_ASSIGN_OR_RETURN(const ResolvedRun run, ResolveRun(model, request_, limits));
    const bool answers = !run.spec.fetches.empty();
    SLUICE_ASSIGN_OR_RETURN(is_untrained_, CheckState(model, session_options_, request_.targets, answers, console));
    CancellationManager cancellation;
    const InterruptGuard interrupt(cancellation);
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            OpenSession(shared, session_options_, model_.kernels()));
    call.cancellation = &cancellation;
    call.stall_timeout = patience_;
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Callable> callable,
                            session->Prepare(run.spec, {call.deadline, call.cancellation}));
    NotePlacement(model, *callable, console);
    SLUICE_RETURN_IF_ERROR(InitialiseSession(*session, model, session_options_, call));
    std::unique_ptr<StepStatsCollector> collector;
    if (stats_ || !trace_.empty()) {
      TouchCpuAllocator();  // Keeps the pool's page faults out of the first kernel's time.
      const std::string& device = session->core().device_list().client().name;
      collector = std::make_unique<StepStatsCollector>(callable->graph(), device);
      call.observer = collector.get();
    }
    const absl::StatusOr<std::vector<NamedTensor>> results = RunSteps(*callable, run, call, console);
    if (!results.ok()) {  // The statistics until then may show why.
      if (const absl::Status trace = WriteTrace(collector.get(), console); !trace.ok()) console.Problem(trace);
      return results.status();
    }
    // Results first: a file that cannot be written must not cost them. A stop ends their text, not what is saved.
    const absl::Status written = WriteResults(*results, collector.get(), call, console);
    SLUICE_RETURN_IF_ERROR(WriteTrace(collector.get(), console));
    SLUICE_RETURN_IF_ERROR(SaveResults(orders_, *results));
    for (const SaveOrder& order : orders_) console.Note(absl::StrCat("wrote ", order.path));
    SLUICE_RETURN_IF_ERROR(written);
    return checkpoint_.empty() ? absl::OkStatus() : SaveVariables(*session, model, checkpoint_, call);
  }

  absl::StatusOr<std::vector<NamedTensor>> RunSteps(const Callable& callable, const ResolvedRun& run,
                                                    const CallOptions& call, Console& console) const {
    std::vector<Tensor> outputs(run.spec.fetches.size());
    for (int64_t step = 0; step < steps_; ++step) {
      std::vector<Tensor> inputs = run.inputs;
      SLUICE_RETURN_IF_ERROR(callable.Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs), call));
      if (steps_ > 1) console.Progress(absl::StrCat("step ", step + 1, " of ", steps_));
    }
    console.EndProgress();
    std::vector<NamedTensor> results;
    for (size_t i = 0; i < outputs.size(); ++i) results.emplace_back(run.labels[i], std::move(outputs[i]));
    return results;
  }

  // Ends early at the deadline and at Ctrl-C: millions of elements take time.
  absl::Status WriteResults(const std::vector<NamedTensor>& results, const StepStatsCollector* collector,
                            const CallOptions& call, Console& console) const {
    StopPoll stop(call.deadline, call.cancellation);
    absl::Status stopped;
    const auto must_stop = [&stop, &stopped] {
      if (stopped.ok()) stopped = stop.Look();
      return !stopped.ok();
    };
    console.set_stop(must_stop);
    absl::Status written =
        json_ ? WriteJson(results, collector, must_stop, console) : WriteTexts(results, collector, must_stop, console);
    const absl::Status flushed = console.Flush();
    console.set_stop(nullptr);
    if (written.ok()) written = flushed;
    const bool is_deadline = stopped.code() == absl::StatusCode::kDeadlineExceeded;
    return stopped.ok() ? written
                        : Error(is_deadline ? ErrorCode::kDeadline : ErrorCode::kRunCancelled)
                              .Help("--save NAME=FILE writes a large result to a file")
                              .Text(is_deadline ? "the deadline passed while the results were being printed"
                                                : "interrupted while the results were being printed");
  }

  absl::Status WriteJson(const std::vector<NamedTensor>& results, const StepStatsCollector* collector,
                         absl::FunctionRef<bool()> must_stop, Console& console) const {
    std::string text;  // Whole, so that a document that is cut short is never begun.
    const auto append = [&text, must_stop](absl::string_view part) {
      absl::StrAppend(&text, part);
      return must_stop() ? absl::CancelledError() : absl::OkStatus();
    };
    for (const auto& [name, value] : results) {
      const nlohmann::ordered_json facts = {
          {"name", name}, {"dtype", DTypeName(value.dtype())}, {"shape", value.shape().dims()}};
      std::string head = OneLine(facts);
      head.pop_back();
      absl::StrAppend(&text, text.empty() ? "" : ",", head, ",\"values\":");
      SLUICE_RETURN_IF_ERROR(WriteValueJson(value, append));
      text += '}';
    }
    nlohmann::ordered_json head = {{"model", model_.path()}, {"steps", steps_}},
                           tail = nlohmann::ordered_json::object();
    if (is_untrained_) tail["untrained"] = true;
    if (stats_) tail["stats"] = StatsJson(Summarize({collector}));
    const std::string before = OneLine(head), after = OneLine(tail);
    console.Write(absl::StrCat(before.substr(0, before.size() - 1), ",\"results\":["));
    console.Write(text);
    console.Write(absl::StrCat("]", tail.empty() ? "" : ",", after.substr(1), "\n"));
    return absl::OkStatus();
  }

  static std::string OneLine(const nlohmann::ordered_json& json) {
    std::string text = JsonDocument(json, -1);
    text.pop_back();  // The line feed.
    return text;
  }

  // One line for scalars and vectors; others below their name.
  absl::Status WriteTexts(const std::vector<NamedTensor>& results, const StepStatsCollector* collector,
                          absl::FunctionRef<bool()> must_stop, Console& console) const {
    for (const auto& [name, value] : results) {
      console.Write(absl::StrCat(console.out().Bold(PrintableName(name)), "  ", DTypeName(value.dtype()), " ",
                                 value.shape().ToString(), value.rank() > 1 ? "\n" : "  "));
      SLUICE_RETURN_IF_ERROR(WriteValueText(value, full_, [&console, must_stop](absl::string_view part) {
        console.Write(part);
        return must_stop() ? absl::CancelledError() : absl::OkStatus();
      }));
      console.Write("\n");
    }
    if (stats_) console.Write(RenderStats(Summarize({collector}), /*with_nodes=*/true, kMaxStatsRows, console.out()));
    return absl::OkStatus();
  }

  absl::Status WriteTrace(const StepStatsCollector* collector, Console& console) const {
    if (trace_.empty()) return absl::OkStatus();
    const bool is_proto = absl::EqualsIgnoreCase(FileEnding(trace_), ".pb");
    const std::string bytes = is_proto ? ToRunMetadata({collector}).SerializeAsString() : ChromeTrace({collector});
    SLUICE_RETURN_IF_ERROR(WriteFile(trace_, bytes));
    console.Note(absl::StrCat("wrote ", trace_, is_proto ? "" : " (open it in ui.perfetto.dev or chrome://tracing)"));
    if (collector->num_dropped() > 0) {
      console.Warn(absl::StrCat("the trace holds the first ", StepStatsCollector::kMaxNodes, " kernel calls only"));
    }
    return absl::OkStatus();
  }

  ModelArgument model_;
  RunRequest request_;
  ModelSessionOptions session_options_;
  int64_t steps_ = 1;
  std::string deadline_, stall_timeout_, trace_, checkpoint_;
  std::vector<std::string> saves_;
  bool full_ = false, stats_ = false, json_ = false;
  // From the options.
  absl::Duration time_limit_ = absl::InfiniteDuration();
  absl::Duration patience_ = absl::InfiniteDuration();
  std::vector<SaveOrder> orders_;
  bool is_untrained_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeRunCommand() { return std::make_unique<RunCommand>(); }

}  // namespace sluice
