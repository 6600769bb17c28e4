// ParseExample in its forms and ParseSequenceExample: values as TensorFlow 2.19 gives them, errors, and messages that
// are cut and flipped.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/kernels/parsing/example_bytes.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Tensor Strings(const std::vector<std::string>& texts) {
  return Tensor::Strings(std::vector<absl::string_view>(texts.begin(), texts.end()));
}
Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }
Tensor Floats(const std::vector<float>& values) { return Tensor::Vector<float>(values); }
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

// Of each kind one: dense "f" [2] of floats (required), dense "v" [?] of int64 (filled up with -9), sparse "t" of
// strings, ragged "r" of int64.
KernelRunner MixedRunner() {
  KernelRunner runner("ParseExampleV2");
  runner.Attr("Tdense", std::vector<DType>{DType::kFloat, DType::kInt64})
      .Attr("num_sparse", 1)
      .Attr("sparse_types", std::vector<DType>{DType::kString})
      .Attr("ragged_value_types", std::vector<DType>{DType::kInt64})
      .Attr("ragged_split_types", std::vector<DType>{DType::kInt32})
      .Attr("dense_shapes", std::vector<PartialShape>{PartialShape::Of({2}), PartialShape::Of({-1})});
  return runner;
}

absl::StatusOr<std::vector<Tensor>> RunMixed(const Tensor& serialized, const Tensor& names = Strings({})) {
  return MixedRunner().Run(
      {serialized, names, Strings({"t"}), Strings({"f", "v"}), Strings({"r"}), Floats({}), Longs({-9})});
}

std::string Mixed(std::vector<float> f, std::vector<int64_t> v, std::vector<std::string> t, std::vector<int64_t> r) {
  return Example({{"f", FloatFeature(f)}, {"v", IntFeature(v)}, {"t", TextFeature(t)}, {"r", IntFeature(r)}});
}

// Outputs: indices, values and shape of t; f; v; values and splits of r.
TEST(ParseExampleTest, ParsesABatch) {
  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       RunMixed(Strings({Mixed({1, 2}, {1, 2, 3}, {"x", "y"}, {7}),
                                         Example({{"f", FloatFeature({3, -4})}}), Mixed({5, 6}, {9}, {"z"}, {8, 9})})));
  EXPECT_THAT(Values<int64_t>(outputs[0]), ElementsAre(0, 0, 0, 1, 2, 0));
  EXPECT_THAT(TextsOf(outputs[1]), ElementsAre("x", "y", "z"));
  EXPECT_THAT(Values<int64_t>(outputs[2]), ElementsAre(3, 2));
  EXPECT_THAT(Values<float>(outputs[3]), ElementsAre(1, 2, 3, -4, 5, 6));
  EXPECT_THAT(Values<int64_t>(outputs[4]), ElementsAre(1, 2, 3, -9, -9, -9, 9, -9, -9));
  EXPECT_THAT(Dims(outputs[4]), ElementsAre(3, 3));
  EXPECT_THAT(Values<int64_t>(outputs[5]), ElementsAre(7, 8, 9));
  EXPECT_THAT(Values<int32_t>(outputs[6]), ElementsAre(0, 1, 1, 3));
}

TEST(ParseExampleTest, ParsesOneExampleAndNone) {
  ASSERT_OK_AND_ASSIGN(const auto one, RunMixed(Tensor::String(Mixed({1, 2}, {4}, {"x"}, {7}))));
  EXPECT_THAT(Dims(one[0]), ElementsAre(1, 1));
  EXPECT_THAT(Values<int64_t>(one[2]), ElementsAre(1));
  EXPECT_THAT(Dims(one[3]), ElementsAre(2));
  EXPECT_THAT(Values<int64_t>(one[4]), ElementsAre(4));
  EXPECT_THAT(Dims(one[6]), ElementsAre(0));
  ASSERT_OK_AND_ASSIGN(const auto none, RunMixed(Strings({})));
  EXPECT_THAT(Dims(none[0]), ElementsAre(0, 2));
  EXPECT_THAT(Values<int64_t>(none[2]), ElementsAre(0, 0));
  EXPECT_THAT(Dims(none[4]), ElementsAre(0, 0));
  EXPECT_THAT(Values<int32_t>(none[6]), ElementsAre(0));
}

