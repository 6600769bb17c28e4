#include "graph/base/error.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

absl::Status BadSlot() {
  return Error(ErrorCode::kInputSlot)
      .Node("net/conv", "Conv2D")
      .Input(1, "net/relu:3")
      .Found("slot 3")
      .Expected("a slot below 1")
      .Text("names no output");
}

TEST(ErrorTest, MessageIsOneLineThatStandsAlone) {
  EXPECT_EQ(BadSlot().message(),
            "SLC2103: Conv2D 'net/conv': input 1 'net/relu:3' names no output: found slot 3, expected a slot "
            "below 1");
  EXPECT_EQ(BadSlot().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ErrorTest, MessageLeavesOutWhatIsNotKnown) {
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  EXPECT_EQ(message(Error(ErrorCode::kNothingToRun)), "SLC4013: There is nothing to run");
  EXPECT_EQ(message(Error(ErrorCode::kFileWire).Text("field number 0").AtByte(12)),
            "SLC1004: field number 0 at byte 12");
  EXPECT_EQ(message(Error(ErrorCode::kAttrMissing).Node("k", "Const").Attr("dtype").Text("is missing")),
            "SLC2201: Const 'k': attr 'dtype' is missing");
  EXPECT_EQ(message(Error(ErrorCode::kFeedType).Expected("float32").Node("x", "")),
            "SLC4003: node 'x': expected float32");
  EXPECT_EQ(message(WithLine(Error(ErrorCode::kFileText).Text("expected '{'"), 12, 9)),
            "SLC1006: expected '{' at line 12, column 9");
}

TEST(ErrorTest, MessageEscapesNamesAndStaysShort) {
  const absl::Status status = Error(ErrorCode::kInputUnknown)
                                  .Node("a\n" + std::string(5000, 'n'), "Relu")
                                  .Input(0, std::string(5000, 'i') + "\x1b")
                                  .Text("no such node");
  EXPECT_LE(status.message().size(), 200u);
  EXPECT_EQ(status.message().find('\n'), absl::string_view::npos);
  EXPECT_NE(status.message().find("\\x1b'"), absl::string_view::npos);
}

TEST(ErrorTest, PayloadHoldsAllFacts) {
  ErrorInfo info;
  info.code = ErrorCode::kLimitInputs;
  info.text = "t", info.node = std::string("n\0\xff", 3), info.op = "o", info.input = 0, info.input_name = "i";
  info.attr = "a", info.found = "f", info.expected = "e", info.function = "fn", info.frame = "fr", info.file = "file";
  info.node_index = int64_t{1} << 40, info.byte_begin = 0, info.byte_end = 7, info.line = 8, info.column = 9;
  info.limit = "l", info.limit_value = 10, info.suggestion = "s", info.derived = true;
  const auto back = ErrorInfoOf(MakeError(info));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(std::make_tuple(back->code, back->text, back->node, back->op, back->input, back->input_name, back->attr),
            std::make_tuple(info.code, info.text, info.node, info.op, info.input, info.input_name, info.attr));
  EXPECT_EQ(std::make_tuple(back->found, back->expected, back->function, back->frame, back->file, back->node_index),
            std::make_tuple(info.found, info.expected, info.function, info.frame, info.file, info.node_index));
  EXPECT_EQ(std::make_tuple(back->byte_begin, back->byte_end, back->line, back->column, back->limit, back->limit_value),
            std::make_tuple(info.byte_begin, info.byte_end, info.line, info.column, info.limit, info.limit_value));
  EXPECT_EQ(std::make_tuple(back->suggestion, back->derived), std::make_tuple(info.suggestion, info.derived));
}

TEST(ErrorTest, AbsentFactsStayAbsentInThePayload) {
  const auto info = ErrorInfoOf(Error(ErrorCode::kCycle));
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->input, -1);
  EXPECT_EQ(info->node_index, -1);
  EXPECT_EQ(info->limit_value, -1);
  EXPECT_FALSE(info->derived);
}

TEST(ErrorTest, ADamagedPayloadIsNoPayload) {
  const std::string bytes(*BadSlot().GetPayload("sluice.rt/ErrorInfo"));
  for (size_t size = 0; size < bytes.size(); ++size) {
    absl::Status status = absl::InternalError("x");
    status.SetPayload("sluice.rt/ErrorInfo", absl::Cord(bytes.substr(0, size)));
    const auto info = ErrorInfoOf(status);  // Cut between fields it is still a valid, shorter one.
    if (info.has_value()) {
      EXPECT_LE(info->text.size(), 100u);
    }
    EXPECT_FALSE(FormatError(status).empty());
  }
}

TEST(ErrorTest, ForeignStatusesHaveNoFacts) {
  EXPECT_FALSE(ErrorInfoOf(absl::OkStatus()).has_value());
  EXPECT_FALSE(ErrorInfoOf(absl::InternalError("x")).has_value());
}

TEST(ErrorTest, FactsAddedLaterDoNotReplaceThoseKnownFirst) {
  absl::Status status = Error(ErrorCode::kTensorContent).Attr("value").Text("3 bytes").AtByte(70);
  status = WithPlace(WithNode(status, "k", "Const"), 4, 60, 90);
  status = WithFile(WithFunction(WithNode(WithPlace(status, 5, 0, 1), "other", "Op"), "F"), "a.pb");
  const auto info = ErrorInfoOf(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->node, "k");
  EXPECT_EQ(info->op, "Const");
  EXPECT_EQ(info->node_index, 4);
  EXPECT_EQ(info->byte_begin, 70);
  EXPECT_EQ(info->function, "F");
  EXPECT_EQ(info->file, "a.pb");
  EXPECT_EQ(status.message(), "SLC2303: Const 'k': attr 'value' 3 bytes");
}

TEST(ErrorTest, FactsCanBeAddedToAForeignStatus) {
  absl::Status foreign = absl::ResourceExhaustedError("no memory");
  foreign.SetPayload("their/url", absl::Cord("theirs"));
  const absl::Status status = WithNode(foreign, "r", "Relu");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "SLC9003: Relu 'r': no memory");
  EXPECT_EQ(status.GetPayload("their/url"), absl::Cord("theirs"));
  EXPECT_EQ(ErrorInfoOf(status)->code, ErrorCode::kForeign);
  EXPECT_EQ(WithPlace(status, 3, 0, 9).code(), absl::StatusCode::kResourceExhausted);
}

TEST(ErrorTest, NothingIsAddedToOk) {
  EXPECT_TRUE(WithNode(absl::OkStatus(), "a", "b").ok());
  EXPECT_TRUE(WithFile(absl::OkStatus(), "a").ok());
}

TEST(ErrorTest, ABuilderConvertsToStatusOr) {
  const auto fail = []() -> absl::StatusOr<int> { return Error(ErrorCode::kInternal).Text("x"); };
  EXPECT_EQ(fail().status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sluice
