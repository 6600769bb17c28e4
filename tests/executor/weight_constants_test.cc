#include "executor/plan/weight_constants.h"

#include <memory>
#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/memory/file_tensor.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kSide = 256;  // 256 KiB of floats.

// Not all equal: that would be written down as one value.
template <typename T>
Tensor Values(const Shape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.num_elements()), T{1});
  values[0] = T{2};
  return Tensor::Of<T>(shape, values);
}
Tensor Matrix() { return Values<float>(Shape::Of({kSide, kSide})); }

// Asks for constants of a graph that was imported. Whatever is named "takes..." takes tensors in files as input 1, and
// all nodes that hand on do so without a look, but those named "looks...".
class WeightConstantsTest : public ::testing::Test {
 protected:
  WeightConstantsTest() : x_(b_.Placeholder("x", DType::kFloat)) {}

  void Import(bool keeps_bytes = true) {
    ASSERT_OK_AND_ASSIGN(const Graph built, b_.Build());
    bytes_ = std::make_shared<const std::string>(ExportGraph(built));
    GraphSource source;
    source.bytes = *bytes_;
    if (keeps_bytes) source.owner = bytes_;
    ImportOptions options;
    options.ops = NewOpRegistry();
    ASSERT_OK_AND_ASSIGN(graph_, ImportGraph(std::move(source), options));
  }
  bool IsFound(const std::string& constant) {
    WeightConstants weights(graph_);
    const NodeId id = graph_.Find(constant);
    AttrView value;
    EXPECT_TRUE(graph_.FindAttr(id, "value", &value));
    const Tensor found = weights.Find(id, value.bytes(), [this](NodeId node, int32_t i) {
      const absl::string_view begin = graph_.name(node).substr(0, 5);
      return WeightConstants::HandsOn(graph_, node) ? begin != "looks" : i == 1 && begin == "takes";
    });
    if (!found.has_value()) return false;
    EXPECT_TRUE(IsInFile(found));
    EXPECT_GE(found.bytes().data(), bytes_->data()) << "where it stands";
    EXPECT_LT(found.bytes().data(), bytes_->data() + bytes_->size());
    return true;
  }

  GraphBuilder b_{NewOpRegistry()};
  const Output x_;
  std::shared_ptr<const std::string> bytes_;
  Graph graph_{nullptr};
};

TEST_F(WeightConstantsTest, AMatrixThatOnlyProductsReadIsFound) {
  const Output w = b_.Const("w", Matrix());
  b_.Op("MatMul", "takes", {x_, w});
  b_.Op("MatMul", "takes_too", {x_, w});
  b_.Const("unused", Matrix());
  const Output doubles = b_.Const("doubles", Values<double>(Shape::Of({kSide, kSide})));
  b_.Op("MatMul", "takes_doubles", {b_.Placeholder("d", DType::kDouble), doubles});
  Import();
  EXPECT_TRUE(IsFound("w"));
  EXPECT_TRUE(IsFound("unused"));
  EXPECT_TRUE(IsFound("doubles"));
}

TEST_F(WeightConstantsTest, AMatrixThatIsReadIsNot) {
  const Output first = b_.Const("first", Matrix()), added = b_.Const("added", Matrix()),
               fetched = b_.Const("fetched", Matrix());
  b_.Op("MatMul", "takes_1", {first, b_.Const("second", Matrix())});
  b_.Op("MatMul", "takes_2", {x_, added});
  b_.Op("AddV2", "sum", {x_, added});
  b_.Op("MatMul", "other", {x_, fetched});
  Import();
  EXPECT_FALSE(IsFound("first")) << "input 0 does not take it";
  EXPECT_TRUE(IsFound("second"));
  EXPECT_FALSE(IsFound("added"));
  EXPECT_FALSE(IsFound("fetched"));
}

