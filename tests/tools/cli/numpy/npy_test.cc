#include "tools/cli/numpy/npy.h"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A .npy file with the dictionary `dict` and `data`.
std::string File(absl::string_view dict, absl::string_view data, int version = 1) {
  std::string out = "\x93NUMPY";
  out.push_back(static_cast<char>(version));
  out.push_back(0);
  out.push_back(static_cast<char>(dict.size()));
  out.push_back(static_cast<char>(dict.size() >> 8));
  if (version > 1) out.append(2, '\0');
  return absl::StrCat(out, dict, data);
}

std::string Dict(absl::string_view descr, absl::string_view shape, bool columns_first = false) {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", columns_first ? "True" : "False",
                      ", 'shape': ", shape, ", }\n");
}

absl::StatusOr<Tensor> Read(absl::string_view descr, absl::string_view shape, absl::string_view data) {
  return ReadNpy(File(Dict(descr, shape), data));
}

TEST(NpyTest, AllFormatVersionsAreRead) {
  for (const int version : {1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(const Tensor tensor,
                         ReadNpy(File(Dict("<i2", "(2, 1)"), absl::string_view("\1\0\2\0", 4), version)));
    EXPECT_EQ(tensor.ToString(), "int16 [2,1] {1, 2}");
  }
  EXPECT_THAT(ReadNpy(File(Dict("<i2", "()"), "ab", 4)), IsError(ErrorCode::kNumpy, "version 4"));
  EXPECT_THAT(ReadNpy(File(Dict("<i2", "()"), "ab", 0)), IsError(ErrorCode::kNumpy));
}

TEST(NpyTest, BothByteOrdersAreRead) {
  const std::string big("\x3f\x80\0\0\x40\0\0\0", 8);
  ASSERT_OK_AND_ASSIGN(const Tensor f4, Read(">f4", "(2,)", big));
  EXPECT_EQ(f4.ToString(), "float32 [2] {1, 2}");
  ASSERT_OK_AND_ASSIGN(const Tensor c8, Read(">c8", "()", big));
  EXPECT_EQ(c8.ToString(), "complex64 [] {(1,2)}");
  ASSERT_OK_AND_ASSIGN(const Tensor i2, Read(">i2", "(4,)", big));
  EXPECT_EQ(i2.ToString(), "int16 [4] {16256, 0, 16384, 0}");
  ASSERT_OK_AND_ASSIGN(const Tensor u1, Read(">u1", "(2,)", "ab"));
  EXPECT_EQ(u1.ToString(), "uint8 [2] {97, 98}");
}

TEST(NpyTest, ColumnsFirstBecomesRowsFirst) {
  // numpy.asfortranarray(numpy.arange(6, dtype='u1').reshape(2, 3))
  const std::string two(File(Dict("|u1", "(2, 3)", true), absl::string_view("\0\3\1\4\2\5", 6)));
  ASSERT_OK_AND_ASSIGN(const Tensor matrix, ReadNpy(two));
  EXPECT_EQ(matrix.ToString(), "uint8 [2,3] {0, 1, 2, 3, 4, 5}");
  // A cube: element (i, j, k) stands at i + 2 j + 6 k.
  std::string stored(24, '\0');
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k)
        stored[static_cast<size_t>(i + 2 * j + 6 * k)] = static_cast<char>(12 * i + 4 * j + k);
    }
  }
  ASSERT_OK_AND_ASSIGN(const Tensor cube, ReadNpy(File(Dict("|i1", "(2, 3, 4)", true), stored)));
  for (int i = 0; i < 24; ++i) EXPECT_EQ(cube.flat<int8_t>()[static_cast<size_t>(i)], i);
  EXPECT_OK(ReadNpy(File(Dict("<f8", "(0, 3)", true), "")));
}

