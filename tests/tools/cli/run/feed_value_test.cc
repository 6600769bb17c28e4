#include "tools/cli/run/feed_value.h"

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/file.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/numpy/npy.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/report/example_value.h"
#include "tools/cli/run/value_text.h"

namespace sluice {
namespace {

// The value as "dtype shape {elements}", or the error's first line.
std::string Read(const std::string& text, DType dtype) {
  const absl::StatusOr<Tensor> value = ReadFeedValue(text, dtype);
  return value.ok() ? value->ToString(20) : FormatError(value.status(), /*one_line=*/true);
}

TEST(FeedValueTest, NumbersTakeTheDTypeOfTheFedTensor) {
  EXPECT_EQ(Read("1.5", DType::kFloat), "float32 [] {1.5}");
  EXPECT_EQ(Read("-3", DType::kDouble), "float64 [] {-3}");
  EXPECT_EQ(Read("7", DType::kInt64), "int64 [] {7}");
  EXPECT_EQ(Read("18446744073709551615", DType::kUInt64), "uint64 [] {18446744073709551615}");
  EXPECT_EQ(Read("255", DType::kUInt8), "uint8 [] {255}");
  EXPECT_EQ(Read("inf", DType::kFloat), "float32 [] {inf}");
  EXPECT_EQ(Read("0.5", DType::kHalf), "float16 [] {0.5}");
  EXPECT_EQ(Read("true", DType::kBool), "bool [] {true}");
  EXPECT_EQ(Read("1+2e-1j", DType::kComplex64), "complex64 [] {(1,0.2)}");
  EXPECT_EQ(Read("-1e-1-2j", DType::kComplex128), "complex128 [] {(-0.1,-2)}");
}

TEST(FeedValueTest, ListsNestToAnyShape) {
  EXPECT_EQ(Read("[1,2,3]", DType::kInt32), "int32 [3] {1, 2, 3}");
  EXPECT_EQ(Read(" [ [1, 2], [3, 4] ] ", DType::kInt32), "int32 [2,2] {1, 2, 3, 4}");
  EXPECT_EQ(Read("[]", DType::kFloat), "float32 [0] {}");
  EXPECT_EQ(Read("[[],[]]", DType::kFloat), "float32 [2,0] {}");
  EXPECT_EQ(Read("[[[true]]]", DType::kBool), "bool [1,1,1] {true}");
}

TEST(FeedValueTest, TextMayBeQuotedOrNot) {
  EXPECT_EQ(Read("\"a,]b\"", DType::kString), "string [] {'a,]b'}");
  EXPECT_EQ(Read("plain text", DType::kString), "string [] {'plain text'}");
  EXPECT_EQ(Read("[\"a\", b]", DType::kString), "string [2] {'a', 'b'}");
  EXPECT_EQ(Read("\"line\\n\\x41\"", DType::kString), "string [] {'line\\nA'}");
}

TEST(FeedValueTest, FillsHaveAShapeAndADTypeOfTheirOwn) {
  EXPECT_EQ(Read("2x1xf32=0.5", DType::kFloat), "float32 [2,1] {0.5, 0.5}");
  EXPECT_EQ(Read("i32=4", DType::kInt32), "int32 [] {4}");
  EXPECT_EQ(Read("2xstring=\"ab\"", DType::kString), "string [2] {'ab', 'ab'}");
  EXPECT_EQ(Read("0x3xf32=1", DType::kFloat), "float32 [0,3] {}");
  EXPECT_NE(Read("2xf64=0", DType::kFloat).find("found float64, expected float32"), std::string::npos);
  EXPECT_NE(Read("9999999x999999xf32=0", DType::kFloat).find("SLC7009"), std::string::npos);
}

TEST(FeedValueTest, FillsWithoutADTypeTakeThatOfTheFedTensor) {
  EXPECT_EQ(Read("2x1=0.5", DType::kFloat), "float32 [2,1] {0.5, 0.5}");
  EXPECT_EQ(Read("3=7", DType::kInt64), "int64 [3] {7, 7, 7}");
  EXPECT_EQ(Read("1x2=true", DType::kBool), "bool [1,2] {true, true}");
  EXPECT_EQ(Read("2=1+2j", DType::kComplex64), "complex64 [2] {(1,2), (1,2)}");
  EXPECT_EQ(Read("2x3=random:7", DType::kFloat), Read("2x3xf32=random:7", DType::kFloat));
  EXPECT_EQ(Read("2xcomplex64=1", DType::kComplex64), "complex64 [2] {(1,0), (1,0)}");
}

TEST(FeedValueTest, AWrongShapeOfAFillIsCalledThat) {
  for (const char* text : {"-1xf32=1", "2x-1xf32=1", "?x2xf32=1", "1.5x2=1", "99999999999999999999xf32=1"}) {
    const std::string error = Read(text, DType::kFloat);
    EXPECT_NE(error.find("is not a shape with a dtype such as 2x3xf32"), std::string::npos) << text << ": " << error;
    EXPECT_NE(error.find("is not a size"), std::string::npos) << error;
    EXPECT_NE(error.find("SLC4015"), std::string::npos) << error;
  }
  EXPECT_NE(Read("2x=1", DType::kFloat).find("a size or a dtype is missing"), std::string::npos);
  EXPECT_NE(Read("2x-1xf32=1", DType::kFloat).find("'-1' is not a size"), std::string::npos);
  EXPECT_NE(Read("NaNx2xf32=1", DType::kFloat).find("'NaNx2xf32' is not a dtype"), std::string::npos);
  EXPECT_NE(Read("2xf33=1", DType::kInt32).find("'f33' is not a dtype"), std::string::npos);
}

TEST(FeedValueTest, TextWithAnEqualsSignIsText) {
  EXPECT_EQ(Read("a=b", DType::kString), "string [] {'a=b'}");
  EXPECT_EQ(Read("2x3=c", DType::kString), "string [] {'2x3=c'}");
  EXPECT_EQ(Read("-1xf32=1", DType::kString), "string [] {'-1xf32=1'}");
  EXPECT_EQ(Read("\"2xstring=a\"", DType::kString), "string [] {'2xstring=a'}");
}

TEST(FeedValueTest, RandomFillsAreTheSameForTheSameSeedAndWithinTheirRange) {
  ASSERT_OK_AND_ASSIGN(const Tensor a, ReadFeedValue("1000xf32=random:7", DType::kFloat));
  ASSERT_OK_AND_ASSIGN(const Tensor b, ReadFeedValue("1000xf32=random:7", DType::kFloat));
  ASSERT_OK_AND_ASSIGN(const Tensor c, ReadFeedValue("1000xf32=random:8", DType::kFloat));
  EXPECT_EQ(a.bytes(), b.bytes());
  EXPECT_NE(a.bytes(), c.bytes());
  for (const float value : a.flat<float>()) EXPECT_TRUE(value >= 0 && value < 1) << value;
  ASSERT_OK_AND_ASSIGN(const Tensor ints, ReadFeedValue("1000xi8=random:1", DType::kInt8));
  for (const int8_t value : ints.flat<int8_t>()) EXPECT_TRUE(value >= 0 && value < 100) << int{value};
  EXPECT_NE(Read("2xstring=random:1", DType::kString).find("no random numbers"), std::string::npos);
  EXPECT_NE(Read("2xf32=random:x", DType::kFloat).find("is not a seed"), std::string::npos);
}

TEST(FeedValueTest, WhatCannotBeReadSaysWhy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[1,2", "a bracket is missing"},
      {"[1,2]]", "there is something after the value"},
      {"[[1,2],[3]]", "different lengths"},
      {"[1,[2]]", "a list should be"},
      {"[[1],2]", "a list should be"},
      {"", "there is no value"},
      {"1.5.2", "'1.5.2' is not a value of float32"},
      {"[1,]", "a value is missing"},
      {"\"1\"", "is not a value of float32"},
      {"\"1", "a quote is missing"},
      {"[1 2]", "a comma or a bracket"},
      {"[[1],[]]", "different lengths"},
      {std::string(300, '['), "too deeply"},
  };
  for (const auto& [text, why] : cases) {
    const std::string error = Read(text, DType::kFloat);
    EXPECT_NE(error.find(why), std::string::npos) << text << ": " << error;
    EXPECT_NE(error.find("SLC4015"), std::string::npos) << error;
  }
  EXPECT_NE(Read("300", DType::kUInt8).find("'300' is not a value of uint8"), std::string::npos);
  EXPECT_NE(Read("1.5", DType::kInt32).find("'1.5' is not a value of int32"), std::string::npos);
}

// Only who says "inf" means it.
TEST(FeedValueTest, NumbersBeyondTheRangeOfTheDTypeAreRefused) {
  const std::vector<std::pair<std::string, DType>> cases = {
      {"1e400", DType::kFloat},
      {"-1e400", DType::kFloat},
      {"3.5e38", DType::kFloat},
      {"1e400", DType::kDouble},
      {"-1e309", DType::kDouble},
      {"65520", DType::kHalf},
      {"-1e400", DType::kHalf},
      {"3.4e38", DType::kBFloat16},
      {"300", DType::kUInt8},
      {"-1", DType::kUInt8},
      {"-129", DType::kInt8},
      {"2147483648", DType::kInt32},
      {"9223372036854775808", DType::kInt64},
      {"18446744073709551616", DType::kUInt64},
      {"-1", DType::kUInt64},
      {"-1", DType::kUInt32},
      {"70000", DType::kUInt16},
      {"1e400", DType::kComplex64},
      {"1+1e39j", DType::kComplex64},
      {"-1e400-2j", DType::kComplex128},
  };
  for (const auto& [text, dtype] : cases) {
    const std::string why =
        "'" + text + "' is not a value of " + std::string(DTypeName(dtype)) + ": it is out of range";
    for (const std::string& value : {text, "[" + text + "]", "2=" + text}) {
      EXPECT_NE(Read(value, dtype).find(why), std::string::npos) << value << ": " << Read(value, dtype);
    }
  }
  EXPECT_EQ(Read("1.5", DType::kInt32).find("range"), std::string::npos);
  EXPECT_EQ(Read("1e400x", DType::kFloat).find("range"), std::string::npos);
}

TEST(FeedValueTest, InfinityAndNanInWordsAreValues) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBFloat16}) {
    for (const char* text : {"inf", "-inf", "+Inf", "INFINITY", "-Infinity"}) {
      EXPECT_NE(Read(text, dtype).find("inf}"), std::string::npos) << Read(text, dtype);
    }
    for (const char* text : {"nan", "NaN", "-nan"}) {
      EXPECT_NE(Read(text, dtype).find("nan}"), std::string::npos) << Read(text, dtype);
    }
  }
  EXPECT_EQ(Read("inf-infj", DType::kComplex64), "complex64 [] {(inf,-inf)}");
  EXPECT_EQ(Read("65504", DType::kHalf), "float16 [] {65504}");
  EXPECT_EQ(Read("1e-400", DType::kFloat), "float32 [] {0}");
}

