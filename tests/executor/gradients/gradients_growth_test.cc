// No shape of graph costs more than about n log n to differentiate: sizes are doubled and the work counted. The work is
// basic blocks of our own code, in builds with --config=counted; others only see that gradients are made.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/made_nodes.h"
#include "tests/executor/gradients/control_flow_fixture.h"
#include "tests/testing/block_count.h"

namespace sluice {
namespace {

class GradientsGrowthTest : public ControlFlowFixture {
 protected:
  struct Request {
    std::vector<Output> ys, xs;
  };

  // Makes a graph of each size, and differentiates it.
  void ExpectLinear(const std::function<Request(int)>& make) {
    constexpr int kSize = 250;
    std::vector<int64_t> blocks;
    // The first time, tables are made that stay.
    for (const int size : {kSize, kSize, 2 * kSize, 4 * kSize}) {
      b_ = GraphBuilder(NewOpRegistry());
      const Request request = make(size);
      const int64_t before = BlocksRun();
      ASSERT_OK_AND_ASSIGN(result_, Add(request.ys, request.xs));
      blocks.push_back(BlocksRun() - before);
      if (!CountsBlocks()) return;
    }
    EXPECT_GT(blocks[1], kSize);
    const double first = static_cast<double>(blocks[2] - blocks[1]),
                 second = static_cast<double>(blocks[3] - blocks[2]);
    EXPECT_LT(second, 2.4 * first + 1000) << blocks[1] << ", " << blocks[2] << ", " << blocks[3] << " blocks";
  }
  GradientResult result_;
};

TEST_F(GradientsGrowthTest, ANodeOfManyOutputs) {
  ExpectLinear([this](int size) {
    const Output x = b_.Placeholder("x", DType::kFloat, *PartialShape::Make({size}));
    const Output parts = b_.Op("Unpack", "parts", {x}, {{"num", size}});
    Request request{{}, {x}};
    for (int i = 0; i < size; ++i) request.ys.push_back(b_.Op("Tanh", absl::StrCat("y", i), {Nth(parts, i)}));
    return request;
  });
}

// Each x flows into a long chain that ends nowhere, and y is what a While leaves that no x flows into.
TEST_F(GradientsGrowthTest, ManyXsThatTheLoopOnTheWayDoesNotTake) {
  ExpectLinear([this](int size) {
    const std::pair<std::string, AttrValue> mark = MadeForAttr(MadeFor{"While", "while"});
    const Output start = Input("start");
    const Loop loop = Begin("loop", Int("trips", 2));
    const Variable v = Enter(loop, "v", start);
    Next(v, "v", b_.Op("Sin", "sin", {v.value}));
    End(loop);
    EXPECT_OK(b_.graph().SetAttr(v.last.node, mark.first, mark.second));
    EXPECT_OK(b_.graph().SetAttr(b_.graph().inputs(v.merge.node)[0].node, mark.first, mark.second));
    Request request{{v.last}, {start}};
    for (int i = 0; i < size; ++i) request.xs.push_back(Input(absl::StrCat("x", i)));
    Output chain = b_.Op("AddN", "all", {request.xs.begin() + 1, request.xs.end()}, {{"N", size}});
    for (int i = 0; i < size; ++i) chain = b_.Op("Tanh", absl::StrCat("chain", i), {chain});
    return request;
  });
  EXPECT_FALSE(result_.xs.back().is_set());
}

// A value under many conditions times x, again and again: zeros under the first conditions are made once.
TEST_F(GradientsGrowthTest, ManySwitchesInEachOther) {
  const auto nodes_of = [this](int size) {
    b_ = GraphBuilder(NewOpRegistry());
    const Output x = Input("x");
    Output gated = Input("start");
    std::vector<Output> ys;
    for (int i = 0; i < size; ++i) {
      gated = Nth(Gate(absl::StrCat("gate", i), gated, b_.Placeholder(absl::StrCat("p", i), DType::kBool)), 1);
      ys.push_back(b_.Op("Mul", absl::StrCat("y", i), {x, gated}));
    }
    const absl::StatusOr<GradientResult> found = Add(ys, {x});
    EXPECT_OK(found);
    return found.ok() ? found->num_added : 0;
  };
  const int64_t small = nodes_of(200), large = nodes_of(800);
  EXPECT_GT(small, 200);
  EXPECT_LT(large, 5 * small);
  EXPECT_LT(large, 20 * 800);
}

TEST_F(GradientsGrowthTest, ALoopOfManyVariables) {
  ExpectLinear([this](int size) {
    const Loop loop = Begin("loop", Int("trips", 2));
    Request request;
    for (int i = 0; i < size; ++i) {
      request.xs.push_back(Input(absl::StrCat("x", i)));
      const Variable v = Enter(loop, absl::StrCat("v", i), request.xs.back());
      Next(v, absl::StrCat("v", i), b_.Op("Sin", absl::StrCat("sin", i), {v.value}));
      request.ys.push_back(v.last);
    }
    End(loop);
    return request;
  });
}

// Also of the second order: each loop of gradients waits for another one.
TEST_F(GradientsGrowthTest, ManyLoopsAndTheirGradients) {
  ExpectLinear([this](int size) {
    const Output x = Input("x");
    Output y = x;
    for (int i = 0; i < size / 10; ++i) {
      const Loop loop = Begin(absl::StrCat("loop", i), Int(absl::StrCat("trips", i), 2));
      const Variable v = Enter(loop, absl::StrCat("v", i), y);
      Next(v, absl::StrCat("v", i), b_.Op("Sin", absl::StrCat("sin", i), {v.value}));
      End(loop);
      y = v.last;
    }
    const absl::StatusOr<GradientResult> first = Add({y}, {x});
    EXPECT_OK(first);
    return Request{{first.ok() ? first->xs[0].value : y}, {x}};
  });
}

}  // namespace
}  // namespace sluice
