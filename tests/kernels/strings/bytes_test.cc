// AsString, StringToHashBucket and its kin, DecodeRaw, ParseTensor, SerializeTensor, StringLength. Answers are
// TensorFlow's (2.19).

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/string_hash.h"
#include "tests/kernels/checkpoint/bundle_values.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Code = absl::StatusCode;
using Texts = std::vector<std::string>;

Texts Values(const absl::StatusOr<Tensor>& tensor) {
  if (!tensor.ok()) return {tensor.status().ToString()};
  Texts texts;
  for (const TString& text : tensor->flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

struct Format {
  int64_t precision = -1, width = -1;
  std::string fill;
  bool scientific = false, shortest = false;
};

absl::StatusOr<Tensor> AsString(const Tensor& value, const Format& format) {
  return KernelRunner("AsString")
      .Attr("precision", format.precision)
      .Attr("width", format.width)
      .Attr("fill", format.fill)
      .Attr("scientific", format.scientific)
      .Attr("shortest", format.shortest)
      .Run1({value});
}

TEST(AsStringTest, NumbersAreWrittenAsPrintfDoes) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor floats = Tensor::Vector<float>({-0.0f, 1.5f, 1e20f, std::nanf(""), -inf});
  EXPECT_EQ(Values(AsString(floats, {})),
            (Texts{"-0.000000", "1.500000", "100000002004087734272.000000", "nan", "-inf"}));
  EXPECT_EQ(Values(AsString(floats, {3, -1, "", false, true})), (Texts{"-0", "1.5", "1e+20", "nan", "-inf"}));
  EXPECT_EQ(Values(AsString(floats, {0, -1, "", true, false})), (Texts{"-0e+00", "2e+00", "1e+20", "nan", "-inf"}));
  EXPECT_EQ(Values(AsString(floats, {-1, 9, "+"})),
            (Texts{"-0.000000", "+1.500000", "+100000002004087734272.000000", "     +nan", "     -inf"}));
  EXPECT_EQ(Values(AsString(floats, {2, 12, "-"}))[1], "1.50        ");
  EXPECT_EQ(Values(AsString(floats, {1, -1, "+"}))[1], "+1.5");  // What fills does not need a width.
  EXPECT_EQ(Values(AsString(floats, {1, -1, " "}))[1], " 1.5");
  EXPECT_EQ(Values(AsString(floats, {70, -1, ""}))[1].size(), 72u);
  const Tensor ints = Tensor::Vector<int64_t>({std::numeric_limits<int64_t>::min(), 7});
  EXPECT_EQ(Values(AsString(ints, {-1, 5, "0"})), (Texts{"-9223372036854775808", "00007"}));
  EXPECT_EQ(Values(AsString(Tensor::Vector<uint8_t>({255, 7}), {-1, 5, "+"})), (Texts{"  255", "    7"}));
  const Tensor complex = Tensor::Vector<std::complex<float>>({{1, -2.5f}});
  EXPECT_EQ(Values(AsString(complex, {2, -1, ""})), Texts{"(1.00,-2.50)"});
  EXPECT_EQ(Values(AsString(Tensor::Scalar(true), {-1, 8, "0"})), Texts{"true"});
  const std::string zero("\xff\0x", 3);
  EXPECT_EQ(Values(AsString(Tensor::String(zero), {})), Texts{zero});
  EXPECT_EQ(Values(AsString(Tensor::String(zero), {-1, 4, "-"})), Texts{"\xff   "});
  EXPECT_EQ(Values(AsString(Tensor::String(zero), {-1, 0, "-"})), Texts{zero});
  EXPECT_EQ(Values(AsString(Tensor::String("abcde"), {2, 4, ""})), Texts{"  ab"});
  EXPECT_EQ(Values(AsString(Tensor::String("abcde"), {2, -1, ""})), Texts{"abcde"});
}

TEST(AsStringTest, FormatsThatMakeNoSenseAreRefused) {
  const Tensor one = Tensor::Scalar(1.0f), integer = Tensor::Scalar<int32_t>(1);
  for (const Format& format : std::vector<Format>{{-1, -1, "", true, true},
                                                  {-1, 8, "ab"},
                                                  {-1, 4, "x"},
                                                  {-1, 4, "%"},
                                                  {-1, int64_t{1} << 40, ""},
                                                  {int64_t{1} << 40, -1, ""}}) {
    EXPECT_THAT(AsString(one, format), StatusIs(Code::kInvalidArgument)) << format.fill << format.width;
  }
  EXPECT_THAT(AsString(integer, {2, -1, ""}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(AsString(integer, {-1, -1, "", true}), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(AsString(Tensor::Scalar(true), {-1, -1, "", false, true}), StatusIs(Code::kInvalidArgument));
}

// Buckets of 2^62 that TensorFlow gave.
TEST(HashBucketTest, HashesAreThoseOfTensorFlow) {
  const std::vector<std::string> texts = {"", "a", "hello", std::string("\xff\0", 2), std::string(100, 'x')};
  const std::vector<int64_t> fast = {1936946117179621455, 3694432073954588131, 3786372426573024488, 220203550205093463,
                                     1978794067220662815};
  const std::vector<int64_t> plain = {105434511174508091, 2996632905371535868, 1331861223480393034, 4373544919224927576,
                                      1482511825497849095};
  const std::vector<int64_t> strong = {443797209252341627, 546566331822570742, 2957200328589801622, 3391131979907325893,
                                       1638981394980189463};
  Tensor input = Tensor::Make(DType::kString, Shape::Of({5, 1})).value();
  for (size_t i = 0; i < texts.size(); ++i) input.flat<TString>()[i].assign(texts[i]);
  constexpr int64_t kBuckets = int64_t{1} << 62;
  const auto buckets = [&](const char* op, const std::vector<int64_t>& want) {
    KernelRunner runner(op);
    runner.Attr("num_buckets", kBuckets);
    if (std::string(op) == "StringToHashBucketStrong") runner.Attr("key", std::vector<int64_t>{1, 2});
    ASSERT_OK_AND_ASSIGN(const Tensor found, runner.Run1({input}));
    EXPECT_EQ(found.shape(), input.shape());
    EXPECT_EQ(std::vector<int64_t>(found.flat<int64_t>().begin(), found.flat<int64_t>().end()), want) << op;
  };
  buckets("StringToHashBucketFast", fast);
  buckets("StringToHashBucket", plain);
  buckets("StringToHashBucketStrong", strong);
  EXPECT_THAT(KernelRunner("StringToHashBucketStrong")
                  .Attr("num_buckets", 10)
                  .Attr("key", std::vector<int64_t>{1})
                  .Run1({input}),
              StatusIs(Code::kInvalidArgument));
}

// One text of each length, so that every way through the hash is taken, and none reads past the end.
TEST(HashBucketTest, TextsOfAllLengthsHaveTheirHash) {
  std::vector<uint64_t> seen;
  const std::string text(300, 'q');
  for (size_t size = 0; size <= text.size(); ++size) {
    const std::string exact = text.substr(0, size);
    for (const uint64_t hash : {FarmHash64(exact), MurmurHash(exact), SipHash(exact, 1, 2)}) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), hash), 0) << size;
      seen.push_back(hash);
    }
  }
}

