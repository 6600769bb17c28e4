#include "tests/stress/op_sweep.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/trace/node_observer.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/load/load_graph.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/node_signature.h"
#include "tests/testing/plausible_inputs.h"

namespace sluice {
namespace {

constexpr int64_t kMaxMemory = 4 << 20;
constexpr absl::Duration kMaxRunTime = absl::Milliseconds(500);
constexpr size_t kMaxComplaints = 40;

constexpr int64_t kIntExtremes[] = {
    0, -1, INT32_MIN, int64_t{1} << 31, int64_t{1} << 40, INT64_MIN, 1'000'000'000'000'000'000};

// What all inputs of a step look like.
struct InputForm {
  ElementKind kind;
  std::vector<int64_t> dims;
};
const InputForm kInputForms[] = {
    {ElementKind::kSmall, {}},        {ElementKind::kSmall, {3}},       {ElementKind::kSmall, {2, 3}},
    {ElementKind::kSmall, {0}},       {ElementKind::kSmall, {2, 0, 3}}, {ElementKind::kExtreme, {}},
    {ElementKind::kExtreme, {4}},     {ElementKind::kExtreme, {2, 2}},  {ElementKind::kSigned, {1, 2, 2, 1}},
    {ElementKind::kSmall, {2, 2, 2}}, {ElementKind::kSigned, {1}},
};
constexpr int kMixedRounds = 4;  // Each input of a shape of its own.
constexpr int kMaxDraws = 2000;  // Before a case is given up as one that accepts nothing.

// Counts calls of one op's kernel. Thread-safe enough for runs on one thread.
class CallCounter final : public NodeObserver {
 public:
  CallCounter(const Graph& graph, const std::string& op) : graph_(graph), op_(op) {}

  void OnStart(NodeId node, int64_t) override { calls_ += graph_.op(node).name == op_ ? 1 : 0; }
  void OnNode(NodeId, int64_t, int64_t, const KernelContext&) override {}
  int64_t calls() const { return calls_; }

 private:
  const Graph& graph_;
  const std::string op_;
  int64_t calls_ = 0;
};

// `input` in memory whose end is guarded, and that has no other holder.
Tensor Guarded(const Tensor& input, Allocator& allocator) {
  if (!IsTrivial(input.dtype())) return input.DeepCopy().value();
  Tensor copy = Tensor::Make(input.dtype(), input.shape(), allocator).value();
  if (input.total_bytes() > 0) std::memcpy(copy.mutable_raw_data(), input.raw_data(), input.total_bytes());
  return copy;
}

// The case with attr `name` at `value`.
OpCase WithAttr(const OpCase& op_case, const std::string& name, const proto::AttrValue& value) {
  OpCase changed = op_case;
  (*changed.node.mutable_attr())[name] = value;
  // Where the attr decides how many inputs there are and they can be made, they are made to fit.
  const absl::StatusOr<Signature> signature = SignatureOf(changed.node);
  if (signature.ok() && signature->inputs.size() <= 8) changed.signature = *signature;
  return changed;
}

}  // namespace

OpSweep::OpSweep(SweepCounts* counts) : counts_(*counts), allocator_(GuardedMemory(guard_), kMaxMemory) {}

// One place of a case under one driver, ready to run.
struct OpSweep::Step {
  OpGraph made;
  std::string bytes;  // Of `made`; the model shares them.
  std::optional<LoadedGraph> model;
  std::unique_ptr<Session> session;
  std::shared_ptr<const Callable> callable;
};

void OpSweep::Sweep(const OpCase& op_case) {
  // They wait for what no other step gives them: nothing but deadlines would be tested, for hours.
  if (op_case.schema->name == "Unstage" || op_case.schema->name == "StagePeek") return;
  const OpClass op_class = op_case.schema->op_class;
  const bool has_kernel = !IsControlFlow(op_class) && op_class != OpClass::kNoOp && op_class != OpClass::kGradSum;
  (has_kernel ? counts_.ops : counts_.without_kernel).insert(op_case.schema->name);
  FindAccepted(op_case);
  SweepPlaces(op_case);
  proto::AttrValue value;
  for (const AttrSpec& spec : op_case.schema->attrs) {
    if (IsListType(spec.type)) {
      value.mutable_list()->Clear();
      SweepPlaces(WithAttr(op_case, spec.name, value));
    }
    if (ElementType(spec.type) != AttrType::kInt) continue;
    for (const int64_t extreme : kIntExtremes) {
      value.Clear();
      if (spec.type == AttrType::kInt) value.set_i(extreme);
      if (spec.type == AttrType::kListInt) value.mutable_list()->add_i(extreme);
      SweepPlaces(WithAttr(op_case, spec.name, value));
    }
  }
}

absl::Status OpSweep::Prepare(const OpCase& op_case, OpPlace place, Driver driver, Step* step) {
  step->made = MakeOpGraph(op_case, place);
  step->bytes = step->made.graph.SerializeAsString();
  SLUICE_ASSIGN_OR_RETURN(step->model, LoadGraphBytes(step->bytes, nullptr, "sweep.pb", LoadOptions()));
  SessionOptions options;
  options.num_threads = 1;
  options.allocator = &allocator_;
  options.driver = driver;
  SLUICE_ASSIGN_OR_RETURN(step->session, Session::Create(options, step->model->graph));
  FeedFetchSpec spec;
  spec.fetches = step->made.fetches;
  spec.targets = {step->made.target};
  for (const proto::NodeDef& node : step->made.graph.node()) {
    if (node.op() == "Placeholder" && node.name() != "op") spec.feeds.push_back(node.name());
  }
  SLUICE_ASSIGN_OR_RETURN(step->callable, step->session->Prepare(spec));
  return absl::OkStatus();
}

absl::Status OpSweep::RunStep(const Step& step, const std::vector<Tensor>& inputs, CallOptions call) {
  std::vector<Tensor> own;
  for (const Tensor& input : inputs) own.push_back(Guarded(input, GuardedMemory(guard_)));
  std::vector<Tensor> outputs(step.callable->fetches().size());
  call.deadline = absl::Now() + kMaxRunTime;
  return step.callable->Run(absl::MakeSpan(own), absl::MakeSpan(outputs), call);
}

void OpSweep::FindAccepted(const OpCase& op_case) {
  accepted_.clear();
  Step step;
  if (!Prepare(op_case, OpPlace::kGraph, Driver::kSerial, &step).ok()) return;
  std::vector<DType> dtypes;
  for (const FeedFetchGraph::Port& feed : step.callable->feeds()) {
    dtypes.push_back(BaseType(feed.dtype));
    if (!IsTrivial(dtypes.back()) && dtypes.back() != DType::kString) return;
  }
  ++counts_.cases;
  PlausibleInputs source(1);
  for (int i = 0; i < kMaxDraws; ++i) {
    std::vector<Tensor> inputs = source.Draw(dtypes, /*is_large=*/false);
    if (!RunStep(step, inputs, CallOptions()).ok()) continue;
    ++counts_.cases_ok;
    accepted_ = std::move(inputs);
    return;
  }
}

void OpSweep::SweepPlaces(const OpCase& op_case) {
  for (const OpPlace place : kOpPlaces) {
    ++counts_.graphs;
    for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
      Step step;
      const absl::Status prepared = Prepare(op_case, place, driver, &step);
      if (prepared.ok()) {
        SweepInputs(op_case, step);
        continue;
      }
      ++counts_.refused;
      CheckError(op_case, prepared, step.model.has_value());
    }
    if (allocator_.live_bytes() != 0 && counts_.complaints.size() < kMaxComplaints) {
      counts_.complaints.push_back(absl::StrCat(op_case.node.ShortDebugString(), ": leaves memory"));
    }
  }
}

