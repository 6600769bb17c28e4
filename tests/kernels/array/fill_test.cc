#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/allocator.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(FillTest, FillRepeatsAScalar) {
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Fill").Run1({Ints({2, 2}), Tensor::Scalar(1.5f)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(1.5f, 1.5f, 1.5f, 1.5f));
}

TEST(FillTest, FillOfStringsCopiesThem) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("Fill").Run1({Ints({2}), Tensor::String("a long text, not inline")}));
  EXPECT_EQ(y.flat<TString>()[1].view(), "a long text, not inline");
}

// As in TensorFlow: too many elements for any memory, and too many to be counted.
TEST(FillTest, SizesThatCannotBeCountedAreAnErrorOfTheGraph) {
  const Tensor one = Tensor::Scalar(1.0f);
  const auto status = [&](const std::vector<int32_t>& dims) {
    return KernelRunner("Fill").Run1({Tensor::Vector<int32_t>(dims), one}).status();
  };
  constexpr int32_t kMax = std::numeric_limits<int32_t>::max();
  EXPECT_THAT(status({1 << 20, 1 << 20, 1 << 20}), StatusIs(absl::StatusCode::kResourceExhausted, "'op'"));
  EXPECT_THAT(status({kMax, kMax, 2}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(status({kMax, kMax, 3}), StatusIs(kInvalid));
  EXPECT_THAT(status({1 << 20, 1 << 20, 1 << 20, 1 << 20}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Fill").Run1({Ints({-1}), one}), StatusIs(kInvalid, "input 0 'dims'"));
}

TEST(FillTest, RangeCountsUpAndDown) {
  ASSERT_OK_AND_ASSIGN(const Tensor up, KernelRunner("Range").Run1({Int(1), Int(8), Int(3)}));
  EXPECT_THAT(Values<int32_t>(up), ElementsAre(1, 4, 7));
  ASSERT_OK_AND_ASSIGN(const Tensor down, KernelRunner("Range").Run1({Int(3), Int(0), Int(-1)}));
  EXPECT_THAT(Values<int32_t>(down), ElementsAre(3, 2, 1));
}

TEST(FillTest, RangeRefusesWhatHasNoEnd) {
  EXPECT_THAT(KernelRunner("Range").Run1({Int(0), Int(1), Int(0)}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Range").Run1({Int(1), Int(0), Int(1)}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Range").Run1({Tensor::Scalar(0.0), Tensor::Scalar(1.0), Tensor::Scalar(1e-300)}),
              StatusIs(kInvalid));
}

TEST(FillTest, RangeFromTheLowestToTheHighestIntegerDoesNotOverflow) {
  const int32_t low = std::numeric_limits<int32_t>::min(), high = std::numeric_limits<int32_t>::max();
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("Range").Run1({Int(low), Int(high), Int(1 << 30)}));
  EXPECT_THAT(Values<int32_t>(y), ElementsAre(low, -(1 << 30), 0, 1 << 30));
}

// Memory that others have used before.
class UsedMemory final : public Allocator {
 public:
  absl::string_view name() const override { return "used"; }
  void* Allocate(size_t bytes, StreamTag stream) override {
    void* const data = HostAllocator().Allocate(bytes, stream);
    if (data != nullptr) std::memset(data, 0xbe, bytes);
    return data;
  }
  void Free(void* data, size_t bytes, StreamTag stream) override { HostAllocator().Free(data, bytes, stream); }
};

TEST(FillTest, EmptyHoldsNoByteThatIsNotABool) {
  UsedMemory memory;
  CpuDevice device("/job:localhost/replica:0/task:0/device:CPU:0", 1, &memory);
  KernelRunner runner("Empty");
  runner.Attr("dtype", DType::kBool).run().device = &device;
  ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({Ints({1000})}));
  const uint8_t* const bytes = static_cast<const uint8_t*>(y.raw_data());
  EXPECT_EQ(std::count(bytes, bytes + 1000, 0), 1000);
}

TEST(FillTest, ZerosLikeWorksInPlaceWhenItMay) {
  std::vector<Tensor> inputs;
  inputs.push_back(Counting({100}));
  const void* const memory = inputs[0].raw_data();
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ZerosLike").Run1(std::move(inputs), /*movable=*/true));
  EXPECT_EQ(y.raw_data(), memory);
  EXPECT_EQ(y.flat<float>()[99], 0.0f);
}

TEST(FillTest, LinSpaceEndsAtStop) {
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("LinSpace").Run1({Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Int(3)}));
  EXPECT_THAT(Values<float>(y), ElementsAre(0.0f, 0.5f, 1.0f));
}

TEST(FillTest, RangesOfHalvesAreComputedInHalves) {
  const auto half = [](float x) { return Tensor::Scalar(Half(x)); };
  // 1.7841796875 + 0.216064453125 is rounded to 2.
  ASSERT_OK_AND_ASSIGN(const Tensor y,
                       KernelRunner("Range").Run1({half(-0.216064453125f), half(1.7841796875f), half(1.0f)}));
  EXPECT_EQ(y.num_elements(), 2);
}

}  // namespace
}  // namespace sluice
