#include "kernels/kernel_construction.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/loose_node.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<LooseNode> Loose(LooseNode::Spec spec, const OpRegistry& ops = BuiltinOps()) {
  absl::StatusOr<std::unique_ptr<LooseNode>> node = LooseNode::Make(ops, std::move(spec));
  EXPECT_OK(node.status());
  return node.ok() ? *std::move(node) : nullptr;
}

// An op with an attr of every type.
class AttrsTest : public ::testing::Test {
 protected:
  AttrsTest() : ops_(NewOpRegistry()) {
    OpSchemaBuilder builder("AllAttrs");
    builder.Input("x: T").Output("y: T").Attr("T: type");
    for (const char* const type : {"int", "float", "bool", "string", "shape", "tensor", "func"}) {
      builder.Attr(absl::StrCat("a_", type, ": ", type));
      builder.Attr(absl::StrCat("l_", type, ": list(", type, ")"));
    }
    builder.Attr("l_type: list(type)").Attr("with_default: int = 7");
    EXPECT_OK(ops_->Add(*builder.Build()));
    const AttrValue function = AttrValue::Func("f", {{"T", AttrValue(DType::kHalf)}});
    node_ = Loose({"AllAttrs",
                   {{"a_int", int64_t{-3}},
                    {"l_int", std::vector<int64_t>{1, 2}},
                    {"a_float", 0.5f},
                    {"l_float", std::vector<float>{1.5f}},
                    {"a_bool", true},
                    {"l_bool", std::vector<bool>{true, false}},
                    {"a_string", "text"},
                    {"l_string", std::vector<std::string>{"a", ""}},
                    {"a_shape", PartialShape::Of({2, -1})},
                    {"l_shape", std::vector<PartialShape>{PartialShape::Of({4})}},
                    {"a_tensor", Tensor::Vector<float>({8, 9})},
                    {"l_tensor", AttrValue::EmptyList()},
                    {"a_func", function},
                    {"l_func", AttrValue::EmptyList()},
                    {"l_type", std::vector<DType>{DType::kBool}}},
                   {DType::kDouble}},
                  *ops_);
  }

  std::shared_ptr<OpRegistry> ops_;
  std::unique_ptr<LooseNode> node_;
};

TEST_F(AttrsTest, EveryTypeHasAReader) {
  ASSERT_NE(node_, nullptr);
  const KernelConstruction construction(*node_);
  EXPECT_EQ(*construction.Get<int64_t>("a_int"), -3);
  EXPECT_EQ(*construction.Get<float>("a_float"), 0.5f);
  EXPECT_TRUE(*construction.Get<bool>("a_bool"));
  EXPECT_EQ(*construction.Get<std::string>("a_string"), "text");
  EXPECT_EQ(*construction.Get<DType>("T"), DType::kDouble);
  EXPECT_EQ(*construction.Get<PartialShape>("a_shape"), PartialShape::Of({2, -1}));
  EXPECT_EQ(construction.Get<Tensor>("a_tensor")->flat<float>()[1], 9);
  EXPECT_THAT(*construction.Get<std::vector<int64_t>>("l_int"), ElementsAre(1, 2));
  EXPECT_THAT(*construction.Get<std::vector<float>>("l_float"), ElementsAre(1.5f));
  EXPECT_THAT(*construction.Get<std::vector<bool>>("l_bool"), ElementsAre(true, false));
  EXPECT_THAT(*construction.Get<std::vector<std::string>>("l_string"), ElementsAre("a", ""));
  EXPECT_THAT(*construction.Get<std::vector<DType>>("l_type"), ElementsAre(DType::kBool));
  EXPECT_THAT(*construction.Get<std::vector<PartialShape>>("l_shape"), ElementsAre(PartialShape::Of({4})));
  EXPECT_TRUE(construction.Get<std::vector<Tensor>>("l_tensor")->empty());
  EXPECT_TRUE(construction.Get<std::vector<FunctionAttr>>("l_func")->empty());
  const absl::StatusOr<FunctionAttr> function = construction.Get<FunctionAttr>("a_func");
  ASSERT_OK(function.status());
  EXPECT_EQ(function->name, "f");
  EXPECT_EQ(*function->attrs.at(0).second.view().AsType(), DType::kHalf);
}

TEST_F(AttrsTest, WhatIsMissingOrOfAnotherTypeIsAnErrorThatNamesNodeAndAttr) {
  ASSERT_NE(node_, nullptr);
  const KernelConstruction construction(*node_);
  EXPECT_EQ(*construction.Get<int64_t>("with_default"), 7);
  EXPECT_THAT(construction.Get<int64_t>("none"), IsError(ErrorCode::kAttrMissing, "attr 'none'"));
  EXPECT_THAT(construction.Get<int64_t>("a_float"), IsError(ErrorCode::kAttrKind, "AllAttrs"));
  EXPECT_EQ(*construction.GetOr<int64_t>("none", 5), 5);
  EXPECT_EQ(*construction.GetOr<int64_t>("a_int", 5), -3);
  EXPECT_THAT(construction.GetOr<int64_t>("a_float", 5), IsError(ErrorCode::kAttrKind, "attr 'a_float'"));
}

