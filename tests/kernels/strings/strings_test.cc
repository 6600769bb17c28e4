// The ops on strings: values recorded from TensorFlow 2.19, work in place and in shards, errors.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
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
using ::testing::IsEmpty;
using Texts = std::vector<absl::string_view>;

Tensor Strings(const Texts& texts) { return Tensor::Strings(texts); }
Tensor Matrix(std::initializer_list<int64_t> dims, const Texts& texts) {
  return Tensor::Strings(texts).Reshaped(Shape::Of(dims)).value();
}
std::vector<std::string> TextsOf(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

// A call with one string output, for strings, none, one of many, in place.
struct ChangeRow {
  const char* op;
  PreparedKernel::Attrs attrs;
  absl::string_view from, to;
};

KernelRunner RunnerOf(const ChangeRow& row) {
  KernelRunner runner(row.op);
  for (const auto& [name, value] : row.attrs) runner.Attr(name, value);
  return runner;
}

TEST(StringsTest, ChangesEachString) {
  const ChangeRow rows[] = {
      {"StringLower", {}, "ÄbC\xff", "Äbc\xff"},
      {"StringLower", {{"encoding", "utf-8"}}, "ÄİΑΣ Σ\xff", "äi̇ας σ\xef\xbf\xbd"},
      {"StringUpper", {}, "äbC\xff", "äBC\xff"},
      {"StringUpper", {{"encoding", "utf-8"}}, "äßŉ\xe2\x82", "ÄSSʼN\xef\xbf\xbd"},
      {"StringStrip", {}, "\t a b\v\n", "a b"},
      {"EncodeBase64", {}, "\xff\xfe\xfd\xfb", "__79-w"},
      {"EncodeBase64", {{"pad", true}}, "\xff\xfe\xfd\xfb", "__79-w=="},
      {"DecodeBase64", {}, "__79-w==", "\xff\xfe\xfd\xfb"},
      {"DecodeBase64", {}, "YWJjZA", "abcd"},
      {"StaticRegexReplace", {{"pattern", "(a)(b)"}, {"rewrite", "\\2\\1"}}, "xabab", "xbaba"},
      {"StaticRegexReplace", {{"pattern", "a"}, {"rewrite", "-"}, {"replace_global", false}}, "xaa", "x-a"},
      {"UnicodeTranscode",
       {{"input_encoding", "utf8"}, {"output_encoding", "UTF-16-BE"}},
       "aé\xff",
       absl::string_view("\0a\0\xe9\xff\xfd", 6)},
      {"UnicodeTranscode",
       {{"input_encoding", "latin1"}, {"output_encoding", "UTF-8"}, {"errors", "ignore"}},
       "caf\xe9",
       "café"},
  };
  for (const ChangeRow& row : rows) {
    SCOPED_TRACE(row.op);
    for (const bool movable : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const Tensor one, RunnerOf(row).Run1({Tensor::String(row.from)}, movable));
      EXPECT_EQ(one.flat<TString>()[0].view(), row.to);
      EXPECT_EQ(one.rank(), 0);
      const std::vector<absl::string_view> many(5000, row.from);
      ASSERT_OK_AND_ASSIGN(const Tensor all, RunnerOf(row).Run1({Strings(many)}, movable));
      EXPECT_EQ(TextsOf(all), std::vector<std::string>(many.size(), std::string(row.to)));
      ASSERT_OK_AND_ASSIGN(const Tensor none, RunnerOf(row).Run1({Matrix({0, 3}, {})}, movable));
      EXPECT_EQ(Dims(none), (std::vector<int64_t>{0, 3}));
    }
  }
}

TEST(StringsTest, RefusesWhatIsNotBase64AndUnknownEncodings) {
  for (const absl::string_view text : {"a+/b", "abcde", "YQ=", "====", "YQ==YQ=="}) {
    EXPECT_THAT(KernelRunner("DecodeBase64").Run({Tensor::String(text)}), IsError(ErrorCode::kOpValue)) << text;
  }
  EXPECT_THAT(KernelRunner("StringLower").Attr("encoding", "latin1").Run({Tensor::String("a")}),
              IsError(ErrorCode::kOpAttr));
  EXPECT_THAT(KernelRunner("UnicodeDecode").Attr("input_encoding", "EBCDIC").Run({Tensor::String("a")}),
              IsError(ErrorCode::kOpAttr));
}

TEST(StringsTest, LengthsAreInBytesOrCharacters) {
  const Tensor input = Strings({"", "aé日", "\x80\xff"});
  ASSERT_OK_AND_ASSIGN(const Tensor bytes, KernelRunner("StringLength").Run1({input}));
  EXPECT_THAT(Values<int32_t>(bytes), ElementsAre(0, 6, 2));
  ASSERT_OK_AND_ASSIGN(const Tensor runes, KernelRunner("StringLength").Attr("unit", "UTF8_CHAR").Run1({input}));
  EXPECT_THAT(Values<int32_t>(runes), ElementsAre(0, 3, 1));
}

