#include "tools/cli/run/value_text.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

Tensor Counting(const Shape& shape) {
  std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i);
  return Tensor::Of<int32_t>(shape, values);
}

std::string ValueText(const Tensor& tensor, bool full) {
  std::string text;
  const auto append = [&text](absl::string_view part) {
    text.append(part.data(), part.size());
    return absl::OkStatus();
  };
  EXPECT_TRUE(WriteValueText(tensor, full, append).ok());
  return text;
}

std::string JsonOf(const Tensor& tensor) {
  std::string text;
  const auto append = [&text](absl::string_view part) {
    text.append(part.data(), part.size());
    return absl::OkStatus();
  };
  EXPECT_TRUE(WriteValueJson(tensor, append).ok());
  return text;
}

int64_t Commas(const std::string& text) { return std::count(text.begin(), text.end(), ','); }

TEST(ValueTextTest, ListsNestAndRowsStandBelowEachOther) {
  EXPECT_EQ(ValueText(Tensor::Scalar(1.5f), false), "1.5");
  EXPECT_EQ(ValueText(Counting(Shape::Of({3})), false), "[0, 1, 2]");
  EXPECT_EQ(ValueText(Counting(Shape::Of({2, 2})), false), "[[0, 1],\n [2, 3]]");
  EXPECT_EQ(ValueText(Counting(Shape::Of({2, 1, 2})), false), "[[[0, 1]],\n [[2, 3]]]");
  EXPECT_EQ(ValueText(Counting(Shape::Of({2, 0})), false), "[] ([2,0])");
}

TEST(ValueTextTest, LargeValuesAreCutInTheMiddleOfEachAxis) {
  EXPECT_EQ(ValueText(Counting(Shape::Of({100})), false), "[0, 1, 2, ..., 97, 98, 99]");
  EXPECT_EQ(ValueText(Counting(Shape::Of({10, 10})), false),
            "[[0, 1, 2, ..., 7, 8, 9],\n [10, 11, 12, ..., 17, 18, 19],\n [20, 21, 22, ..., 27, 28, 29],\n ...,\n"
            " [70, 71, 72, ..., 77, 78, 79],\n [80, 81, 82, ..., 87, 88, 89],\n [90, 91, 92, ..., 97, 98, 99]]");
  EXPECT_EQ(ValueText(Counting(Shape::Of({100})), true).find("..."), std::string::npos);
}

