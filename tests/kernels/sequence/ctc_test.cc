#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/kernels/image/images.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Ints = std::vector<int32_t>;

// Scores of a call, and its labels, a list for each sequence.
struct CtcCase {
  int64_t time, classes;
  std::vector<Ints> labels;
  Ints lengths;
  bool merges = true;

  int64_t batch() const { return static_cast<int64_t>(labels.size()); }
  std::vector<Tensor> Inputs(DType dtype) const {
    std::vector<double> scores;
    for (int64_t i = 0; i < time * batch() * classes; ++i) scores.push_back(static_cast<double>(i * 37 % 29) / 9 - 1.5);
    std::vector<int64_t> indices;
    Ints values;
    for (size_t b = 0; b < labels.size(); ++b) {
      for (size_t i = 0; i < labels[b].size(); ++i) {
        indices.push_back(static_cast<int64_t>(b));
        indices.push_back(static_cast<int64_t>(i));
        values.push_back(labels[b][i]);
      }
    }
    const int64_t rows = static_cast<int64_t>(values.size());
    return {TensorOf(dtype, {time, batch(), classes}, scores), Tensor::Of<int64_t>(Shape::Of({rows, 2}), indices),
            Tensor::Vector<int32_t>(values), Tensor::Vector<int32_t>(lengths)};
  }
};

const CtcCase kCases[] = {
    {4, 3, {{0}, {1}}, {4, 3}},
    {5, 4, {{0, 1, 2}, {2, 2}, {1}}, {5, 4, 1}},
    {6, 3, {{0, 0, 1}, {1, 1, 1}}, {6, 5}, false},
    {5, 2, {{0, 0}}, {5}},
};

// What a path of classes says.
Ints Reading(const Ints& path, int32_t blank, bool merges) {
  Ints reading;
  for (size_t t = 0; t < path.size(); ++t) {
    const bool is_repeat = merges && t > 0 && path[t] == path[t - 1];
    if (path[t] != blank && !is_repeat) reading.push_back(path[t]);
  }
  return reading;
}

// The probability of all paths that say the labels of sequence b: every path is looked at.
double PlainLoss(const CtcCase& one, const std::vector<double>& scores, size_t b) {
  const size_t steps = static_cast<size_t>(one.lengths[b]), classes = static_cast<size_t>(one.classes);
  std::vector<std::vector<double>> y(steps, std::vector<double>(classes));
  for (size_t t = 0; t < steps; ++t) {
    double sum = 0;
    for (size_t c = 0; c < classes; ++c) {
      sum += y[t][c] = std::exp(scores[(t * one.labels.size() + b) * classes + c]);
    }
    for (double& p : y[t]) p /= sum;
  }
  double total = 0;
  Ints path(steps, 0);
  for (;;) {
    if (Reading(path, static_cast<int32_t>(classes) - 1, one.merges) == one.labels[b]) {
      double p = 1;
      for (size_t t = 0; t < steps; ++t) p *= y[t][static_cast<size_t>(path[t])];
      total += p;
    }
    size_t t = 0;
    while (t < steps && ++path[t] == static_cast<int32_t>(classes)) path[t++] = 0;
    if (t == steps) break;
  }
  return -std::log(total);
}

KernelRunner Runner(const CtcCase& one) {
  KernelRunner runner("CTCLoss");
  runner.Attr("ctc_merge_repeated", one.merges);
  return runner;
}