// text, position, length, and the part of it; "!" where the position is outside.
struct PartRow {
  absl::string_view text;
  int64_t position, length;
  absl::string_view bytes, runes;
};

TEST(StringsTest, SubstrTakesParts) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  const PartRow rows[] = {
      {"hello", 1, 3, "ell", "ell"},
      {"hello", 5, 2, "", ""},
      {"hello", 6, 0, "!", "!"},
      {"hello", -2, 1, "l", "l"},
      {"hello", -5, 9, "hello", "hello"},
      {"hello", -6, 1, "!", "!"},
      {"hello", 0, kMax, "hello", "hello"},
      {"hello", 1, -1, "ello", ""},
      {"hello", -2, -4, "lo", "!"},
      {"hello", kMin, kMin, "!", "!"},
      {"hello", -1, kMin, "o", "!"},
      {"hello", kMax, kMax, "!", "!"},
      {"日本", 1, 1, "\x97", "本"},
      {"日本", -1, 1, "\xac", "本"},
      {"", 0, 1, "", ""},
  };
  for (const PartRow& row : rows) {
    for (const bool of_bytes : {true, false}) {
      SCOPED_TRACE(absl::StrCat(row.text, " ", row.position, " ", row.length, " ", of_bytes));
      KernelRunner runner("Substr");
      runner.Attr("unit", of_bytes ? "BYTE" : "UTF8_CHAR");
      const absl::string_view want = of_bytes ? row.bytes : row.runes;
      const auto part =
          runner.Run1({Tensor::String(row.text), Tensor::Scalar(row.position), Tensor::Scalar(row.length)});
      if (want == "!") {
        EXPECT_THAT(part, IsError(ErrorCode::kOpValue));
      } else {
        ASSERT_OK(part);
        EXPECT_EQ(part->flat<TString>()[0].view(), want);
      }
    }
  }
}