TEST(NpyTest, TextBecomesStrings) {
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, Read("|S2", "(3,)", absl::string_view("abc\0\0\0", 6)));
  EXPECT_EQ(bytes.ToString(), "string [3] {'ab', 'c', ''}");
  const std::string little("a\0\0\0\xe9\0\0\0b\0\0\0\0\0\0\0", 16);
  ASSERT_OK_AND_ASSIGN(const Tensor unicode, Read("<U2", "(2,)", little));
  EXPECT_EQ(unicode.flat<TString>()[0].view(), "a\xc3\xa9");
  EXPECT_EQ(unicode.flat<TString>()[1].view(), "b");
  ASSERT_OK_AND_ASSIGN(const Tensor big, Read(">U1", "()", absl::string_view("\0\1\xf6\0", 4)));
  EXPECT_EQ(big.flat<TString>()[0].view(), "\xf0\x9f\x98\x80");
  ASSERT_OK_AND_ASSIGN(const Tensor none, Read("|S0", "(2,)", ""));
  EXPECT_EQ(none.ToString(), "string [2] {'', ''}");
  EXPECT_THAT(Read("<U1", "()", absl::string_view("\0\xd8\0\0", 4)), IsError(ErrorCode::kNumpy, "code point"));
  EXPECT_THAT(Read("<U1", "()", absl::string_view("\0\0\x11\0", 4)), IsError(ErrorCode::kNumpy));
}

TEST(NpyTest, BoolsAreZeroOrOne) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Read("|b1", "(3,)", absl::string_view("\0\1\7", 3)));
  EXPECT_EQ(tensor.bytes(), absl::string_view("\0\1\1", 3));
}

TEST(NpyTest, EveryDTypeOfNumPySurvivesTheRoundTrip) {
  for (int number = 1; number <= 23; ++number) {
    const DType dtype = DTypeFromNumber(number);
    for (const Shape& shape : {Shape(), Shape::Of({5}), Shape::Of({2, 3}), Shape::Of({0, 3})}) {
      const Tensor tensor = *Tensor::MakeZeros(dtype, shape);
      const absl::StatusOr<std::string> file = WriteNpy(tensor);
      const bool has_numpy =
          !IsQuantized(dtype) && dtype != DType::kBFloat16 && dtype != DType::kResource && dtype != DType::kVariant;
      ASSERT_EQ(file.ok(), has_numpy) << DTypeName(dtype);
      if (!has_numpy) continue;
      ASSERT_OK_AND_ASSIGN(const Tensor again, ReadNpy(*file));
      EXPECT_EQ(again.ToString(), tensor.ToString());
      EXPECT_EQ(file->find('\n') % 64, 63u);
    }
  }
  EXPECT_THAT(WriteNpy(Tensor::Scalar(BFloat16(1))), IsError(ErrorCode::kNumpy, "bfloat16"));
}

TEST(NpyTest, StringsAreWrittenAsTheLongest) {
  const Tensor tensor = Tensor::Strings({"ab", "", absl::string_view("c\0d", 3)});
  ASSERT_OK_AND_ASSIGN(const std::string file, WriteNpy(tensor));
  EXPECT_NE(file.find("'|S3'"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const Tensor again, ReadNpy(file));
  EXPECT_EQ(again.ToString(), tensor.ToString());
  EXPECT_THAT(WriteNpy(Tensor::String(absl::string_view("a\0", 2))), IsError(ErrorCode::kNumpy, "zero byte"));
}

TEST(NpyTest, DTypesWithoutCounterpartAreExplained) {
  EXPECT_THAT(Read("|V2", "()", "ab"), IsError(ErrorCode::kNumpy, "bfloat16"));
  EXPECT_THAT(Read("<V2", "()", "ab"), IsError(ErrorCode::kNumpy, "bfloat16"));
  EXPECT_THAT(Read("|O", "()", "ab"), IsError(ErrorCode::kNumpy, "pickled"));
  EXPECT_THAT(Read("<M8[D]", "()", "12345678"), IsError(ErrorCode::kNumpy, "dates"));
  EXPECT_THAT(Read("<f16", "()", "0123456789abcdef"), IsError(ErrorCode::kNumpy, "<f16"));
  for (const absl::string_view descr : {"", "<", "f", "S", "S-1", "U99999999999", "<f4x", "x4"}) {
    EXPECT_THAT(Read(descr, "()", "abcd"), IsError(ErrorCode::kNumpy)) << descr;
  }
  const std::string record = "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }";
  EXPECT_THAT(ReadNpy(File(record, "abcd")), IsError(ErrorCode::kNumpy, "record"));
}

TEST(NpyTest, MalformedHeadersAreRefused) {
  for (const absl::string_view dict :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "{'descr': '<f4', 'fortran_order': False, 'shape': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (--1,)}", "{'descr' '<f4'}", "{'descr': '<f4"}) {
    EXPECT_THAT(ReadNpy(File(dict, "abcd")), IsError(ErrorCode::kNumpy)) << dict;
  }
  EXPECT_OK(ReadNpy(File("{\"shape\":(1L,),'descr':\"<f4\",'fortran_order':False}", "abcd")));
  EXPECT_THAT(ReadNpy("PK\3\4 and so on"), IsError(ErrorCode::kNumpy, ".npz"));
  EXPECT_THAT(ReadNpy(""), IsError(ErrorCode::kNumpy));
}

