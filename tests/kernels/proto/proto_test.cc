// Fields of messages as tensors and back: what TensorFlow 2.19 gives, and messages that are cut or damaged.

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "tests/kernels/array/tensors.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using Names = std::vector<std::string>;
using Types = std::vector<DType>;
using Tensors = std::vector<Tensor>;

constexpr char kFile[] = R"pb(
  file {
    name: "a.proto"
    package: "p"
    message_type {
      name: "M"
      field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 default_value: "-7" }
      field { name: "rate" number: 2 label: LABEL_REPEATED type: TYPE_FLOAT }
      field {
        name: "packed"
        number: 3
        label: LABEL_REPEATED
        type: TYPE_SINT64
        options { packed: true }
      }
      field { name: "name" number: 4 label: LABEL_OPTIONAL type: TYPE_STRING default_value: "nobody" }
      field { name: "part" number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".p.M" }
      field { name: "mask" number: 6 label: LABEL_OPTIONAL type: TYPE_FIXED64 }
      field { name: "flag" number: 100 label: LABEL_OPTIONAL type: TYPE_BOOL }
      field { name: "g" number: 7 label: LABEL_OPTIONAL type: TYPE_GROUP type_name: ".p.M.G" }
      nested_type {
        name: "G"
        field { name: "z" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
      }
    }
  }
)pb";

std::string Source() {
  google::protobuf::FileDescriptorSet files;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kFile, &files));
  return "bytes://" + files.SerializeAsString();
}

absl::StatusOr<Tensors> Decode(Tensor messages, const Names& fields, const Types& types,
                               const std::string& format = "binary", bool sanitize = false) {
  return KernelRunner("DecodeProtoV2")
      .Attr("message_type", "p.M")
      .Attr("field_names", fields)
      .Attr("output_types", types)
      .Attr("descriptor_source", Source())
      .Attr("message_format", format)
      .Attr("sanitize", sanitize)
      .Run({std::move(messages)});
}

absl::StatusOr<Tensor> Encode(Tensor sizes, Tensors values, const Names& fields) {
  values.insert(values.begin(), std::move(sizes));
  return KernelRunner("EncodeProto")
      .Attr("message_type", "p.M")
      .Attr("field_names", fields)
      .Attr("descriptor_source", Source())
      .Run1(std::move(values));
}

Tensor Texts(const std::vector<absl::string_view>& texts) { return Tensor::Strings(texts); }
std::string Text(const Tensor& tensor, size_t i = 0) { return std::string(tensor.flat<TString>()[i].view()); }

// id 5, rate 1.5 and 2, packed -1 and 3, name "ab".
const char kMessage[] =
    "\x08\x05\x15\x00\x00\xc0\x3f\x15\x00\x00\x00\x40\x1a\x02\x01\x06\x22\x02"
    "ab";
constexpr size_t kMessageBytes = sizeof(kMessage) - 1;

TEST(DecodeProtoTest, FieldsBecomeTensors) {
  const Tensor messages = Texts({absl::string_view(kMessage, kMessageBytes), ""});
  for (const bool sanitize : {false, true}) {
    ASSERT_OK_AND_ASSIGN(
        const Tensors out,
        Decode(messages, {"name", "rate", "id", "packed", "part"},
               {DType::kString, DType::kDouble, DType::kInt64, DType::kInt64, DType::kString}, "binary", sanitize));
    EXPECT_THAT(Values<int32_t>(out[0]), ElementsAre(1, 2, 1, 2, 0, 0, 0, 0, 0, 0));
    EXPECT_EQ(Text(out[1]), "ab");
    EXPECT_EQ(Text(out[1], 1), "nobody") << "the default";
    EXPECT_THAT(Values<double>(out[2]), ElementsAre(1.5, 2, 0, 0));
    EXPECT_THAT(Values<int64_t>(out[3]), ElementsAre(5, -7));
    EXPECT_THAT(Values<int64_t>(out[4]), ElementsAre(-1, 3, 0, 0));
    EXPECT_THAT(Dims(out[5]), ElementsAre(2, 1)) << "one place at least";
  }
}

TEST(DecodeProtoTest, FormsOfAField) {
  // A packed field that is not packed, one that is not packed but may be, a field twice: the last one counts.
  ASSERT_OK_AND_ASSIGN(const Tensors forms,
                       Decode(Texts({absl::string_view("\x18\x05\x12\x04\x00\x00\x80\x3f\x08\x01\x08\x02", 12)}),
                              {"packed", "rate", "id"}, {DType::kInt64, DType::kFloat, DType::kInt32}));
  EXPECT_THAT(Values<int64_t>(forms[1]), ElementsAre(-3));
  EXPECT_THAT(Values<float>(forms[2]), ElementsAre(1));
  EXPECT_THAT(Values<int32_t>(forms[3]), ElementsAre(2));
  ASSERT_OK_AND_ASSIGN(const Tensors text, Decode(Texts({"id: 3 part { id: 4 } rate: 1"}), {"id", "part"},
                                                  {DType::kInt32, DType::kString}, "text"));
  EXPECT_THAT(Values<int32_t>(text[1]), ElementsAre(3));
  EXPECT_EQ(Text(text[2]), "\x08\x04");
}

