#include "tests/fuzz/graph_trial.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/trace/node_observer.h"
#include "graph/base/error.h"
#include "graph/ir/export.h"
#include "graph/load/load_graph.h"
#include "graph/load/text_export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tstring.h"
#include "kernels/families/register_all.h"
#include "tests/fuzz/determined_values.h"
#include "tests/fuzz/gradient_trial.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/trial_requests.h"
#include "tests/graph/ir/graph_equal.h"
#include "tools/cli/check/check_report.h"

namespace sluice {

namespace {

constexpr int64_t kMaxMemory = 4 << 20;
constexpr absl::Duration kMaxRunTime = absl::Milliseconds(200);
constexpr int kMaxDevices = 3;

// Counts kernel calls by op. Thread-safe.
class OpCounter final : public NodeObserver {
 public:
  OpCounter(const Graph& graph, const absl::flat_hash_map<std::string, size_t>& numbers, FuzzCounts* counts)
      : graph_(graph), numbers_(numbers), counts_(*counts) {}

  void OnStart(NodeId node, int64_t) override {
    const auto found = numbers_.find(graph_.op(node).name);
    if (found != numbers_.end()) FuzzCounts::Add(counts_.op_calls[found->second % FuzzCounts::kMaxOps]);
  }
  void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override {}

 private:
  const Graph& graph_;
  const absl::flat_hash_map<std::string, size_t>& numbers_;
  FuzzCounts& counts_;
};

ThreadPoolOptions TwoThreads() {
  ThreadPoolOptions options;
  options.num_threads = 2;
  return options;
}

// Whether a run may end so under one driver only: it came too late, or needed more memory at once.
bool HangsOnTheRun(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) || absl::IsResourceExhausted(status);
}

bool SameValues(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (IsTrivial(a.dtype())) return a.bytes() == b.bytes();
  if (a.dtype() != DType::kString) return true;  // Handles differ from session to session.
  const absl::Span<const TString> x = a.flat<TString>(), y = b.flat<TString>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const TString& s, const TString& t) { return s.view() == t.view(); });
}

}  // namespace

struct GraphTrial::StepResult {
  absl::Status status;
  std::vector<Tensor> values;
};

GraphTrial::GraphTrial(FuzzCounts* counts)
    : counts_(*counts), pool_(TwoThreads()), allocator_(GuardedMemory(guard_), kMaxMemory) {
  BuiltinOps().ForEachName([&](absl::string_view name) { op_numbers_.emplace(name, op_numbers_.size()); });
}

LoadLimits GraphTrial::Limits() {
  LoadLimits limits;
  limits.max_nodes = 20'000;
  limits.max_expanded_nodes = 5'000;
  limits.max_tensor_bytes = kMaxMemory;
  limits.max_inputs_per_node = 2'000;
  return limits;
}

void GraphTrial::CountError(const absl::Status& status, bool at_run) {
  PromiseUsefulError(status);
  const ErrorInfo info = *ErrorInfoOf(status);
  FuzzCounts::Add(counts_.codes[static_cast<size_t>(info.code) % FuzzCounts::kMaxCodes]);
  // The code of failed checks, which entry points turn into statuses.
  // A result inside of a loop comes more than once, as TensorFlow says too.
  const bool is_second_result = absl::StrContains(info.text, "was set before");
  Promise(info.code != ErrorCode::kInternal || is_second_result, "no check of ours fails", FormatError(status));
  if (!at_run) return;
  const bool is_internal = status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
  // An unstructured graph may well send two values to a Merge.
  if (is_internal && info.code != ErrorCode::kMergeTwice && !is_second_result) {
    FuzzCounts::Add(counts_.internal_errors);
    remarks_.emplace(absl::StrCat("internal-", info.op), FormatError(status, true));
  }
}

void GraphTrial::Check(const absl::StatusOr<LoadedGraph>& model) {
  const CheckReport report = CheckModel("fuzz.pb", model, BuiltinKernels(), LoadLimits());
  // `check` reports at once what a load leaves to the steps that need it.
  const bool is_sound = model.ok() && model->deferred.ok();
  Promise(report.graph_ok() ? model.ok() : !is_sound, "check and load agree");
  Promise(!RenderCheckText(report, Paint(false)).empty() && !RenderCheckJson(report).empty(), "a report has a text");
}

