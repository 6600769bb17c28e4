// DecodeCSV, DecodeCompressed and DecodePaddedRaw: values recorded from TensorFlow 2.19, errors, damaged bytes.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

Tensor Strings(const std::vector<absl::string_view>& texts) { return Tensor::Strings(texts); }
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

// One record of two columns of text.
absl::StatusOr<std::vector<Tensor>> Csv(absl::string_view record, bool has_quotes = true) {
  return KernelRunner("DecodeCSV")
      .Attr("OUT_TYPE", std::vector<DType>{DType::kString, DType::kString})
      .Attr("use_quote_delim", has_quotes)
      .Run({Strings({record}), Strings({"d"}), Strings({"e"})});
}

struct CsvRow {
  absl::string_view record, first, second;
};

TEST(DecodeCsvTest, SplitsRecords) {
  constexpr CsvRow kRows[] = {
      {"a,b", "a", "b"},       {"\"a,b\",c", "a,b", "c"}, {"\"a\"\"b\",", "a\"b", "e"}, {",", "d", "e"},
      {"\"\",\"\"", "d", "e"}, {"\n\ra,\nb", "a", "b"},   {"\"a\nb\",c", "a\nb", "c"},  {" a ,b", " a ", "b"},
  };
  for (const CsvRow& row : kRows) {
    const auto columns = Csv(row.record);
    ASSERT_OK(columns) << row.record;
    EXPECT_EQ(TextsOf((*columns)[0])[0], row.first) << row.record;
    EXPECT_EQ(TextsOf((*columns)[1])[0], row.second) << row.record;
  }
  EXPECT_THAT(TextsOf(Csv("\"a,b\"", false).value()[0]), ElementsAre("\"a"));
  for (const absl::string_view bad :
       {"", "a", "a,b,c", "a\"b,c", "\"a,b", "\"a\"b,c", " \"a\",b", "a,\"", "a\n,b", "\"\"a,b"}) {
    EXPECT_THAT(Csv(bad), IsError(ErrorCode::kOpValue)) << bad;
  }
}