TEST(DecodeProtoTest, GroupsComeWithTheirTags) {
  const auto group = [](absl::string_view message) {
    const absl::StatusOr<Tensors> out = Decode(Texts({message}), {"g", "id"}, {DType::kString, DType::kInt32});
    return out.ok() ? absl::BytesToHexString(Text((*out)[1]))
                    : std::string(absl::StatusCodeToString(out.status().code()));
  };
  EXPECT_EQ(group("\x3b\x08\x09\x3c"), "3b08093c");
  EXPECT_EQ(group("\x3b\x08\x01\x3c\x3b\x3c"), "3b3c") << "the last one counts";
  EXPECT_EQ(group("\x3b\x08\x09\x3b\x08\x01\x3c\x3c"), "3b08093b08013c3c");
  EXPECT_EQ(group("\x0b\x3b\x3c\x0c"), "") << "inside of another group";
  // Numbers become as short as they can be: a tag, a value, a length.
  EXPECT_EQ(group(absl::HexStringToBytes("bb8000088500228100610901020304050607081501020304bc00")),
            "3b080522016109010203040506070815010203043c");
  for (const char* const bad : {"\x3b", "\x3b\x08\x09", "\x3c", "\x3b\x44", "\x3b\x0c", "\x0b\x3c", "\x3b\x0b\x3c",
                                "\x08\x05\x3c", "\x3a\x01x", "\x3a"}) {
    EXPECT_EQ(group(bad), "DATA_LOSS") << bad;
  }
  EXPECT_EQ(group(absl::string_view("\x3a\x00", 2)), "DATA_LOSS") << "packed, but nothing in it";
}

