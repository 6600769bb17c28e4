#include "tools/cli/run/value_text.h"

#include <complex>
#include <limits>
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
  EXPECT_EQ(ValueJson(Tensor::String("\xc3\xa9")).dump(), "\"\xc3\xa9\"");
  EXPECT_EQ(ValueJson(Tensor::String("\xe9")).dump(), R"({"b64":"6Q=="})");
  EXPECT_EQ(ValueJson(Tensor::String("\xff")).dump(), R"({"b64":"/w=="})");
  EXPECT_EQ(ValueJson(Tensor::String("")).dump(), R"("")");
  const Tensor both = Tensor::Of<TString>(Shape::Of({2}), {TString("a"), TString("\x80")});
  EXPECT_EQ(ValueJson(both).dump(), R"(["a",{"b64":"gA=="}])");
}

TEST(ValueTextTest, JsonHoldsAllElementsNested) {
  EXPECT_EQ(ValueJson(Counting(Shape::Of({2, 2}))).dump(), "[[0,1],[2,3]]");
  EXPECT_EQ(ValueJson(Counting(Shape::Of({100}))).size(), 100u);
  EXPECT_EQ(ValueJson(Tensor::Scalar(0.1f)).dump(), "0.1");
  EXPECT_EQ(ValueJson(Tensor::Scalar(std::numeric_limits<double>::quiet_NaN())).dump(), "\"nan\"");
  EXPECT_EQ(ValueJson(Tensor::String("\xc3\xbf")).dump(), "\"\xc3\xbf\"");
  EXPECT_EQ(ValueJson(Tensor::Scalar(std::complex<float>(1, -2))).dump(), "[1.0,-2.0]");
}

}  // namespace
}  // namespace sluice
