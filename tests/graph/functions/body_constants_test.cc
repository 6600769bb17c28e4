// Large constants in function bodies cost nothing, however often the function is called.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/functions/check.h"
#include "graph/functions/inliner.h"
#include "graph/functions/instantiate.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "tests/testing/counting_new.h"
#include "tests/testing/function_defs.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kElements = 10 << 18;  // Floats: 10 MiB.
constexpr int64_t kLittle = 1 << 20;     // For ten calls of a few nodes.
constexpr int kCalls = 10;

// Bytes that are live now, the most since the last reset.
struct Bytes {
  int64_t live = LiveNewBytes();
  int64_t peak = PeakNewBytes();
};

class BodyConstantsTest : public ::testing::Test {
 protected:
  // F(a) = a + weights, and `kCalls` calls of it.
  void SetUp() override {
    std::vector<float> numbers(kElements);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    weights_ = Tensor::Of<float>(Shape::Of({kElements}), numbers);
    FunctionText text("F");
    text.Arg("a: T")
        .Attr("T: type")
        .Result("r: T", "sum:z:0")
        .Node("weights = Const()", {{"dtype", DType::kFloat}, {"value", weights_}})
        .Node("typed = Cast(weights:output:0)", {{"SrcT", DType::kFloat}, {"DstT", T()}})
        .Node("sum = AddV2(a, typed:y:0)", {{"T", T()}});
    text.AddTo(b_.graph());
    const Output x = b_.Placeholder("x", DType::kFloat);
    for (int i = 0; i < kCalls; ++i) {
      Call(b_, absl::StrCat("call", i), "F", {x}, {DType::kFloat}, {{"T", DType::kFloat}});
    }
    ASSERT_OK(b_.status());
    ResetPeakNewBytes();
    before_ = Bytes();
  }
  int64_t Kept() const { return Bytes().live - before_.live; }
  int64_t Peak() const { return Bytes().peak - before_.live; }

  GraphBuilder b_{NewOpRegistry()};
  Tensor weights_;
  Bytes before_;
};

TEST_F(BodyConstantsTest, CallsOfOneFunctionShareThem) {
  ASSERT_OK(InlineFunctionCalls(b_.graph(), InlineOptions()));
  EXPECT_LT(Kept(), kLittle);
  EXPECT_LT(Peak(), kLittle);
  // They are the definition's bytes, and outlive its place in the library.
  b_.graph().library() = FunctionLibrary();
  const Graph copy = b_.graph();
  const char* first = nullptr;
  for (int i = 0; i < kCalls; ++i) {
    const NodeId id = copy.Find(absl::StrCat("call", i, "/weights"));
    ASSERT_TRUE(copy.Contains(id));
    ASSERT_OK_AND_ASSIGN(const AttrView value, copy.GetAttr(id, "value"));
    if (first == nullptr) first = value.bytes().data();
    EXPECT_EQ(value.bytes().data(), first);
    EXPECT_TRUE(AttrView::Equal(value, AttrValue(weights_).view()));
    const NodeId typed = copy.Find(absl::StrCat("call", i, "/typed"));
    EXPECT_EQ(*copy.GetType(typed, "DstT"), DType::kFloat);  // Of the call.
  }
}

TEST_F(BodyConstantsTest, ChecksDoNotCopyThem) {
  FunctionCheckOptions options;
  options.check_runnable = true;
  EXPECT_OK(CheckFunctions(b_.graph(), options, nullptr));
  EXPECT_LT(Peak(), kLittle);
}

TEST_F(BodyConstantsTest, InstancesDoNotCopyThem) {
  const AttrValue type(DType::kFloat);
  ASSERT_OK_AND_ASSIGN(const FunctionGraph made, InstantiateFunction(b_.graph(), "F", {{"T", type.view()}}));
  EXPECT_LT(Kept(), kLittle);
  EXPECT_TRUE(made.graph.Contains(made.graph.Find("weights")));
}

}  // namespace
}  // namespace sluice