TEST(DecodeProtoTest, PackedValuesNeedAPlace) {
  const auto decode = [](const std::vector<absl::string_view>& messages) {
    return Decode(Texts(messages), {"id", "packed"}, {DType::kInt32, DType::kInt64});
  };
  // A field that is not repeated counts them, and keeps none.
  for (const absl::string_view message : {"\x0a\x02\x05\x06", "\x0a\x01\x06\x0a\x01\x07"}) {
    ASSERT_OK_AND_ASSIGN(const Tensors out, decode({message}));
    EXPECT_THAT(Values<int32_t>(out[0]), ElementsAre(1, 0));
    EXPECT_THAT(Values<int32_t>(out[1]), ElementsAre(-7));
  }
  ASSERT_OK_AND_ASSIGN(const Tensors then_one, decode({"\x0a\x01\x06\x08\x05"}));
  EXPECT_THAT(Values<int32_t>(then_one[1]), ElementsAre(5));
  // Behind the last place there may be none, not even no values.
  const absl::string_view none_behind("\x18\x05\x1a\x00", 4), before("\x1a\x00\x18\x05", 4);
  EXPECT_THAT(decode({none_behind}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(decode({"\x08\x05\x0a\x01\x06"}), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(decode({before}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Tensors wider, decode({none_behind, "\x1a\x02\x01\x02"}));
  EXPECT_THAT(Values<int64_t>(wider[2]), ElementsAre(-3, 0, -1, 1));
}

TEST(DecodeProtoTest, OfAFieldNamedTwiceTheFirstHasTheValues) {
  ASSERT_OK_AND_ASSIGN(const Tensors out, Decode(Texts({"\x18\x05\x08\x05\x18\x07"}), {"id", "packed", "id", "packed"},
                                                 {DType::kInt64, DType::kInt64, DType::kInt32, DType::kInt64}));
  EXPECT_THAT(Values<int32_t>(out[0]), ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(Values<int64_t>(out[1]), ElementsAre(5));
  EXPECT_THAT(Values<int64_t>(out[2]), ElementsAre(-3, -4));
  EXPECT_THAT(Values<int32_t>(out[3]), ElementsAre(-7));
  EXPECT_THAT(Values<int64_t>(out[4]), ElementsAre(0));
}

TEST(DecodeProtoTest, DamagedMessagesAreRefused) {
  for (size_t size = 0; size <= kMessageBytes; ++size) {
    const absl::StatusOr<Tensors> out =
        Decode(Texts({absl::string_view(kMessage, size)}), {"id", "rate", "packed", "name"},
               {DType::kInt32, DType::kFloat, DType::kInt64, DType::kString});
    const bool is_whole = size == 0 || size == 2 || size == 7 || size == 12 || size == 16 || size == kMessageBytes;
    EXPECT_EQ(out.status().code(), is_whole ? absl::StatusCode::kOk : absl::StatusCode::kDataLoss) << size;
  }
  for (const char* const bad : {"\x0b", "\x0c", "\x1a\x01\xff", "\x12\x03"}) {
    EXPECT_FALSE(Decode(Texts({bad}), {"packed", "rate"}, {DType::kInt64, DType::kFloat}).ok()) << bad[0];
  }
  EXPECT_FALSE(Decode(Texts({"id: \"x\""}), {"id"}, {DType::kInt32}, "text").ok());
  // Nested too deep for a parser that goes down.
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "part{";
  EXPECT_FALSE(Decode(Texts({deep}), {"id"}, {DType::kInt32}, "text").ok());
  EXPECT_THAT(Decode(Texts({}), {"id"}, {DType::kInt32}), IsError(ErrorCode::kOpShape));
}

TEST(DecodeProtoTest, ChecksAttrs) {
  EXPECT_THAT(Decode(Texts({""}), {"nope"}, {DType::kInt32}), IsError(ErrorCode::kOpAttr, "nope"));
  EXPECT_THAT(Decode(Texts({""}), {"id"}, {DType::kFloat}), IsError(ErrorCode::kOpAttr, "id"));
  EXPECT_THAT(Decode(Texts({""}), {"mask"}, {DType::kInt64}), IsError(ErrorCode::kOpAttr, "fixed64"));
  EXPECT_THAT(Decode(Texts({""}), {"id"}, {DType::kInt32}, "xml"), IsError(ErrorCode::kOpAttr, "xml"));
  for (const char* const source : {"bytes://\x0a\x05", "/no/file", "bytes://\x0a\x00"}) {
    EXPECT_THAT(KernelRunner("DecodeProtoV2")
                    .Attr("message_type", "p.M")
                    .Attr("field_names", Names{"id"})
                    .Attr("output_types", Types{DType::kInt32})
                    .Attr("descriptor_source", source)
                    .Run({Texts({""})}),
                IsError(ErrorCode::kOpAttr))
        << source;
  }
  ASSERT_OK_AND_ASSIGN(const Tensors local, KernelRunner("DecodeProtoV2")
                                                .Attr("message_type", "tensorflow.Example")
                                                .Attr("field_names", Names{"features"})
                                                .Attr("output_types", Types{DType::kString})
                                                .Run({Texts({"\x0a\x01x"})}));
  EXPECT_EQ(Text(local[1]), "x");
}

TEST(EncodeProtoTest, FieldsAreWrittenByNumber) {
  const Tensor sizes = Tensor::Of<int32_t>(Shape::Of({2, 4}), {1, 2, 1, 2, 0, 0, 0, 0});
  ASSERT_OK_AND_ASSIGN(const Tensor messages, Encode(sizes,
                                                     {Texts({"ab", "c"}).Reshaped(Shape::Of({2, 1})).value(),
                                                      Tensor::Of<float>(Shape::Of({2, 2}), {1.5f, 2, 3, 4}),
                                                      Tensor::Of<int64_t>(Shape::Of({2, 1}), {5, 6}),
                                                      Tensor::Of<int64_t>(Shape::Of({2, 2}), {-1, 3, 0, 0})},
                                                     {"name", "rate", "id", "packed"}));
  EXPECT_EQ(Text(messages), std::string(kMessage, kMessageBytes));
  EXPECT_EQ(Text(messages, 1), "");
  ASSERT_OK_AND_ASSIGN(const Tensor group, Encode(Tensor::Of<int32_t>(Shape::Of({1, 1}), {1}),
                                                  {Texts({"\x08\x09"}).Reshaped(Shape::Of({1, 1})).value()}, {"g"}));
  EXPECT_EQ(Text(group), "\x3b\x08\x09\x3c");
}

TEST(EncodeProtoTest, ChecksWhatItIsGiven) {
  const auto encode = [](std::vector<int32_t> sizes, const Shape& of_sizes, const Shape& of_values) {
    return Encode(Tensor::Of<int32_t>(of_sizes, sizes), {Tensor::MakeZeros(DType::kInt32, of_values).value()}, {"id"});
  };
  EXPECT_TRUE(encode({1, 0}, Shape::Of({2, 1}), Shape::Of({2, 1})).ok());
  EXPECT_TRUE(encode({-1, std::numeric_limits<int32_t>::min()}, Shape::Of({2, 1}), Shape::Of({2, 1})).ok());
  EXPECT_THAT(encode({1, 2}, Shape::Of({2, 1}), Shape::Of({2, 1})), IsError(ErrorCode::kOpValue, "sizes"));
  EXPECT_THAT(encode({1}, Shape::Of({1, 1}), Shape::Of({2, 1})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(encode({1}, Shape::Of({1}), Shape::Of({1})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(encode({1, 1}, Shape::Of({1, 2}), Shape::Of({1, 1})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(encode({1}, Shape(), Shape::Of({1, 1})), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(Encode(Tensor::Of<int32_t>(Shape::Of({1, 1}), {1}), {Counting({1, 1})}, {"id"}),
              IsError(ErrorCode::kOpValue, "float32"));
}

}  // namespace
}  // namespace sluice