TEST(NpyTest, SizesAreCheckedBeforeMemoryIsTaken) {
  EXPECT_THAT(Read("<f4", "(4,)", "0123456789ab"), IsError(ErrorCode::kNumpy, "12 bytes of data, expected 16"));
  EXPECT_THAT(Read("<f4", "(1,)", "01234"), IsError(ErrorCode::kNumpy, "5 bytes"));
  const int64_t live = HostAllocatorLiveBytes();
  EXPECT_THAT(Read("<f4", "(1000000000000,)", "0123"), IsError(ErrorCode::kNumpy));
  EXPECT_THAT(Read("<f4", "(4611686018427387904,)", "0123"), IsError(ErrorCode::kNumpy));
  EXPECT_THAT(Read("<f4", "(9223372036854775807, 9)", "0123"), IsError(ErrorCode::kNumpy));
  EXPECT_THAT(Read("<f4", "(-1,)", "0123"), IsError(ErrorCode::kNumpy, "-1"));
  EXPECT_THAT(Read("|S0", "(1000000000000,)", ""), IsError(ErrorCode::kTensorTooLarge));
  EXPECT_THAT(Read("<U2000000000", "(4611686018427387904,)", ""), IsError(ErrorCode::kNumpy));
  EXPECT_EQ(HostAllocatorLiveBytes(), live);
}

TEST(NpyTest, LargeArraysAreSharedWithTheirOwner) {
  const Tensor tensor = Tensor::Vector<double>(std::vector<double>(500, 1.5));
  ReadNpyOptions options;
  auto owner = std::make_shared<const std::string>(*WriteNpy(tensor));
  options.owner = owner;
  ASSERT_OK_AND_ASSIGN(const Tensor shared, ReadNpy(*owner, options));
  EXPECT_EQ(static_cast<const char*>(shared.raw_data()) + shared.total_bytes(), owner->data() + owner->size());
  EXPECT_FALSE(shared.IsUniquelyOwned());
  ASSERT_OK_AND_ASSIGN(const Tensor copied, ReadNpy(*owner));
  EXPECT_TRUE(copied.IsUniquelyOwned());
  EXPECT_EQ(copied.bytes(), shared.bytes());
}

TEST(NpyTest, ATensorWithoutAValueIsAnError) {
  EXPECT_THAT(WriteNpy(Tensor()).status(), IsError(ErrorCode::kNumpy, "without a value"));
}

TEST(NpyTest, TruncationAndNoiseNeverCrash) {
  std::mt19937 random(5);
  for (const std::string& file : {*WriteNpy(Tensor::Vector<float>({1, 2, 3, 4, 5})), *WriteNpy(Tensor::Strings({"ab"})),
                                  File(Dict("<U3", "(2, 2)", true), std::string(48, '\0'))}) {
    for (size_t size = 0; size < file.size(); ++size) EXPECT_FALSE(ReadNpy(file.substr(0, size)).ok());
    for (int round = 0; round < 3000; ++round) {
      std::string noisy = file;
      for (int i = 0; i < 2; ++i) noisy[random() % noisy.size()] = static_cast<char>(random());
      (void)ReadNpy(noisy);
    }
  }
}

}  // namespace
}  // namespace sluice
