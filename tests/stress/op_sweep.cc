#include "tests/stress/op_sweep.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "executor/trace/node_observer.h"
#include "graph/base/error.h"
#include "graph/load/load_graph.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/node_signature.h"

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

// One set of values for `types`; rounds beyond the forms are mixed.
std::vector<Tensor> MakeInputs(absl::Span<const FeedFetchGraph::Port> ports, size_t round, Allocator& allocator) {
  std::vector<Tensor> inputs;
  FuzzRandom random(round);
  for (const FeedFetchGraph::Port& port : ports) {
    const DType type = BaseType(port.dtype);
    if (round < std::size(kInputForms)) {
      inputs.push_back(
          HostileTensor(type, *Shape::Make(kInputForms[round].dims), kInputForms[round].kind, random, allocator));
    } else {
      inputs.push_back(HostileTensor(type, HostileShape(random), random.Pick(kElementKinds), random, allocator));
    }
  }
  return inputs;
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

void OpSweep::Sweep(const OpCase& op_case) {
  counts_.ops.insert(op_case.schema->name);
  Run(op_case);
  proto::AttrValue value;
  for (const AttrSpec& spec : op_case.schema->attrs) {
    if (IsListType(spec.type)) {
      value.mutable_list()->Clear();
      Run(WithAttr(op_case, spec.name, value));
    }
    if (ElementType(spec.type) != AttrType::kInt) continue;
    for (const int64_t extreme : kIntExtremes) {
      value.Clear();
      if (spec.type == AttrType::kInt) value.set_i(extreme);
      if (spec.type == AttrType::kListInt) value.mutable_list()->add_i(extreme);
      Run(WithAttr(op_case, spec.name, value));
    }
  }
}

void OpSweep::Run(const OpCase& op_case) {
  for (const OpPlace place : kOpPlaces) RunPlaced(op_case, place);
}

void OpSweep::RunPlaced(const OpCase& op_case, OpPlace place) {
  ++counts_.graphs;
  const OpGraph made = MakeOpGraph(op_case, place);
  const std::string bytes = made.graph.SerializeAsString();
  const absl::StatusOr<LoadedGraph> model = LoadGraphBytes(bytes, nullptr, "sweep.pb", LoadOptions());
  if (!model.ok()) {
    ++counts_.refused;
    CheckError(op_case, model.status(), false);
    return;
  }
  RunSession(op_case, made, model->graph, Driver::kSerial);
  RunSession(op_case, made, model->graph, Driver::kDataflow);
}

void OpSweep::RunSession(const OpCase& op_case, const OpGraph& made, const Graph& graph, Driver driver) {
  {
    SessionOptions options;
    options.num_threads = 1;
    options.allocator = &allocator_;
    options.driver = driver;
    const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
    if (!session.ok()) return CheckError(op_case, session.status(), true);
    FeedFetchSpec spec;
    spec.fetches = made.fetches;
    spec.targets = {made.target};
    for (const proto::NodeDef& node : made.graph.node()) {
      if (node.op() == "Placeholder") spec.feeds.push_back(node.name());
    }
    const absl::StatusOr<std::shared_ptr<const Callable>> callable = (*session)->Prepare(spec);
    if (!callable.ok()) {
      ++counts_.refused;
      return CheckError(op_case, callable.status(), true);
    }
    CallCounter counter((*callable)->graph(), op_case.schema->name);
    std::vector<Tensor> outputs(spec.fetches.size());
    for (size_t round = 0; round < std::size(kInputForms) + kMixedRounds; ++round) {
      std::vector<Tensor> inputs = MakeInputs((*callable)->feeds(), round, GuardedMemory(guard_));
      CallOptions call;
      call.deadline = absl::Now() + kMaxRunTime;
      call.observer = &counter;
      const absl::Status status = (*callable)->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs), call);
      ++counts_.runs;
      (status.ok() ? counts_.ok : counts_.errors) += 1;
      if (status.ok()) counts_.ops_ok.insert(op_case.schema->name);
      if (!status.ok()) CheckError(op_case, status, true);
    }
    counts_.calls += counter.calls();
    if (counter.calls() > 0) counts_.ops_called.insert(op_case.schema->name);
  }
  if (allocator_.live_bytes() != 0 && counts_.complaints.size() < kMaxComplaints) {
    counts_.complaints.push_back(absl::StrCat(op_case.node.ShortDebugString(), ": leaves memory"));
  }
}

void OpSweep::CheckError(const OpCase& op_case, const absl::Status& status, bool at_run) {
  const std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const bool is_internal = status.code() == absl::StatusCode::kInternal || status.code() == absl::StatusCode::kUnknown;
  // Load and prepare may speak of the file or the function; a step speaks of a node.
  const bool is_useful = info.has_value() && (!info->node.empty() || !info->function.empty());
  if ((is_useful && !(at_run && is_internal)) || counts_.complaints.size() >= kMaxComplaints) return;
  counts_.complaints.push_back(absl::StrCat(op_case.node.ShortDebugString(), ": ", FormatError(status, true)));
}

}  // namespace sluice