TEST(ParseExampleTest, TheLastFeatureOfANameCounts) {
  const std::string twice = Example({{"f", FloatFeature({1, 2})}, {"f", FloatFeature({3, 4})}});
  EXPECT_THAT(Values<float>(RunMixed(Strings({twice})).value()[3]), ElementsAre(3, 4));
  // Messages written one after another are merged.
  const std::string merged = Example({{"f", FloatFeature({1, 2})}}) + Example({{"v", IntFeature({5})}});
  EXPECT_THAT(Values<int64_t>(RunMixed(Strings({merged})).value()[4]), ElementsAre(5));
}

// As in TensorFlow: an example may have other fields, an entry of its map only a name and a feature, in any order.
TEST(ParseExampleTest, OtherFieldsStandInExamplesOnly) {
  const auto field = [](uint32_t number, const std::string& bytes) {
    std::string text;
    WireWriter(&text).Bytes(number, bytes);
    return text;
  };
  const auto parse = [&field](const std::string& entry, const std::string& before = "", const std::string& after = "") {
    return RunMixed(Strings({before + field(1, field(1, entry)) + after}));
  };
  const std::string name = field(1, "f"), feature = field(2, FloatFeature({1, 2})), other = field(3, "other");
  for (const auto& outputs : {parse(name + feature), parse(feature + name), parse(name + feature, other, other)}) {
    ASSERT_OK(outputs.status());
    EXPECT_THAT(Values<float>((*outputs)[3]), ElementsAre(1, 2));
  }
  // The entry before it has all that is wanted.
  for (const std::string& entry : {name, feature, name + other, name + feature + other, name.substr(0, 2)}) {
    const std::string good = field(1, field(1, name + feature));
    EXPECT_THAT(parse(entry, good), StatusIs(absl::StatusCode::kInvalidArgument)) << entry.size();
  }
}

