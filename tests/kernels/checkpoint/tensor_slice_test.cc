#include "kernels/checkpoint/tensor_slice.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// What TensorFlow 2.19 answers for RestoreV2 of a tensor of shape [3,4].
TEST(TensorSliceTest, SpecsAreReadAsTensorFlowReadsThem) {
  for (const char* spec : {"3 4 -:-", "3 4 -:-:", "3 4 ::-:-", "3 4 +1,1:-", "3 4 0,3:1,2"}) {
    EXPECT_OK(ParseSliceSpec(spec)) << spec;
  }
  for (const char* spec :
       {"3 4", " 3 4 -:-", "3  4 -:-", "3 4 1:-", "3 4 0,2,3:-", "3 4 0x1,1:-", "3 4 -,-:-", "3 4 -1,1:-", "3 4 1,-1:-",
        "3 4 -:0,0", "3,4 -:-", "-", "", "3 4 99999999999999999999,1:-", "300000000000 300000000000 -:-", "-3 4 -:-"}) {
    EXPECT_THAT(ParseSliceSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument)) << spec;
  }
  for (const char* spec : {"3 4 ", "3 4 -", "3 4 :", "3 4 0,3:0,5", "3 4 4,1:-", "3 4 3,1:-",
                           "3 4 0,9223372036854775807:-", "3 4 9223372036854775807,1:-"}) {
    EXPECT_THAT(ParseSliceSpec(spec), StatusIs(absl::StatusCode::kInternal)) << spec;
  }
}

// The keys that TensorFlow wrote.
TEST(TensorSliceTest, KeysAreThoseOfTheFormat) {
  using Text = std::string;
  EXPECT_EQ(SliceKey("x", WholeSlice(2)), Text("\0x\0\1\1\2\x80\x7f\x80\x7f", 10));
  EXPECT_EQ(SliceKey("sc", {}), Text("\0sc\0\1\0", 6));
  EXPECT_EQ(SliceKey(Text("\0\xff", 2), {{3, 63}}), Text("\0\0\xff\xff\0\0\1\1\1\x83\xbf", 11));
  EXPECT_EQ(SliceKey("x", {{64, 1000000}}), Text("\0x\0\1\1\1\xc0\x40\xef\x42\x40", 11));
}

TEST(TensorSliceTest, KeysAscendWithTheirNumbers) {
  const std::vector<int64_t> starts = {
      0, 1, 63, 64, 8191, 8192, 1 << 20, int64_t{1} << 34, int64_t{1} << 55, int64_t{1} << 61, INT64_MAX};
  std::string last;
  for (const int64_t start : starts) {
    const std::string key = SliceKey("x", {{start, 1}});
    EXPECT_LT(last, key) << start;
    last = key;
  }
}

// Random grids: all parts together make up the tensor, and any box can be read from them.
TEST(TensorSliceTest, PartsMakeUpTheWhole) {
  FuzzRandom random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = random.Int(4);
    std::vector<int64_t> dims;
    for (int axis = 0; axis < rank; ++axis) dims.push_back(1 + random.Int(6));
    const Shape full = Shape::Make(dims).value();
    Tensor value = Tensor::Make(DType::kInt32, full).value();
    int32_t next = 0;
    for (int32_t& element : value.flat<int32_t>()) element = ++next;
    const SliceBox whole = BoxOf(WholeSlice(rank), full).value();
    // Cut in two along random axes, some times.
    std::vector<TensorSlice> slices = {whole.extents};
    for (int cut = random.Int(6); cut > 0 && rank > 0; --cut) {
      TensorSlice& one = random.Pick(slices);
      SliceExtent& extent = one[static_cast<size_t>(random.Int(rank))];
      if (extent.length < 2) continue;
      const int64_t size = 1 + random.Int(static_cast<int>(extent.length) - 1);
      const SliceExtent before = extent;
      extent.length = size;
      TensorSlice other = one;
      extent = {before.start + size, before.length - size};
      slices.push_back(other);
    }
    TensorSlice wanted;
    for (const int64_t size : dims) {
      const int64_t start = random.Int(static_cast<int>(size));
      wanted.push_back({start, 1 + random.Int(static_cast<int>(size - start))});
    }
    const SliceBox box = BoxOf(wanted, full).value();
    std::vector<SliceBox> boxes;
    Tensor direct = Tensor::Make(DType::kInt32, box.shape).value();
    Tensor pieced = Tensor::MakeZeros(DType::kInt32, box.shape).value();
    CopyCommon(value, whole, box, &direct);
    for (const TensorSlice& slice : slices) {
      boxes.push_back(BoxOf(slice, full).value());
      Tensor part = Tensor::Make(DType::kInt32, boxes.back().shape).value();
      CopyCommon(value, whole, boxes.back(), &part);
      CopyCommon(part, boxes.back(), box, &pieced);
      const int64_t at = ContiguousOffset(boxes.back(), whole);
      if (at < 0) continue;
      for (int64_t i = 0; i < part.num_elements(); ++i) {
        EXPECT_EQ(part.flat<int32_t>()[static_cast<size_t>(i)], value.flat<int32_t>()[static_cast<size_t>(at + i)]);
      }
    }
    EXPECT_OK(CheckCover(boxes, box));
    EXPECT_EQ(direct.bytes(), pieced.bytes());
    if (boxes.size() > 1) {
      EXPECT_THAT(CheckCover(absl::MakeConstSpan(boxes).subspan(1), whole), IsError(ErrorCode::kCheckpointSlice));
      boxes.push_back(boxes.front());
      EXPECT_THAT(CheckCover(boxes, box), StatusIs(absl::StatusCode::kInternal));
    }
  }
}

}  // namespace
}  // namespace sluice
