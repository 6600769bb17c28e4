#include "tools/examples/example_network.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/saved_model/open_saved_model.h"
#include "executor/saved_model/saver_nodes.h"
#include "executor/saved_model/write_saved_model.h"
#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

// The deviation of weights with which sums of so many inputs keep their size (He et al., 2015).
float He(int64_t inputs) { return std::sqrt(2 / static_cast<float>(inputs)); }

// Rows [begin, end) as the network takes them.
struct Batch {
  Tensor input, label;
};

absl::StatusOr<Batch> RowsOf(const ExampleData& data, const std::vector<int64_t>& row, int64_t begin, int64_t end) {
  std::vector<int64_t> dims = row;
  dims.insert(dims.begin(), end - begin);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const auto size = static_cast<size_t>(shape.num_elements()), count = static_cast<size_t>(end - begin);
  const auto first = static_cast<size_t>(begin);
  const absl::Span<const float> values = absl::MakeConstSpan(data.values).subspan(first * (size / count), size);
  return Batch{Tensor::Of<float>(shape, values),
               Tensor::Vector<int32_t>(absl::MakeConstSpan(data.labels).subspan(first, count))};
}

// The loss after each epoch goes to standard output. The rows are taken as they stand: they were drawn at random.
absl::Status RunEpochs(Session& session, const std::string& step, const ExampleData& train,
                       const std::vector<int64_t>& row, const Training& training) {
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Callable> callable,
                          session.Prepare({{"input", "label"}, {"loss"}, {step}, {}}));
  for (int64_t epoch = 1; epoch <= training.epochs; ++epoch) {
    double sum = 0;
    int64_t steps = 0;
    for (int64_t begin = 0; begin + training.batch <= train.count; begin += training.batch, ++steps) {
      SLUICE_ASSIGN_OR_RETURN(Batch batch, RowsOf(train, row, begin, begin + training.batch));
      Tensor in[] = {std::move(batch.input), std::move(batch.label)}, loss;
      SLUICE_RETURN_IF_ERROR(callable->Run(absl::MakeSpan(in), absl::MakeSpan(&loss, 1)));
      sum += loss.flat<float>()[0];
    }
    std::printf("epoch %2lld  loss %.4f\n", static_cast<long long>(epoch), sum / static_cast<double>(steps));
  }
  return absl::OkStatus();
}

// The share of right answers of the model in `directory`.
absl::StatusOr<double> Accuracy(const std::string& directory, const ExampleData& data,
                                const std::vector<int64_t>& row) {
  SLUICE_ASSIGN_OR_RETURN(const OpenModel model, OpenSavedModel(directory));
  SLUICE_ASSIGN_OR_RETURN(Batch all, RowsOf(data, row, 0, data.count));
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors results, model.Call("serving_default", {{"input", all.input}}));
  double right = 0;
  for (const auto& [name, value] : results) {
    if (name != "answer") continue;
    for (size_t i = 0; i < data.labels.size(); ++i) right += value.flat<int32_t>()[i] == data.labels[i] ? 1 : 0;
  }
  return right / static_cast<double>(data.count);
}

}  // namespace

NetworkBuilder::NetworkBuilder(const PartialShape& input) : builder_(NewOpRegistry()), random_(1) {
  last_ = builder_.Placeholder("input", DType::kFloat, input);
}

Output NetworkBuilder::Variable(const std::string& name, const Shape& shape, float deviation) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (float& value : values) value = deviation * random_.Normal();
  const Output handle = builder_.Op(
      "VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::From(shape)}, {"shared_name", name}});
  const Output initial = builder_.Const(name + "/initial", Tensor::Of<float>(shape, values));
  assigns_.push_back(builder_.Op("AssignVariableOp", name + "/Assign", {handle, initial}, {{"dtype", DType::kFloat}}));
  return builder_.Op("ReadVariableOp", name + "/read", {handle}, {{"dtype", DType::kFloat}});
}

Output NetworkBuilder::Ints(absl::string_view name, const std::vector<int32_t>& values) {
  return builder_.Const(name, Tensor::Vector<int32_t>(values));
}

