#include "executor/saved_model/freeze.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/saved_model/variable_folder.h"
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

namespace sluice {
namespace {

using graph_bytes::MessageBytes;
using Attrs = GraphBuilder::Attrs;

// Models whose checkpoint holds v = 2, 3 and table = 0, 1, ..., 5 of shape [3,2]. `build` adds what is frozen to the
// graph with the variables' nodes; `v` is a handle, or a reference.
template <typename Build>
LoadedGraph ModelWith(bool is_ref, Build build) {
  GraphBuilder b(NewOpRegistry());
  const auto variable = [&](const char* name, const PartialShape& shape) {
    if (is_ref) return b.Op("VariableV2", name, {}, {{"dtype", DType::kFloat}, {"shape", shape}});
    return b.Op("VarHandleOp", name, {}, {{"dtype", DType::kFloat}, {"shape", shape}, {"shared_name", name}});
  };
  const Output v = variable("v", PartialShape::Of({2})), table = variable("table", PartialShape::Of({3, 2}));
  const Output file = b.Placeholder("file", DType::kString, PartialShape::Scalar());
  const Output read =
      b.Op("RestoreV2", "read",
           {file, b.Const("names", Tensor::Strings({"v", "table"})), b.Const("slices", Tensor::Strings({"", ""}))},
           {{"dtypes", std::vector<DType>{DType::kFloat, DType::kFloat}}});
  const char* const assign = is_ref ? "Assign" : "AssignVariableOp";
  const Output set_v = b.Op(assign, "set_v", {v, read});
  const Output set_table = b.Op(assign, "set_table", {table, Output{read.node, 1}});
  const Output restore = b.Op("NoOp", "restore");
  b.AddControl(restore, set_v);
  b.AddControl(restore, set_table);
  build(b, v, table);
  EXPECT_OK(b.status());
  const std::string directory =
      ::testing::TempDir() + "/" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::create_directories(directory + "/variables");
  MessageBytes meta;
  meta.Sub(1, MessageBytes().Bytes(4, "serve")).Bytes(2, ExportGraph(*b.Build()));
  meta.Sub(3, MessageBytes().Bytes(1, "file:0").Bytes(2, "file:0").Bytes(3, "restore").Int(7, 2));
  EXPECT_OK(WriteFile(directory + "/saved_model.pb", MessageBytes().Int(1, 1).Sub(2, meta).str()));
  EXPECT_OK(WriteBundle(
      directory + "/variables/variables",
      {{"v", Tensor::Vector<float>({2, 3})}, {"table", Tensor::Of<float>(Shape::Of({3, 2}), {0, 1, 2, 3, 4, 5})}}));
  return LoadGraphFile(directory, LoadOptions()).value();
}

// What the frozen graph answers for `fetch` in a session of its own.
absl::StatusOr<Tensor> RunFrozen(const FrozenGraph& frozen, const std::string& fetch, NamedTensors feeds = {}) {
  for (const NodeId id : frozen.graph.Nodes()) EXPECT_FALSE(frozen.graph.op(id).traits.makes_variable);
  const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(SessionOptions(), frozen.graph);
  if (!session.ok()) return session.status();
  absl::StatusOr<std::vector<Tensor>> answers = (*session)->Run(feeds, {fetch}, {});
  if (!answers.ok()) return answers.status();
  return (*answers)[0];
}

const Attrs kReadFloat = {{"dtype", DType::kFloat}};

// A call of three results: twice v, the table, and v. Its control result looks at x.
LoadedGraph ModelWithCall() {
  return ModelWith(/*is_ref=*/false, [](GraphBuilder& b, Output v, Output table) {
    FunctionText("Three")
        .Arg("v: resource")
        .Arg("t: resource")
        .Arg("x: float")
        .Result("a: float", "twice:z:0")
        .Result("b: float", "read_t:value:0")
        .Result("c: float", "read_v:value:0")
        .Node("read_v = ReadVariableOp(v)", kReadFloat)
        .Node("read_t = ReadVariableOp(t)", kReadFloat)
        .Node("twice = AddV2(read_v:value:0, read_v:value:0)", {{"T", DType::kFloat}})
        .Node("look = CheckNumerics(x)", {{"T", DType::kFloat}, {"message", "x is bad"}})
        .ControlResult("looked", "look")
        .AddTo(b.graph());
    b.Op("StatefulPartitionedCall", "call", {v, table, b.Placeholder("x", DType::kFloat)},
         {{"Tin", std::vector<DType>{DType::kResource, DType::kResource, DType::kFloat}},
          {"Tout", std::vector<DType>{DType::kFloat, DType::kFloat, DType::kFloat}},
          {"f", AttrValue::Func("Three", {})}});
  });
}

// Of a call, what the outputs that are fetched need, and what it runs for its effect.
TEST(FreezeTest, OfACallIsKeptWhatIsFetched) {
  const LoadedGraph model = ModelWithCall();
  const NamedTensors fed = {{"x", Tensor::Scalar(1.0f)}};
  ASSERT_OK_AND_ASSIGN(const FrozenGraph first, FreezeModel(model, {"call:0"}));
  EXPECT_EQ(first.variables, 1) << "the table is not needed";
  EXPECT_EQ(first.graph.num_outputs(first.graph.Find("call")), 1);
  ASSERT_OK_AND_ASSIGN(const Tensor a, RunFrozen(first, "call:0", fed));
  EXPECT_EQ(a.flat<float>()[1], 6);
  EXPECT_FALSE(RunFrozen(first, "call:0", {{"x", Tensor::Scalar(std::nanf(""))}}).ok()) << "it looks at x";
  ASSERT_OK_AND_ASSIGN(const FrozenGraph second, FreezeModel(model, {"call:1"}));
  EXPECT_EQ(second.variables, 2);
  EXPECT_EQ(second.graph.num_outputs(second.graph.Find("call")), 2);
  ASSERT_OK_AND_ASSIGN(const Tensor b, RunFrozen(second, "call:1", fed));
  EXPECT_EQ(b.flat<float>()[5], 5);
  for (const std::vector<std::string>& whole : {std::vector<std::string>{"call"}, {"call:0", "call:2"}}) {
    ASSERT_OK_AND_ASSIGN(const FrozenGraph frozen, FreezeModel(model, whole));
    EXPECT_EQ(frozen.graph.num_outputs(frozen.graph.Find("call")), 3);
    ASSERT_OK_AND_ASSIGN(const Tensor c, RunFrozen(frozen, "call:2", fed));
    EXPECT_EQ(c.flat<float>()[0], 2);
  }
}

TEST(FreezeTest, ReadsBecomeConstants) {
  for (const bool is_ref : {false, true}) {
    const LoadedGraph model = ModelWith(is_ref, [is_ref](GraphBuilder& b, Output v, Output) {
      const Output value = is_ref ? b.Op("Identity", "v/read", {v}) : b.Op("ReadVariableOp", "v/read", {v}, kReadFloat);
      b.Op("Mul", "y", {value, b.Placeholder("x", DType::kFloat)});
    });
    ASSERT_OK_AND_ASSIGN(const FrozenGraph frozen, FreezeModel(model, {"y:0", "v/read"}));
    EXPECT_EQ(frozen.variables, 1);
    EXPECT_EQ(frozen.bytes, 8);
    EXPECT_EQ(frozen.graph.num_nodes(), 4u);
    ASSERT_OK_AND_ASSIGN(const Tensor y, RunFrozen(frozen, "y", {{"x", Tensor::Vector<float>({10, 100})}}));
    EXPECT_TRUE(AreEqual(y, Tensor::Vector<float>({20, 300})));
    EXPECT_OK(RunFrozen(frozen, "v/read")) << "names stay";
  }
}

TEST(FreezeTest, WhatElseIsAskedOfVariablesIsAnswered) {
  const LoadedGraph model = ModelWith(false, [](GraphBuilder& b, Output v, Output table) {
    b.Op("ResourceGather", "rows", {table, b.Const("indices", Tensor::Vector<int64_t>({2, 0}))}, kReadFloat);
    b.Op("ResourceGatherNd", "cells", {table, b.Const("places", Tensor::Of<int32_t>(Shape::Of({2, 2}), {1, 1, 2, 0}))},
         kReadFloat);
    b.Op("VariableShape", "shape", {table}, {{"out_type", DType::kInt64}});
    b.Op("VarIsInitializedOp", "is_there", {v});
  });
  ASSERT_OK_AND_ASSIGN(const FrozenGraph frozen, FreezeModel(model, {"rows", "cells", "shape", "is_there"}));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "rows"), Tensor::Of<float>(Shape::Of({2, 2}), {4, 5, 0, 1})));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "cells"), Tensor::Vector<float>({3, 4})));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "shape"), Tensor::Vector<int64_t>({3, 2})));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "is_there"), Tensor::Scalar(true)));
}

