#include "graph/passes/layer_fusion.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ir/made_nodes.h"
#include "graph/ops/op_table.h"
#include "graph/passes/pass_context.h"
#include "graph/placement/kernel_catalog.h"
#include "gtest/gtest.h"
#include "tests/testing/graph_text.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class LayerFusionTest : public testing::Test {
 protected:
  LayerFusionTest()
      : b_(NewOpRegistry()),
        x_(b_.Placeholder("x", DType::kFloat, PartialShape::Of({2, 3}))),
        w_(b_.Placeholder("w", DType::kFloat, PartialShape::Of({3, 4}))),
        bias_(b_.Placeholder("bias", DType::kFloat, PartialShape::Of({4}))),
        image_(b_.Placeholder("image", DType::kFloat, PartialShape::OfRank(4))),
        filter_(b_.Placeholder("filter", DType::kFloat, PartialShape::Of({3, 3, 2, 4}))) {}

  int64_t Run(PassContext context = PassContext()) {
    EXPECT_OK(b_.status());
    GraphEditor edit(b_.graph());
    if (context.catalog == nullptr) context.catalog = &catalog_;
    const absl::StatusOr<int64_t> changes = LayerFusionPass().Run(edit, context);
    EXPECT_OK(changes);
    EXPECT_OK(edit.Validate());
    return changes.value_or(-1);
  }
  Output Product(absl::string_view name = "product") { return b_.Op("MatMul", name, {x_, w_}); }
  Output Sum(Output product) { return b_.Op("BiasAdd", "sum", {product, bias_}); }
  Output Conv(GraphBuilder::Attrs more = {}) {
    GraphBuilder::Attrs attrs = {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "SAME"}};
    for (auto& attr : more) attrs.push_back(attr);
    return b_.Op("Conv2D", "conv", {image_, filter_}, attrs);
  }
  Output Norm(Output x, bool is_training = false) {
    return b_.Op("FusedBatchNormV3", "norm", {x, bias_, bias_, bias_, bias_},
                 {{"is_training", is_training}, {"epsilon", 0.125f}});
  }
  std::string Text(absl::string_view name) { return NodeText(b_.graph(), name); }
  std::string OpOf(absl::string_view name) { return std::string(b_.graph().op_name(b_.graph().Find(name))); }
  std::string OpsOf(absl::string_view name) {
    AttrView view;
    EXPECT_TRUE(b_.graph().FindAttr(b_.graph().Find(name), "fused_ops", &view));
    return absl::StrJoin(*view.AsStringList(), " ");
  }

  GraphBuilder b_;
  const Output x_, w_, bias_, image_, filter_;
  const AllowAllCatalog catalog_;
};

TEST_F(LayerFusionTest, ProductBiasAndActivationBecomeOneNode) {
  const Output product = Product();
  const Output effect = b_.Op("NoOp", "effect");
  b_.AddControl(product, effect);
  const Output relu = b_.Op("Relu", "relu", {Sum(product)});
  b_.Op("Neg", "y", {relu});
  const Output waits = b_.Op("Neg", "waits", {x_});
  b_.AddControl(waits, relu);
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(Text("product"), "product(x, w, bias, ^effect)");
  EXPECT_EQ(OpOf("product"), "_FusedMatMul");
  EXPECT_EQ(OpsOf("product"), "BiasAdd Relu");
  EXPECT_EQ(Text("y"), "y(product)");
  EXPECT_EQ(Text("waits"), "waits(x, ^product)");
  EXPECT_EQ(NodeNames(b_.graph()), "bias effect filter image product w waits x y");
}

TEST_F(LayerFusionTest, ConvolutionsTakeNormsAndKeepTheirAttrs) {
  b_.Op("Neg", "y", {b_.Op("Relu6", "relu", {Norm(Conv())})});
  EXPECT_EQ(Run(), 1);
  const Graph& graph = b_.graph();
  const NodeId conv = graph.Find("conv");
  EXPECT_EQ(Text("conv"), "conv(image, filter, bias, bias, bias, bias)");
  EXPECT_EQ(OpOf("conv"), "_FusedConv2D");
  EXPECT_EQ(OpsOf("conv"), "FusedBatchNorm Relu6");
  EXPECT_EQ(*graph.GetFloat(conv, "epsilon"), 0.125f);
  EXPECT_EQ(*graph.GetString(conv, "padding"), "SAME");
  EXPECT_EQ(*graph.GetInt(conv, "num_args"), 4);
}