void GraphTrial::Convert(const Graph& graph) {
  FuzzCounts::Add(counts_.converted);
  LoadOptions options;
  options.limits = Limits();
  options.format = GraphFormat::kGraphDef;
  const std::string exported = ExportGraph(graph);
  const absl::StatusOr<LoadedGraph> again = LoadGraphBytes(exported, nullptr, "again.pb", options);
  Promise(again.ok(), "an exported graph loads", again.status().ToString());
  std::string why;
  const bool is_same = GraphsEqual(graph, again->graph, &why);
  Promise(is_same, "an exported graph is equal", why);
  const absl::StatusOr<GraphText> text = GraphDefToText(exported);
  Promise(text.ok(), "an accepted graph has a text form", text.status().ToString());
  if (text->dropped_bytes > 0) return;
  options.format = GraphFormat::kGraphDefText;
  const absl::StatusOr<LoadedGraph> read = LoadGraphBytes(text->text, nullptr, "again.pbtxt", options);
  Promise(read.ok(), "the text of a graph loads", read.status().ToString());
  const bool is_same_text = GraphsEqual(graph, read->graph, &why);
  Promise(is_same_text, "the text of a graph is equal", why);
}

void GraphTrial::Run(absl::string_view bytes, uint64_t seed) {
  remarks_.clear();
  LoadOptions options;
  options.limits = Limits();
  options.reject_shape_problems = seed % 31 == 0;
  options.place_on_one_cpu = seed % 29 == 0;
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(bytes, nullptr, "fuzz.pb", options);
  if (seed % 8 == 0) Check(model);
  if (!model.ok()) {
    CountError(model.status(), false);
    return;
  }
  FuzzCounts::Add(counts_.imported);
  for (const ShapeProblem& problem : model->shapes->problems()) PromiseUsefulError(problem.status);
  if (seed % 4 == 0) Convert(model->graph);
  RunGraph(model->graph, seed);
  if (seed % 4 == 1) RunGradients(model->graph, seed);
}

void GraphTrial::RunSteps(Session& session, const TrialRequest& request, bool observe, RequestResults* results) {
  const absl::StatusOr<std::shared_ptr<const Callable>> callable = session.Prepare(request.spec);
  if (!callable.ok()) {
    CountError(callable.status(), true);
    return;
  }
  has_prepared_ = true;
  OpCounter counter((*callable)->graph(), op_numbers_, &counts_);
  for (std::vector<Tensor> inputs : request.rounds) {
    StepResult result;
    result.values.resize(request.spec.fetches.size());
    CallOptions call;
    call.deadline = absl::Now() + kMaxRunTime;
    if (observe) call.observer = &counter;
    has_run_ = true;
    result.status = (*callable)->Run(absl::MakeSpan(inputs), absl::MakeSpan(result.values), call);
    FuzzCounts::Add(counts_.runs);
    if (result.status.ok()) {
      FuzzCounts::Add(counts_.runs_ok);
      has_ended_well_ = true;
    } else {
      CountError(result.status, true);
    }
    for (const Tensor& value : result.values) {
      if (value.has_value()) Promise(!value.ToString().empty(), "a value can be shown");
    }
    results->push_back(std::move(result));
  }
}

void GraphTrial::RunSession(const Graph& graph, const SessionOptions& options,
                            const std::vector<TrialRequest>& requests, std::vector<RequestResults>* results) {
  results->resize(requests.size());
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
  if (!session.ok()) return CountError(session.status(), true);
  for (size_t i = 0; i < requests.size(); ++i) {
    RunSteps(**session, requests[i], !options.cut_by_device, &(*results)[i]);
  }
}