TEST(FreezeTest, HandlesAreFollowedIntoBranches) {
  const LoadedGraph model = ModelWith(false, [](GraphBuilder& b, Output v, Output) {
    const Output p = b.Placeholder("p", DType::kBool);
    const Output in = b.Op("Switch", "in", {v, p});
    const Output yes = b.Op("ReadVariableOp", "yes", {Output{in.node, 1}}, kReadFloat);
    const Output no = b.Op("Neg", "no", {b.Op("ReadVariableOp", "no/read", {in}, kReadFloat)});
    b.Op("Merge", "y", {no, yes});
  });
  ASSERT_OK_AND_ASSIGN(const FrozenGraph frozen, FreezeModel(model, {"y"}));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "y", {{"p", Tensor::Scalar(true)}}), Tensor::Vector<float>({2, 3})));
  EXPECT_TRUE(AreEqual(*RunFrozen(frozen, "y", {{"p", Tensor::Scalar(false)}}), Tensor::Vector<float>({-2, -3})));
}

TEST(FreezeTest, WhatChangesAVariableIsRefused) {
  const LoadedGraph model = ModelWith(false, [](GraphBuilder& b, Output v, Output) {
    const Output add = b.Op("AssignAddVariableOp", "add", {v, b.Const("one", Tensor::Vector<float>({1, 1}))});
    b.AddControl(b.Op("ReadVariableOp", "y", {v}, kReadFloat), add);
  });
  EXPECT_THAT(FreezeModel(model, {"y"}), IsError(ErrorCode::kCannotRun, "'add'"));
  EXPECT_THAT(FreezeModel(model, {"nowhere"}), IsError(ErrorCode::kFetchUnknown));
}

}  // namespace
}  // namespace sluice
