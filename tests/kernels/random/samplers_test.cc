// Candidate samplers, shuffles, and what rejection samplers do with parameters that leave nothing to draw. Numbers are
// those of TensorFlow 2.19.

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/kernels/random/random_call.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using absl::StatusCode;
using Attrs = PreparedKernel::Attrs;
using Classes = std::vector<int64_t>;

const float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Column(std::vector<int64_t> values) {
  return *Longs(values).Reshaped(Shape::Of({static_cast<int64_t>(values.size()), 1}));
}

Attrs SamplerAttrs(int64_t num_sampled, bool unique, Attrs more) {
  more.insert(more.end(), {{"num_true", 1}, {"num_sampled", num_sampled}, {"unique", unique}});
  more.insert(more.end(), {{"seed", 5}, {"seed2", 6}});
  return more;
}

struct SamplerRow {
  const char* op;
  bool unique;
  Attrs attrs;
  std::vector<Classes> runs;  // The classes of each run.
  float true_count;           // Of class 0 in the last one.
};

TEST(SamplersTest, CandidatesAreTensorFlowsRunAfterRun) {
  const Attrs range = {{"range_max", 10}};
  const Attrs fixed = {{"range_max", 5}, {"unigrams", std::vector<float>{1, 2, 3, 4, 5}}, {"distortion", 0.75f}};
  const std::vector<SamplerRow> rows = {
      {"UniformCandidateSampler", true, range, {{5, 9, 3, 1, 4}, {0, 2, 1, 6, 7}, {1, 7, 4, 9, 3}}, 0.5f},
      {"UniformCandidateSampler", false, range, {{5, 9, 9, 9, 9}, {0, 2, 1, 0, 6}, {1, 7, 4, 9, 3}}, 0.5f},
      {"LogUniformCandidateSampler", true, range, {{4, 2, 5, 6, 0}, {1, 8, 4, 0, 3}, {8, 5, 6, 2, 1}}, 1.445324182f},
      {"LearnedUnigramCandidateSampler", true, range, {{3, 7, 1, 2, 9}, {2, 5, 0, 7, 4}, {1, 5, 0, 8, 7}}, 0.71229982f},
      {"ThreadUnsafeUnigramCandidateSampler",
       false,
       range,
       {{3, 7, 1, 3, 1}, {2, 5, 0, 0, 7}, {1, 1, 5, 0, 8}},
       .9375f},
      {"FixedUnigramCandidateSampler", true, fixed, {{2, 3, 0, 1, 4}, {2, 4, 1, 3, 0}, {4, 2, 1, 0, 3}}, 0.48252138f},
      {"FixedUnigramCandidateSampler", false, fixed, {{2, 3, 3, 2, 0}, {2, 4, 1, 1, 2}, {4, 2, 2, 2, 1}}, 0.44909793f},
      {"AllCandidateSampler", true, {}, {{0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}}, 1.0f}};
  for (const SamplerRow& row : rows) {
    SCOPED_TRACE(row.op);
    RandomNode node(row.op, SamplerAttrs(5, row.unique, row.attrs), {Column({0, 1, 2})});
    float true_count = 0;
    for (const Classes& run : row.runs) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, node.RunAll());
      EXPECT_EQ(Classes(out[0].flat<int64_t>().begin(), out[0].flat<int64_t>().end()), run);
      EXPECT_EQ(out[1].shape(), Shape::Of({3, 1}));
      true_count = out[1].flat<float>()[0];
    }
    EXPECT_FLOAT_EQ(true_count, row.true_count);
  }
}

