#include "tools/cli/bench_command.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "executor/trace/run_summary.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/memory/cpu_allocator.h"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/model_argument.h"
#include "tools/cli/run/feed_value.h"
#include "tools/cli/run/interrupt.h"
#include "tools/cli/run/latency.h"
#include "tools/cli/run/model_session.h"
#include "tools/cli/run/option_checks.h"
#include "tools/cli/run/run_advice.h"
#include "tools/cli/run/run_request.h"
#include "tools/cli/run/stats_text.h"

namespace sluice {
namespace {

constexpr size_t kMaxProfileRows = 30;
constexpr int64_t kMaxProfileRuns = 20;
constexpr int64_t kLongRunNs = 10'000'000;

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Returns the peak memory of this process.
int64_t PeakMemoryBytes() {
  rusage usage;
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? int64_t{usage.ru_maxrss} * 1024 : 0;
}

double Micros(int64_t ns) { return static_cast<double>(ns) / 1000; }

// What one benchmark measured, times in nanoseconds.
struct BenchResult {
  int64_t nodes = 0;  // Of the model.
  int threads = 0;
  int64_t load = 0;     // File to checked graph.
  int64_t prepare = 0;  // Session and callable.
  int64_t first_run = 0;
  Latency runs;
  int64_t peak_bytes = 0;
  bool is_cut_short = false;  // By Ctrl-C, among the timed runs.
};

// `sluice bench`: how long a model takes to load, to prepare and to run. Lives for one run.
class BenchCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    model_.Declare(app);
    request_.Declare(app);
    session_options_.Declare(app);
    app.add_option("--runs", max_runs_, "stop after so many timed runs")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
        ->option_text("N [10000]")
        ->group("How long");
    app.add_option("--seconds", max_seconds_, "stop after so many seconds")
        ->check(NumberIn(0.001, 1e6))
        ->option_text("S [2]")
        ->group("How long");
    app.add_option("--warmup", warmup_, "runs before the timed ones, the first one included")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 30))
        ->option_text("N [5]")
        ->group("How long");
    app.add_flag("--profile", profile_, "also a table by op, of some more runs that are watched")->group("Output");
    app.add_flag("--json", json_, "one JSON document with the figures, or with the errors")->group("Output");
    app.description(absl::StrCat(app.get_description(), "\n", kFeedValueForms));
  }

  int Run(Console& console) override {
    const int64_t start = NowNs();
    if (const absl::Status plugins = model_.LoadPlugins(); !plugins.ok()) {
      console.Problem(plugins);
      return kExitFailed;
    }
    LoadOptions load = model_.Options();
    session_options_.limits = load.limits;
    load.check_signatures = false;  // ResolveRun checks the signature in use.
    absl::StatusOr<LoadedGraph> loaded = model_.Load(console, load);
    if (!loaded.ok()) {
      console.Problem(loaded.status());
      return kExitFailed;
    }
    const auto model = std::make_shared<const LoadedGraph>(*std::move(loaded));
    BenchResult result;
    result.load = NowNs() - start;
    RunSummary profile;
    if (const absl::Status run = Measure(model, console, &result, &profile); !run.ok()) {
      console.EndProgress();
      console.Problem(model_.Explained(run));
      for (const std::string& line : AdviceLines(*model, request_, session_options_, run)) console.Complain(line);
      return ExitStatusOf(run);
    }
    json_ ? WriteJson(result, profile, console) : WriteText(result, profile, console);
    if (!result.is_cut_short) return kExitOk;
    console.Problem(
        Error(ErrorCode::kRunCancelled)
            .Text(absl::StrCat("interrupted: the figures are those of ", CountOf(result.runs.runs, "run"), " so far")));
    return kExitFailed;
  }

 private:
  absl::Status Measure(const std::shared_ptr<const LoadedGraph>& shared, Console& console, BenchResult* result,
                       RunSummary* profile) const {
    const LoadedGraph& model = *shared;
    SLUICE_ASSIGN_OR_RETURN(const ResolvedRun run, ResolveRun(model, request_, session_options_.limits));
    SLUICE_RETURN_IF_ERROR(CheckState(model, session_options_, request_.targets, /*answers=*/true, console).status());
    CancellationManager cancellation;
    const InterruptGuard interrupt(cancellation);
    CallOptions call;
    call.cancellation = &cancellation;
    int64_t start = NowNs();
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            OpenSession(shared, session_options_, model_.kernels()));
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Callable> callable,
                            session->Prepare(run.spec, {absl::InfiniteFuture(), &cancellation}));
    result->prepare = NowNs() - start;
    NotePlacement(model, *callable, console);
    SLUICE_RETURN_IF_ERROR(InitialiseSession(*session, model, session_options_, call));
    console.Progress("running …");
    start = NowNs();
    SLUICE_RETURN_IF_ERROR(RunOnce(*callable, run.inputs, call));
    result->first_run = NowNs() - start;
    for (int64_t i = 1; i < warmup_; ++i) SLUICE_RETURN_IF_ERROR(RunOnce(*callable, run.inputs, call));
    SLUICE_RETURN_IF_ERROR(MeasureRuns(*callable, run.inputs, cancellation, result));
    result->peak_bytes = PeakMemoryBytes();
    result->threads = NumThreads(*session);
    result->nodes = static_cast<int64_t>(model.graph.num_nodes());
    if (profile_ && !result->is_cut_short) {
      TouchCpuAllocator();  // For threads that have not run yet, too.
      StepStatsCollector collector(callable->graph(), session->core().device_list().client().name);
      call.observer = &collector;
      for (int64_t i = 0; i < std::min(result->runs.runs, kMaxProfileRuns); ++i) {
        SLUICE_RETURN_IF_ERROR(RunOnce(*callable, run.inputs, call));
      }
      *profile = Summarize({&collector});
    }
    console.EndProgress();
    return absl::OkStatus();
  }

  static absl::Status RunOnce(const Callable& callable, std::vector<Tensor> inputs,
                              const CallOptions& call = CallOptions()) {
    std::vector<Tensor> outputs(callable.fetches().size());
    return callable.Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs), call);
  }

  // Copies of the inputs (second handles of the same values) are made outside of the time.
  // Ctrl-C ends it; the times measured until then count, unless there are none.
  absl::Status MeasureRuns(const Callable& callable, const std::vector<Tensor>& values,
                           CancellationManager& cancellation, BenchResult* result) const {
    CallOptions call;  // No deadline or cancellation: short runs end by themselves, and polling would cost time.
    if (result->first_run > kLongRunNs) call.cancellation = &cancellation;
    const int64_t end = NowNs() + static_cast<int64_t>(max_seconds_ * 1e9);
    std::vector<int64_t> times;
    times.reserve(static_cast<size_t>(std::min<int64_t>(max_runs_, 1 << 20)));
    std::vector<Tensor> inputs(values.size());
    std::vector<Tensor> outputs(callable.fetches().size());
    do {
      std::copy(values.begin(), values.end(), inputs.begin());
      const int64_t start = NowNs();
      const absl::Status status = callable.Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs), call);
      const int64_t ns = NowNs() - start;
      result->is_cut_short = cancellation.IsCancelled();
      if (!status.ok() && (!result->is_cut_short || times.empty())) return status;
      if (status.ok()) times.push_back(ns);
    } while (!result->is_cut_short && static_cast<int64_t>(times.size()) < max_runs_ && NowNs() < end);
    result->runs = SummarizeLatency(std::move(times));
    return absl::OkStatus();
  }

  void WriteJson(const BenchResult& result, const RunSummary& profile, Console& console) const {
    nlohmann::ordered_json document = {{"model", model_.path()},
                                       {"nodes", result.nodes},
                                       {"threads", result.threads},
                                       {"load_us", Micros(result.load)},
                                       {"prepare_us", Micros(result.prepare)},
                                       {"first_run_us", Micros(result.first_run)},
                                       {"runs", result.runs.runs},
                                       {"run_us", result.runs.ToJson()},
                                       {"rss_peak_bytes", result.peak_bytes}};
    if (profile_) document["profile"] = StatsJson(profile);
    console.Write(JsonDocument(document));
  }

  void WriteText(const BenchResult& result, const RunSummary& profile, Console& console) const {
    const Latency& runs = result.runs;
    const auto time = [](int64_t ns) { return TimeText(static_cast<double>(ns)); };
    console.Write(absl::StrCat(
        console.out().Bold(model_.path()), "  ", CountOf(result.nodes, "node"), ", ", CountOf(result.threads, "thread"),
        "\n  load       ", time(result.load), "\n  prepare    ", time(result.prepare), "\n  first run  ",
        time(result.first_run), "\n  runs       ", CountText(runs.runs), ": min ", TimeText(runs.min), ", p50 ",
        TimeText(runs.p50), ", p90 ", TimeText(runs.p90), ", p99 ", TimeText(runs.p99), ", mean ", TimeText(runs.mean),
        "\n  memory     ", BytesText(result.peak_bytes), " at most\n"));
    if (profile_) console.Write(RenderStats(profile, /*with_nodes=*/false, kMaxProfileRows, console.out()));
  }

  ModelArgument model_;
  RunRequest request_;
  ModelSessionOptions session_options_;
  int64_t max_runs_ = 10000;
  double max_seconds_ = 2;
  int64_t warmup_ = 5;
  bool profile_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeBenchCommand() { return std::make_unique<BenchCommand>(); }

}  // namespace sluice
