// Sparse ops against slow ones, with what TensorFlow answered, and with indices that lead nowhere.
// tests/kernels/every_row_test.cc checks that shards, in-place work and all dtypes give the same.

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/array/tensors.h"
#include "tests/kernels/sparse/sparse_tensors.h"
#include "tests/testing/hostile_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// --- Sums of rows by group ----------------------------------------------------------------------------------------

TEST(SparseSegmentTest, SumsAreThoseOfASlowLoop) {
  FuzzRandom random(5);
  for (const int64_t width : {0, 1, 3, 256, 700}) {
    for (int round = 0; round < 6; ++round) {
      const int64_t rows = 1 + random.Int(9);
      const size_t count = static_cast<size_t>(random.Int(40));
      std::vector<int32_t> indices(count), ids(count);
      int32_t id = 0;
      for (size_t i = 0; i < count; ++i) {
        indices[i] = random.Int(static_cast<int>(rows));
        id += random.Int(3) == 0 ? random.Int(3) : 0;
        ids[i] = id;
      }
      const Tensor data = HostileTensor(DType::kFloat, Shape::Of({rows, width}), ElementKind::kSigned, random);
      const std::vector<std::pair<std::string, int>> ops = {
          {"SparseSegmentSum", 0}, {"SparseSegmentMean", 1}, {"SparseSegmentSqrtN", 2}};
      for (const auto& [op, scale] : ops) {
        ASSERT_OK_AND_ASSIGN(const Tensor out,
                             KernelRunner(op + "WithNumSegments").Run1({data, Ints(indices), Ints(ids), Int(id + 2)}));
        ASSERT_EQ(out.shape(), Shape::Of({id + 2, width}));
        std::vector<double> sums(static_cast<size_t>((id + 2) * width), 0.0), counts(static_cast<size_t>(id + 2), 0.0);
        for (size_t i = 0; i < count; ++i) {
          ++counts[static_cast<size_t>(ids[i])];
          for (int64_t k = 0; k < width; ++k) {
            sums[static_cast<size_t>(ids[i] * width + k)] +=
                data.flat<float>()[static_cast<size_t>(indices[i] * width + k)];
          }
        }
        for (size_t i = 0; i < sums.size(); ++i) {
          const double n = counts[i / static_cast<size_t>(width)];
          const double by = scale == 0 || n == 0 ? 1 : scale == 1 ? n : std::sqrt(n);
          ASSERT_NEAR(out.flat<float>()[i], sums[i] / by, 1e-5) << op;
        }
      }
    }
  }
}

TEST(SparseSegmentTest, GradientsGoBackToTheirRows) {
  const Tensor grad = Matrix(2, 1, {1, 10});
  ASSERT_OK_AND_ASSIGN(const Tensor sum,
                       KernelRunner("SparseSegmentSumGrad").Run1({grad, Ints({3, 0, 3}), Ints({0, 0, 1}), Int(4)}));
  EXPECT_THAT(Values<float>(sum), ElementsAre(1, 0, 0, 11));
  ASSERT_OK_AND_ASSIGN(const Tensor mean,
                       KernelRunner("SparseSegmentMeanGrad").Run1({grad, Ints({3, 0, 3}), Ints({0, 0, 1}), Int(4)}));
  EXPECT_THAT(Values<float>(mean), ElementsAre(0.5f, 0, 0, 10.5f));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> both,
                       KernelRunner("SparseSegmentSumGradV2").Run({grad, Ints({3, 0, 3}), Ints({0, 0, 1}), Int(4)}));
  EXPECT_THAT(Values<float>(both[0]), ElementsAre(1, 11));
  EXPECT_THAT(Values<int32_t>(both[1]), ElementsAre(0, 3));
}