TEST(KernelConstructionTest, ArgumentsAreFoundByName) {
  const std::unique_ptr<LooseNode> node =
      Loose({"ConcatV2", {}, {DType::kFloat, DType::kFloat, DType::kFloat, DType::kInt64}});
  ASSERT_NE(node, nullptr);
  const KernelConstruction construction(*node);
  const absl::StatusOr<ArgRange> values = construction.InputRange("values"), axis = construction.InputRange("axis");
  ASSERT_OK(values.status());
  EXPECT_EQ(values->first, 0);
  EXPECT_EQ(values->count, 3);
  EXPECT_EQ(axis->first, 3);
  EXPECT_EQ(axis->count, 1);
  EXPECT_EQ(construction.OutputRange("output")->count, 1);
  EXPECT_THAT(construction.InputRange("output"), IsError(ErrorCode::kHostKernel, "output"));
}

TEST(KernelConstructionTest, AKernelIsMadeWithoutAGraph) {
  const std::unique_ptr<LooseNode> node =
      Loose({"MatMul", {{"transpose_b", true}}, {DType::kFloat, DType::kFloat}, "eager"});
  ASSERT_NE(node, nullptr);
  absl::StatusOr<std::unique_ptr<Kernel>> kernel = BuiltinKernels().Create(KernelConstruction(*node), DeviceKind::kCpu);
  ASSERT_OK(kernel.status());

  Entry slots[3];
  const absl::StatusOr<Tensor> a = Tensor::Vector<float>({1, 2}).Reshaped(Shape::Of({1, 2}));
  const absl::StatusOr<Tensor> b = Tensor::Vector<float>({3, 4, 5, 6}).Reshaped(Shape::Of({2, 2}));
  slots[0].SetValue(*a);
  slots[1].SetValue(*b);
  const Operand operands[] = {Operand(Operand::Table::kSlots, 0), Operand(Operand::Table::kSlots, 1),
                              Operand(Operand::Table::kSlots, 2)};
  NodeIo io;
  io.operands = operands;
  io.input_types = node->signature().inputs.data();
  io.output_types = node->signature().outputs.data();
  io.num_inputs = 2;
  io.num_outputs = 1;
  EntryTables tables;
  tables.table[0] = slots;
  const RunContext run;
  KernelContext context(run, tables);
  context.SetNode(io);
  ASSERT_OK((*kernel)->Compute(context));
  EXPECT_THAT(slots[2].value().flat<float>(), ElementsAre(1 * 3 + 2 * 4, 1 * 5 + 2 * 6));
}

TEST(KernelConstructionTest, LooseNodesAreCheckedAsNodesOfGraphsAre) {
  const auto status_of = [](LooseNode::Spec spec) { return LooseNode::Make(BuiltinOps(), std::move(spec)).status(); };
  EXPECT_THAT(status_of({"NoSuchOp", {}, {}}), IsError(ErrorCode::kOpUnknown, "NoSuchOp"));
  EXPECT_THAT(status_of({"MatMul", {}, {DType::kFloat}}), IsError(ErrorCode::kInputCount, "MatMul"));
  EXPECT_THAT(status_of({"MatMul", {}, {DType::kFloat, DType::kDouble}}), IsError(ErrorCode::kInputType, "MatMul"));
  EXPECT_THAT(status_of({"MatMul", {}, {DType::kString, DType::kString}}), IsError(ErrorCode::kAttrValue, "MatMul"));
  EXPECT_THAT(status_of({"Placeholder", {}, {}}), IsError(ErrorCode::kAttrMissing, "dtype"));
}

TEST(KernelConstructionTest, WhatANodeAloneKnowsIsRemembered) {
  GraphBuilder b(NewOpRegistry());
  const Output weights = b.Op("Identity", "same", {b.Const("w", Tensor::Vector<float>({1, 2}))});
  const NodeId id = b.Op("AddV2", "sum", {b.Placeholder("x", DType::kFloat), weights}).node;
  ASSERT_OK(b.status());
  const GraphNode node(b.graph(), id);
  const KernelConstruction plain(node);
  EXPECT_EQ(plain.op(), "AddV2");
  EXPECT_EQ(plain.num_inputs(), 2);
  EXPECT_FALSE(plain.is_of_one_node());
  const KernelConstruction named(node);
  EXPECT_EQ(named.name(), "sum");
  EXPECT_TRUE(named.is_of_one_node());
  const KernelConstruction asked(node);
  EXPECT_FALSE(asked.InputIsConstant(0));
  EXPECT_TRUE(asked.InputIsConstant(1));
  EXPECT_FALSE(asked.InputIsConstant(2));
  EXPECT_TRUE(asked.is_of_one_node());
  const KernelConstruction of_node(node);
  EXPECT_EQ(of_node.node().name(), "sum");
  EXPECT_TRUE(of_node.is_of_one_node());
  const KernelConstruction of_op(node);
  EXPECT_TRUE(of_op.HasAttr("T"));
  EXPECT_OK(of_op.Get<DType>("T"));
  EXPECT_FALSE(of_op.is_of_one_node());
  EXPECT_FALSE(of_op.HasAttr("_mine"));
  EXPECT_TRUE(of_op.is_of_one_node());
}

}  // namespace
}  // namespace sluice
