#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "graph/base/error_info_codec.h"
#include "graph/proto/error_info.pb.h"
#include "graph/proto/graph.pb.h"
#include "graph/proto/op_def.pb.h"
#include "graph/proto/tensor.pb.h"
#include "graph/wire/wire_writer.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using google::protobuf::TextFormat;
using google::protobuf::util::MessageDifferencer;

// Field names as TensorFlow's text files have them, the rarer ones included.
constexpr char kGraphText[] = R"(
  node {
    name: "c" op: "Const" device: "/cpu:0"
    attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 name: "d" } } float_val: 0.5 } } }
    attr { key: "_class" value { list { s: "loc:@x" } } }
    attr { key: "_output_shapes" value { list { shape { unknown_rank: true } shape { dim { size: -1 } } } } }
    experimental_debug_info { original_node_names: "c0" }
    experimental_type { type_id: TFT_PRODUCT args { type_id: TFT_TENSOR args { type_id: TFT_FLOAT } } }
  }
  node {
    name: "call" op: "f" input: "c:0" input: "^c"
    attr { key: "g" value { func { name: "g" attr { key: "T" value { placeholder: "T" } } } } }
  }
  library {
    function {
      signature { name: "f" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
      arg_attr { key: 0 value { attr { key: "_user_specified_name" value { s: "x" } } } }
      resource_arg_unique_id { key: 0 value: 1 }
      ret { key: "y" value: "x" }
      control_ret { key: "a" value: "b" }
    }
    gradient { function_name: "f" gradient_func: "g" }
    registered_gradients { gradient_func: "g" registered_op_type: "G" }
  }
  versions { producer: 1987 min_consumer: 12 bad_consumers: 3 }
  version: 21
  debug_info { files: "model.py" traces { key: "c" value { file_line_cols { line: 7 } } } }
)";

TEST(GraphProtoTest, TextOfEveryPartIsReadAndSurvivesBothForms) {
  proto::GraphDef graph, from_binary, from_text;
  ASSERT_TRUE(TextFormat::ParseFromString(kGraphText, &graph));
  EXPECT_EQ(graph.node(0).attr().at("dtype").type(), proto::DT_FLOAT);
  ASSERT_TRUE(from_binary.ParseFromString(graph.SerializeAsString()));
  EXPECT_TRUE(MessageDifferencer::Equals(graph, from_binary));
  std::string text;
  ASSERT_TRUE(TextFormat::PrintToString(graph, &text));
  ASSERT_TRUE(TextFormat::ParseFromString(text, &from_text));
  EXPECT_TRUE(MessageDifferencer::Equals(graph, from_text));
}

TEST(GraphProtoTest, UnknownFieldsSurviveABinaryRoundTrip) {
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t node = writer.BeginMessage(1);
  writer.Bytes(1, "n");
  writer.Bytes(77, "future");
  writer.EndMessage(node);
  writer.Int(500, 9);
  proto::GraphDef graph;
  ASSERT_TRUE(graph.ParseFromString(bytes));
  EXPECT_EQ(graph.node(0).name(), "n");
  EXPECT_EQ(graph.SerializeAsString(), bytes);
}

TEST(GraphProtoTest, ListsOfNumbersArePackedAndReadUnpacked) {
  proto::AttrValue attr;
  std::string unpacked;
  WireWriter writer(&unpacked);
  const size_t list = writer.BeginMessage(1);
  writer.Int(3, 1);
  writer.Int(3, 300);
  writer.EndMessage(list);
  ASSERT_TRUE(attr.ParseFromString(unpacked));
  EXPECT_THAT(attr.list().i(), testing::ElementsAre(1, 300));
  EXPECT_EQ(attr.SerializeAsString(), std::string("\x0a\x05\x1a\x03\x01\xac\x02", 7));
}

TEST(GraphProtoTest, BadTextIsRefused) {
  proto::GraphDef graph;
  for (const char* text : {"node { nme: \"x\" }", "node {", "node { attr { key: \"T\" value { type: DT_NONE } } }"}) {
    google::protobuf::TextFormat::Parser parser;
    google::protobuf::LogSilencer quiet;
    EXPECT_FALSE(parser.ParseFromString(text, &graph)) << text;
  }
}

TEST(GraphProtoTest, ErrorPayloadsAreWhatTheHandWrittenCodecWrites) {
  ErrorInfo info;
  info.code = ErrorCode::kInputSlot;
  info.node = "a\xff";  // Not UTF-8: names are bytes.
  info.op = "Relu";
  info.input = 0;
  info.expected = "a slot below 1";
  info.byte_begin = 12;
  info.limit_value = 7;
  info.derived = true;
  proto::ErrorInfo message;
  ASSERT_TRUE(message.ParseFromString(EncodeErrorInfo(info)));
  EXPECT_EQ(message.code(), static_cast<int>(ErrorCode::kInputSlot));
  EXPECT_EQ(message.node(), "a\xff");
  EXPECT_TRUE(message.has_input());
  EXPECT_FALSE(message.has_line());
  EXPECT_EQ(message.expected(), "a slot below 1");
  EXPECT_EQ(message.byte_begin(), 12);
  EXPECT_EQ(message.limit_value(), 7);
  EXPECT_TRUE(message.derived());
}

}  // namespace
}  // namespace sluice
