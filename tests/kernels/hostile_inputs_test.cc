// Inputs that a file or a feed can hold and no program makes: lists without elements, sizes that no memory holds where
// tensors have no elements, numbers at the ends of their range. Every kernel answers with a status, soon and without
// memory that grows with such a size; messages carry one code and no fact twice.

#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

constexpr int64_t kHuge = int64_t{1} << 45;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Tensor Empty(DType dtype, std::initializer_list<int64_t> dims) { return Tensor::Make(dtype, Shape::Of(dims)).value(); }
Tensor Longs(std::vector<int64_t> values) { return Tensor::Vector<int64_t>(values); }

// One call, with 1 MiB of memory.
absl::Status RunInOneMiB(KernelRunner runner, std::vector<Tensor> inputs) {
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  runner.run().allocator = &allocator;
  return runner.Run(std::move(inputs)).status();
}

// How often `part` is in `text`.
int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HostileInputsTest, TensorsWithoutElementsMayHaveAnyNumberOfRows) {
  const Tensor rows = Empty(DType::kFloat, {kHuge, 0});
  const Tensor empty_ints = Empty(DType::kInt32, {kHuge, 0});
  // Inputs with a valid answer get it.
  EXPECT_OK(RunInOneMiB(KernelRunner("Sum"), {rows, Int(0)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Max"), {rows, Int(0)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Mean"), {Empty(DType::kFloat, {3, kHuge, 0}), Int(1)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Cumsum"), {rows, Int(0)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("ArgMax"), {rows, Int(0)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("BiasAddGrad"), {rows}));
  EXPECT_OK(RunInOneMiB(KernelRunner("L2Loss"), {rows}));
  EXPECT_OK(RunInOneMiB(KernelRunner("TopKV2"), {rows, Int(0)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("ScatterNd"), {empty_ints, Empty(DType::kFloat, {kHuge, 0}), Ints({0})}));
  EXPECT_OK(
      RunInOneMiB(KernelRunner("TensorScatterAdd"), {Counting({0}), empty_ints, Empty(DType::kFloat, {kHuge, 0})}));
  EXPECT_OK(RunInOneMiB(KernelRunner("MatrixDiagPart"), {Empty(DType::kFloat, {0, 1 << 20, 1 << 20})}));
  EXPECT_OK(
      RunInOneMiB(KernelRunner("UnsortedSegmentSum"), {Empty(DType::kFloat, {2, 0}), Ints({0, 1}), Int(1 << 30)}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Transpose"), {rows, Ints({1, 0})}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Softmax"), {rows}));
  // Inputs that would take too much memory are refused.
  const absl::StatusCode exhausted = absl::StatusCode::kResourceExhausted;
  EXPECT_THAT(RunInOneMiB(KernelRunner("Sum"), {rows, Int(1)}), StatusIs(exhausted));
  EXPECT_THAT(RunInOneMiB(KernelRunner("BiasAddGrad"), {Empty(DType::kFloat, {0, kHuge})}), StatusIs(exhausted));
  EXPECT_THAT(RunInOneMiB(KernelRunner("GatherNd"), {Counting({3}), empty_ints}), StatusIs(exhausted));
  EXPECT_THAT(RunInOneMiB(KernelRunner("UniqueV2"), {rows, Longs({0})}), StatusIs(exhausted));
  EXPECT_THAT(
      RunInOneMiB(KernelRunner("DynamicPartition").Attr("num_partitions", 2), {rows, Empty(DType::kInt32, {kHuge, 0})}),
      IsOk());
}

TEST(HostileInputsTest, NumbersAtTheEndsOfTheirRangeAreRefused) {
  EXPECT_THAT(RunInOneMiB(KernelRunner("SegmentSum"), {Counting({2, 2}), Longs({0, kMax})}),
              IsError(ErrorCode::kOpValue));
  EXPECT_FALSE(RunInOneMiB(KernelRunner("SegmentSum"), {Counting({2, 2}), Longs({0, kMax - 1})}).ok());
  EXPECT_FALSE(
      RunInOneMiB(KernelRunner("UnsortedSegmentSum"), {Counting({2, 2}), Longs({0, 1}), Tensor::Scalar(kMax)}).ok());
  EXPECT_FALSE(
      RunInOneMiB(KernelRunner("Pad"), {Counting({1}), Tensor::Of<int64_t>(Shape::Of({1, 2}), {kMax, kMax})}).ok());
  EXPECT_FALSE(RunInOneMiB(KernelRunner("Tile"), {Counting({2}), Longs({kMax})}).ok());
  EXPECT_FALSE(RunInOneMiB(KernelRunner("SpaceToBatchND"),
                           {Counting({1, 2, 1}), Longs({kMax}), Tensor::Of<int64_t>(Shape::Of({1, 2}), {0, kMax})})
                   .ok());
  EXPECT_FALSE(RunInOneMiB(KernelRunner("Slice"), {Counting({2}), Longs({1}), Longs({kMax})}).ok());
  EXPECT_OK(RunInOneMiB(KernelRunner("StridedSlice"), {Counting({3}), Longs({-kMax}), Longs({kMax}), Longs({kMax})}));
  EXPECT_OK(RunInOneMiB(KernelRunner("Roll"), {Counting({3}), Tensor::Scalar(-kMax - 1), Int(0)}));
  EXPECT_OK(
      RunInOneMiB(KernelRunner("Range"), {Tensor::Scalar(-kMax - 1), Tensor::Scalar(kMax), Tensor::Scalar(kMax)}));
  EXPECT_FALSE(RunInOneMiB(KernelRunner("Range"), {Tensor::Scalar(-kMax - 1), Tensor::Scalar(kMax), Longs({1})}).ok());
}

TEST(HostileInputsTest, ResultsOfOtherTypesThanTheFunctionsGiveHaveNoKernel) {
  const Tensor parts = Tensor::Make(DType::kDouble, Shape::Of({100})).value();
  EXPECT_THAT(RunInOneMiB(KernelRunner("Complex").Attr("Tout", DType::kComplex64), {parts, parts}),
              IsError(ErrorCode::kNoKernel));
  const Tensor numbers = Tensor::Make(DType::kComplex128, Shape::Of({100})).value();
  for (const char* op : {"Real", "Imag", "Angle", "ComplexAbs"}) {
    EXPECT_THAT(RunInOneMiB(KernelRunner(op).Attr("Tout", DType::kFloat), {numbers}), IsError(ErrorCode::kNoKernel))
        << op;
    EXPECT_OK(RunInOneMiB(KernelRunner(op).Attr("Tout", DType::kDouble), {numbers})) << op;
  }
}

TEST(HostileInputsTest, ModesThatAreNoneAreRefused) {
  const Tensor paddings = Tensor::Of<int32_t>(Shape::Of({1, 2}), {1, 1});
  for (const char* op : {"MirrorPad", "MirrorPadGrad"}) {
    EXPECT_FALSE(RunInOneMiB(KernelRunner(op).Attr("mode", "AROUND"), {Counting({4}), paddings}).ok()) << op;
  }
}

// Each message: one code, each size once, no internals of another layer.
TEST(HostileInputsTest, MessagesSayWhatIsWrongOnce) {
  const Tensor cube = Ints({1 << 20, 1 << 20, 1 << 20});
  const std::vector<std::pair<absl::Status, std::string>> errors = {
      {RunInOneMiB(KernelRunner("Fill"), {cube, Tensor::Scalar(1.0f)}), "[1048576,1048576,1048576]"},
      {RunInOneMiB(KernelRunner("Fill"), {Longs({kMax, 4}), Tensor::Scalar(1.0f)}), "[9223372036854775807,4]"},
      {RunInOneMiB(KernelRunner("Fill"), {Ints({-3}), Tensor::Scalar(1.0f)}), "-3"},
      {RunInOneMiB(KernelRunner("Reshape"), {Counting({4}), Longs({kMax, 4})}), "product"},
      {RunInOneMiB(KernelRunner("BroadcastTo"), {Counting({1}), Longs({kMax, 2})}), "[9223372036854775807,2]"},
      {RunInOneMiB(KernelRunner("Tile"), {Counting({2, 2}), Longs({kMax / 2, kMax / 2})}), "[9223372036854775806,"},
      {RunInOneMiB(KernelRunner("Pad"), {Counting({1}), Tensor::Of<int64_t>(Shape::Of({1, 2}), {int64_t{1} << 60, 0})}),
       "[1152921504606846977]"},
      {RunInOneMiB(KernelRunner("OneHot"), {Ints({1}), Int(std::numeric_limits<int32_t>::max()), Int(1), Int(0)}), ""},
      {RunInOneMiB(KernelRunner("Einsum").Attr("equation", "ij,kl->ijkl").Attr("N", 2),
                   {Empty(DType::kFloat, {1 << 30, 0}), Empty(DType::kFloat, {1 << 30, 0})}),
       ""},
  };
  for (const auto& [status, fact] : errors) {
    const std::string text(status.message());
    if (status.ok()) continue;
    EXPECT_EQ(Count(text, "SLC"), 1) << text;
    EXPECT_TRUE(absl::StrContains(text, fact)) << text << ", wanted " << fact;
    EXPECT_LE(Count(text, fact), fact.empty() ? static_cast<int>(text.size()) + 1 : 1) << text;
    EXPECT_TRUE(absl::StrContains(text, "'op'")) << text;
  }
  EXPECT_FALSE(errors[0].first.ok());
  EXPECT_FALSE(errors[6].first.ok());
}

}  // namespace
}  // namespace sluice