void NetworkBuilder::Dense(const std::string& name, int64_t inputs, int64_t outputs) {
  const Output weights = Variable(name + "/weights", Shape::Of({inputs, outputs}), He(inputs));
  const Output bias = Variable(name + "/bias", Shape::Of({outputs}), 0);
  last_ = builder_.Op("BiasAdd", name + "/out", {builder_.Op("MatMul", name + "/product", {last_, weights}), bias});
}

void NetworkBuilder::Conv(const std::string& name, int64_t inputs, int64_t outputs) {
  const Output filter = Variable(name + "/filter", Shape::Of({3, 3, inputs, outputs}), He(9 * inputs));
  const Output bias = Variable(name + "/bias", Shape::Of({outputs}), 0);
  const Output conv = builder_.Op("Conv2D", name + "/conv", {last_, filter},
                                  {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
  last_ = builder_.Op("BiasAdd", name + "/out", {conv, bias});
}

void NetworkBuilder::MaxPool() {
  const std::vector<int64_t> two = {1, 2, 2, 1};
  last_ = builder_.Op("MaxPool", "", {last_}, {{"ksize", two}, {"strides", two}, {"padding", "VALID"}});
}

void NetworkBuilder::Reshape(const std::vector<int32_t>& shape) {
  last_ = builder_.Op("Reshape", "", {last_, Ints("", shape)});
}

absl::StatusOr<Graph> NetworkBuilder::Finish() {
  const Output label = builder_.Placeholder("label", DType::kInt32, PartialShape::Of({-1}));
  const Output rows = Ints("rows", {0});
  builder_.Op("Softmax", "probabilities", {last_});
  const Output axis = builder_.Const("classes", Tensor::Scalar<int32_t>(1));
  const Output answer = builder_.Op("ArgMax", "answer", {last_, axis}, {{"output_type", DType::kInt32}});
  const Output is_right = builder_.Op("Equal", "is_right", {answer, label});
  const Output right = builder_.Op("Cast", "right", {is_right}, {{"DstT", DType::kFloat}});
  builder_.Op("Mean", "accuracy", {right, rows});
  const Output losses = builder_.Op("SparseSoftmaxCrossEntropyWithLogits", "losses", {last_, label});
  builder_.Op("Mean", "loss", {losses, rows});
  const Output init = builder_.Op("NoOp", "init");
  for (const Output& assign : assigns_) builder_.AddControl(init, assign);
  return builder_.Build();
}

absl::StatusOr<double> TrainNetwork(const Graph& untrained, const ExampleData& train, const ExampleData& test,
                                    const std::vector<int64_t>& row, const Training& training,
                                    const std::string& directory) {
  Graph graph = untrained;
  const Output loss = {graph.Find("loss"), 0};
  const std::vector<NodeId> variables = VariablesNeededBy(graph, {loss.node});
  TrainStepOptions options;
  options.optimizer = training.optimizer;
  options.learning_rate = training.learning_rate;
  SLUICE_ASSIGN_OR_RETURN(const TrainStep step, AddTrainStep(graph, loss, variables, options));
  SLUICE_ASSIGN_OR_RETURN(const SaverNodes saver, AddSaver(graph, variables));

  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(SessionOptions(), graph));
  SLUICE_RETURN_IF_ERROR(session->Run({}, {}, {"init"}).status());
  SLUICE_RETURN_IF_ERROR(session->Run({}, {}, {std::string(graph.name(step.init))}).status());
  SLUICE_RETURN_IF_ERROR(RunEpochs(*session, std::string(graph.name(step.update)), train, row, training));

  ModelExport what;
  what.inputs = {{"input", {graph.Find("input"), 0}}};
  what.outputs = {{"answer", {graph.Find("answer"), 0}}, {"probabilities", {graph.Find("probabilities"), 0}}};
  what.trainable = variables;
  SLUICE_ASSIGN_OR_RETURN(const NamedTensors values, ReadVariables(*session, saver));
  SLUICE_RETURN_IF_ERROR(WriteSavedModel(directory, graph, what, values));
  return Accuracy(directory, test, row);
}

}  // namespace sluice