TEST_F(WeightConstantsTest, NodesThatHandOnAreLookedThrough) {
  const Output w = b_.Op("Identity", "b", {b_.Op("Identity", "a", {b_.Const("w", Matrix())})});
  b_.Op("MatMul", "takes_w", {x_, w});
  b_.Op("Identity", "nobody_reads", {w});
  const Output v = b_.Op("Identity", "v_read", {b_.Const("v", Matrix())});
  b_.Op("MatMul", "takes_v", {x_, v});
  b_.Op("Neg", "negated", {b_.Op("Identity", "again", {v})});
  const Output u = b_.Op("Enter", "enter", {b_.Const("u", Matrix())}, {{"frame_name", "f"}, {"is_constant", true}});
  const Output in = b_.Op("Enter", "x_enter", {x_}, {{"frame_name", "f"}});
  b_.Op("MatMul", "takes_u", {in, u});
  Import();
  EXPECT_TRUE(IsFound("w"));
  EXPECT_FALSE(IsFound("v"));
  EXPECT_TRUE(IsFound("u"));
}

TEST_F(WeightConstantsTest, NodesThatLookAtWhatTheyHandOnReadIt) {
  const Output w = b_.Op("Identity", "looks", {b_.Op("Identity", "a", {b_.Const("w", Matrix())})});
  b_.Op("MatMul", "takes_w", {x_, w});
  Import();
  EXPECT_FALSE(IsFound("w"));
}

TEST_F(WeightConstantsTest, NarrowMatricesWouldGrowWhenTheyArePacked) {
  const auto constant = [this](const std::string& name, int64_t rows, int64_t cols) {
    b_.Op("MatMul", "takes_" + name, {x_, b_.Const(name, Values<float>(Shape::Of({rows, cols})))});
  };
  constant("column", kSide * kSide, 1);
  constant("row", 1, kSide * kSide);
  constant("tall", 16 * kSide, 63);
  constant("enough", 16 * kSide, 64);
  Import();
  EXPECT_FALSE(IsFound("column"));
  EXPECT_FALSE(IsFound("row"));
  EXPECT_FALSE(IsFound("tall"));
  EXPECT_TRUE(IsFound("enough"));
}

TEST_F(WeightConstantsTest, OnlyWhatMayComeFromAConstantIsAskedAbout) {
  const Output sum = b_.Op("AddV2", "sum", {x_, x_});
  b_.Op("MatMul", "takes_sum", {sum, sum});
  b_.Op("MatMul", "takes_w", {sum, b_.Const("w", Matrix())});
  Import();
  std::vector<std::string> asked;
  WeightConstants weights(graph_);
  AttrView value;
  ASSERT_TRUE(graph_.FindAttr(graph_.Find("w"), "value", &value));
  weights.Find(graph_.Find("w"), value.bytes(), [&](NodeId node, int32_t) {
    asked.emplace_back(graph_.name(node));
    return true;
  });
  EXPECT_EQ(asked, std::vector<std::string>{"takes_w"});
}

TEST_F(WeightConstantsTest, OnlyLargeMatricesOfFloatsWhoseBytesAreKept) {
  const auto constant = [this](const std::string& name, const Tensor& value) {
    const Output x = b_.Placeholder(name + "_x", value.dtype());
    b_.Op(value.rank() == 2 ? "MatMul" : "BatchMatMulV2", "takes_" + name, {x, b_.Const(name, value)});
  };
  constant("small", Values<float>(Shape::Of({kSide, kSide - 1})));
  constant("stack", Values<float>(Shape::Of({2, kSide, kSide})));
  constant("ints", Values<int32_t>(Shape::Of({kSide, kSide})));
  constant("large", Values<float>(Shape::Of({kSide, kSide})));
  Import();
  EXPECT_FALSE(IsFound("small"));
  EXPECT_FALSE(IsFound("stack"));
  EXPECT_FALSE(IsFound("ints"));
  EXPECT_TRUE(IsFound("large"));
  b_ = GraphBuilder(NewOpRegistry());
  constant("large", Values<float>(Shape::Of({kSide, kSide})));
  Import(/*keeps_bytes=*/false);
  EXPECT_FALSE(IsFound("large")) << "plans may outlive the bytes";
}

}  // namespace
}  // namespace sluice