TEST(StringsTest, SubstrBroadcastsUpToMatrices) {
  ASSERT_OK_AND_ASSIGN(const Tensor parts,
                       KernelRunner("Substr").Run1(
                           {Matrix({3, 1}, {"thirteen", "fourteen", "fifteen!"}), Ints({0, 2, 4}), Ints({2, 3, 1})}));
  EXPECT_THAT(TextsOf(parts), ElementsAre("th", "irt", "t", "fo", "urt", "t", "fi", "fte", "e"));
  EXPECT_THAT(KernelRunner("Substr").Run({Matrix({1, 1, 1}, {"a"}), Ints({0}), Ints({1})}),
              IsError(ErrorCode::kOpUnimplemented));
  EXPECT_THAT(KernelRunner("Substr").Run({Strings({"a", "b"}), Ints({0, 0, 0}), Ints({1, 1, 1})}),
              IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(KernelRunner("Substr").Run({Strings({"a"}), Ints({0}), Int(1)}), IsError(ErrorCode::kOpShapes));
}

// One long string and many positions would make more text than there may be: refused before it is made.
TEST(StringsTest, TextThatWouldBeTooLongIsRefused) {
  const std::string text(1 << 20, 'x');
  const Tensor positions = Tensor::MakeZeros(DType::kInt32, Shape::Of({4096})).value();
  Tensor lengths = Tensor::Make(DType::kInt32, Shape::Of({4096})).value();
  for (int32_t& length : lengths.flat<int32_t>()) length = 1 << 20;
  EXPECT_THAT(KernelRunner("Substr").Run({Strings({text}), positions, lengths}),
              StatusIs(absl::StatusCode::kResourceExhausted));
  KernelRunner ngrams("StringNGrams");
  ngrams.Attr("ngram_widths", std::vector<int64_t>{std::numeric_limits<int64_t>::max()})
      .Attr("separator", "--------")
      .Attr("left_pad", "l")
      .Attr("right_pad", "r")
      .Attr("pad_width", -1)
      .Attr("preserve_short_sequences", false);
  EXPECT_FALSE(ngrams.Run({Strings({"a", "b"}), Tensor::Vector<int64_t>(std::vector<int64_t>{0, 2})}).ok());
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner join("ReduceJoin");
  join.Attr("separator", text).run().allocator = &allocator;
  EXPECT_THAT(join.Run({Strings({"a", "b", "c"}), Int(0)}), StatusIs(absl::StatusCode::kResourceExhausted));
  KernelRunner serialize("SerializeTensor");
  serialize.run().allocator = &allocator;
  EXPECT_THAT(serialize.Run({Tensor::String(std::string(2 << 20, 'x'))}),
              StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(StringsTest, SplitsGiveSparseMatrices) {
  ASSERT_OK_AND_ASSIGN(const auto words,
                       KernelRunner("StringSplitV2").Run({Strings({"a b", "", " c  d "}), Tensor::String("")}));
  EXPECT_THAT(Values<int64_t>(words[0]), ElementsAre(0, 0, 0, 1, 2, 0, 2, 1));
  EXPECT_THAT(TextsOf(words[1]), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Values<int64_t>(words[2]), ElementsAre(3, 2));
  ASSERT_OK_AND_ASSIGN(
      const auto some,
      KernelRunner("StringSplitV2").Attr("maxsplit", 1).Run({Strings({"1<>2<><>3", "<>4"}), Tensor::String("<>")}));
  EXPECT_THAT(TextsOf(some[1]), ElementsAre("1", "2<><>3", "", "4"));
  ASSERT_OK_AND_ASSIGN(
      const auto rest,
      KernelRunner("StringSplitV2").Attr("maxsplit", 1).Run({Strings({"a ", " "}), Tensor::String("")}));
  EXPECT_THAT(TextsOf(rest[1]), ElementsAre("a", ""));
  ASSERT_OK_AND_ASSIGN(const auto bytes,
                       KernelRunner("StringSplit").Run({Strings({"a,b;c", ",;"}), Tensor::String(",;")}));
  EXPECT_THAT(TextsOf(bytes[1]), ElementsAre("a", "b", "c"));
  ASSERT_OK_AND_ASSIGN(const auto none, KernelRunner("StringSplit").Run({Strings({}), Tensor::String(",")}));
  EXPECT_THAT(Values<int64_t>(none[2]), ElementsAre(0, 0));
  EXPECT_THAT(KernelRunner("StringSplit").Run({Tensor::String("a"), Tensor::String(",")}),
              IsError(ErrorCode::kOpShape));
  EXPECT_THAT(KernelRunner("StringSplitV2").Run({Strings({"a"}), Strings({",", ";"})}), IsError(ErrorCode::kOpShape));
}

TEST(StringsTest, ReduceJoinGoesThroughTheFirstAxisFastest) {
  const Tensor input = Matrix({2, 3, 2}, {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"});
  const auto join = [&input](std::vector<int32_t> axes) {
    return TextsOf(KernelRunner("ReduceJoin").Attr("separator", "").Run1({input, Ints(std::move(axes))}).value());
  };
  EXPECT_THAT(join({0}), ElementsAre("06", "17", "28", "39", "410", "511"));
  EXPECT_THAT(join({2, 1}), ElementsAre("012345", "67891011"));
  EXPECT_THAT(join({1, 2}), ElementsAre("024135", "68107911"));
  EXPECT_THAT(join({-1, 0}), ElementsAre("0167", "2389", "451011"));
  EXPECT_EQ(join({}), TextsOf(input));
  EXPECT_THAT(TextsOf(KernelRunner("ReduceJoin").Run1({Matrix({2, 0}, {}), Ints({1})}).value()), ElementsAre("", ""));
  EXPECT_THAT(KernelRunner("ReduceJoin").Run({input, Ints({3})}), IsError(ErrorCode::kOpRange));
  EXPECT_THAT(KernelRunner("ReduceJoin").Run({input, Ints({1, -2})}), IsError(ErrorCode::kOpValue));
}

TEST(StringsTest, UnsortedSegmentJoinSkipsSeparatorsAtTheFront) {
  const auto join = [](Tensor input, Tensor ids, int32_t segments, absl::string_view separator = ":") {
    return KernelRunner("UnsortedSegmentJoin")
        .Attr("separator", std::string(separator))
        .Run1({std::move(input), std::move(ids), Int(segments)});
  };
  EXPECT_THAT(TextsOf(join(Strings({"a", "b", "c", "d"}), Ints({0, 2, 0, 2}), 3).value()),
              ElementsAre("a:c", "", "b:d"));
  EXPECT_THAT(TextsOf(join(Strings({"", "a", "", "b"}), Ints({0, 0, 0, 0}), 1).value()), ElementsAre("a::b"));
  EXPECT_THAT(TextsOf(join(Matrix({2, 2}, {"a", "b", "c", "d"}), Ints({1, 1}), 2).value()),
              ElementsAre("", "", "a:c", "b:d"));
  const absl::string_view cut("-\0+", 3);  // As in TensorFlow, which takes it up to the zero byte.
  EXPECT_THAT(TextsOf(join(Strings({"a", "b"}), Ints({0, 0}), 1, cut).value()), ElementsAre("a-b"));
  EXPECT_THAT(join(Strings({"a"}), Ints({1}), 1), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(join(Strings({"a"}), Ints({-1}), 1), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(join(Strings({"a"}), Ints({0}), -1), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(join(Strings({"a"}), Int(0), 1), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(join(Strings({"a", "b"}), Ints({0}), 1), IsError(ErrorCode::kOpShapes));
}

}  // namespace
}  // namespace sluice