TEST(DecodeCsvTest, ColumnsHaveTypesAndDefaults) {
  KernelRunner runner("DecodeCSV");
  runner.Attr("OUT_TYPE", std::vector<DType>{DType::kInt32, DType::kFloat}).Attr("na_value", "NA");
  const auto run = [&runner](absl::string_view record) {
    return runner.Run({Strings({record}), Ints({7}), Tensor::Vector<float>(std::vector<float>{})});
  };
  ASSERT_OK_AND_ASSIGN(const auto columns, run("NA, 1e3 "));
  EXPECT_THAT(Values<int32_t>(columns[0]), ElementsAre(7));
  EXPECT_THAT(Values<float>(columns[1]), ElementsAre(1000.0f));
  EXPECT_THAT(run("1,"), IsError(ErrorCode::kOpValue, "required"));
  EXPECT_THAT(run("1.5,2"), IsError(ErrorCode::kOpValue, "int32"));
  EXPECT_THAT(run("99999999999,2"), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(runner.Run({Strings({"1,2"}), Ints({7, 8}), Tensor::Scalar(1.0f)}), IsError(ErrorCode::kOpShape));
}

TEST(DecodeCsvTest, SelectsColumns) {
  KernelRunner runner("DecodeCSV");
  runner.Attr("OUT_TYPE", std::vector<DType>{DType::kInt32}).Attr("select_cols", std::vector<int64_t>{1});
  ASSERT_OK_AND_ASSIGN(const auto columns, runner.Run({Strings({"x,5,\"", "\"a,b\",6"}), Ints({})}));
  EXPECT_THAT(Values<int32_t>(columns[0]), ElementsAre(5, 6));
  for (const std::vector<int64_t>& bad : std::vector<std::vector<int64_t>>{{-1}, {1, 2}}) {
    KernelRunner refused("DecodeCSV");
    refused.Attr("OUT_TYPE", std::vector<DType>{DType::kInt32}).Attr("select_cols", bad);
    EXPECT_THAT(refused.Run({Strings({"1"}), Ints({})}), IsError(ErrorCode::kOpAttr));
  }
  KernelRunner delimiter("DecodeCSV");
  delimiter.Attr("OUT_TYPE", std::vector<DType>{DType::kInt32}).Attr("field_delim", "ab");
  EXPECT_THAT(delimiter.Run({Strings({"1"}), Ints({})}), IsError(ErrorCode::kOpAttr));
}

// "hello" ten times, by zlib; and "abc", by gzip.
const absl::string_view kZlib("\x78\x9c\xcbH\xcd\xc9\xc9\xcf \x85\x00\x00\x11j\x14\xc9", 16);
const absl::string_view kGzip("\x1f\x8b\x08\x00R\xa2\x03k\x02\xffKLJ\x06\x00\xc2\x41$5\x03\x00\x00\x00", 23);

absl::StatusOr<std::vector<Tensor>> Decompress(const std::string& type, absl::string_view bytes) {
  return KernelRunner("DecodeCompressed").Attr("compression_type", type).Run({Strings({bytes})});
}

TEST(DecodeCompressedTest, Unpacks) {
  EXPECT_EQ(TextsOf(Decompress("ZLIB", kZlib).value()[0])[0], "hellohellohellohellohellohellohellohellohellohello");
  EXPECT_EQ(TextsOf(Decompress("GZIP", kGzip).value()[0])[0], "abc");
  EXPECT_EQ(TextsOf(Decompress("GZIP", std::string(kGzip) + std::string(kGzip)).value()[0])[0], "abcabc");
  EXPECT_EQ(TextsOf(Decompress("ZLIB", std::string(kZlib) + "junk").value()[0])[0].size(), 50u);
  EXPECT_EQ(TextsOf(Decompress("ZLIB", kZlib.substr(0, 12)).value()[0])[0].size(), 50u);  // Without its checksum.
  EXPECT_EQ(TextsOf(Decompress("", "as it is").value()[0])[0], "as it is");
  EXPECT_EQ(TextsOf(Decompress("GZIP", "").value()[0])[0], "");
  EXPECT_THAT(Decompress("ZLIB", kGzip), StatusIs(absl::StatusCode::kDataLoss, "element 0"));
  EXPECT_THAT(Decompress("GZIP", std::string(kGzip) + "junk"), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(Decompress("snappy", "a"), IsError(ErrorCode::kOpAttr));
}

TEST(DecodeCompressedTest, DamagedBytesAreRefusedOrUnpacked) {
  std::mt19937 random(3);
  for (int i = 0; i < 10000; ++i) {
    std::string damaged(i % 2 == 0 ? kZlib : kGzip);
    damaged[random() % damaged.size()] ^= static_cast<char>(1u << random() % 8);
    damaged.resize(random() % 4 == 0 ? random() % damaged.size() : damaged.size());
    const auto texts = Decompress(i % 2 == 0 ? "ZLIB" : "GZIP", damaged);
    EXPECT_TRUE(texts.ok() || texts.status().code() == absl::StatusCode::kDataLoss) << texts.status();
  }
}

TEST(DecodePaddedRawTest, RowsAreFilledUpAndCut) {
  KernelRunner runner("DecodePaddedRaw");
  runner.Attr("out_type", DType::kInt16);
  ASSERT_OK_AND_ASSIGN(const Tensor little, runner.Run1({Strings({"", "abc", "abcdef"}), Int(4)}));
  EXPECT_THAT(Values<int16_t>(little), ElementsAre(0, 0, 25185, 99, 25185, 25699));
  KernelRunner big("DecodePaddedRaw");
  big.Attr("out_type", DType::kInt16).Attr("little_endian", false);
  ASSERT_OK_AND_ASSIGN(const Tensor swapped, big.Run1({Strings({"abc"}), Int(4)}));
  EXPECT_THAT(Values<int16_t>(swapped), ElementsAre(24930, 25344));
  for (const int32_t length : {0, -2, 3}) {
    EXPECT_THAT(runner.Run({Strings({"a"}), Int(length)}), IsError(ErrorCode::kOpValue)) << length;
  }
  EXPECT_THAT(runner.Run({Strings({"a"}), Ints({4})}), IsError(ErrorCode::kOpShape));
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  runner.run().allocator = &allocator;
  EXPECT_THAT(runner.Run({Strings({"a"}), Int(2147483646)}), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace sluice
