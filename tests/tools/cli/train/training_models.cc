#include "tests/tools/cli/train/training_models.h"

#include <cmath>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/numpy/npz.h"

namespace sluice {
namespace {

std::string Bytes(GraphBuilder& b) {
  absl::StatusOr<Graph> graph = b.Build();
  EXPECT_OK(graph);
  return graph.ok() ? ExportGraph(*graph) : "";
}

Output Ints(GraphBuilder& b, absl::string_view name, const std::vector<int32_t>& values) {
  return b.Const(name, Tensor::Vector<int32_t>(values));
}

// A read of a new variable that begins with random numbers.
Output RandomVariable(GraphBuilder& b, const std::string& name, const std::vector<int32_t>& shape, int64_t seed,
                      bool states_shape) {
  const std::vector<int64_t> dims(shape.begin(), shape.end());
  const PartialShape stated = states_shape ? *PartialShape::Make(dims) : PartialShape();
  const Output handle =
      b.Op("VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", stated}, {"shared_name", name}});
  const Output first = b.Op("RandomUniform", name + "/initial", {Ints(b, name + "/shape", shape)},
                            {{"dtype", DType::kFloat}, {"seed", seed}, {"seed2", int64_t{7}}});
  b.Op("AssignVariableOp", name + "/Assign", {handle, first}, {{"dtype", DType::kFloat}});
  return b.Op("ReadVariableOp", name + "/read", {handle}, {{"dtype", DType::kFloat}});
}

}  // namespace

std::string DropoutModel(bool states_shapes) {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 4}));
  const Output wanted = b.Placeholder("wanted", DType::kFloat, PartialShape::Of({-1, 1}));
  const Output scale = b.Placeholder("scale", DType::kFloat, PartialShape::Scalar());
  const Output shape = b.Op("Shape", "x_shape", {x});
  const Output random = b.Op("RandomUniform", "dropout/random", {shape},
                             {{"dtype", DType::kFloat}, {"seed", int64_t{3}}, {"seed2", int64_t{4}}});
  const Output is_kept =
      b.Op("GreaterEqual", "dropout/is_kept", {random, b.Const("dropout/rate", Tensor::Scalar(0.1f))});
  const Output kept = b.Op("Mul", "dropout/x", {x, b.Op("Cast", "dropout/mask", {is_kept}, {{"DstT", DType::kFloat}})});
  const Output product = b.Op("MatMul", "product", {kept, RandomVariable(b, "w", {4, 1}, 1, states_shapes)});
  const Output y = b.Op("AddV2", "y", {product, RandomVariable(b, "b", {1}, 2, states_shapes)});
  const Output off = b.Op("Mul", "off", {b.Op("Sub", "difference", {y, wanted}), scale});
  const Output axes = Ints(b, "axes", {0, 1});
  const Output loss = b.Op("Mean", "loss", {b.Op("Square", "squares", {off}), axes});
  b.Op("Reshape", "loss_in_a_list", {loss, Ints(b, "one", {1})});
  b.Const("text", Tensor::String("text"));
  b.Op("Mean", "error", {b.Op("Abs", "sizes", {off}), axes});
  return Bytes(b);
}

std::string EndlessModel() {
  GraphBuilder b(NewOpRegistry());
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1}));
  const Output enter = b.Op("Enter", "enter", {b.Op("Mean", "mean", {x, Ints(b, "axes", {0})})}, {{"frame_name", "f"}});
  const Output merge = b.Op("Merge", "merge", {enter, enter});
  const Output limit = b.Op("Enter", "limit", {b.Const("limit/value", Tensor::Scalar(-1.0f))},
                            {{"frame_name", "f"}, {"is_constant", true}});
  const Output goes_on = b.Op("LoopCond", "goes_on", {b.Op("Greater", "above", {merge, limit})});
  const Output next = b.Op("Switch", "switch", {merge, goes_on});
  b.SetInput(merge, 1, b.Op("NextIteration", "next", {GraphBuilder::Nth(next, 1)}));
  const Output loss = b.Op("Exit", "loss", {next});
  b.AddControl(b.Op("NoOp", "train"), loss);
  return Bytes(b);
}

std::string TrainingRows(int64_t count) {
  std::vector<float> x, wanted;
  for (int64_t i = 0; i < count; ++i) {
    float sum = 0.5f;
    for (int j = 0; j < 4; ++j) {
      x.push_back(std::sin(static_cast<float>(i * 4 + j) * 1.7f));
      sum += x.back() * static_cast<float>(j - 1);
    }
    wanted.push_back(sum);
  }
  const NamedTensor arrays[] = {{"x", Tensor::Of<float>(Shape::Of({count, 4}), x)},
                                {"wanted", Tensor::Of<float>(Shape::Of({count, 1}), wanted)}};
  absl::StatusOr<std::string> npz = WriteNpz(arrays);
  EXPECT_OK(npz);
  return npz.ok() ? *npz : "";
}

}  // namespace sluice