TEST(SamplersTest, WhatCannotBeSampledIsRefused) {
  const auto code = [](const char* op, int64_t num_sampled, bool unique, const Attrs& more, const Tensor& classes) {
    return RandomNode(op, SamplerAttrs(num_sampled, unique, more), {classes}).Code();
  };
  const Attrs three = {{"range_max", 3}};
  const Tensor zero = Column({0});
  EXPECT_EQ(code("UniformCandidateSampler", 3, true, three, zero), StatusCode::kOk);
  EXPECT_EQ(code("UniformCandidateSampler", 4, true, three, zero), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("UniformCandidateSampler", 4, false, three, Column({3})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("LogUniformCandidateSampler", 4, false, three, Column({-1})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("UniformCandidateSampler", 4, false, three, Longs({0})), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("LearnedUnigramCandidateSampler", 2, false, {{"range_max", int64_t{1} << 40}}, zero),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code("LogUniformCandidateSampler", 2, true, {{"range_max", std::numeric_limits<int64_t>::max()}}, zero),
            StatusCode::kOk);
  const auto fixed = [&](int64_t range, const std::vector<float>& weights, Attrs more, bool unique) {
    more.insert(more.end(), {{"range_max", range}, {"unigrams", weights}});
    return code("FixedUnigramCandidateSampler", 2, unique, more, zero);
  };
  EXPECT_EQ(fixed(3, {1, 2, 3}, {}, true), StatusCode::kOk);
  EXPECT_EQ(fixed(4, {1, 2, 3}, {}, true), StatusCode::kInvalidArgument);
  EXPECT_EQ(fixed(4, {1, 2, 3}, {{"num_reserved_ids", 1}}, true), StatusCode::kOk);
  EXPECT_EQ(fixed(4, {1, 2, 3}, {{"num_reserved_ids", std::numeric_limits<int64_t>::max()}}, true),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(fixed(3, {1, 2, 3}, {{"shard", 1}}, true), StatusCode::kInvalidArgument);
  EXPECT_EQ(fixed(3, {0, 2, 0}, {}, true), StatusCode::kInvalidArgument);  // One class only is ever drawn.
  EXPECT_EQ(fixed(3, {0, 0, 0}, {}, false), StatusCode::kOk);
  EXPECT_EQ(fixed(3, {}, {}, false), StatusCode::kInvalidArgument);
  EXPECT_EQ(fixed(3, {}, {{"vocab_file", "/no/such/file"}}, false), StatusCode::kPermissionDenied);  // No session.
}

TEST(SamplersTest, AccidentalHitsAreWhereTrueClassesWereSampled) {
  const Tensor classes = *Longs({1, 2, 3, 3, 0, 9}).Reshaped(Shape::Of({3, 2}));
  RandomNode node("ComputeAccidentalHits", {{"num_true", 2}}, {classes, Longs({3, 2, 1, 7, 3})});
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> out, node.RunAll());
  EXPECT_EQ(out[0].flat<int32_t>(), absl::MakeConstSpan({0, 0, 1, 1}));
  EXPECT_EQ(Classes(out[1].flat<int64_t>().begin(), out[1].flat<int64_t>().end()), (Classes{2, 1, 4, 4}));
  EXPECT_EQ(out[2].flat<float>()[3], std::numeric_limits<float>::lowest());
  EXPECT_EQ(RandomNode("ComputeAccidentalHits", {{"num_true", 1}}, {classes, Longs({3})}).Code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(RandomNode("ComputeAccidentalHits", {{"num_true", 2}}, {classes, classes}).Code(),
            StatusCode::kInvalidArgument);
}

TEST(SamplersTest, ShufflesMoveWholeRowsOfAnyType) {
  for (const DType dtype : {DType::kFloat, DType::kInt32, DType::kInt64}) {
    const Tensor rows = *NumbersAs(dtype, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Reshaped(Shape::Of({5, 2}));
    ASSERT_OK_AND_ASSIGN(const Tensor out, RandomNode("RandomShuffle", {{"seed", 1}}, {rows}).Run());
    ASSERT_OK_AND_ASSIGN(const Tensor list, RandomNode("RandomShuffle", {{"seed", 1}}, {Longs({0, 2, 4, 6, 8})}).Run());
    std::set<int64_t> seen;
    for (size_t row = 0; row < 5; ++row) {
      const int64_t first = list.flat<int64_t>()[row];
      seen.insert(first);
      ASSERT_OK_AND_ASSIGN(const Tensor part,
                           RandomNode("Slice", {}, {out, Ints({static_cast<int32_t>(row), 0}), Ints({1, 2})}).Run());
      EXPECT_EQ(HashOf(part), HashOf(NumbersAs(dtype, {static_cast<double>(first), static_cast<double>(first + 1)})));
    }
    EXPECT_EQ(seen.size(), 5u);
  }
  const Tensor counter = Tensor::Vector<uint64_t>({0, 0x277b9bf3d34bed1d});
  RandomNode stateless("StatelessShuffle", {},
                       {Longs({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), Tensor::Vector<uint64_t>({0xb9f4bbecb565c296}),
                        counter, Tensor::Scalar<int32_t>(1)});
  ASSERT_OK_AND_ASSIGN(const Tensor order, stateless.Run());
  EXPECT_EQ(Classes(order.flat<int64_t>().begin(), order.flat<int64_t>().end()),
            (Classes{5, 3, 0, 7, 8, 4, 9, 6, 1, 2, 10}));
  ASSERT_OK_AND_ASSIGN(const Tensor one, RandomNode("RandomShuffle", {}, {Longs({7})}).Run());
  EXPECT_EQ(one.flat<int64_t>()[0], 7);
}

TEST(SamplersTest, IndicesAreShuffledOneByOne) {
  const auto shuffled = [](int64_t index, int64_t max_index, int64_t rounds) {
    const absl::StatusOr<Tensor> out = RandomNode("RandomIndexShuffle", {{"rounds", rounds}},
                                                  {Tensor::Scalar(index), Longs({5, 6, 7}), Tensor::Scalar(max_index)})
                                           .Run();
    return out.ok() ? out->flat<int64_t>()[0] : -static_cast<int64_t>(out.status().code());
  };
  EXPECT_EQ(shuffled(0, 5, 4), 1);
  EXPECT_EQ(shuffled(1, 100, 6), 25);
  EXPECT_EQ(shuffled(2, 200000, 6), 49418);
  EXPECT_EQ(shuffled(1, 65537, 8), 5354);
  EXPECT_EQ(shuffled(2, int64_t{1} << 40, 10), 664393315868);
  EXPECT_EQ(shuffled(0, 4611686018427387907, 6), 378129051767249628);
  const int64_t invalid = -static_cast<int64_t>(StatusCode::kInvalidArgument);
  EXPECT_EQ(shuffled(6, 5, 4), invalid);
  EXPECT_EQ(shuffled(-1, 5, 4), invalid);
  EXPECT_EQ(shuffled(0, -5, 4), invalid);
  EXPECT_EQ(shuffled(0, 5, 5), invalid);  // TensorFlow reads beyond its keys.
  std::set<int64_t> all;
  for (int64_t i = 0; i <= 300; ++i) all.insert(shuffled(i, 300, 4));
  EXPECT_EQ(all.size(), 301u);
}

// Numbers and shapes are TensorFlow's.
TEST(SamplersTest, IndicesAndShufflesMayBeLists) {
  const auto words = [](std::vector<int32_t> values, const Shape& shape) { return Tensor::Of<int32_t>(shape, values); };
  const auto run = [](Tensor index, Tensor seed, Tensor max_index) {
    return RandomNode("RandomIndexShuffle", {{"rounds", int64_t{4}}},
                      {std::move(index), std::move(seed), std::move(max_index)})
        .Run();
  };
  const Tensor one = words({1, 2, 3}, Shape::Of({3})), two = words({1, 2, 3, 4, 5, 6}, Shape::Of({2, 3}));
  const Tensor first = Tensor::Scalar<int64_t>(1), nine = Tensor::Scalar<int64_t>(9);
  const auto expect = [&run](Tensor index, Tensor seed, Tensor max_index, const std::vector<int64_t>& want) {
    ASSERT_OK_AND_ASSIGN(const Tensor out, run(std::move(index), std::move(seed), std::move(max_index)));
    EXPECT_EQ(out.shape(), Shape::Of({static_cast<int64_t>(want.size())}));
    EXPECT_EQ(std::vector<int64_t>(out.flat<int64_t>().begin(), out.flat<int64_t>().end()), want);
  };
  expect(Longs({0, 1, 2}), one, nine, {2, 0, 6});
  expect(Longs({0, 1}), two, Longs({9, 99}), {2, 45});
  expect(first, two, nine, {0, 1});
  expect(Longs({1}), one, nine, {0});
  expect(first, words({1, 2, 3}, Shape::Of({1, 3})), nine, {0});
  ASSERT_OK_AND_ASSIGN(const Tensor scalar, run(first, one, nine));
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.flat<int64_t>()[0], 0);
  EXPECT_THAT(run(Longs({1, 2}), one, Longs({9, 9, 9})).status(), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(run(Longs({1, 2}).Reshaped(Shape::Of({1, 2})).value(), one, nine).status(),
              StatusIs(StatusCode::kInvalidArgument));
}

// Where TensorFlow never returns, or computes with garbage.
TEST(SamplersTest, ParametersThatLeaveNothingToDrawAreRefused) {
  const auto gamma = [](float alpha) {
    return RandomNode("RandomGamma", {{"seed", 1}}, {Ints({3}), Tensor::Scalar(alpha)}).Code();
  };
  EXPECT_EQ(gamma(0.0f), StatusCode::kOk);
  EXPECT_EQ(gamma(kInf), StatusCode::kOk);
  EXPECT_EQ(gamma(-1.0f), StatusCode::kInvalidArgument);
  EXPECT_EQ(gamma(kNan), StatusCode::kInvalidArgument);
  const auto poisson = [](float rate, DType dtype) {
    return RandomNode("RandomPoissonV2", {{"dtype", dtype}, {"seed", 1}}, {Ints({3}), Tensor::Scalar(rate)}).Code();
  };
  EXPECT_EQ(poisson(-1.0f, DType::kInt32), StatusCode::kOk);
  EXPECT_EQ(poisson(kInf, DType::kInt32), StatusCode::kOk);
  EXPECT_EQ(poisson(kNan, DType::kFloat), StatusCode::kInvalidArgument);
  EXPECT_EQ(poisson(1e30f, DType::kInt32), StatusCode::kInvalidArgument);
  EXPECT_EQ(poisson(1e30f, DType::kDouble), StatusCode::kOk);
  const auto binomial = [](float count, float prob, DType dtype) {
    return RandomNode("StatelessRandomBinomial", {{"dtype", dtype}},
                      {Ints({3}), Longs({1, 2}), Tensor::Scalar(count), Tensor::Scalar(prob)})
        .Code();
  };
  EXPECT_EQ(binomial(kNan, 0.5f, DType::kFloat), StatusCode::kOk);
  EXPECT_EQ(binomial(kNan, 0.5f, DType::kInt32), StatusCode::kInvalidArgument);
  EXPECT_EQ(binomial(3.0f, kNan, DType::kInt64), StatusCode::kInvalidArgument);
  EXPECT_EQ(binomial(1e12f, 1.0f, DType::kInt32), StatusCode::kInvalidArgument);
  EXPECT_EQ(binomial(kInf, 0.5f, DType::kInt64), StatusCode::kInvalidArgument);
  EXPECT_EQ(binomial(-3.0f, 0.5f, DType::kInt64), StatusCode::kOk);
  const auto normal = [](float deviation, float low, float high) {
    return RandomNode(
               "ParameterizedTruncatedNormal", {{"seed", 1}},
               {Ints({3}), Tensor::Scalar(0.0f), Tensor::Scalar(deviation), Tensor::Scalar(low), Tensor::Scalar(high)})
        .Code();
  };
  EXPECT_EQ(normal(1.0f, 0.0f, kInf), StatusCode::kOk);
  EXPECT_EQ(normal(0.0f, 0.0f, 1.0f), StatusCode::kInvalidArgument);
  EXPECT_EQ(normal(1.0f, 2.0f, 1.0f), StatusCode::kInvalidArgument);
  EXPECT_EQ(normal(1.0f, -kInf, kInf), StatusCode::kInvalidArgument);
  EXPECT_EQ(normal(kNan, 0.0f, 1.0f), StatusCode::kInvalidArgument);
}

// 1000 * 0.01 is 10 in float, and less in double: TensorFlow rounds before it chooses how to draw.
TEST(SamplersTest, ExpectedSuccessesAreRoundedToTheDType) {
  RandomNode node(
      "StatelessRandomBinomial", {{"dtype", DType::kFloat}},
      {Ints({2, 3}), Longs({-72, 73}), *NumbersAs(DType::kFloat, {1, 7, 0, 1000, 0, 50}).Reshaped(Shape::Of({2, 3})),
       *NumbersAs(DType::kFloat, {1, 1, 0, 0.01, 0.5, 0}).Reshaped(Shape::Of({2, 3}))});
  ASSERT_OK_AND_ASSIGN(const Tensor out, node.Run());
  EXPECT_EQ(out.flat<float>(), absl::MakeConstSpan({1.0f, 7.0f, 0.0f, 13.0f, 0.0f, 0.0f}));
}

// A mean that is NaN takes a thousand tries for each number: the run's deadline ends them within a batch.
TEST(SamplersTest, BoundedNormalNumbersStopWithinABatch) {
  KernelRunner runner("ParameterizedTruncatedNormal");
  runner.Attr("seed", 1).run().deadline = absl::Now() + absl::Milliseconds(5);
  const auto one = [](float value) { return Tensor::Vector<float>({value}); };
  EXPECT_THAT(runner.Run1({Ints({1, 1000000}), one(kNan), one(1), one(0), one(1)}).status(),
              IsError(ErrorCode::kDeadline));
}

TEST(SamplersTest, ShapesOfParametersAreChecked) {
  const Tensor two = NumbersAs(DType::kFloat, {0.5, 1});
  const Tensor seeds = Longs({1, 2});
  const Attrs dtype = {{"dtype", DType::kFloat}};
  EXPECT_EQ(RandomNode("StatelessRandomGammaV2", {}, {Ints({3}), seeds, two}).Code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RandomNode("StatelessRandomPoisson", dtype, {Ints({2, 3}), seeds, two}).Code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(
      RandomNode("StatelessRandomBinomial", dtype, {Ints({3}), seeds, two, NumbersAs(DType::kFloat, {1, 1, 1})}).Code(),
      StatusCode::kInvalidArgument);
  EXPECT_EQ(RandomNode("ParameterizedTruncatedNormal", {}, {Ints({3}), two, two, two, two}).Code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(RandomNode("Multinomial", {}, {two, Tensor::Scalar<int32_t>(1)}).Code(), StatusCode::kInvalidArgument);
  const Tensor matrix = *two.Reshaped(Shape::Of({1, 2}));
  EXPECT_EQ(RandomNode("Multinomial", {}, {matrix, Tensor::Scalar<int32_t>(-1)}).Code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(RandomNode("Multinomial", {}, {*Tensor::Make(DType::kFloat, Shape::Of({2, 0})), Tensor::Scalar<int32_t>(1)})
                .Code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sluice
