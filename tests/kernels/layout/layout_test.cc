// Axes of data formats, rows written in place, and the small ops of kernels/control that graphs of TensorFlow 2 hold.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::StatusOr<Tensor> Permute(const std::string& op, Tensor x, const std::string& from, const std::string& to) {
  return KernelRunner(op).Attr("src_format", from).Attr("dst_format", to).Run1({std::move(x)});
}

TEST(DataFormatTest, AxesAreMapped) {
  ASSERT_OK_AND_ASSIGN(const Tensor axes,
                       Permute("DataFormatDimMap", Ints({0, 1, 2, 3, -1, -4, 4, -5}), "NHWC", "NCHW"));
  EXPECT_THAT(Values<int32_t>(axes), ElementsAre(0, 2, 3, 1, 1, 0, 0, 1)) << "round and round";
  EXPECT_THAT(Permute("DataFormatDimMap", Ints({0}), "NHC", "NCH"), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(Permute("DataFormatDimMap", Ints({0}), "NHWC", "NCHX"), IsError(ErrorCode::kOpAttr));
}

TEST(DataFormatTest, VectorsArePermuted) {
  const auto permute = [](Tensor x, const std::string& from, const std::string& to) {
    return Permute("DataFormatVecPermute", std::move(x), from, to);
  };
  ASSERT_OK_AND_ASSIGN(const Tensor all, permute(Ints({1, 2, 3, 4}), "NHWC", "NCHW"));
  EXPECT_THAT(Values<int32_t>(all), ElementsAre(1, 4, 2, 3));
  ASSERT_OK_AND_ASSIGN(const Tensor pairs, permute(Counting<int64_t>({4, 2}), "NCHW", "NHWC"));
  EXPECT_THAT(Values<int64_t>(pairs), ElementsAre(0, 1, 4, 5, 6, 7, 2, 3));
  ASSERT_OK_AND_ASSIGN(const Tensor inner, permute(Ints({5, 6}), "NHWC", "NCWH"));
  EXPECT_THAT(Values<int32_t>(inner), ElementsAre(6, 5));
  for (const Tensor& bad :
       {Ints({1}), Ints({1, 2, 3}), Int(1), Counting<int32_t>({4, 3}), Counting<int32_t>({2, 2, 2})}) {
    EXPECT_THAT(permute(bad, "NHWC", "NCHW"), IsError(ErrorCode::kOpShape)) << bad.ToString();
  }
}

TEST(InplaceTest, RowsAreWrittenRoundAndRound) {
  const auto run = [](const std::string& op, Tensor i, Tensor v) {
    return KernelRunner(op).Run1({Counting({3, 2}), std::move(i), std::move(v)});
  };
  const Tensor ten = Tensor::Of<float>(Shape::Of({2, 2}), {10, 20, 30, 40});
  ASSERT_OK_AND_ASSIGN(const Tensor set, run("InplaceUpdate", Ints({-1, 3}), ten));
  EXPECT_THAT(Values<float>(set), ElementsAre(30, 40, 2, 3, 10, 20));
  ASSERT_OK_AND_ASSIGN(const Tensor added, run("InplaceAdd", Ints({1, 1}), ten));
  EXPECT_THAT(Values<float>(added), ElementsAre(0, 1, 42, 63, 4, 5));
  ASSERT_OK_AND_ASSIGN(const Tensor less, run("InplaceSub", Ints({0, std::numeric_limits<int32_t>::min()}), ten));
  EXPECT_THAT(Values<float>(less), ElementsAre(-10, -19, -28, -37, 4, 5));
  EXPECT_THAT(run("InplaceAdd", Ints({1}), ten), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run("InplaceAdd", Int(1), ten), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(run("InplaceAdd", Ints({1, 1}), Counting({2, 3})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(KernelRunner("InplaceAdd").Run1({Int(1), Ints({}), Int(2)}), IsError(ErrorCode::kOpShapes));
}

TEST(InplaceTest, OthersThatReadTheTensorSeeNothing) {
  const Tensor x = Counting({3, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("InplaceAdd").Run1({x, Ints({0}), Counting({1, 2})}, true));
  EXPECT_THAT(Values<float>(x), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(Values<float>(y), ElementsAre(0, 2, 2, 3, 4, 5));
}

TEST(SmallOpsTest, OfTensorFlow2) {
  const std::vector<std::string> names = {"GPU", "CPU"}, none = {"GPU"};
  ASSERT_OK_AND_ASSIGN(const Tensor index, KernelRunner("DeviceIndex").Attr("device_names", names).Run1({}));
  EXPECT_THAT(Values<int32_t>(index), ElementsAre(1));
  ASSERT_OK_AND_ASSIGN(const Tensor other, KernelRunner("DeviceIndex").Attr("device_names", none).Run1({}));
  EXPECT_THAT(Values<int32_t>(other), ElementsAre(1)) << "the number of names";
  const auto fake = [](const PartialShape& shape) {
    return KernelRunner("FakeParam").Attr("dtype", DType::kFloat).Attr("shape", shape).Run1({});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor part, fake(PartialShape::Of({2, -1})));
  EXPECT_THAT(Dims(part), ElementsAre(2, 0));
  ASSERT_OK_AND_ASSIGN(const Tensor unknown, fake(PartialShape()));
  EXPECT_THAT(Dims(unknown), IsEmpty());
  ASSERT_OK_AND_ASSIGN(const Tensor now, KernelRunner("Timestamp").Run1({}));
  EXPECT_GT(Values<double>(now)[0], 1.5e9);
  ASSERT_OK_AND_ASSIGN(const Tensor copy, KernelRunner("DeepCopy").Run1({Ints({1, 2})}));
  EXPECT_THAT(Values<int32_t>(copy), ElementsAre(1, 2));
}

}  // namespace
}  // namespace sluice