void OpSweep::SweepInputs(const OpCase& op_case, const Step& step) {
  CallCounter counter(step.callable->graph(), op_case.schema->name);
  CallOptions call;
  call.observer = &counter;
  for (const std::vector<Tensor>& inputs : AllInputs(step.callable->feeds())) {
    const absl::Status status = RunStep(step, inputs, call);
    ++counts_.runs;
    (status.ok() ? counts_.ok : counts_.errors) += 1;
    if (status.ok()) {
      counts_.ops_ok.insert(op_case.schema->name);
    } else {
      CheckError(op_case, status, true);
    }
  }
  counts_.calls += counter.calls();
  if (counter.calls() > 0) counts_.ops_called.insert(op_case.schema->name);
}

std::vector<std::vector<Tensor>> OpSweep::AllInputs(absl::Span<const FeedFetchGraph::Port> feeds) {
  std::vector<std::vector<Tensor>> all;
  FuzzRandom random(feeds.size());
  bool fits = accepted_.size() == feeds.size();
  for (size_t i = 0; i < feeds.size() && fits; ++i) fits = accepted_[i].dtype() == BaseType(feeds[i].dtype);
  if (fits) all.push_back(accepted_);
  for (size_t i = 0; i < feeds.size() && fits; ++i) {
    const auto add = [&](const Shape& shape, ElementKind kind) {
      all.push_back(accepted_);
      all.back()[i] = HostileTensor(BaseType(feeds[i].dtype), shape, kind, random);
    };
    add(accepted_[i].shape(), ElementKind::kExtreme);
    add(accepted_[i].shape(), ElementKind::kSigned);
    add(HostileShape(random), ElementKind::kSmall);
    add(Shape::Of({0}), ElementKind::kSmall);
  }
  for (size_t round = 0; round < std::size(kInputForms) + kMixedRounds; ++round) {
    const InputForm* const form = round < std::size(kInputForms) ? &kInputForms[round] : nullptr;
    std::vector<Tensor>& inputs = all.emplace_back();
    for (const FeedFetchGraph::Port& feed : feeds) {
      const Shape shape = form != nullptr ? Shape::Make(form->dims).value() : HostileShape(random);
      const ElementKind kind = form != nullptr ? form->kind : random.Pick(kElementKinds);
      inputs.push_back(HostileTensor(BaseType(feed.dtype), shape, kind, random));
    }
  }
  return all;
}

void OpSweep::CheckError(const OpCase& op_case, const absl::Status& status, bool at_run) {
  const std::string& op = op_case.schema->name;
  counts_.last_errors[op] = std::string(status.message());
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  // Load and prepare may speak of the file or the function; a step speaks of a node.
  const bool is_useful = info.has_value() && (!info->node.empty() || !info->function.empty());
  // TensorFlow answers INTERNAL, too, for TruncateDiv by zero and a pop of another dtype.
  const bool is_told = info.has_value() && (info->code == ErrorCode::kOpBroken || info->code == ErrorCode::kOutputType);
  const bool is_internal = status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
  // Alone, a node of control flow is dead or has no serial program: that is said of the fetch or the program.
  if (counts_.without_kernel.count(op) > 0) return;
  if (is_useful && (is_told || !is_internal || !at_run)) return;
  if (counts_.complaints.size() >= kMaxComplaints || !complained_.insert(op).second) return;
  counts_.complaints.push_back(absl::StrCat(op_case.node.ShortDebugString(), ": ", FormatError(status, true)));
}

}  // namespace sluice