TEST(CtcLossTest, IsTheProbabilityOfAllPaths) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  for (const CtcCase& one : kCases) {
    for (const DType dtype : {DType::kFloat, DType::kDouble}) {
      const std::vector<Tensor> inputs = one.Inputs(dtype);
      KernelRunner runner = Runner(one);
      runner.run().task_runner = &pool;
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, runner.Run(inputs));
      const std::vector<double> scores = DoublesOf(inputs[0]), grad = DoublesOf(y[1]);
      std::vector<double> want;
      for (size_t b = 0; b < one.labels.size(); ++b) want.push_back(PlainLoss(one, scores, b));
      EXPECT_EQ(Difference(y[0], want), "");
      // The gradient, by differences.
      for (size_t i = 0; i < scores.size(); ++i) {
        const size_t b = i / static_cast<size_t>(one.classes) % one.labels.size();
        std::vector<double> moved = scores;
        moved[i] += 1e-4;
        const double more = PlainLoss(one, moved, b);
        moved[i] -= 2e-4;
        EXPECT_NEAR(grad[i], (more - PlainLoss(one, moved, b)) / 2e-4, 1e-5) << i;
      }
    }
  }
}

TEST(CtcLossTest, CollapsesAndIgnoresAsTensorFlow) {
  const CtcCase repeated{4, 3, {{0, 0, 1}}, {4}}, once{4, 3, {{0, 1}}, {4}};
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> a,
      KernelRunner("CTCLoss").Attr("preprocess_collapse_repeated", true).Run(repeated.Inputs(DType::kFloat)));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> b, Runner(once).Run(once.Inputs(DType::kFloat)));
  EXPECT_EQ(a[0].bytes(), b[0].bytes());
  // They must have had time for all labels all the same.
  const CtcCase collapsing{2, 3, {{0, 0, 0}}, {2}};
  EXPECT_THAT(
      KernelRunner("CTCLoss").Attr("preprocess_collapse_repeated", true).Run(collapsing.Inputs(DType::kFloat)).status(),
      IsError(ErrorCode::kOpValue));
  // More labels than steps.
  const CtcCase longer{2, 3, {{0, 1, 0}, {1}}, {2, 2}};
  EXPECT_THAT(Runner(longer).Run(longer.Inputs(DType::kFloat)).status(), IsError(ErrorCode::kOpValue));
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> ignored,
      KernelRunner("CTCLoss").Attr("ignore_longer_outputs_than_inputs", true).Run(longer.Inputs(DType::kFloat)));
  EXPECT_EQ(ignored[0].flat<float>()[0], 0.0f);
  EXPECT_GT(ignored[0].flat<float>()[1], 0.0f);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(ignored[1].flat<float>()[i], 0.0f);
  // Enough steps for the labels, but not for the blanks between equal ones: no path, and the gradient of the softmax.
  const CtcCase equal{2, 3, {{0, 0}}, {2}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> none, Runner(equal).Run(equal.Inputs(DType::kFloat)));
  EXPECT_EQ(none[0].flat<float>()[0], std::numeric_limits<float>::infinity());
}

TEST(CtcLossTest, RefusesBadLabelsAndLengths) {
  const CtcCase good = kCases[0];
  const auto run = [](const std::vector<Tensor>& inputs) { return KernelRunner("CTCLoss").Run(inputs).status(); };
  for (const Ints& lengths : {Ints{5, 3}, Ints{-1, 3}, Ints{4}, Ints{INT32_MIN, INT32_MAX}}) {
    CtcCase bad = good;
    bad.lengths = lengths;
    EXPECT_THAT(run(bad.Inputs(DType::kFloat)), IsError(ErrorCode::kOpValue));
  }
  for (const std::vector<Ints>& labels : {std::vector<Ints>{{-1}, {1}}, {{0}, {}}, {{2, 0}, {1}}}) {
    CtcCase bad = good;
    bad.labels = labels;
    EXPECT_THAT(run(bad.Inputs(DType::kFloat)), IsError(ErrorCode::kOpValue));
  }
  for (const std::vector<int64_t>& indices :
       {std::vector<int64_t>{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 2, 0}, {0, -1, 1, 0}, {INT64_MIN, 0, 1, 0}}) {
    std::vector<Tensor> inputs = good.Inputs(DType::kFloat);
    inputs[1] = Tensor::Of<int64_t>(Shape::Of({2, 2}), indices);
    EXPECT_THAT(run(inputs), IsError(ErrorCode::kOpValue));
  }
  std::vector<Tensor> inputs = good.Inputs(DType::kFloat);
  inputs[0] = FloatsOf({0, 2, 3}, {});
  EXPECT_THAT(run(inputs), IsError(ErrorCode::kOpShape));
}

