#include "tests/tools/cli/sample_models.h"

#include <vector>

#include "tests/testing/graph_bytes.h"

namespace sluice {

using graph_bytes::BoolAttr;
using graph_bytes::EnterNode;
using graph_bytes::GraphDefBytes;
using graph_bytes::IntAttr;
using graph_bytes::kBool;
using graph_bytes::kFloat;
using graph_bytes::kInt64;
using graph_bytes::MessageBytes;
using graph_bytes::NodeDefBytes;
using graph_bytes::ScalarNode;
using graph_bytes::ShapeAttr;
using graph_bytes::StringAttr;
using graph_bytes::TypeAttr;
using graph_bytes::TypeListAttr;
using graph_bytes::UnaryNode;

namespace {

MessageBytes Matrix(const std::vector<float>& values, int64_t rows, int64_t columns) {
  MessageBytes tensor = graph_bytes::TensorBytes(kFloat, {rows, columns});
  for (const float value : values) tensor.Float(5, value);
  return tensor;
}

}  // namespace

std::string SampleModel() {
  return GraphDefBytes(
      {NodeDefBytes("x", "Placeholder", {}, {{"dtype", TypeAttr(kFloat)}, {"shape", ShapeAttr({-1, 2})}}),
       graph_bytes::ConstNode("net/w", kFloat, Matrix({1, 2, 3, 4, 5, 6}, 2, 3)),
       NodeDefBytes("net/hidden", "MatMul", {"x", "net/w"},
                    {{"T", TypeAttr(kFloat)}, {"transpose_a", BoolAttr(false)}, {"transpose_b", BoolAttr(false)}}),
       UnaryNode("net/act", "Relu", {"net/hidden"}), UnaryNode("y", "Softmax", {"net/act"}),
       NodeDefBytes("v", "VariableV2", {}, {{"dtype", TypeAttr(kFloat)}, {"shape", ShapeAttr({})}}),
       ScalarNode("zero", 0), NodeDefBytes("v/assign", "Assign", {"v", "zero"}, {{"T", TypeAttr(kFloat)}}),
       NodeDefBytes("init", "NoOp", {"^v/assign"}, {}, "/device:CPU:0")});
}

std::string LoopModel() {
  return GraphDefBytes({ScalarNode("start"), ScalarNode("limit", 5), EnterNode("enter", "start", "loop", 4),
                        NodeDefBytes("merge", "Merge", {"enter", "next"}, {{"T", TypeAttr(kFloat)}, {"N", IntAttr(2)}}),
                        NodeDefBytes("limit_in", "Enter", {"limit"},
                                     {{"T", TypeAttr(kFloat)},
                                      {"frame_name", StringAttr("loop")},
                                      {"is_constant", BoolAttr(true)},
                                      {"parallel_iterations", IntAttr(4)}}),
                        UnaryNode("less", "Less", {"merge", "limit_in"}), NodeDefBytes("cond", "LoopCond", {"less"}),
                        UnaryNode("switch", "Switch", {"merge", "cond"}), UnaryNode("exit", "Exit", {"switch"}),
                        UnaryNode("body", "Square", {"switch:1"}), UnaryNode("next", "NextIteration", {"body"})});
}

std::string FunctionModel() {
  const graph_bytes::FunctionBytes twice = {
      "Twice", {{"a", kFloat}}, {{"b", kFloat}}, {UnaryNode("sum", "AddV2", {"a", "a"})}, {{"b", "sum:z:0"}}, {}};
  return GraphDefBytes({graph_bytes::PlaceholderNode("x"), NodeDefBytes("call", "Twice", {"x"})},
                       graph_bytes::LibraryBytes({twice.Message()}));
}

std::string PipelineModel() {
  const graph_bytes::AttrBytes types = {
      {"output_types", TypeListAttr({kFloat, kInt64})},
      {"output_shapes",
       MessageBytes().Sub(1, MessageBytes().Sub(7, graph_bytes::ShapeBytes({2})).Sub(7, graph_bytes::ShapeBytes({})))}};
  graph_bytes::AttrBytes iterator = types;
  iterator.emplace_back("shared_name", StringAttr(""));
  iterator.emplace_back("container", StringAttr(""));
  return GraphDefBytes(
      {NodeDefBytes("it", "IteratorV2", {}, iterator), NodeDefBytes("next", "IteratorGetNext", {"it"}, types),
       NodeDefBytes("py", "PyFunc", {"next"},
                    {{"token", StringAttr("f")}, {"Tin", TypeListAttr({kFloat})}, {"Tout", TypeListAttr({kFloat})}}),
       UnaryNode("out", "Relu", {"py"})});
}

std::string BrokenModel() {
  return GraphDefBytes(
      {NodeDefBytes("a", "Conv2d"), NodeDefBytes("b", "NoSuchOp"), UnaryNode("c", "Relu", {"nowhere"})});
}

std::string SavedModelFile() {
  MessageBytes in, out, signature, serve, train, model;
  in.Bytes(1, "x:0").Int(2, kFloat);
  out.Bytes(1, "y:0").Int(2, kFloat);
  signature.Entry(1, "features", in).Entry(2, "scores", out).Bytes(3, "tensorflow/serving/predict");
  serve.Sub(1, MessageBytes().Bytes(4, "serve").Bytes(5, "2.19.1")).Bytes(2, SampleModel());
  serve.Entry(5, "serving_default", signature);
  train.Sub(1, MessageBytes().Bytes(4, "train")).Bytes(2, GraphDefBytes({ScalarNode("only_in_train")}));
  model.Int(1, 1).Sub(2, serve).Sub(2, train);
  return model.str();
}

}  // namespace sluice