TEST(SparseSegmentTest, WhatIsWrongIsInvalid) {
  const Tensor data = Matrix(2, 1, {1, 2});
  const std::vector<std::vector<Tensor>> calls = {
      {data, Ints({2}), Ints({0})},       {data, Ints({-1}), Ints({0})},
      {data, Ints({0, 1}), Ints({1, 0})}, {data, Ints({0}), Ints({-1})},
      {data, Ints({0, 1}), Ints({0})},    {Tensor::Scalar(1.0f), Ints({}), Ints({})},
      {data, Longs({0}), Longs({kMax})},  {data, Longs({0}), Longs({kMax - 1})},
      {data, Longs({kMax}), Longs({0})},
  };
  for (const std::vector<Tensor>& inputs : calls) {
    EXPECT_THAT(KernelRunner("SparseSegmentSum").Run(inputs), StatusIs(kInvalid)) << inputs[2].ToString();
  }
  const auto limited = [&](int32_t segments) {
    return KernelRunner("SparseSegmentMeanWithNumSegments").Run({data, Ints({0}), Ints({3}), Int(segments)});
  };
  EXPECT_THAT(limited(3), StatusIs(kInvalid));
  EXPECT_THAT(limited(-1), StatusIs(kInvalid));
  EXPECT_THAT(limited(4), IsOk());
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner large("SparseSegmentSum");
  large.run().allocator = &allocator;
  EXPECT_THAT(large.Run({data, Longs({0}), Longs({int64_t{1} << 40})}), StatusIs(absl::StatusCode::kResourceExhausted));
  const auto grad = [&](std::vector<int32_t> rows, std::vector<int32_t> ids, int32_t count) {
    return KernelRunner("SparseSegmentSumGrad").Run({data, Ints(std::move(rows)), Ints(std::move(ids)), Int(count)});
  };
  EXPECT_THAT(grad({4}, {0}, 4), StatusIs(kInvalid));
  EXPECT_THAT(grad({0}, {2}, 4), StatusIs(kInvalid));
  EXPECT_THAT(grad({0}, {-1}, 4), StatusIs(kInvalid));
  EXPECT_THAT(grad({0}, {0}, -1), StatusIs(kInvalid));
}

// --- Dense and back -----------------------------------------------------------------------------------------------