TEST_F(LayerFusionTest, DepthwiseOnesAndSlopesOfLeakyRelu) {
  const Output taps = b_.Placeholder("taps", DType::kFloat, PartialShape::Of({3, 3, 2, 2}));
  const Output conv = b_.Op("DepthwiseConv2dNative", "depthwise", {image_, taps},
                            {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "VALID"}});
  b_.Op("Neg", "y", {b_.Op("LeakyRelu", "relu", {Sum(conv)}, {{"alpha", 0.5f}})});
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(OpOf("depthwise"), "_FusedDepthwiseConv2dNative");
  EXPECT_EQ(*b_.graph().GetFloat(b_.graph().Find("depthwise"), "leakyrelu_alpha"), 0.5f);
}

TEST_F(LayerFusionTest, WhatElseIsReadStays) {
  const Output product = Product(), sum = Sum(product);
  b_.Op("Neg", "y", {b_.Op("Relu", "relu", {sum})});
  b_.Op("Neg", "reads_sum", {sum});
  EXPECT_EQ(Run(), 1);  // Product and bias alone.
  EXPECT_EQ(OpsOf("product"), "BiasAdd");
  EXPECT_EQ(Text("relu"), "relu(product)");
  EXPECT_EQ(Text("reads_sum"), "reads_sum(product)");
}

TEST_F(LayerFusionTest, ProductsThatOthersReadOrWaitForStay) {
  const Output product = Product();
  b_.Op("Neg", "y", {Sum(product)});
  b_.AddControl(b_.Op("Neg", "waits", {x_}), product);
  EXPECT_EQ(Run(), 0);
}

TEST_F(LayerFusionTest, KnownNodesAndThoseOfHostsStay) {
  const Output relu = b_.Op("Relu", "relu", {Sum(Product())});
  b_.Op("Neg", "y", {relu});
  EXPECT_EQ(Run(PassContext({b_.graph().Find("product")})), 0);
  EXPECT_EQ(Run(PassContext({b_.graph().Find("sum")})), 0);
  PassContext of_host;
  of_host.leaves_alone = [](const Graph& graph, NodeId id) { return graph.Is(id, "MatMul"); };
  EXPECT_EQ(Run(std::move(of_host)), 0);
  EXPECT_EQ(Run(PassContext({relu.node})), 1);
  EXPECT_EQ(Text("relu"), "relu(product)");
}

TEST_F(LayerFusionTest, ChannelsMustAgree) {
  const Output any = b_.Placeholder("any", DType::kFloat),
               five = b_.Placeholder("five", DType::kFloat, PartialShape::Of({5}));
  b_.Op("Neg", "y", {b_.Op("BiasAdd", "of_any", {Product("a"), any})});
  b_.Op("Neg", "z", {b_.Op("BiasAdd", "of_five", {Product("b"), five})});
  EXPECT_EQ(Run(), 0);
}

TEST_F(LayerFusionTest, OtherNormsDevicesAndTypesStay) {
  const Output norm = Norm(Conv(), /*is_training=*/true);
  b_.Op("Neg", "y", {norm});
  EXPECT_EQ(Run(), 0);
  GraphBuilder of_half(NewOpRegistry());
  const Output x = of_half.Placeholder("x", DType::kHalf, PartialShape::Of({2, 2})),
               bias = of_half.Placeholder("bias", DType::kHalf, PartialShape::Of({2}));
  of_half.Op("Neg", "y", {of_half.Op("BiasAdd", "sum", {of_half.Op("MatMul", "product", {x, x}), bias})});
  GraphEditor edit(of_half.graph());
  PassContext context;
  context.catalog = &catalog_;
  EXPECT_EQ(*LayerFusionPass().Run(edit, context), 0);
}

TEST_F(LayerFusionTest, OneDeviceHasItAll) {
  const Output product = Product(), sum = Sum(product);
  b_.Op("Neg", "y", {sum});
  b_.SetDevice(product, "/job:a/replica:0/task:0/device:CPU:1");
  EXPECT_EQ(Run(), 0);
  b_.SetDevice(sum, "/job:a/replica:0/task:0/device:CPU:1");
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(b_.graph().device(b_.graph().Find("product")), "/job:a/replica:0/task:0/device:CPU:1");
}

