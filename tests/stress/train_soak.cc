#include "tests/stress/train_soak.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/training/train_step.h"
#include "graph/value/allocator.h"
#include "tests/testing/session_program.h"

namespace sluice {
namespace {

constexpr int kSteps = 40, kRows = 4, kWidth = 8;
constexpr int kAccumulated = 3;  // Steps for one update, in some networks.
constexpr int kWords = 30;       // Rows of the embedding.

// Builds the network. Lives for one graph.
class NetworkMaker {
 public:
  explicit NetworkMaker(std::mt19937& random) : random_(random), b_(NewOpRegistry()) {}

  Graph Make(const TrainStepOptions& options, std::vector<std::string>* starts, std::string* update) {
    const Output ids = b_.Placeholder("ids", DType::kInt32, PartialShape::Of({kRows}));
    const Output table = Variable("table", {kWords, kWidth});
    const Output rows = b_.Op("ResourceGather", "rows", {table, ids}, {{"dtype", DType::kFloat}});
    const Output weights = Read(Variable("weights", {kWidth, kWidth}));
    const Output state = Loop(rows, weights);
    const Output out = b_.Op("MatMul", "out", {state, Read(Variable("last", {kWidth, 3}))});
    const Output sum = b_.Op("BiasAdd", "sum", {out, Read(Variable("bias", {3}))});
    const Output labels = b_.Op("FloorMod", "labels", {ids, b_.Const("three", Tensor::Scalar(3))});
    const Output losses = b_.Op("SparseSoftmaxCrossEntropyWithLogits", "losses", {sum, labels});
    const Output loss = b_.Op("Mean", "loss", {losses, b_.Const("axis", Tensor::Vector<int32_t>({0}))});
    absl::StatusOr<Graph> graph = b_.Build();
    SLUICE_CHECK_OK(graph.status());
    std::vector<NodeId> variables;
    for (const Output& variable : variables_) variables.push_back(variable.node);
    const absl::StatusOr<TrainStep> step = AddTrainStep(*graph, loss, variables, options);
    SLUICE_CHECK_OK(step.status());
    *starts = starts_;
    starts->emplace_back(graph->name(step->init));
    *update = std::string(graph->name(step->update));
    return *std::move(graph);
  }

 private:
  Output Variable(const std::string& name, const std::vector<int64_t>& dims) {
    const absl::StatusOr<Shape> shape = Shape::Make(dims);
    SLUICE_CHECK_OK(shape.status());
    std::vector<float> values(static_cast<size_t>(shape->num_elements()));
    for (float& value : values) value = static_cast<float>(random_() % 2001) / 2000.0f - 0.5f;
    const PartialShape stated = PartialShape::From(*shape);
    const Output handle =
        b_.Op("VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", stated}, {"shared_name", name}});
    const Output start = b_.Const(name + "_start", Tensor::Of<float>(*shape, values));
    b_.Op("AssignVariableOp", name + "_init", {handle, start}, {{"dtype", DType::kFloat}});
    starts_.push_back(name + "_init");
    variables_.push_back(handle);
    return handle;
  }
  Output Read(Output handle) { return b_.Op("ReadVariableOp", "", {handle}, {{"dtype", DType::kFloat}}); }

  // Five times h = tanh(h w).
  Output Loop(Output start, Output weights) {
    const auto frame = [](bool is_constant) {
      return GraphBuilder::Attrs{{"frame_name", "loop"}, {"is_constant", is_constant}, {"parallel_iterations", 4}};
    };
    const Output zero = b_.Op("Enter", "zero", {b_.Const("z", Tensor::Scalar(0))}, frame(false));
    const Output limit = b_.Op("Enter", "limit", {b_.Const("five", Tensor::Scalar(5))}, frame(true));
    const Output one = b_.Op("Enter", "one", {b_.Const("o", Tensor::Scalar(1))}, frame(true));
    const Output w = b_.Op("Enter", "w", {weights}, frame(true));
    const Output first = b_.Op("Enter", "first", {start}, frame(false));
    const Output count = b_.Op("Merge", "count", {zero, zero});
    const Output h = b_.Op("Merge", "h", {first, first});
    const Output condition = b_.Op("LoopCond", "condition", {b_.Op("Less", "less", {count, limit})});
    const Output count_gate = b_.Op("Switch", "count_gate", {count, condition});
    const Output gate = b_.Op("Switch", "gate", {h, condition});
    const Output next_count = b_.Op("AddV2", "more", {{count_gate.node, 1}, one});
    const Output next = b_.Op("Tanh", "tanh", {b_.Op("MatMul", "product", {{gate.node, 1}, w})});
    b_.SetInput(count, 1, b_.Op("NextIteration", "next_count", {next_count}));
    b_.SetInput(h, 1, b_.Op("NextIteration", "next", {next}));
    return b_.Op("Exit", "state", {gate});
  }

