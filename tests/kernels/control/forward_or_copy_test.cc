// Ops that happen to change nothing: which hand their input on, and which give a value of their own. It shows where the
// input is a variable's memory. As TensorFlow 2.19 answered.

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

struct Row {
  std::string op;
  std::vector<Tensor> inputs;
  size_t chosen;
};

Tensor X() { return Tensor::Of<float>(Shape::Of({2, 3}), {1, 2, 3, 4, 5, 6}); }
Tensor Axes(std::vector<int32_t> axes) { return Tensor::Vector<int32_t>(axes); }
Tensor NoRows() { return Tensor::Of<float>(Shape::Of({0, 3}), {}); }

std::vector<Row> Rows() {
  return {
      {"Snapshot", {X()}, 0},
      {"Select", {Tensor::Scalar(true), X(), X()}, 1},
      {"SelectV2", {Tensor::Scalar(false), X(), X()}, 2},
      {"ConcatV2", {NoRows(), X(), Tensor::Scalar(0)}, 1},
      {"ReverseV2", {X(), Axes({})}, 0},
      {"Reverse", {X(), Tensor::Vector<bool>({false, false})}, 0},
      {"Roll", {X(), Axes({0}), Axes({0})}, 0},
      {"ConjugateTranspose", {X(), Axes({0, 1})}, 0},
  };
}

TEST(ForwardOrCopyTest, AnInputThatOthersNeedIsCopied) {
  for (const Row& row : Rows()) {
    const Tensor x = row.inputs[row.chosen];
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(row.op).Run1(row.inputs));
    EXPECT_FALSE(y.SharesBufferWith(x)) << row.op;
    EXPECT_EQ(y.ToString(), x.ToString()) << row.op;
  }
}

TEST(ForwardOrCopyTest, AnInputThatNobodyElseNeedsIsTheAnswer) {
  for (const Row& row : Rows()) {
    std::vector<Tensor> inputs = row.inputs;
    inputs[row.chosen] = X();
    const void* const memory = inputs[row.chosen].raw_data();

    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(row.op).Run1(std::move(inputs), /*movable=*/true));
    EXPECT_EQ(y.raw_data(), memory) << row.op;
  }
}

TEST(ForwardOrCopyTest, IdentitiesHandOnWhatTheyGet) {
  for (const std::string op : {"Identity", "StopGradient", "PreventGradient"}) {
    const Tensor x = X();
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(op).Run1({x}));
    EXPECT_TRUE(y.SharesBufferWith(x)) << op;
  }
}

TEST(ForwardOrCopyTest, StringsAreCopiedOneByOne) {
  const std::vector<absl::string_view> texts = {"a", "a text that is too long to lie in its object"};
  const Tensor x = Tensor::Strings(texts);
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Snapshot").Run1({x}));
  EXPECT_FALSE(y.SharesBufferWith(x));
  EXPECT_EQ(y.ToString(), x.ToString());
}

}  // namespace
}  // namespace sluice