// Every axis is short, and all of them together are not: 63 MB of text before.
TEST(ValueTextTest, ManyShortAxesAreCutAsWell) {
  const Tensor cube = Counting(*Shape::Make(std::vector<int64_t>(16, 2)));
  const std::string cut = ValueText(cube, false);
  EXPECT_LT(cut.size(), 30'000u);
  EXPECT_EQ(cut.substr(0, 22), "[[[[[[[[[[[[[[[[0, 1],");
  EXPECT_NE(cut.find("..."), std::string::npos);
  EXPECT_EQ(std::count(cut.begin(), cut.end(), '['), std::count(cut.begin(), cut.end(), ']'));
  EXPECT_EQ(Commas(ValueText(cube, true)), 65'535);
  EXPECT_EQ(ValueText(Counting(Shape::Of({2, 2, 2, 2, 2})), false).find("..."), std::string::npos);
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>(7, 5), std::vector<int64_t>(40, 1), std::vector<int64_t>{3, 1, 2, 4, 6, 2, 7, 3, 2}}) {
    const std::string text = ValueText(Counting(*Shape::Make(dims)), false);
    EXPECT_LT(text.size(), 40'000u);
    EXPECT_EQ(std::count(text.begin(), text.end(), '['), std::count(text.begin(), text.end(), ']')) << text;
  }
}

TEST(ValueTextTest, LongStringsAreCutUnlessAllIsAskedFor) {
  const Tensor text = Tensor::String(std::string(1'000'000, 'x'));
  EXPECT_LT(ValueText(text, false).size(), 70'000u);
  EXPECT_EQ(ValueText(text, true).size(), 1'000'002u);
}

TEST(ValueTextTest, TheSinkCanEndALongText) {
  const Tensor many = Counting(Shape::Of({1'000'000}));
  int parts = 0;
  const auto refuse = [&parts](absl::string_view) {
    ++parts;
    return absl::CancelledError();
  };
  EXPECT_FALSE(WriteValueText(many, true, refuse).ok());
  EXPECT_FALSE(WriteValueJson(many, refuse).ok());
  EXPECT_EQ(parts, 2);
}

TEST(ValueTextTest, FloatsHaveTheFewestDigitsThatGiveThemBack) {
  EXPECT_EQ(ValueText(Tensor::Scalar(0.1f), false), "0.1");
  EXPECT_EQ(ValueText(Tensor::Scalar(16777216.0f), false), "16777216");
  EXPECT_EQ(ValueText(Tensor::Scalar(1.0 / 3), false), "0.3333333333333333");
  EXPECT_EQ(ValueText(Tensor::Scalar(-std::numeric_limits<float>::infinity()), false), "-inf");
  EXPECT_EQ(ValueText(Tensor::Scalar(std::complex<float>(1, -2)), false), "1-2j");
}

TEST(ValueTextTest, TextIsQuotedAndOtherDTypesAreReadable) {
  EXPECT_EQ(ValueText(Tensor::String("a\n\"b\""), false), "\"a\\n\\\"b\\\"\"");
  EXPECT_EQ(ValueText(Tensor::Scalar(true), false), "true");
  EXPECT_EQ(ValueText(Tensor::Scalar(int8_t{-5}), false), "-5");
}

TEST(ValueTextTest, WhatATerminalMustNotGetIsEscaped) {
  EXPECT_EQ(ValueText(Tensor::String("\x1b[2J\x07"), false), "\"\\x1b[2J\\x07\"");
  EXPECT_EQ(ValueText(Tensor::String("\xc2\x9b"
                                     "31m"),
                      false),
            "\"\\xc2\\x9b\\x33\\x31m\"")
      << "a C1 control character";
  EXPECT_EQ(ValueText(Tensor::String("\xe9"), false), "\"\\xe9\"") << "not UTF-8";
  EXPECT_EQ(ValueText(Tensor::String("\xe2\x80\xae"), false), "\"\\xe2\\x80\\xae\"") << "turns the direction";
  EXPECT_EQ(ValueText(Tensor::String("\xc3\xa9\xe2\x82\xac"), false), "\"\xc3\xa9\xe2\x82\xac\"");
  EXPECT_EQ(ValueText(Tensor::String(std::string("a\0b", 3)), false), "\"a\\x00\\x62\"");
}

TEST(ValueTextTest, EscapedTextCanBeReadAgain) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const std::string& text : {all,
                                  std::string("\xff"
                                              "a9"),
                                  std::string("\xc2\x9b"
                                              "f"),
                                  std::string("\"\\\n")}) {
    const std::string shown = ValueText(Tensor::String(text), false);
    std::string read;
    ASSERT_TRUE(absl::CUnescape(shown.substr(1, shown.size() - 2), &read)) << shown;
    EXPECT_EQ(read, text);
  }
}

TEST(ValueTextTest, JsonTellsAllStringsApart) {
  EXPECT_EQ(JsonOf(Tensor::String("\xc3\xa9")), "\"\xc3\xa9\"");
  EXPECT_EQ(JsonOf(Tensor::String("\xe9")), R"({"b64":"6Q=="})");
  EXPECT_EQ(JsonOf(Tensor::String("\xff")), R"({"b64":"/w=="})");
  EXPECT_EQ(JsonOf(Tensor::String("")), R"("")");
  const Tensor both = Tensor::Of<TString>(Shape::Of({2}), {TString("a"), TString("\x80")});
  EXPECT_EQ(JsonOf(both), R"(["a",{"b64":"gA=="}])");
}

TEST(ValueTextTest, JsonHoldsAllElementsNested) {
  EXPECT_EQ(JsonOf(Counting(Shape::Of({2, 2}))), "[[0,1],[2,3]]");
  EXPECT_EQ(Commas(JsonOf(Counting(Shape::Of({100})))), 99);
  EXPECT_EQ(JsonOf(Tensor::Scalar(0.1f)), "0.1");
  EXPECT_EQ(JsonOf(Tensor::Scalar(std::numeric_limits<double>::quiet_NaN())), "\"nan\"");
  EXPECT_EQ(JsonOf(Tensor::String("\xc3\xbf")), "\"\xc3\xbf\"");
  EXPECT_EQ(JsonOf(Tensor::Scalar(std::complex<float>(1, -2))), "[1.0,-2.0]");
}

}  // namespace
}  // namespace sluice