TEST(ParseExampleTest, SaysWhichExampleAndFeatureIsWrong) {
  const std::string good = Mixed({1, 2}, {}, {}, {});
  EXPECT_THAT(RunMixed(Strings({good, Example({})})), IsError(ErrorCode::kOpValue, "required"));
  EXPECT_THAT(RunMixed(Strings({good, Mixed({1, 2, 3}, {}, {}, {})})), IsError(ErrorCode::kOpValue, "'f'"));
  EXPECT_THAT(RunMixed(Strings({good, Example({{"f", IntFeature({1, 2})}})}), Strings({"one", "two"})),
              IsError(ErrorCode::kOpValue, "two"));
  EXPECT_THAT(RunMixed(Strings({good, Example({{"f", FloatFeature({1, 2})}, {"t", IntFeature({1})}})})),
              IsError(ErrorCode::kOpValue, "example 1"));
  const std::string no_list("\x20\x01", 2);
  EXPECT_THAT(RunMixed(Strings({good, Example({{"v", no_list}})})),
              IsError(ErrorCode::kOpValue, "example 1, feature 'v'"));
  EXPECT_THAT(RunMixed(Strings({"garbage"})), IsError(ErrorCode::kOpValue, "could not be parsed"));
  EXPECT_THAT(RunMixed(Strings({good}), Strings({"a", "b"})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(RunMixed(Strings({good}).Reshaped(Shape::Of({1, 1})).value()), IsError(ErrorCode::kOpShape));
}

TEST(ParseExampleTest, ChecksNamesDefaultsAndShapes) {
  const Tensor serialized = Strings({Mixed({1, 2}, {}, {}, {})});
  const auto run = [&](Tensor sparse, Tensor dense, Tensor f, Tensor v) {
    return MixedRunner().Run(
        {serialized, Strings({}), std::move(sparse), std::move(dense), Strings({"r"}), std::move(f), std::move(v)});
  };
  EXPECT_THAT(run(Strings({}), Strings({"f", "v"}), Floats({}), Longs({0})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(Strings({"t"}), Strings({"f"}), Floats({}), Longs({0})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(Strings({"t"}), Strings({"f", "v"}), Floats({1}), Longs({0})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(Strings({"t"}), Strings({"f", "v"}), Floats({}), Longs({})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(Strings({"t"}), Strings({"f", "v"}), Floats({}), Longs({1, 2})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run(Strings({"f"}), Strings({"f", "v"}), Floats({}), Longs({0})),
              IsError(ErrorCode::kOpValue, "'f' is wanted twice"));
  EXPECT_THAT(run(Strings({"t"}), Strings({"v", "v"}), Floats({}), Longs({0})),
              IsError(ErrorCode::kOpValue, "'v' is wanted twice"));
  for (const PartialShape& shape : {PartialShape(), PartialShape::Of({-1, -1}), PartialShape::Of({-1, 0})}) {
    KernelRunner runner("ParseSingleExample");
    runner.Attr("Tdense", std::vector<DType>{DType::kInt64})
        .Attr("num_sparse", 0)
        .Attr("sparse_types", std::vector<DType>());
    runner.Attr("sparse_keys", std::vector<std::string>()).Attr("dense_keys", std::vector<std::string>{"v"});
    runner.Attr("dense_shapes", std::vector<PartialShape>{shape});
    EXPECT_FALSE(runner.Run({Tensor::String(""), Longs({0})}).ok()) << shape.ToString();
  }
}

// A batch that is parsed in parts gives what its examples give one by one.
TEST(ParseExampleTest, ManyExamplesAreParsedInParts) {
  std::vector<std::string> examples;
  int64_t values = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    examples.push_back(Mixed({static_cast<float>(i), 1}, std::vector<int64_t>(static_cast<size_t>(i % 4), i),
                             std::vector<std::string>(static_cast<size_t>(i % 3), std::string(30, 'x')), {i}));
    values += i % 3;
  }
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunMixed(Strings(examples)));
  EXPECT_EQ(outputs[1].num_elements(), values);
  EXPECT_THAT(Dims(outputs[4]), ElementsAre(5000, 3));
  for (int64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(outputs[3].flat<float>()[static_cast<size_t>(2 * i)], static_cast<float>(i));
    EXPECT_EQ(outputs[4].flat<int64_t>()[static_cast<size_t>(3 * i)], i % 4 == 0 ? -9 : i);
    EXPECT_EQ(outputs[5].flat<int64_t>()[static_cast<size_t>(i)], i);
  }
  examples[4321] = "garbage";
  examples[4000] = Example({});
  EXPECT_THAT(RunMixed(Strings(examples)), IsError(ErrorCode::kOpValue, "example 4000"));
}

// All cuts, and flips at 10,000 places: an answer or a status.
TEST(ParseExampleTest, DamagedExamplesAreRefusedOrParsed) {
  const std::string whole = Mixed({1, 2}, {1, 1 << 20, -1}, {"abc", ""}, {3}) + Mixed({5, 6}, {}, {"q"}, {});
  int good = 0, bad = 0;
  const auto try_one = [&](const std::string& bytes) {
    const auto outputs = RunMixed(Strings({bytes}));
    EXPECT_TRUE(outputs.ok() || outputs.status().code() == absl::StatusCode::kInvalidArgument);
    ++(outputs.ok() ? good : bad);
  };
  for (size_t size = 0; size < whole.size(); ++size) try_one(whole.substr(0, size));
  std::mt19937 random(1);
  for (int i = 0; i < 10000; ++i) {
    std::string flipped = whole;
    for (uint32_t flips = random() % 3 + 1; flips > 0; --flips) {
      flipped[random() % flipped.size()] ^= static_cast<char>(1u << random() % 8);
    }
    try_one(flipped);
  }
  EXPECT_GT(good, 1000);
  EXPECT_GT(bad, 1000);
}

// Of each kind one: context sparse "c", dense "d" [1] and lists sparse "s", dense "l" [2], ragged "r", all of int64.
absl::StatusOr<std::vector<Tensor>> RunSequence(const Tensor& serialized, bool may_be_missing = false,
                                                const Tensor& context_default = Longs({-1})) {
  const std::vector<DType> type = {DType::kInt64};
  Tensor may = Tensor::MakeZeros(DType::kBool, Shape::Of({1})).value();
  may.flat<bool>()[0] = may_be_missing;
  return KernelRunner("ParseSequenceExampleV2")
      .Attr("Ncontext_sparse", 1)
      .Attr("Tcontext_dense", type)
      .Attr("context_sparse_types", type)
      .Attr("context_dense_shapes", std::vector<PartialShape>{PartialShape::Of({1})})
      .Attr("Nfeature_list_sparse", 1)
      .Attr("Nfeature_list_dense", 1)
      .Attr("feature_list_dense_types", type)
      .Attr("feature_list_sparse_types", type)
      .Attr("feature_list_ragged_value_types", type)
      .Attr("feature_list_ragged_split_types", type)
      .Attr("feature_list_dense_shapes", std::vector<PartialShape>{PartialShape::Of({2})})
      .Run({serialized, Strings({}), Strings({"c"}), Strings({"d"}), Strings({}), Strings({"s"}), Strings({"l"}),
            Strings({"r"}), may, context_default});
}

std::string Sequence(bool has_list) {
  const std::string list = FeatureList({IntFeature({1, 2}), IntFeature({3, 4})});
  const std::string other = FeatureList({IntFeature({7}), "", IntFeature({8, 9})});
  NamedBytes lists = {{"s", other}, {"r", other}};
  if (has_list) lists.push_back({"l", list});
  return SequenceExample({{"c", IntFeature({5, 6})}}, lists);
}

// Outputs: indices, values, shape of c; d; indices, values, shape of s; l; its lengths; values, outer and inner splits
// of r.
TEST(ParseSequenceExampleTest, ParsesContextsAndLists) {
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunSequence(Strings({Sequence(true), SequenceExample({}, {{"l", ""}})})));
  EXPECT_THAT(Values<int64_t>(outputs[1]), ElementsAre(5, 6));
  EXPECT_THAT(Values<int64_t>(outputs[2]), ElementsAre(2, 2));
  EXPECT_THAT(Values<int64_t>(outputs[3]), ElementsAre(-1, -1));
  EXPECT_THAT(Values<int64_t>(outputs[4]), ElementsAre(0, 0, 0, 0, 2, 0, 0, 2, 1));
  EXPECT_THAT(Values<int64_t>(outputs[6]), ElementsAre(2, 3, 2));
  EXPECT_THAT(Values<int64_t>(outputs[7]), ElementsAre(1, 2, 3, 4, 0, 0, 0, 0));
  EXPECT_THAT(Values<int64_t>(outputs[8]), ElementsAre(2, 0));
  EXPECT_THAT(Values<int64_t>(outputs[9]), ElementsAre(7, 8, 9));
  EXPECT_THAT(Values<int64_t>(outputs[10]), ElementsAre(0, 3, 3));
  EXPECT_THAT(Values<int64_t>(outputs[11]), ElementsAre(0, 1, 1, 3));
}

TEST(ParseSequenceExampleTest, OneExampleHasNoBatch) {
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunSequence(Tensor::String(Sequence(true))));
  EXPECT_THAT(Dims(outputs[4]), ElementsAre(3, 2));
  EXPECT_THAT(Dims(outputs[7]), ElementsAre(2, 2));
  EXPECT_THAT(Dims(outputs[8]), IsEmpty());
  EXPECT_THAT(Values<int64_t>(outputs[11]), ElementsAre(0, 1, 1, 3));
}

// As in TensorFlow: without examples a dense feature of the context has to have a default.
TEST(ParseSequenceExampleTest, ABatchMayBeEmpty) {
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunSequence(Strings({})));
  EXPECT_THAT(Dims(outputs[3]), ElementsAre(0, 1));
  EXPECT_THAT(Dims(outputs[7]), ElementsAre(0, 0, 2));
  EXPECT_THAT(RunSequence(Strings({}), false, Longs({})), IsError(ErrorCode::kOpValue, "'d' has no default"));
}

TEST(ParseSequenceExampleTest, ListsMayBeMissingWhereThatIsSaid) {
  EXPECT_THAT(RunSequence(Strings({Sequence(false)})), IsError(ErrorCode::kOpValue, "required"));
  ASSERT_OK_AND_ASSIGN(const auto outputs, RunSequence(Strings({Sequence(false)}), /*may_be_missing=*/true));
  EXPECT_THAT(Values<int64_t>(outputs[8]), ElementsAre(0));
  const std::string short_row = SequenceExample({}, {{"l", FeatureList({IntFeature({1})})}});
  EXPECT_THAT(RunSequence(Strings({short_row})), IsError(ErrorCode::kOpValue, "'l'"));
  const std::string no_list = SequenceExample({{"c", std::string("\x20\x01", 2)}}, {{"l", ""}});
  EXPECT_THAT(RunSequence(Strings({no_list})), IsError(ErrorCode::kOpValue, "'c'"));
  const std::string wrong_type = SequenceExample({{"c", FloatFeature({1})}}, {{"l", ""}});
  EXPECT_THAT(RunSequence(Strings({wrong_type})), IsError(ErrorCode::kOpValue, "int64"));
}

TEST(ParseSequenceExampleTest, DamagedExamplesAreRefusedOrParsed) {
  const std::string whole = Sequence(true);
  int good = 0, bad = 0;
  std::mt19937 random(2);
  for (int i = 0; i < 10000; ++i) {
    std::string damaged = whole;
    if (i < static_cast<int>(whole.size())) {
      damaged.resize(static_cast<size_t>(i));
    } else {
      damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    }
    const auto outputs = RunSequence(Strings({damaged}), /*may_be_missing=*/true);
    EXPECT_TRUE(outputs.ok() || outputs.status().code() == absl::StatusCode::kInvalidArgument);
    ++(outputs.ok() ? good : bad);
  }
  EXPECT_GT(good, 500);
  EXPECT_GT(bad, 500);
}

TEST(ParseSequenceExampleTest, SingleExamplesTakeTheirNamesAsScalars) {
  const std::vector<DType> type = {DType::kInt64};
  KernelRunner runner("ParseSingleSequenceExample");
  runner.Attr("Tcontext_dense", std::vector<DType>()).Attr("Ncontext_dense", 0).Attr("Nfeature_list_sparse", 0);
  runner.Attr("Ncontext_sparse", 1).Attr("context_sparse_types", type).Attr("Nfeature_list_dense", 1);
  runner.Attr("feature_list_dense_types", type);
  runner.Attr("feature_list_dense_shapes", std::vector<PartialShape>{PartialShape::Of({2})});
  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       runner.Run({Tensor::String(Sequence(false)), Strings({"l"}), Tensor::String("c"),
                                   Tensor::String("l"), Tensor::String("debug")}));
  EXPECT_THAT(Values<int64_t>(outputs[1]), ElementsAre(5, 6));
  EXPECT_THAT(Dims(outputs[3]), ElementsAre(0, 2));
}

// In this form alone a feature may be wanted in two kinds.
TEST(ParseSequenceExampleTest, SingleExamplesGiveAFeatureTwice) {
  const std::vector<DType> type = {DType::kInt64};
  KernelRunner runner("ParseSingleSequenceExample");
  runner.Attr("Tcontext_dense", type).Attr("Ncontext_dense", 1).Attr("Nfeature_list_sparse", 0);
  runner.Attr("Ncontext_sparse", 1).Attr("context_sparse_types", type).Attr("Nfeature_list_dense", 0);
  runner.Attr("context_dense_shapes", std::vector<PartialShape>{PartialShape::Of({2})});
  ASSERT_OK_AND_ASSIGN(const auto outputs,
                       runner.Run({Tensor::String(Sequence(false)), Strings({}), Tensor::String("c"),
                                   Tensor::String("c"), Longs({}), Tensor::String("debug")}));
  EXPECT_THAT(Values<int64_t>(outputs[1]), ElementsAre(5, 6));
  EXPECT_THAT(Values<int64_t>(outputs[3]), ElementsAre(5, 6));
}

}  // namespace
}  // namespace sluice