TEST(FeedValueTest, FilesAreReadByTheirEnding) {
  const std::string stem = ::testing::TempDir() + "/feed_value";
  const Tensor two = Tensor::Vector<float>({1, 2});
  ASSERT_THAT(WriteFile(stem + ".npy", *WriteNpy(two)), IsOk());
  ASSERT_THAT(WriteFile(stem + ".npz", *WriteNpz({{"a", two}, {"b", Tensor::Scalar(3.0f)}})), IsOk());
  ASSERT_THAT(WriteFile(stem + ".pb", *EncodeTensorProto(two)), IsOk());
  EXPECT_EQ(Read("@" + stem + ".npy", DType::kFloat), "float32 [2] {1, 2}");
  EXPECT_EQ(Read("@" + stem + ".npz:b", DType::kFloat), "float32 [] {3}");
  EXPECT_EQ(Read("@" + stem + ".pb", DType::kFloat), "float32 [2] {1, 2}");
  EXPECT_NE(Read("@" + stem + ".npz", DType::kFloat).find("which array"), std::string::npos);
  EXPECT_NE(Read("@" + stem + ".npz", DType::kFloat).find("found 'a', 'b'"), std::string::npos);
  const std::string wrong = FormatError(ReadFeedValue("@" + stem + ".npy", DType::kInt32).status());
  EXPECT_NE(wrong.find("expected int32"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find("save x.astype('int32')"), std::string::npos) << wrong;
  EXPECT_NE(wrong.find(stem + ".npy"), std::string::npos) << wrong;
  EXPECT_NE(Read("@" + stem + ".none.npy", DType::kFloat).find("SLC1"), std::string::npos);
}

std::string JsonOf(const Tensor& tensor) {
  std::string text;
  const auto append = [&text](absl::string_view part) {
    text.append(part.data(), part.size());
    return absl::OkStatus();
  };
  EXPECT_THAT(WriteValueJson(tensor, append), IsOk());
  return text;
}

// What `sluice run --json` prints of `tensor`.
std::string ResultOf(const Tensor& tensor) {
  return absl::StrCat("{\"name\":\"y\",\"dtype\":\"", DTypeName(tensor.dtype()),
                      "\",\"shape\":", tensor.shape().ToString(), ",\"values\":", JsonOf(tensor), "}");
}

TEST(FeedValueTest, WhatJsonPrintsCanBeFed) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor tensors[] = {
      Tensor::Of<TString>(Shape::Of({2, 2}), {TString(absl::string_view("\xff\x00z", 3)), TString("a\"\\\n"),
                                              TString("\xc2\x9b"), TString("")}),
      Tensor::String("\xf3\xa0\x80\x81 tag"),
      Tensor::Of<float>(Shape::Of({4}), {0.1f, -0.0f, static_cast<float>(inf), static_cast<float>(-inf)}),
      Tensor::Of<double>(Shape::Of({2, 2}), {nan, inf, 1e-310, 0.1}),
      Tensor::Scalar(nan),
      Tensor::Of<bool>(Shape::Of({2}), {true, false}),
      Tensor::Of<int64_t>(Shape::Of({2}), {(int64_t{1} << 53) + 1, std::numeric_limits<int64_t>::min()}),
      Tensor::Scalar(std::numeric_limits<uint64_t>::max()),
      Tensor::Of<std::complex<float>>(Shape::Of({2}), {{1, -2}, {static_cast<float>(nan), static_cast<float>(-inf)}}),
      Tensor::Scalar(std::complex<double>(0.1, 3)),
      Tensor::Of<float>(Shape::Of({0, 3}), {}),
      Tensor::Of<std::complex<double>>(Shape::Of({2, 0}), {}),
      Tensor::Of<TString>(Shape::Of({0}), {}),
      Tensor::Of<Half>(Shape::Of({2}), {Half(0.1f), Half(65504)}),
      Tensor::Of<int8_t>(Shape::Of({1, 1}), {int8_t{-128}}),
  };
  for (const Tensor& tensor : tensors) {
    const absl::StatusOr<Tensor> whole = ReadFeedValue(ResultOf(tensor), tensor.dtype());
    ASSERT_THAT(whole, IsOk()) << ResultOf(tensor);
    EXPECT_EQ(whole->shape(), tensor.shape());
    EXPECT_EQ(JsonOf(*whole), JsonOf(tensor));
    EXPECT_EQ(whole->ToString(20), tensor.ToString(20));
    if (tensor.num_elements() == 0) continue;  // "[]" does not say which shape it is.
    const PartialShape known = PartialShape::From(tensor.shape());
    const absl::StatusOr<Tensor> values = ReadFeedValue(JsonOf(tensor), tensor.dtype(), LoadLimits(), known);
    // Bare text needs no quotes, and only quotes that enclose it are removed.
    ASSERT_THAT(values, IsOk()) << JsonOf(tensor);
    EXPECT_EQ(values->ToString(20), tensor.ToString(20));
  }
}