  std::mt19937& random_;
  GraphBuilder b_;
  std::vector<Output> variables_;
  std::vector<std::string> starts_;
};

TrainStepOptions RandomStep(std::mt19937& random) {
  TrainStepOptions options;
  options.optimizer.kind = static_cast<Optimizer::Kind>(random() % 9);
  options.optimizer.momentum = 0.5;
  options.schedule.kind =
      random() % 2 == 0 ? LearningRateSchedule::Kind::kCosine : LearningRateSchedule::Kind::kConstant;
  options.schedule.decay_steps = 100;
  if (random() % 3 == 0) options.clip_norm = 0.5;
  if (random() % 3 == 0) options.accumulate_steps = kAccumulated;
  if (random() % 3 == 0) options.loss_scaling.kind = LossScaling::Kind::kDynamic;
  options.rows = static_cast<RowRule>(random() % 3);
  return options;
}

std::unique_ptr<Session> Started(const Graph& graph, const SessionOptions& options,
                                 const std::vector<std::string>& starts) {
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, graph);
  SLUICE_CHECK_OK(session.status());
  for (const std::string& start : starts) SLUICE_CHECK_OK((*session)->Run({}, {}, {start}).status());
  return *std::move(session);
}

Tensor RandomIds(std::mt19937& random) {
  std::vector<int32_t> ids;
  for (int i = 0; i < kRows; ++i) ids.push_back(static_cast<int32_t>(random() % kWords));
  return Tensor::Vector<int32_t>(ids);
}

}  // namespace

void SoakTraining(uint32_t seed, ThreadPool& pool, std::mt19937& random, SoakCounts* counts) {
  std::vector<std::string> starts;
  std::string update;
  const Graph graph = NetworkMaker(random).Make(RandomStep(random), &starts, &update);
  ++counts->graphs;
  SessionOptions options;
  options.deterministic = true;
  options.num_threads = 1;
  options.driver = Driver::kSerial;
  const std::unique_ptr<Session> serial = Started(graph, options, starts);
  options.driver = Driver::kDataflow;
  options.pool = &pool;
  const std::unique_ptr<Session> dataflow = Started(graph, options, starts);
  const std::unique_ptr<Session> struck = Started(graph, options, starts);
  // Steps that nothing disturbs, up to the first update: variables have memory of their own from then on.
  for (int step = 0; step < kAccumulated; ++step) {
    SLUICE_CHECK_OK(struck->Run({{"ids", RandomIds(random)}}, {"loss"}, {update}).status());
  }
  int64_t memory = 0;
  for (int step = 0; step < kSteps; ++step) {
    const NamedTensors feeds = {{"ids", RandomIds(random)}};
    const Answer expected(serial->Run(feeds, {"loss"}, {update}));
    SLUICE_CHECK_OK(expected.status);
    const Answer found(dataflow->Run(feeds, {"loss"}, {update}));
    Mishap mishap(random);
    CallOptions call;
    call.deadline = mishap.deadline();
    call.cancellation = &mishap.cancellation();
    const absl::Status status = struck->Run(feeds, {"loss"}, {update}, call).status();
    mishap.End();
    if (!(found == expected) || !mishap.Count(status, status.ok(), counts)) {
      ++counts->wrong;
      std::cerr << "seed " << seed << ", step " << step << ": another loss, or " << FormatError(status) << "\n";
    }
    if (step == kSteps / 4) memory = HostAllocatorLiveBytes();
  }
  const int64_t grown = HostAllocatorLiveBytes() - memory;
  if (grown <= 0) return;
  ++counts->wrong;
  std::cerr << "seed " << seed << ": " << grown << " more bytes after " << kSteps << " steps\n";
}

}  // namespace sluice