TEST(CtcGreedyDecoderTest, TakesTheBestClassOfEachStep) {
  for (const DType dtype : {DType::kFloat, DType::kDouble}) {
    // Best classes: 0 0 2 1 1 for the first sequence, 2 2 0 0 0 for the second; of ties the first.
    const Tensor scores = TensorOf(
        dtype, {5, 2, 3}, {3, 1, 2, 0, 0, 1, 3, 3, 0, 0, 0, 1, 0, 1, 4, 5, 0, 0, 0, 2, 1, 5, 0, 0, 1, 6, 1, 5, 0, 0});
    struct Want {
      bool merges;
      int64_t blank;
      std::vector<int64_t> values, shape;
    };
    const Want wants[] = {
        {false, -1, {0, 0, 1, 1, 0, 0, 0}, {2, 4}}, {true, -1, {0, 1, 0}, {2, 2}}, {true, 0, {2, 1, 2}, {2, 2}}};
    for (const Want& want : wants) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("CTCGreedyDecoder")
                                                            .Attr("merge_repeated", want.merges)
                                                            .Attr("blank_index", want.blank)
                                                            .Run({scores, Tensor::Vector<int32_t>({5, 5})}));
      EXPECT_EQ(DoublesOf(y[1]), std::vector<double>(want.values.begin(), want.values.end()));
      EXPECT_EQ(DoublesOf(y[2]), std::vector<double>(want.shape.begin(), want.shape.end()));
      EXPECT_EQ(DoublesOf(y[3]), (std::vector<double>{-18, -17}));
      EXPECT_EQ(y[0].shape(), Shape::Of({static_cast<int64_t>(want.values.size()), 2}));
    }
  }
  const Tensor scores = FloatsOf({1, 1, 3}, {1, 2, 3});
  const auto run = [&](Tensor inputs, Tensor lengths, int64_t blank) {
    return KernelRunner("CTCGreedyDecoder")
        .Attr("blank_index", blank)
        .Run({std::move(inputs), std::move(lengths)})
        .status();
  };
  EXPECT_OK(run(scores, Tensor::Vector<int32_t>({-7}), -1));
  EXPECT_THAT(run(scores, Tensor::Vector<int32_t>({2}), -1), IsError(ErrorCode::kOpPrecondition));
  EXPECT_THAT(run(scores, Tensor::Vector<int32_t>({1, 1}), -1), IsError(ErrorCode::kOpPrecondition));
  EXPECT_THAT(run(scores, Tensor::Vector<int32_t>({1}), 3), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(run(FloatsOf({1, 0, 3}, {}), Tensor::Vector<int32_t>({}), -1), IsError(ErrorCode::kOpShape));
}

// All prefixes are followed where the beam is wide enough: then each path has the sum over all ways to emit it.
TEST(CtcBeamSearchDecoderTest, AWideBeamFindsTheProbabilitiesOfAllPaths) {
  const CtcCase one{4, 3, {{0}, {1}}, {4, 3}};
  for (const DType dtype : {DType::kFloat, DType::kDouble}) {
    const std::vector<Tensor> inputs = one.Inputs(dtype);
    constexpr int64_t kPaths = 5;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, KernelRunner("CTCBeamSearchDecoder")
                                                          .Attr("beam_width", 200)
                                                          .Attr("top_paths", kPaths)
                                                          .Attr("merge_repeated", false)
                                                          .Run({inputs[0], inputs[3]}));
    ASSERT_EQ(y.size(), size_t{3 * kPaths + 1});
    const std::vector<double> odds = DoublesOf(y.back());
    for (size_t b = 0; b < 2; ++b) {
      double before = 0;
      for (size_t path = 0; path < kPaths; ++path) {
        CtcCase found = one;
        found.labels[b].clear();
        const absl::Span<const int64_t> indices = y[path].flat<int64_t>();
        for (size_t i = 0; i < y[kPaths + path].flat<int64_t>().size(); ++i) {
          if (indices[2 * i] != static_cast<int64_t>(b)) continue;
          EXPECT_EQ(indices[2 * i + 1], static_cast<int64_t>(found.labels[b].size()));
          found.labels[b].push_back(static_cast<int32_t>(y[kPaths + path].flat<int64_t>()[i]));
        }
        EXPECT_GE(y[2 * kPaths + path].flat<int64_t>()[1], static_cast<int64_t>(found.labels[b].size()));
        const double log_probability = odds[b * kPaths + path];
        EXPECT_NEAR(log_probability, -PlainLoss(found, DoublesOf(inputs[0]), b), 1e-5) << path;
        EXPECT_LE(log_probability, before);
        before = log_probability;
      }
    }
  }
}