TEST(DecodeRawTest, BytesBecomeNumbers) {
  const auto decode = [](const Tensor& bytes, DType dtype, bool little_endian = true) {
    return KernelRunner("DecodeRaw").Attr("out_type", dtype).Attr("little_endian", little_endian).Run1({bytes});
  };
  const Tensor two = Tensor::Strings({"\1\2\3\4", absl::string_view("\0\0\0\1", 4)});
  EXPECT_TRUE(AreEqual(*decode(two, DType::kInt16), Tensor::Of<int16_t>(Shape::Of({2, 2}), {513, 1027, 0, 256})));
  EXPECT_TRUE(AreEqual(*decode(two, DType::kInt16, false), Tensor::Of<int16_t>(Shape::Of({2, 2}), {258, 772, 0, 1})));
  EXPECT_TRUE(AreEqual(*decode(Tensor::String(absl::string_view("\0\1\2", 3)), DType::kBool),
                       Tensor::Vector<bool>({false, true, true})));
  EXPECT_EQ(decode(Tensor::Make(DType::kString, Shape::Of({3, 0})).value(), DType::kInt16)->shape(),
            Shape::Of({3, 0, 0}));
  EXPECT_EQ(decode(Tensor::Strings({"", ""}), DType::kInt16)->shape(), Shape::Of({2, 0}));
  EXPECT_THAT(decode(Tensor::Strings({"abc"}), DType::kInt16), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(decode(Tensor::Strings({"ab", "abcd"}), DType::kInt16), StatusIs(Code::kInvalidArgument));
}

TEST(SerializeTensorTest, BytesAreThoseOfTensorFlow) {
  const auto bytes = [](const Tensor& value) { return Values(KernelRunner("SerializeTensor").Run1({value}))[0]; };
  EXPECT_EQ(bytes(Tensor::Scalar(1.0f)), std::string("\x08\x01\x12\x00\"\x04\x00\x00\x80?", 10));
  EXPECT_EQ(bytes(Tensor::Vector<bool>({true, false})),
            std::string("\x08\n\x12\x04\x12\x02\x08\x02\"\x02\x01\x00", 12));
  EXPECT_EQ(bytes(Tensor::Strings({"a", "b"})),
            "\x08\x07\x12\x04\x12\x02\x08\x02"
            "B\x01"
            "aB\x01"
            "b");
  EXPECT_EQ(bytes(Tensor::Make(DType::kFloat, Shape::Of({0, 2})).value()),
            std::string("\x08\x01\x12\x06\x12\x00\x12\x02\x08\x02", 10));
  const auto parse = [](const Tensor& text, DType dtype) {
    return KernelRunner("ParseTensor").Attr("out_type", dtype).Run1({text});
  };
  const Tensor value = Tensor::Of<int32_t>(Shape::Of({1, 2}), {5, -6});
  EXPECT_TRUE(AreEqual(*parse(Tensor::String(bytes(value)), DType::kInt32), value));
  EXPECT_THAT(parse(Tensor::String(bytes(value)), DType::kFloat), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(parse(Tensor::Strings({bytes(value)}), DType::kInt32), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(parse(Tensor::String(""), DType::kInt32), StatusIs(Code::kInvalidArgument));
  const std::string whole = bytes(value);
  for (size_t size = 0; size < whole.size(); ++size) {
    const absl::StatusOr<Tensor> cut = parse(Tensor::String(whole.substr(0, size)), DType::kInt32);
    EXPECT_TRUE(cut.ok() || cut.status().code() == Code::kInvalidArgument) << cut.status();
  }
}

TEST(StringLengthTest, BytesAndCharactersAreCounted) {
  const Tensor texts = Tensor::Strings({"a", "\xc3\xa4\xc3\xb6", "\xff", "\x80\x80", "\xf0\x9f\x98\x80x"});
  const auto lengths = [&texts](const char* unit) {
    return KernelRunner("StringLength").Attr("unit", unit).Run1({texts});
  };
  EXPECT_TRUE(AreEqual(*lengths("BYTE"), Tensor::Vector<int32_t>({1, 4, 1, 2, 5})));
  EXPECT_TRUE(AreEqual(*lengths("UTF8_CHAR"), Tensor::Vector<int32_t>({1, 2, 1, 0, 2})));
}

}  // namespace
}  // namespace sluice