void GraphTrial::CompareRequest(const Graph& graph, const FeedFetchSpec& spec, const RequestResults& serial,
                                const RequestResults& dataflow) {
  // Prepared by one alone: a device that only the other session has.
  if (serial.size() != dataflow.size()) return;
  const DeterminedValues determined(graph, spec);
  for (size_t i = 0; i < serial.size(); ++i) {
    const absl::Status &a = serial[i].status, &b = dataflow[i].status;
    // A remark: the serial driver does not look at the predicate of a Switch whose outputs no kernel takes.
    if (a.ok() != b.ok() && !HangsOnTheRun(a) && !HangsOnTheRun(b) && determined.AreAllDetermined()) {
      remarks_.emplace(
          "one-fails",
          absl::StrCat(a.ok() ? "serial ends well, dataflow: " : "dataflow ends well, serial: ",
                       FormatError(a.ok() ? b : a, true), " (feeds ", absl::StrJoin(spec.feeds, ", "), "; fetches ",
                       absl::StrJoin(spec.fetches, ", "), "; targets ", absl::StrJoin(spec.targets, ", "), ")"));
    }
    if (!a.ok() || !b.ok()) continue;
    for (size_t j = 0; j < spec.fetches.size(); ++j) {
      const Tensor &x = serial[i].values[j], &y = dataflow[i].values[j];
      if (!determined.IsDetermined(spec.fetches[j]) || SameValues(x, y)) continue;
      FuzzCounts::Add(counts_.differences);
      remarks_.emplace("differ", absl::StrCat(spec.fetches[j], ": ", x.ToString(), " and ", y.ToString()));
      return;
    }
  }
}

void GraphTrial::RunGraph(const Graph& graph, uint64_t seed) {
  has_run_ = has_prepared_ = has_ended_well_ = false;
  RunRequests(graph, MakeTrialRequests(graph, seed, GuardedMemory(guard_)), seed);
  if (has_prepared_) FuzzCounts::Add(counts_.prepared);
  if (has_run_) FuzzCounts::Add(counts_.reached_run);
  if (has_ended_well_) FuzzCounts::Add(counts_.ran_ok);
}

void GraphTrial::RunGradients(const Graph& graph, uint64_t seed) {
  const absl::StatusOr<DifferentiatedGraph> made = Differentiate(graph, seed);
  if (!made.ok()) {
    FuzzCounts::Add(counts_.gradients_refused);
    return CountError(made.status(), false);
  }
  if (made->fetches.empty()) return;
  FuzzCounts::Add(counts_.differentiated);
  if (seed % 8 == 1) Convert(made->graph);
  // Fed as the graph is without them; asked for what was added alone.
  std::vector<TrialRequest> requests = MakeTrialRequests(graph, seed, GuardedMemory(guard_));
  if (requests.empty()) return;
  requests.resize(made->starts.empty() ? 1 : 2, requests[0]);
  for (TrialRequest& request : requests) request.spec.fetches.clear();
  requests[0].spec.targets = made->starts;
  requests.back().spec.fetches = made->fetches;
  requests.back().spec.targets = made->targets;
  requests.back().rounds.resize(requests[0].rounds.size(), requests[0].rounds[0]);
  has_ended_well_ = false;
  RunRequests(made->graph, requests, seed);
  if (has_ended_well_) FuzzCounts::Add(counts_.gradients_ok);
}

void GraphTrial::RunRequests(const Graph& graph, const std::vector<TrialRequest>& requests, uint64_t seed) {
  SessionOptions options;
  options.limits = Limits();
  options.allocator = &allocator_;
  options.num_threads = 1;
  std::vector<RequestResults> serial, dataflow;
  options.driver = seed % 16 == 0 ? Driver::kAuto : Driver::kSerial;
  RunSession(graph, options, requests, &serial);
  options.driver = Driver::kDataflow;
  options.num_cpu_devices = 1 + static_cast<int>(seed / 2 % kMaxDevices);
  options.cut_by_device = seed / 16 % 4 == 0;
  options.allow_soft_placement = seed / 64 % 2 == 0;
  if (seed % 2 == 0) options.pool = &pool_;
  RunSession(graph, options, requests, &dataflow);
  for (size_t i = 0; i < requests.size(); ++i) CompareRequest(graph, requests[i].spec, serial[i], dataflow[i]);
  serial.clear();
  dataflow.clear();
  Promise(allocator_.live_bytes() == 0, "all memory of a session comes back");
}

}  // namespace sluice
