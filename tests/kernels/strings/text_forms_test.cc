// Numbers, n-grams, formats, fingerprints, Unicode and summaries: values recorded from TensorFlow 2.19, and errors.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Texts = std::vector<absl::string_view>;

Tensor Strings(const Texts& texts) { return Tensor::Strings(texts); }
Tensor Longs(const std::vector<int64_t>& values) { return Tensor::Vector<int64_t>(values); }
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

template <typename T>
absl::StatusOr<T> Parse(absl::string_view text, DType dtype) {
  const absl::StatusOr<Tensor> value =
      KernelRunner("StringToNumber").Attr("out_type", dtype).Run1({Tensor::String(text)});
  if (!value.ok()) return value.status();
  return value->AsScalar<T>();
}

TEST(StringToNumberTest, ReadsFloats) {
  const std::vector<std::pair<absl::string_view, float>> rows = {{"1", 1.0f},
                                                                 {" -2.5\t", -2.5f},
                                                                 {"1e3", 1000.0f},
                                                                 {"0x10", 16.0f},
                                                                 {"-0X1F", -31.0f},
                                                                 {"0x1.8p3", 12.0f},
                                                                 {".5", 0.5f},
                                                                 {"+4.", 4.0f},
                                                                 {"1e-50", 0.0f},
                                                                 {"inf", INFINITY},
                                                                 {"-Infinity", -INFINITY},
                                                                 {"1e39", INFINITY},
                                                                 {"-1e400", -INFINITY},
                                                                 {"3.4028236e38", INFINITY},
                                                                 {"0.1", 0.1f}};
  for (const auto& [text, want] : rows) {
    const absl::StatusOr<float> value = Parse<float>(text, DType::kFloat);
    ASSERT_OK(value) << text;
    EXPECT_EQ(*value, want) << text;
  }
  EXPECT_TRUE(std::isnan(Parse<float>("nan(abc)", DType::kFloat).value()));
  EXPECT_EQ(Parse<double>("5e-324", DType::kDouble).value(), 5e-324);
  for (const absl::string_view text :
       {"", " ", "abc", "1.5x", "--1", "+-1", "1e", "0x", "0xg", "0xinf", "1 2", "1_0"}) {
    EXPECT_THAT(Parse<float>(text, DType::kFloat), IsError(ErrorCode::kOpValue)) << text;
    EXPECT_THAT(Parse<double>(text, DType::kDouble), IsError(ErrorCode::kOpValue)) << text;
  }
}