// The product may be sure to fail, or alive, where something beside it never comes, or is dead.
TEST_F(LayerFusionTest, WhatIsTakenBesideTheProductMustBeAtHand) {
  const Output dead = b_.Op("Switch", "switch", {bias_, b_.Placeholder("p", DType::kBool)});
  const Output late = b_.Op("Neg", "late", {bias_});
  const Output v = b_.Op("VariableV2", "v", {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({4})}});
  const Output read = b_.Op("Identity", "read", {v}), late_read = b_.Op("Identity", "late_read", {v});
  b_.AddControl(late_read, late);
  const auto layer = [&](const std::string& name, Output bias) {
    const Output product = Product(name);
    const Output sum = b_.Op("BiasAdd", name + "_sum", {product, bias});
    b_.Op("Neg", name + "_y", {sum});
    return std::make_pair(product, sum);
  };
  layer("of_dead", dead);
  layer("of_late", late);
  layer("of_reference", v);
  layer("of_late_read", late_read);
  b_.AddControl(layer("waits", bias_).second, late);
  const auto relu = [&](const std::string& name, Output waits_for) {
    const Output x = b_.Op("Relu", name, {b_.Op("BiasAdd", name + "_sum", {Product(name + "_product"), bias_})});
    b_.AddControl(x, waits_for);
    b_.Op("Neg", name + "_y", {x});
  };
  relu("relu_waits", late);
  EXPECT_EQ(Run(), 0);
  layer("of_read", read);
  const auto both = layer("both", bias_);
  b_.AddControl(both.first, late);
  b_.AddControl(both.second, late);
  relu("relu", b_.Op("NoOp", "effect"));
  EXPECT_EQ(Run(), 3);
  EXPECT_EQ(OpOf("of_read") + OpOf("both") + OpOf("relu_product"), "_FusedMatMul_FusedMatMul_FusedMatMul");
  EXPECT_EQ(Text("both"), "both(x, w, bias, ^late)");
}

// The user knows a product that fails, and a tensor that the activation gives.
TEST_F(LayerFusionTest, ErrorsNameWhatTheUserWrote) {
  b_.Op("Neg", "y", {b_.Op("Relu", "relu", {Sum(Product())})});
  ASSERT_OK(b_.status());
  ImportOptions options;
  options.ops = NewOpRegistry();
  ASSERT_OK_AND_ASSIGN(Graph graph, ImportGraph(GraphSource::Copy(ExportGraph(b_.graph())), options));
  const absl::Status error = Error(ErrorCode::kOpShape).Input(1, "w").Text("must be a matrix");
  const absl::Status before = graph.Locate(graph.Find("product"), error);
  GraphEditor edit(graph);
  PassContext context;
  context.catalog = &catalog_;
  ASSERT_EQ(*LayerFusionPass().Run(edit, context), 1);
  EXPECT_EQ(graph.op_name(graph.Find("product")), "_FusedMatMul");
  const absl::Status after = graph.Locate(graph.Find("product"), error);
  EXPECT_EQ(after, before);
  EXPECT_GE(ErrorInfoOf(after)->byte_begin, 0);
  EXPECT_EQ(UserOutputName(graph, Output{graph.Find("product"), 0}), "relu");
}

// A layer's product may read another layer, and many layers may have one reader.
TEST_F(LayerFusionTest, LayersOfLayers) {
  const Output square = b_.Placeholder("square", DType::kFloat, PartialShape::Of({4, 4}));
  Output x = b_.Op("Relu", "relu0", {Sum(Product("product0"))});
  std::vector<Output> all = {x};
  for (int i = 1; i < 5; ++i) {
    const std::string n = std::to_string(i);
    x = b_.Op("Relu", "relu" + n, {b_.Op("BiasAdd", "sum" + n, {b_.Op("MatMul", "product" + n, {x, square}), bias_})});
    all.push_back(x);
  }
  b_.Op("AddN", "y", all);
  EXPECT_EQ(Run(), 5);
  EXPECT_EQ(Text("product3"), "product3(product2, square, bias)");
  EXPECT_EQ(Text("y"), "y(product0, product1, product2, product3, product4)");
}

TEST_F(LayerFusionTest, AttrsThatTheFusedOpHasNotStay) {
  const Output product = Product(), sum = Sum(product);
  b_.Op("Neg", "y", {sum});
  ASSERT_OK(b_.graph().SetAttr(product.node, "_kernel", AttrValue("mine")));
  const Output taps = b_.Placeholder("taps", DType::kFloat, PartialShape::Of({3, 3, 2, 2}));
  const Output conv = b_.Op("DepthwiseConv2dNative", "depthwise", {image_, taps},
                            {{"strides", std::vector<int64_t>{1, 1, 1, 1}},
                             {"padding", "SAME"},
                             {"explicit_paddings", std::vector<int64_t>{0, 0, 1, 1, 1, 1, 0, 0}}});
  b_.Op("Neg", "z", {b_.Op("BiasAdd", "of_conv", {conv, bias_})});
  EXPECT_EQ(Run(), 0);
}

TEST_F(LayerFusionTest, StatisticsThatAreReadStay) {
  const Output norm = Norm(Conv());
  b_.Op("Neg", "y", {norm});
  b_.Op("Neg", "mean", {GraphBuilder::Nth(norm, 1)});
  EXPECT_EQ(Run(), 0);
}

}  // namespace
}  // namespace sluice
