// Bins and sets against slow ones, and with what TensorFlow answered.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/kernels/sparse/sparse_tensors.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

TEST(BincountTest, CountsAndWeights) {
  const Tensor values = Ints({1, 3, 1, 9});
  ASSERT_OK_AND_ASSIGN(const Tensor counts, KernelRunner("Bincount").Run1({values, Int(4), Floats({})}));
  EXPECT_THAT(Values<float>(counts), ElementsAre(0, 2, 0, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor weights, KernelRunner("Bincount").Run1({values, Int(4), Floats({1, 2, 3, 4})}));
  EXPECT_THAT(Values<float>(weights), ElementsAre(0, 4, 0, 2));
  const Tensor rows = Tensor::Of<int32_t>(Shape::Of({2, 2}), {1, 1, 0, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor dense, KernelRunner("DenseBincount").Run1({rows, Int(3), Ints({})}));
  EXPECT_THAT(Values<int32_t>(dense), ElementsAre(0, 2, 0, 1, 0, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor binary,
                       KernelRunner("DenseBincount").Attr("binary_output", true).Run1({rows, Int(3), Ints({})}));
  EXPECT_THAT(Values<int32_t>(binary), ElementsAre(0, 1, 0, 1, 0, 1));
  ASSERT_OK_AND_ASSIGN(const Tensor ragged,
                       KernelRunner("RaggedBincount").Run1({Longs({0, 1, 1, 4}), values, Int(4), Ints({})}));
  EXPECT_THAT(Values<int32_t>(ragged), ElementsAre(0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1));
  ASSERT_OK_AND_ASSIGN(
      const Tensor sparse,
      KernelRunner("SparseBincount").Run1({Indices(2, {0, 5, 1, 0}), Ints({2, 0}), Longs({2, 6}), Int(3), Ints({})}));
  EXPECT_THAT(Values<int32_t>(sparse), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(KernelRunner("Bincount").Run({Ints({-1}), Int(4), Floats({})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Bincount").Run({values, Int(-1), Floats({})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Bincount").Run({values, Ints({4}), Floats({})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("Bincount").Run({values, Int(4), Floats({1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("RaggedBincount").Run({Longs({0, 9}), values, Int(4), Ints({})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("RaggedBincount").Run({Longs({0, 4, 1, 4}), values, Int(4), Ints({})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseBincount").Run({Indices(2, {2, 0}), Ints({2}), Longs({2, 6}), Int(3), Ints({})}),
              StatusIs(kInvalid));
}

TEST(SetOpsTest, AreThoseOfTheStandardLibrary) {
  FuzzRandom random(13);
  for (int round = 0; round < 40; ++round) {
    const Tensor a = HostileTensor(DType::kInt64, Shape::Of({3, random.Int(5)}), ElementKind::kSigned, random);
    const Tensor b = HostileTensor(DType::kInt64, Shape::Of({3, random.Int(5)}), ElementKind::kSigned, random);
    for (const char* const op : {"a-b", "b-a", "intersection", "Union"}) {
      ASSERT_OK_AND_ASSIGN(const auto out,
                           KernelRunner("DenseToDenseSetOperation").Attr("set_operation", op).Run({a, b}));
      std::vector<int64_t> wanted, row_of;
      for (int64_t row = 0; row < 3; ++row) {
        const auto set_of = [row](const Tensor& t) {
          const int64_t* const begin = t.flat<int64_t>().data() + row * t.dim(1);
          return std::set<int64_t>(begin, begin + t.dim(1));
        };
        const std::set<int64_t> x = set_of(a), y = set_of(b);
        for (int64_t element = -3; element <= 3; ++element) {
          const bool in_x = x.count(element) > 0, in_y = y.count(element) > 0;
          const std::string name = op;
          const bool is_in = name == "a-b"     ? in_x && !in_y
                             : name == "b-a"   ? in_y && !in_x
                             : name == "Union" ? in_x || in_y
                                               : in_x && in_y;
          if (is_in) wanted.push_back(element);
          if (is_in) row_of.push_back(row);
        }
      }
      EXPECT_EQ(Values<int64_t>(out[1]), wanted) << op;
      for (size_t i = 0; i < row_of.size(); ++i) EXPECT_EQ(out[0].flat<int64_t>()[2 * i], row_of[i]);
    }
  }
  ASSERT_OK_AND_ASSIGN(
      const Tensor sizes,
      KernelRunner("SetSize").Run1({Indices(2, {0, 0, 0, 1, 2, 0}), Tensor::Strings({"a", "a", "b"}), Longs({3, 2})}));
  EXPECT_THAT(Values<int32_t>(sizes), ElementsAre(1, 0, 1));
  // Two entries at one place, or in another order, are refused unless the check is turned off.
  for (const std::vector<int64_t>& at : std::vector<std::vector<int64_t>>{{0, 0, 0, 0}, {0, 1, 0, 0}}) {
    const std::vector<Tensor> inputs = {Indices(2, at), Longs({4, 5}), Longs({3, 2})};
    EXPECT_THAT(KernelRunner("SetSize").Run(inputs), StatusIs(kInvalid));
    ASSERT_OK_AND_ASSIGN(const Tensor unlooked, KernelRunner("SetSize").Attr("validate_indices", false).Run1(inputs));
    EXPECT_THAT(Values<int32_t>(unlooked), ElementsAre(2, 0, 0));
  }
  const Tensor row = Tensor::Of<int64_t>(Shape::Of({1, 1}), {1});
  EXPECT_THAT(KernelRunner("DenseToDenseSetOperation").Attr("set_operation", "xor").Run({row, row}),
              StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("DenseToDenseSetOperation").Attr("set_operation", "a-b").Run({row, Longs({1})}),
              StatusIs(kInvalid));
}

}  // namespace
}  // namespace sluice