// Numbers of TensorFlow 2.19; with few paths at a time, ties decide which are lost.
TEST(CtcBeamSearchDecoderTest, ANarrowBeamLosesWhatTensorFlowLoses) {
  const Tensor scores = FloatsOf({4, 1, 3}, {0, 0, 1, 1, 1, 0, 0, 0, 0, 2, 0, 2});
  const auto run = [&](int64_t width, bool merges) {
    return KernelRunner("CTCBeamSearchDecoder")
        .Attr("beam_width", width)
        .Attr("top_paths", std::min<int64_t>(width, 3))
        .Attr("merge_repeated", merges)
        .Run({scores, Tensor::Vector<int32_t>({4})});
  };
  struct Want {
    int64_t width;
    std::vector<std::vector<double>> paths;
    std::vector<double> odds;
  };
  const Want wants[] = {{1, {{0}}, {-2.17206335}},
                        {2, {{0}, {1}}, {-1.8263545, -2.51205206}},
                        {3, {{0}, {1}, {1, 0}}, {-1.66630411, -2.02540255, -2.09541917}},
                        {5, {{1, 0}, {0}, {1}}, {-1.27610576, -1.59496093, -2.01117253}}};
  for (const Want& want : wants) {
    for (const bool merges : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, run(want.width, merges));
      for (size_t i = 0; i < want.paths.size(); ++i) {
        EXPECT_EQ(DoublesOf(y[want.paths.size() + i]), want.paths[i]) << want.width << " " << i;
      }
      EXPECT_EQ(Difference(y.back(), want.odds), "");
    }
  }
}

TEST(CtcBeamSearchDecoderTest, RefusesMorePathsThanThereAre) {
  const Tensor scores = FloatsOf({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [](Tensor inputs, int32_t length, int64_t width, int64_t paths) {
    return KernelRunner("CTCBeamSearchDecoder")
        .Attr("beam_width", width)
        .Attr("top_paths", paths)
        .Run({std::move(inputs), Tensor::Vector<int32_t>({length})});
  };
  EXPECT_THAT(run(scores, 2, 2, 3).status(), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(run(scores, 0, 2, 2).status(), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(run(scores, 3, 2, 1).status(), IsError(ErrorCode::kOpPrecondition));
  EXPECT_THAT(run(FloatsOf({2, 1, 0}, {}), 2, 2, 1).status(), IsError(ErrorCode::kOpShape));
  // No steps, and nothing but the blank: the path without labels.
  for (const Tensor& inputs : {scores, FloatsOf({2, 1, 1}, {1, 2})}) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, run(inputs, inputs.dim(2) == 1 ? 2 : -1, 2, 1));
    EXPECT_EQ(y[0].shape(), Shape::Of({0, 2}));
    EXPECT_EQ(DoublesOf(y[3]), std::vector<double>{0});
  }
  const Tensor nan = FloatsOf({2, 1, 3}, {1, 2, 3, std::numeric_limits<double>::quiet_NaN(), 5, 6});
  EXPECT_OK(run(nan, 2, 2, 1));
}

}  // namespace
}  // namespace sluice