TEST(StringToNumberTest, ReadsIntegersUpToTheirEnds) {
  EXPECT_EQ(Parse<int32_t>(" -2147483648", DType::kInt32).value(), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(Parse<int64_t>("9223372036854775807", DType::kInt64).value(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Parse<int64_t>("-9223372036854775808", DType::kInt64).value(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Parse<uint32_t>("+4294967295", DType::kUInt32).value(), 4294967295u);
  EXPECT_EQ(Parse<uint64_t>("018446744073709551615", DType::kUInt64).value(), 18446744073709551615u);
  for (const absl::string_view text :
       {"2147483648", "-2147483649", "1.0", "", "- 5", "+", "5 5", "99999999999999999999"}) {
    EXPECT_THAT(Parse<int32_t>(text, DType::kInt32), IsError(ErrorCode::kOpValue)) << text;
  }
  EXPECT_THAT(Parse<int64_t>("9223372036854775808", DType::kInt64), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Parse<uint32_t>("-0", DType::kUInt32), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(Parse<uint64_t>("18446744073709551616", DType::kUInt64), IsError(ErrorCode::kOpValue));
}

absl::StatusOr<std::vector<Tensor>> NGrams(std::vector<int64_t> widths, int64_t pad, bool preserve, const Texts& data,
                                           const std::vector<int64_t>& splits) {
  return KernelRunner("StringNGrams")
      .Attr("separator", "|")
      .Attr("ngram_widths", std::move(widths))
      .Attr("left_pad", "L")
      .Attr("right_pad", "R")
      .Attr("pad_width", pad)
      .Attr("preserve_short_sequences", preserve)
      .Run({Strings(data), Longs(splits)});
}

TEST(StringNGramsTest, MakesNGramsOfEachSequence) {
  const Texts data = {"a", "bb", "c", "d"};
  ASSERT_OK_AND_ASSIGN(const auto plain, NGrams({2}, 0, false, data, {0, 1, 1, 4}));
  EXPECT_THAT(TextsOf(plain[0]), ElementsAre("bb|c", "c|d"));
  EXPECT_THAT(Values<int64_t>(plain[1]), ElementsAre(0, 0, 0, 2));
  ASSERT_OK_AND_ASSIGN(const auto padded, NGrams({1, 3}, 1, false, data, {0, 1, 1, 4}));
  EXPECT_THAT(TextsOf(padded[0]), ElementsAre("a", "L|a|R", "bb", "c", "d", "L|bb|c", "bb|c|d", "c|d|R"));
  ASSERT_OK_AND_ASSIGN(const auto whole, NGrams({}, 1, true, data, {0, 1, 1, 4}));
  EXPECT_THAT(TextsOf(whole[0]), ElementsAre("L|a|R", "L|bb|c|d|R"));
  ASSERT_OK_AND_ASSIGN(const auto full, NGrams({3}, -1, false, {"a"}, {0, 1}));
  EXPECT_THAT(TextsOf(full[0]), ElementsAre("L|L|a", "L|a|R", "a|R|R"));
}

TEST(StringNGramsTest, ChecksSplitsAndWidths) {
  const Texts data = {"a", "b", "c"};
  for (const std::vector<int64_t>& splits :
       std::vector<std::vector<int64_t>>{{0, 4}, {1, 3}, {-1, 3}, {0, 2}, {0, 2, 1, 3}, {0}}) {
    EXPECT_THAT(NGrams({2}, 0, false, data, splits), IsError(ErrorCode::kOpValue));
  }
  EXPECT_THAT(NGrams({0}, 0, false, data, {0, 3}), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(NGrams({}, -1, true, data, {0, 3}), IsError(ErrorCode::kOpAttr));
  ASSERT_OK_AND_ASSIGN(const auto none, NGrams({2}, 0, false, {}, {0, 0}));
  EXPECT_THAT(Values<int64_t>(none[1]), ElementsAre(0, 0));
}

TEST(StringFormatTest, ShowsTheEndsOfEachDimension) {
  const auto format = [](Tensor tensor, int64_t summarize) {
    return TextsOf(KernelRunner("StringFormat").Attr("summarize", summarize).Run1({std::move(tensor)}).value())[0];
  };
  EXPECT_EQ(format(Counting<int32_t>({10}), 3), "[0 1 2 ... 7 8 9]");
  EXPECT_EQ(format(Counting<float>({2, 3}), 1), "[[0 ... 2]\n [3 ... 5]]");
  EXPECT_EQ(format(Counting<int64_t>({2, 2, 1}), -1), "[[[0]\n  [1]]\n\n [[2]\n  [3]]]");
  EXPECT_EQ(format(Tensor::Scalar(1.5f), 3), "1.5");
  EXPECT_EQ(format(Tensor::Scalar(true), 3), "1");
  EXPECT_EQ(format(Strings({"a\"\n", "\xff"}), 3), "[\"a\\\"\\n\" \"\xff\"]");
  EXPECT_EQ(format(Counting<float>({2, 0}), 3), "[\n ...]");
}

TEST(StringFormatTest, PlacesAndInputsAreAsMany) {
  const auto run = [](const std::string& text, const std::string& placeholder) {
    return KernelRunner("StringFormat").Attr("template", text).Attr("placeholder", placeholder).Run1({Int(1), Int(2)});
  };
  ASSERT_OK_AND_ASSIGN(const Tensor both, run("x={} y={}!", "{}"));
  EXPECT_THAT(TextsOf(both), ElementsAre("x=1 y=2!"));
  EXPECT_THAT(TextsOf(run("abc", "").value()), ElementsAre("a1b2c"));
  EXPECT_THAT(run("{}", "{}"), IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(run("", ""), IsError(ErrorCode::kOpAttr));
}

TEST(FingerprintTest, HashesRowsAsFarmHashDoes) {
  const auto hash = [](Tensor data) {
    return Values<uint8_t>(KernelRunner("Fingerprint").Run1({std::move(data), Tensor::String("farmhash64")}).value());
  };
  EXPECT_THAT(hash(Strings({"a", ""})),
              ElementsAre(227, 117, 223, 182, 101, 66, 69, 179, 79, 64, 144, 47, 59, 106, 225, 154));
  EXPECT_THAT(hash(Tensor::Vector<float>(std::vector<float>{1.0f})), ElementsAre(42, 171, 211, 87, 251, 146, 121, 4));
  EXPECT_THAT(hash(Strings({"a", "b", "", "c"}).Reshaped(Shape::Of({2, 2})).value()),
              ElementsAre(122, 64, 59, 169, 136, 60, 55, 83, 146, 4, 241, 178, 47, 233, 29, 30));
  EXPECT_EQ(hash(Counting<int32_t>({0, 3})).size(), 0u);
  EXPECT_THAT(KernelRunner("Fingerprint").Run({Int(1), Tensor::String("farmhash64")}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("Fingerprint").Run({Ints({1}), Tensor::String("md5")}), IsError(ErrorCode::kOpValue));
}

TEST(UnicodeTest, DecodesWithOffsetsAndReplacesWhatIsMalformed) {
  KernelRunner runner("UnicodeDecodeWithOffsets");
  runner.Attr("input_encoding", "UTF-8");
  ASSERT_OK_AND_ASSIGN(const auto all, runner.Run({Strings({"é\xff日", "", "\xe2\x82"})}));
  EXPECT_THAT(Values<int64_t>(all[0]), ElementsAre(0, 3, 3, 4));
  EXPECT_THAT(Values<int32_t>(all[1]), ElementsAre(0xe9, 0xfffd, 0x65e5, 0xfffd));
  EXPECT_THAT(Values<int64_t>(all[2]), ElementsAre(0, 2, 3, 0));
  KernelRunner strict("UnicodeDecode");
  strict.Attr("input_encoding", "UTF-8").Attr("errors", "strict");
  EXPECT_THAT(strict.Run({Strings({"a", "\xff"})}), IsError(ErrorCode::kOpValue));
  KernelRunner utf16("UnicodeDecode");
  utf16.Attr("input_encoding", "UTF-16").Attr("errors", "ignore").Attr("Tsplits", DType::kInt32);
  ASSERT_OK_AND_ASSIGN(const auto marked, utf16.Run({Strings({absl::string_view("\xff\xfe\x3d\xd8\x00\xdeZ", 7)})}));
  EXPECT_THAT(Values<int32_t>(marked[1]), ElementsAre(0x1f600));
}

TEST(UnicodeTest, EncodesCodePointsAndChecksSplits) {
  const auto encode = [](const char* encoding, const char* errors, std::vector<int32_t> runes,
                         std::vector<int64_t> splits) {
    return KernelRunner("UnicodeEncode")
        .Attr("output_encoding", encoding)
        .Attr("errors", errors)
        .Run1({Ints(std::move(runes)), Longs(splits)});
  };
  EXPECT_THAT(TextsOf(encode("UTF-8", "replace", {72, 228, 0x1f600, 0xd800}, {0, 2, 2, 4}).value()),
              ElementsAre("Hä", "", "\U0001F600\xef\xbf\xbd"));
  EXPECT_THAT(TextsOf(encode("UTF-16-BE", "ignore", {0x1f600, 0x110000}, {0, 2}).value()),
              ElementsAre(std::string("\xd8\x3d\xde\x00", 4)));
  EXPECT_THAT(TextsOf(encode("UTF-32-BE", "replace", {0x1f600}, {0, 1}).value()),
              ElementsAre(std::string("\0\x01\xf6\0", 4)));
  EXPECT_THAT(encode("UTF-8", "strict", {0xffff}, {0, 1}), IsError(ErrorCode::kOpValue));
  for (const std::vector<int64_t>& splits :
       std::vector<std::vector<int64_t>>{{0, 3}, {}, {1, 2}, {0, 2, 1, 2}, {0, 1}, {0, -1, 2}}) {
    EXPECT_THAT(encode("UTF-8", "replace", {65, 66}, splits), IsError(ErrorCode::kOpValue));
  }
}

TEST(UnicodeTest, ScriptsHaveTheirNumbers) {
  ASSERT_OK_AND_ASSIGN(const Tensor scripts,
                       KernelRunner("UnicodeScript").Run1({Ints({65, 945, 26085, 2344, 48, 0x10ffff, -1, 0x110000})}));
  EXPECT_THAT(Values<int32_t>(scripts), ElementsAre(25, 14, 17, 10, 0, 103, -1, -1));
}

TEST(SummaryTest, WritesTheMessagesOfTensorFlow) {
  ASSERT_OK_AND_ASSIGN(
      const Tensor scalars,
      KernelRunner("ScalarSummary").Run1({Strings({"a", "b"}), Tensor::Vector<float>(std::vector<float>{1, 2})}));
  EXPECT_EQ(TextsOf(scalars)[0], std::string("\n\x08\n\x01"
                                             "a\x15\0\0\x80?\n\x08\n\x01"
                                             "b\x15\0\0\0@",
                                             20));
  EXPECT_THAT(KernelRunner("ScalarSummary").Run({Strings({"a"}), Tensor::Scalar(1.0f)}), IsError(ErrorCode::kOpShapes));
  const std::string one = TextsOf(scalars)[0];
  EXPECT_THAT(KernelRunner("MergeSummary").Attr("N", 2).Run({Tensor::String(one), Tensor::String(one)}),
              IsError(ErrorCode::kOpValue, "twice"));
  EXPECT_THAT(
      TextsOf(KernelRunner("MergeSummary").Attr("N", 2).Run1({Tensor::String(one), Tensor::String("")}).value()),
      ElementsAre(one));
  EXPECT_THAT(KernelRunner("MergeSummary").Attr("N", 1).Run({Tensor::String("zz")}), IsError(ErrorCode::kOpValue));
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(KernelRunner("HistogramSummary").Run({Tensor::String("h"), Tensor::Scalar(bad)}),
                IsError(ErrorCode::kOpValue));
  }
  ASSERT_OK_AND_ASSIGN(const Tensor histogram,
                       KernelRunner("HistogramSummary").Run1({Tensor::String("h"), Tensor::Scalar(0.0f)}));
  EXPECT_EQ(TextsOf(histogram)[0],
            std::string(
                "\nB\n\x01h*=\x19\0\0\0\0\0\0\xf0?2\x18\0\0\0\0\0\0\0\0\x11\xea-\x81\x99\x97q=\xff\xff\xff\xff\xff\xff"
                "\xef\x7f:\x18\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0?\0\0\0\0\0\0\0\0",
                68));
}

}  // namespace
}  // namespace sluice