TEST(SparseToDenseTest, EntriesStandBesideDefaults) {
  const Tensor indices = Indices(2, {0, 1, 1, 0});
  ASSERT_OK_AND_ASSIGN(
      const Tensor out,
      KernelRunner("SparseToDense").Run1({indices, Longs({2, 2}), Floats({5, 6}), Tensor::Scalar(-1.0f)}));
  EXPECT_THAT(Values<float>(out), ElementsAre(-1, 5, 6, -1));
  ASSERT_OK_AND_ASSIGN(
      const Tensor vector,
      KernelRunner("SparseToDense").Run1({Ints({0, 2}), Ints({3}), Tensor::Scalar(true), Tensor::Scalar(false)}));
  EXPECT_THAT(Values<bool>(vector), ElementsAre(true, false, true));
  ASSERT_OK_AND_ASSIGN(
      const Tensor texts,
      KernelRunner("SparseToDense").Run1({Int(1), Ints({2}), Tensor::String("x"), Tensor::String("-")}));
  EXPECT_EQ(texts.flat<TString>()[0].view(), "-");
  EXPECT_EQ(texts.flat<TString>()[1].view(), "x");
  const auto fails = [](Tensor at, Tensor shape, Tensor values, Tensor otherwise, bool validate) {
    return KernelRunner("SparseToDense")
        .Attr("validate_indices", validate)
        .Run({std::move(at), std::move(shape), std::move(values), std::move(otherwise)})
        .status();
  };
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_THAT(fails(Ints({1, 0}), Ints({3}), one, one, true), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({1, 1}), Ints({3}), one, one, true), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({1, 0}), Ints({3}), one, one, false), IsOk());
  EXPECT_THAT(fails(Ints({3}), Ints({3}), one, one, false), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({-1}), Ints({3}), one, one, false), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({1}), Ints({3}), Floats({1, 2}), one, true), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({1}), Ints({3}), one, Floats({1}), true), StatusIs(kInvalid));
  EXPECT_THAT(fails(Ints({1}), Ints({3, 3}), one, one, true), StatusIs(kInvalid));
  EXPECT_THAT(fails(Longs({kMax}), Longs({kMax}), one, one, true), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(SparseToDenseTest, EmptyRowsAreFilled) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, KernelRunner("SparseFillEmptyRows")
                                                          .Run({Indices(2, {2, 1, 0, 3, 2, 0}), Floats({7, 8, 9}),
                                                                Longs({4, 5}), Tensor::Scalar(-1.0f)}));
  EXPECT_THAT(Values<int64_t>(out[0]), ElementsAre(0, 3, 1, 0, 2, 1, 2, 0, 3, 0));
  EXPECT_THAT(Values<float>(out[1]), ElementsAre(8, -1, 7, 9, -1));
  EXPECT_THAT(Values<bool>(out[2]), ElementsAre(false, true, false, true));
  EXPECT_THAT(Values<int64_t>(out[3]), ElementsAre(2, 0, 3));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> grads,
                       KernelRunner("SparseFillEmptyRowsGrad").Run({out[3], Floats({1, 2, 3, 4, 5})}));
  EXPECT_THAT(Values<float>(grads[0]), ElementsAre(3, 1, 4));
  EXPECT_EQ(*grads[1].AsScalar<float>(), 7);
  EXPECT_THAT(KernelRunner("SparseFillEmptyRows").Run({Indices(1, {4}), Floats({1}), Longs({4}), Tensor::Scalar(0.0f)}),
              StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseFillEmptyRowsGrad").Run({Longs({5}), Floats({1})}), StatusIs(kInvalid));
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner large("SparseFillEmptyRows");
  large.run().allocator = &allocator;
  EXPECT_THAT(large.Run({Indices(1, {}), Floats({}), Longs({int64_t{1} << 40}), Tensor::Scalar(0.0f)}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

// --- Other places -------------------------------------------------------------------------------------------------

TEST(SparseRearrangeTest, EntriesMove) {
  const Tensor indices = Indices(2, {1, 0, 0, 1, 0, 0}), values = Floats({1, 2, 3}), shape = Longs({2, 2});
  ASSERT_OK_AND_ASSIGN(const auto ordered, KernelRunner("SparseReorder").Run({indices, values, shape}));
  EXPECT_THAT(Values<int64_t>(ordered[0]), ElementsAre(0, 0, 0, 1, 1, 0));
  EXPECT_THAT(Values<float>(ordered[1]), ElementsAre(3, 2, 1));
  ASSERT_OK_AND_ASSIGN(const auto reshaped, KernelRunner("SparseReshape").Run({indices, shape, Longs({-1, 1})}));
  EXPECT_THAT(Values<int64_t>(reshaped[0]), ElementsAre(2, 0, 1, 0, 0, 0));
  EXPECT_THAT(Values<int64_t>(reshaped[1]), ElementsAre(4, 1));
  ASSERT_OK_AND_ASSIGN(const auto joined,
                       KernelRunner("SparseConcat")
                           .Attr("concat_dim", -1)
                           .Attr("N", 2)
                           .Run({ordered[0], ordered[0], ordered[1], Floats({7, 8, 9}), shape, shape}));
  EXPECT_THAT(Values<int64_t>(joined[0]), ElementsAre(0, 0, 0, 1, 0, 2, 0, 3, 1, 0, 1, 2));
  EXPECT_THAT(Values<float>(joined[1]), ElementsAre(3, 2, 7, 8, 1, 9));
  EXPECT_THAT(Values<int64_t>(joined[2]), ElementsAre(2, 4));
  ASSERT_OK_AND_ASSIGN(const auto parts, KernelRunner("SparseSplit")
                                             .Attr("num_split", 3)
                                             .Run({Tensor::Scalar<int64_t>(1), joined[0], joined[1], joined[2]}));
  EXPECT_THAT(Values<float>(parts[3]), ElementsAre(3, 2, 1));
  EXPECT_THAT(Values<int64_t>(parts[1]), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(Values<int64_t>(parts[8]), ElementsAre(2, 1));
  ASSERT_OK_AND_ASSIGN(
      const auto sliced,
      KernelRunner("SparseSlice").Run({joined[0], joined[1], joined[2], Longs({0, 1}), Longs({1, 9})}));
  EXPECT_THAT(Values<int64_t>(sliced[0]), ElementsAre(0, 0, 0, 1, 0, 2));
  EXPECT_THAT(Values<int64_t>(sliced[2]), ElementsAre(1, 3));
  ASSERT_OK_AND_ASSIGN(const Tensor grad,
                       KernelRunner("SparseSliceGrad").Run1({Floats({4, 5, 6}), joined[0], Longs({0, 1}), sliced[0]}));
  EXPECT_THAT(Values<float>(grad), ElementsAre(0, 4, 5, 6, 0, 0));
}

TEST(SparseRearrangeTest, PartsAreAsEqualAsCanBe) {
  for (int64_t along = 1; along <= 9; ++along) {
    std::vector<int64_t> at(static_cast<size_t>(along));
    std::iota(at.begin(), at.end(), 0);
    for (int64_t parts = 1; parts <= along; ++parts) {
      ASSERT_OK_AND_ASSIGN(const auto out,
                           KernelRunner("SparseSplit")
                               .Attr("num_split", parts)
                               .Run({Tensor::Scalar<int64_t>(0), Indices(1, at), Longs(at), Longs({along})}));
      int64_t next = 0;
      for (int64_t p = 0; p < parts; ++p) {
        const std::vector<int64_t> places = Values<int64_t>(out[static_cast<size_t>(p)]);
        const std::vector<int64_t> values = Values<int64_t>(out[static_cast<size_t>(parts + p)]);
        const size_t length = static_cast<size_t>(along / parts + (p < along % parts ? 1 : 0));
        ASSERT_EQ(values.size(), length);
        EXPECT_THAT(Values<int64_t>(out[static_cast<size_t>(2 * parts + p)]), ElementsAre(length));
        for (size_t k = 0; k < length; ++k) {
          EXPECT_EQ(places[k], static_cast<int64_t>(k));
          EXPECT_EQ(values[k], next++);
        }
      }
    }
  }
}

TEST(SparseRearrangeTest, WhatIsWrongIsRefused) {
  const Tensor indices = Indices(2, {0, 0, 1, 1}), values = Floats({1, 2}), shape = Longs({2, 2});
  EXPECT_THAT(KernelRunner("SparseReorder").Run({indices, Floats({1}), shape}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReorder").Run({indices, values, Longs({2})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReorder").Run({indices, values, Longs({-1, 2})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReshape").Run({indices, shape, Longs({-1, -1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReshape").Run({indices, shape, Longs({3, -1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReshape").Run({indices, shape, Longs({0, -1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReshape").Run({indices, Longs({1, 1}), Longs({1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseReshape").Run({indices, shape, Longs({kMax, kMax})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseSlice").Run({indices, values, shape, Longs({0}), Longs({1, 1})}), StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseSlice").Run({indices, values, shape, Longs({0, -1}), Longs({1, 1})}),
              StatusIs(kInvalid));
  ASSERT_OK_AND_ASSIGN(
      const auto none,
      KernelRunner("SparseSlice").Run({indices, values, shape, Longs({kMax, 0}), Longs({kMax, kMax})}));
  EXPECT_THAT(Values<int64_t>(none[2]), ElementsAre(0, 2));
  EXPECT_THAT(
      KernelRunner("SparseSplit").Attr("num_split", 3).Run({Tensor::Scalar<int64_t>(0), indices, values, shape}),
      StatusIs(kInvalid));
  EXPECT_THAT(
      KernelRunner("SparseSplit").Attr("num_split", 1).Run({Tensor::Scalar<int64_t>(2), indices, values, shape}),
      StatusIs(kInvalid));
  KernelRunner concat("SparseConcat");
  concat.Attr("concat_dim", 0).Attr("N", 2);
  EXPECT_THAT(concat.Run({indices, indices, values, values, shape, Longs({2, 3})}), StatusIs(kInvalid));
  EXPECT_THAT(concat.Run({indices, indices, values, values, Longs({kMax / 4, 2}), Longs({kMax / 4, 2})}),
              StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseSliceGrad").Run({Floats({4}), indices, Longs({0, 0}), Indices(2, {5, 5})}),
              StatusIs(absl::StatusCode::kInternal));
}

// --- Arithmetic ---------------------------------------------------------------------------------------------------

TEST(SparseMathTest, EntriesOfTwoTensorsMeet) {
  const Tensor a = Indices(2, {0, 0, 1, 1}), b = Indices(2, {0, 1, 1, 1}), shape = Longs({2, 2});
  ASSERT_OK_AND_ASSIGN(
      const auto sum,
      KernelRunner("SparseAdd").Run({a, Floats({1, 2}), shape, b, Floats({3, -2}), shape, Tensor::Scalar(0.5f)}));
  EXPECT_THAT(Values<int64_t>(sum[0]), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Values<float>(sum[1]), ElementsAre(1, 3));
  ASSERT_OK_AND_ASSIGN(const auto larger,
                       KernelRunner("SparseSparseMaximum").Run({a, Floats({-1, 2}), shape, b, Floats({3, -2}), shape}));
  EXPECT_THAT(Values<float>(larger[1]), ElementsAre(0, 3, 2));
  ASSERT_OK_AND_ASSIGN(const auto smaller,
                       KernelRunner("SparseSparseMinimum").Run({a, Floats({-1, 2}), shape, b, Floats({3, -2}), shape}));
  EXPECT_THAT(Values<float>(smaller[1]), ElementsAre(-1, 0, -2));
  ASSERT_OK_AND_ASSIGN(const auto grads, KernelRunner("SparseAddGrad").Run({Floats({5, 6}), a, b, sum[0]}));
  EXPECT_THAT(Values<float>(grads[0]), ElementsAre(5, 0));
  EXPECT_THAT(Values<float>(grads[1]), ElementsAre(6, 0));
  // Entries of one operand at one place are entries of the sum each, and each has its own gradient.
  const Tensor twice = Indices(1, {3, 3, 5}), thrice = Indices(1, {3, 3, 3, 5});
  ASSERT_OK_AND_ASSIGN(const auto parts, KernelRunner("SparseAddGrad").Run({Floats({1, 2, 3}), twice, thrice, twice}));
  EXPECT_THAT(Values<float>(parts[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(Values<float>(parts[1]), ElementsAre(1, 2, 0, 3));
  const Tensor lowest = Tensor::Vector<int8_t>({-128}), one = Indices(1, {0}), size = Longs({1});
  ASSERT_OK_AND_ASSIGN(
      const auto wrapped,
      KernelRunner("SparseAdd").Run({one, lowest, size, one, lowest, size, Tensor::Scalar<int8_t>(0)}));
  EXPECT_THAT(Values<int8_t>(wrapped[1]), ElementsAre(0));
  EXPECT_THAT(KernelRunner("SparseAdd")
                  .Run({a, Floats({1, 2}), shape, b, Floats({3, -2}), Longs({2, 3}), Tensor::Scalar(0.5f)}),
              StatusIs(kInvalid));
}

// What TensorFlow answered.
TEST(SparseMathTest, NansAndZerosAreChosenAsByMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor at = Indices(1, {0, 1, 2, 3}), size = Longs({4});
  const auto choose = [&](const std::string& op) {
    return KernelRunner(op).Run({at, Floats({nan, 1, 0.0f, -0.0f}), size, at, Floats({1, nan, -0.0f, 0.0f}), size});
  };
  for (const char* const op : {"SparseSparseMaximum", "SparseSparseMinimum"}) {
    ASSERT_OK_AND_ASSIGN(const auto chosen, choose(op));
    const std::vector<float> values = Values<float>(chosen[1]);
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << op;
    EXPECT_TRUE(std::signbit(values[2]) && !std::signbit(values[3])) << op;
  }
  const auto most = [&](std::vector<float> values) {
    return *KernelRunner("SparseReduceMax")
                .Run1({Indices(1, {0, 1}), Floats(values), size, Ints({0})})
                ->AsScalar<float>();
  };
  EXPECT_EQ(most({nan, 2}), 2);
  EXPECT_TRUE(std::isnan(most({2, nan})));
}

// An axis may stand for all hashes there are: no dense tensor has such a shape.
TEST(SparseMathTest, ShapesThatCannotBeCounted) {
  const Tensor at = Indices(2, {2, 7, 0, 5}), ordered = Indices(2, {0, 5, 2, 7}), values = Floats({1, 2});
  const Tensor shape = Longs({3, kMax});
  ASSERT_OK_AND_ASSIGN(const auto reordered, KernelRunner("SparseReorder").Run({at, values, shape}));
  EXPECT_EQ(reordered[0].ToString(), ordered.ToString());
  ASSERT_OK_AND_ASSIGN(const auto filled,
                       KernelRunner("SparseFillEmptyRows").Run({ordered, values, shape, Tensor::Scalar(-1.0f)}));
  EXPECT_THAT(Values<float>(filled[1]), ElementsAre(1, -1, 2));
  ASSERT_OK_AND_ASSIGN(
      const auto sum,
      KernelRunner("SparseAdd").Run({ordered, values, shape, ordered, values, shape, Tensor::Scalar(0.0f)}));
  EXPECT_THAT(Values<float>(sum[1]), ElementsAre(2, 4));
  EXPECT_EQ(sum[2].ToString(), shape.ToString());
  EXPECT_OK(KernelRunner("SparseSparseMaximum").Run({ordered, values, shape, ordered, values, shape}));
  EXPECT_OK(KernelRunner("SparseBincount").Run({ordered, Ints({1, 2}), shape, Int(3), Ints({})}));
  EXPECT_THAT(KernelRunner("SparseReduceSum").Run({ordered, values, shape, Ints({1})}), StatusIs(kInvalid));
}

TEST(SparseMathTest, DenseOperandsBroadcast) {
  const Tensor indices = Indices(2, {0, 1, 1, 0}), values = Floats({8, 9}), shape = Longs({2, 2});
  ASSERT_OK_AND_ASSIGN(const Tensor divided,
                       KernelRunner("SparseDenseCwiseDiv").Run1({indices, values, shape, Floats({2, 4})}));
  EXPECT_THAT(Values<float>(divided), ElementsAre(2, 4.5f));
  ASSERT_OK_AND_ASSIGN(const Tensor added,
                       KernelRunner("SparseTensorDenseAdd").Run1({indices, values, shape, Matrix(2, 2, {1, 2, 3, 4})}));
  EXPECT_THAT(Values<float>(added), ElementsAre(1, 10, 12, 4));
  const auto divide = [&](int32_t a, int32_t b) {
    return KernelRunner("SparseDenseCwiseDiv").Run1({Indices(1, {0}), Ints({a}), Longs({1}), Ints({b})});
  };
  EXPECT_THAT(divide(1, 0), StatusIs(kInvalid));
  EXPECT_THAT(Values<int32_t>(*divide(INT32_MIN, -1)), ElementsAre(INT32_MIN));
  EXPECT_THAT(KernelRunner("SparseDenseCwiseMul").Run({indices, values, shape, Floats({1, 2, 3})}), StatusIs(kInvalid));
  EXPECT_THAT(
      KernelRunner("SparseTensorDenseAdd").Run({Indices(2, {0, 2}), Floats({1}), shape, Matrix(2, 2, {1, 2, 3, 4})}),
      StatusIs(kInvalid));
}

TEST(SparseMathTest, ProductsAreThoseOfASlowLoop) {
  FuzzRandom random(9);
  for (int bits = 0; bits < 4; ++bits) {
    const bool adjoint_a = (bits & 1) != 0, adjoint_b = (bits & 2) != 0;
    for (const int64_t columns : {0, 1, 5, 64, 131}) {
      const int64_t rows = 7, inner = 9, entries = 20;
      std::vector<int64_t> places;
      std::vector<double> a(static_cast<size_t>(rows * inner), 0.0);
      const Tensor values = HostileTensor(DType::kFloat, Shape::Of({entries}), ElementKind::kSigned, random);
      for (int64_t i = 0; i < entries; ++i) {
        const int64_t r = random.Int(7), c = random.Int(9);
        places.push_back(adjoint_a ? c : r);
        places.push_back(adjoint_a ? r : c);
        a[static_cast<size_t>(r * inner + c)] += values.flat<float>()[static_cast<size_t>(i)];
      }
      const Tensor b =
          HostileTensor(DType::kFloat, adjoint_b ? Shape::Of({columns, inner}) : Shape::Of({inner, columns}),
                        ElementKind::kSigned, random);
      ASSERT_OK_AND_ASSIGN(const Tensor out, KernelRunner("SparseTensorDenseMatMul")
                                                 .Attr("adjoint_a", adjoint_a)
                                                 .Attr("adjoint_b", adjoint_b)
                                                 .Run1({Indices(2, places), values,
                                                        adjoint_a ? Longs({inner, rows}) : Longs({rows, inner}), b}));
      ASSERT_EQ(out.shape(), Shape::Of({rows, columns}));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          double wanted = 0;
          for (int64_t k = 0; k < inner; ++k) {
            wanted += a[static_cast<size_t>(r * inner + k)] *
                      b.flat<float>()[static_cast<size_t>(adjoint_b ? c * inner + k : k * columns + c)];
          }
          ASSERT_NEAR(out.flat<float>()[static_cast<size_t>(r * columns + c)], wanted, 1e-4);
        }
      }
    }
  }
  const Tensor b = Matrix(2, 1, {1, 2});
  EXPECT_THAT(KernelRunner("SparseTensorDenseMatMul").Run({Indices(2, {0, 2}), Floats({1}), Longs({2, 2}), b}),
              StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseTensorDenseMatMul").Run({Indices(2, {-1, 0}), Floats({1}), Longs({2, 2}), b}),
              StatusIs(kInvalid));
  EXPECT_THAT(KernelRunner("SparseTensorDenseMatMul").Run({Indices(2, {0, 0}), Floats({1}), Longs({2, 3}), b}),
              StatusIs(kInvalid));
  EXPECT_FALSE(
      KernelRunner("SparseTensorDenseMatMul").Run({Indices(2, {0, 0}), Floats({1}), Longs({kMax, 2}), b}).ok());
}

TEST(SparseMathTest, ReductionsSeeEntriesOnly) {
  const Tensor indices = Indices(2, {0, 0, 0, 2, 2, 1}), values = Floats({-1, -2, 5}), shape = Longs({3, 3});
  ASSERT_OK_AND_ASSIGN(const Tensor sum, KernelRunner("SparseReduceSum").Run1({indices, values, shape, Ints({1})}));
  EXPECT_THAT(Values<float>(sum), ElementsAre(-3, 0, 5));
  ASSERT_OK_AND_ASSIGN(const Tensor most,
                       KernelRunner("SparseReduceMax").Attr("keep_dims", true).Run1({indices, values, shape, Int(-1)}));
  EXPECT_THAT(Values<float>(most), ElementsAre(-1, 0, 5));
  EXPECT_THAT(Dims(most), ElementsAre(3, 1));
  ASSERT_OK_AND_ASSIGN(const auto sparse,
                       KernelRunner("SparseReduceSumSparse").Run({indices, values, shape, Ints({1})}));
  EXPECT_THAT(Values<int64_t>(sparse[0]), ElementsAre(0, 2));
  EXPECT_THAT(Values<float>(sparse[1]), ElementsAre(-3, 5));
  EXPECT_THAT(Values<int64_t>(sparse[2]), ElementsAre(3));
  ASSERT_OK_AND_ASSIGN(const Tensor softmax, KernelRunner("SparseSoftmax").Run1({indices, Floats({0, 0, 7}), shape}));
  EXPECT_THAT(Values<float>(softmax), ElementsAre(0.5f, 0.5f, 1));
  EXPECT_THAT(KernelRunner("SparseReduceSum").Run({indices, values, shape, Ints({2})}), StatusIs(kInvalid));
  EXPECT_FALSE(KernelRunner("SparseReduceSum").Run({Indices(2, {0, 3}), Floats({1}), shape, Ints({0})}).ok());
  EXPECT_THAT(KernelRunner("SparseSoftmax").Run({Indices(1, {0}), Floats({1}), Longs({1})}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace sluice
