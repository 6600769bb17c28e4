#include "tests/tools/cli/trained_models.h"

#include <filesystem>
#include <vector>

#include "graph/base/file.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

using graph_bytes::MessageBytes;

constexpr int64_t kFloatNumber = graph_bytes::kFloat;

MessageBytes SignatureBytes(absl::string_view in, absl::string_view out) {
  MessageBytes x, y, signature;
  x.Bytes(1, in).Int(2, kFloatNumber);
  y.Bytes(1, out).Int(2, kFloatNumber);
  return signature.Entry(1, "features", x).Entry(2, "scores", y).Bytes(3, "tensorflow/serving/predict");
}

MessageBytes InitSignature(absl::string_view init_op) {
  MessageBytes op, signature;
  op.Bytes(1, init_op);
  return signature.Entry(2, "__saved_model_init_op", op);
}

MessageBytes SaverBytes(absl::string_view filename, absl::string_view save, absl::string_view restore) {
  return MessageBytes().Bytes(1, filename).Bytes(2, save).Bytes(3, restore).Int(7, 2);
}

MessageBytes MetaGraphBytes(absl::string_view graph, const MessageBytes& saver) {
  return MessageBytes().Sub(1, MessageBytes().Bytes(4, "serve").Bytes(5, "2.19.1")).Bytes(2, graph).Sub(3, saver);
}

MessageBytes TrainedMeta() {
  return MetaGraphBytes(TrainedGraph(), SaverBytes("save/Const:0", "save/control_dependency:0", "save/restore_all"));
}

// `variable`: the name under which the checkpoint holds the trained values.
std::string MakeDirectory(const std::string& name, const std::string& model, const std::string& variable) {
  const std::string directory = TestFile(name);
  std::filesystem::create_directories(directory + "/variables");
  EXPECT_OK(WriteFile(directory + "/saved_model.pb", model));
  EXPECT_OK(WriteBundle(directory + "/variables/variables", {{variable, Tensor::Vector<float>({2, 3})}}));
  return directory;
}

std::string FileOf(const MessageBytes& meta_graph) { return MessageBytes().Int(1, 1).Sub(2, meta_graph).str(); }

}  // namespace

std::string TrainedGraph() {
  GraphBuilder b(NewOpRegistry());
  const GraphBuilder::Attrs two = {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}};
  const GraphBuilder::Attrs scalar = {{"dtype", DType::kFloat}, {"shape", PartialShape::Scalar()}};
  const Output v = b.Op("VariableV2", "dense/kernel", {}, two);
  const Output counter = b.Op("VariableV2", "counter", {}, scalar);
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 2}));
  b.Op("AddV2", "y", {b.Op("Mul", "product", {x, v}), counter});
  const Output zeros = b.Const("zeros", Tensor::Vector<float>({0, 0}));
  b.AddControl(b.Op("NoOp", "init"), b.Op("Assign", "dense/kernel/Assign", {v, zeros}));
  const Output start = b.Op("Assign", "counter/Assign", {counter, b.Const("zero", Tensor::Scalar(0.0f))});
  b.AddControl(b.Op("NoOp", "local_init"), start);
  // tf.train.Saver.
  const Output file =
      b.Op("PlaceholderWithDefault", "save/Const", {b.Const("save/filename/input", Tensor::String("model"))},
           {{"shape", PartialShape::Scalar()}});
  const Output names = b.Const("save/names", Tensor::Of<TString>(Shape::Of({1}), {TString("dense/kernel")}));
  const Output slices = b.Const("save/slices", Tensor::Of<TString>(Shape::Of({1}), {TString("")}));
  const Output save =
      b.Op("SaveV2", "save/SaveV2", {file, names, slices, v}, {{"dtypes", std::vector<DType>{DType::kFloat}}});
  const Output done = b.Op("Identity", "save/control_dependency", {file});
  b.AddControl(done, save);
  const Output restored =
      b.Op("RestoreV2", "save/RestoreV2", {file, names, slices}, {{"dtypes", std::vector<DType>{DType::kFloat}}});
  b.AddControl(b.Op("NoOp", "save/restore_all"), b.Op("Assign", "save/Assign", {v, restored}));
  EXPECT_OK(b.status());
  return ExportGraph(*b.Build());
}

std::string TrainedMetaGraph() { return TrainedMeta().str(); }

std::string TrainedSavedModelFile(absl::string_view init_op) {
  MessageBytes meta = TrainedMeta();
  meta.Entry(5, "serving_default", SignatureBytes("x:0", "y:0"));
  if (!init_op.empty()) meta.Entry(5, "__saved_model_init_op", InitSignature(init_op));
  return FileOf(meta);
}

std::string MakeTrainedModelDirectory(const std::string& name, absl::string_view init_op) {
  return MakeDirectory(name, TrainedSavedModelFile(init_op), "dense/kernel");
}

std::string MakeTrainedModelOfFunctions(const std::string& name) {
  GraphBuilder b(NewOpRegistry());
  FunctionText("SetZeros")
      .Arg("v: resource")
      .Stateful()
      .Node("zeros = Const()", {{"dtype", DType::kFloat}, {"value", Tensor::Vector<float>({0, 0})}})
      .Node("set = AssignVariableOp(v, zeros:output:0)", {{"dtype", DType::kFloat}})
      .ControlResult("set", "set")
      .AddTo(b.graph());
  FunctionText("RestoreAll")
      .Arg("file: string")
      .Arg("v: resource")
      .Result("f: string", "file")
      .Stateful()
      .Node("names = Const()",
            {{"dtype", DType::kString}, {"value", Tensor::Of<TString>(Shape::Of({1}), {TString("v")})}})
      .Node("slices = Const()",
            {{"dtype", DType::kString}, {"value", Tensor::Of<TString>(Shape::Of({1}), {TString("")})}})
      .Node("read = RestoreV2(file, names:output:0, slices:output:0)", {{"dtypes", std::vector<DType>{DType::kFloat}}})
      .Node("set = AssignVariableOp(v, read:tensors:0)", {{"dtype", DType::kFloat}})
      .ControlResult("set", "set")
      .AddTo(b.graph());
  const Output v = b.Op("VarHandleOp", "dense/kernel", {},
                        {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({2})}, {"shared_name", "dense/kernel"}});
  const Output x = b.Placeholder("x", DType::kFloat, PartialShape::Of({-1, 2}));
  b.Op("Mul", "y", {x, b.Op("ReadVariableOp", "read", {v}, {{"dtype", DType::kFloat}})});
  Call(b, "setup", "SetZeros", {v}, {}, {}, "StatefulPartitionedCall");
  const Output file = b.Placeholder("saver_filename", DType::kString, PartialShape::Scalar());
  Call(b, "restore", "RestoreAll", {file, v}, {DType::kString}, {}, "StatefulPartitionedCall");
  EXPECT_OK(b.status());
  MessageBytes meta = MetaGraphBytes(ExportGraph(*b.Build()), SaverBytes("saver_filename:0", "restore:0", "restore"));
  meta.Entry(5, "serving_default", SignatureBytes("x:0", "y:0"));
  return MakeDirectory(name, FileOf(meta), "v");
}

}  // namespace sluice