TEST(FeedValueTest, ObjectsThatAreNoValuesAreRefused) {
  for (const char* text :
       {"[{\"b64\":\"?\"}]", "[{\"b65\":\"AA==\"}]", "[{\"b64\":\"AA==\"]", "[{]", "[{\"b64\":3}]"}) {
    EXPECT_NE(Read(text, DType::kString).find("SLC4015"), std::string::npos) << text;
  }
  EXPECT_NE(Read("{\"b64\":\"AA==\"}", DType::kFloat).find("SLC4015"), std::string::npos);
  EXPECT_NE(Read("{\"shape\":[2],\"values\":[1]}", DType::kFloat).find("SLC4015"), std::string::npos);
  EXPECT_NE(Read("{\"shape\":[1099511627776],\"values\":[1]}", DType::kFloat).find("too large"), std::string::npos);
  EXPECT_NE(Read("{\"dtype\":\"int32\",\"values\":[1]}", DType::kFloat).find("wrong dtype"), std::string::npos);
  EXPECT_EQ(Read("{not an object", DType::kString), "string [] {'{not an object'}");
}

TEST(FeedValueTest, ExamplesCanBeRead) {
  for (const DType dtype : {DType::kFloat, DType::kInt32, DType::kBool, DType::kComplex64}) {
    for (const PartialShape& shape : {PartialShape(), PartialShape::Scalar(), PartialShape::Of({-1, 3})}) {
      EXPECT_THAT(ReadFeedValue(ExampleFeedValue(dtype, shape), dtype), IsOk()) << ExampleFeedValue(dtype, shape);
    }
  }
  EXPECT_EQ(ExampleFeedValue(DType::kFloat, PartialShape::Of({-1, 64})), "1x64xfloat32=random:7");
}

}  // namespace
}  // namespace sluice
