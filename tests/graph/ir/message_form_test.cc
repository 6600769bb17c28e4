// Graphs in which fields stand several times, and graphs with text that is not UTF-8.

#include "graph/ir/message_form.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/ir/export.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "graph/proto/graph.pb.h"
#include "gtest/gtest.h"
#include "tests/graph/ir/fixed_order.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: a vocabulary made for tests.

absl::StatusOr<Graph> Import(const std::string& bytes) {
  ImportOptions options;
  options.ops = NewOpRegistry();
  return ImportGraph(GraphSource::Copy(bytes), options);
}

// A GraphDef, and what TensorFlow 2.19.1 writes (deterministically) after reading it; both in hexadecimal. Its Python
// (upb) and, for attrs of nodes, its C API agree on all of them.
struct MergeCase {
  const char* name;
  const char* written;
  const char* understood;
};

constexpr MergeCase kMergeCases[] = {
    {"Plain", "0a170a016e12044e6f4f702a0c0a025f7812060a041a020102",
     "0a170a016e12044e6f4f702a0c0a025f7812060a041a020102"},
    {"ListTwice", "0a1c0a016e12044e6f4f702a110a025f78120b0a041a0201020a031a0103",
     "0a180a016e12044e6f4f702a0d0a025f7812070a051a03010203"},
    {"ListsOfTwoKinds", "0a1b0a016e12044e6f4f702a100a025f78120a0a031a01010a03120173",
     "0a190a016e12044e6f4f702a0e0a025f7812080a061201731a0101"},
    {"ScalarTwice", "0a150a016e12044e6f4f702a0a0a025f78120418011802", "0a130a016e12044e6f4f702a080a025f7812021802"},
    {"ListThenScalarThenList", "0a1d0a016e12044e6f4f702a120a025f78120c0a031a010118070a031a0102",
     "0a160a016e12044e6f4f702a0b0a025f7812050a031a0102"},
    {"ListThenScalar", "0a180a016e12044e6f4f702a0d0a025f7812070a031a01011807",
     "0a130a016e12044e6f4f702a080a025f7812021807"},
    {"ScalarThenList", "0a180a016e12044e6f4f702a0d0a025f78120718070a031a0101",
     "0a160a016e12044e6f4f702a0b0a025f7812050a031a0101"},
    {"ListThenEmptyList", "0a180a016e12044e6f4f702a0d0a025f7812070a031a01010a00",
     "0a160a016e12044e6f4f702a0b0a025f7812050a031a0101"},
    {"EmptyListThenText", "0a160a016e12044e6f4f702a0b0a025f7812050a00120173",
     "0a140a016e12044e6f4f702a090a025f781203120173"},
    {"ShapeTwice", "0a210a016e12044e6f4f702a160a025f7812103a04120208023a081202080312020804",
     "0a1f0a016e12044e6f4f702a140a025f78120e3a0c120208021202080312020804"},
    {"ShapeWithUnknownRankLater", "0a170a016e12044e6f4f702a0c0a025f7812063a003a021801",
     "0a150a016e12044e6f4f702a0a0a025f7812043a021801"},
    {"DimSizeTwice", "0a190a016e12044e6f4f702a0e0a025f7812083a06120408030805",
     "0a170a016e12044e6f4f702a0c0a025f7812063a0412020805"},
    {"TensorTwice", "0a210a016e12044e6f4f702a160a025f7812104208080312041202080242043a020405",
     "0a1f0a016e12044e6f4f702a140a025f78120e420c08031204120208023a020405"},
    {"TensorShapeTwice", "0a290a016e12044e6f4f702a1e0a025f781218421608031204120208021204120208033a06010203040506",
     "0a270a016e12044e6f4f702a1c0a025f78121642140803120812020802120208033a06010203040506"},
    {"TensorContentTwice", "0a230a016e12044e6f4f702a180a025f781212421008041204120208022202616222026364",
     "0a1f0a016e12044e6f4f702a140a025f78120e420c080412041202080222026364"},
    {"TensorDTypeTwice", "0a1a0a016e12044e6f4f702a0f0a025f7812094207080108033a0109",
     "0a180a016e12044e6f4f702a0d0a025f781207420508033a0109"},
    {"TensorThenTextThenTensor", "0a220a016e12044e6f4f702a170a025f781211420508033a0101120173420508033a0102",
     "0a180a016e12044e6f4f702a0d0a025f781207420508033a0102"},
    {"FuncTwice", "0a2d0a016e12044e6f4f702a220a025f78121c520c0a016612070a016112021801520c0a016712070a016212021802",
     "0a280a016e12044e6f4f702a1d0a025f78121752150a016712070a01611202180112070a016212021802"},
    {"FuncAttrTwice", "0a280a016e12044e6f4f702a1d0a025f78121752150a016612070a01611202180112070a016112021802",
     "0a1f0a016e12044e6f4f702a140a025f78120e520c0a016612070a016112021802"},
    {"FuncAttrOfTwoLists", "0a290a016e12044e6f4f702a1e0a025f78121852160a016612110a016112050a031a010112050a031a0102",
     "0a230a016e12044e6f4f702a180a025f78121252100a0166120b0a016112060a041a020102"},
    {"PlaceholderThenFunc", "0a190a016e12044e6f4f702a0e0a025f7812084a017052030a0166",
     "0a160a016e12044e6f4f702a0b0a025f78120552030a0166"},
    {"EntryWithTwoValues", "0a1d0a016e12044e6f4f702a120a025f7812050a031a010112050a031a0102",
     "0a170a016e12044e6f4f702a0c0a025f7812060a041a020102"},
    {"EntryWithTwoScalars", "0a170a016e12044e6f4f702a0c0a025f781202180112021802",
     "0a130a016e12044e6f4f702a080a025f7812021802"},
    {"EntryWithValuesOfTwoKinds", "0a1b0a016e12044e6f4f702a100a025f7812050a031a01011203120173",
     "0a140a016e12044e6f4f702a090a025f781203120173"},
    {"EntryWithTwoKeys", "0a170a016e12044e6f4f702a0c0a025f780a025f7912021801",
     "0a130a016e12044e6f4f702a080a025f7912021801"},
    {"EntryWithValueBeforeKey", "0a130a016e12044e6f4f702a08120218010a025f79",
     "0a130a016e12044e6f4f702a080a025f7912021801"},
    {"EntryWithoutValue", "0a0f0a016e12044e6f4f702a040a025f79", "0a110a016e12044e6f4f702a060a025f791200"},
    {"KeyTwiceIsNotMerged", "0a230a016e12044e6f4f702a0b0a025f7812050a031a01012a0b0a025f7812050a031a0102",
     "0a160a016e12044e6f4f702a0b0a025f7812050a031a0102"},
    {"NameOpAndDeviceTwice", "0a210a016d120342616422062f6370753a310a016e12044e6f4f7022062f6370753a30",
     "0a110a016e12044e6f4f7022062f6370753a30"},
    {"DebugInfoTwice", "0a130a016e12044e6f4f7032030a016132030a0162", "0a110a016e12044e6f4f7032060a01610a0162"},
    {"FullTypeTwice", "0a140a016e12044e6f4f703a0508031a01733a022005", "0a0f0a016e12044e6f4f703a0408032005"},
    {"VersionsTwice", "220408641807220410051808", "2208086410051a020708"},
    {"LibraryTwice", "12070a050a030a016612070a050a030a0167", "120e0a050a030a01660a050a030a0167"},
    {"SignatureTwice", "122b0a290a0e0a016622090a01541204747970650a04a20101631a090a016e12044e6f4f7032060a016312016e",
     "12290a270a120a016622090a0154120474797065a20101631a090a016e12044e6f4f7032060a016312016e"},
    {"SignatureWithDefaultTwice", "12250a230a210a0166221c0a014c12096c69737428696e74291a050a031a01011a050a031a0102",
     "121f0a1d0a1b0a016622160a014c12096c69737428696e74291a060a041a020102"},
    {"AllowedValuesTwice", "12200a1e0a1c0a016622170a01541204747970653a050a033201013a050a03320103",
     "121a0a180a160a016622110a01541204747970653a060a0432020103"},
    {"AllowedValuesReplaced", "12200a1e0a1c0a016622170a01541204747970653a0c0a0332010118010a03320103",
     "12190a170a150a016622100a01541204747970653a050a03320103"},
    {"RetTwice", "12220a200a030a016632090a016312016d12016e32060a016412016e32060a016412016f",
     "12170a150a030a016632060a016312016e32060a016412016f"},
    {"FunctionAttrTwice", "121b0a190a030a01662a120a025f6112050a031a010112050a031a0102",
     "12150a130a030a01662a0c0a025f6112060a041a020102"},
    {"ArgAttrTwice", "12230a210a030a01663a1a0800120a0a080a025f6112021801120a0a080a025f6212021802",
     "12210a1f0a030a01663a18080012140a080a025f61120218010a080a025f6212021802"},
    {"BodyNodeAttrTwice", "12240a220a030a01661a1b0a016e12044e6f4f702a100a025f78120a0a031a01010a031a0102",
     "12200a1e0a030a01661a170a016e12044e6f4f702a0c0a025f7812060a041a020102"},
    {"GradientTwice", "12190a050a030a01660a050a030a016712090a01660a0167120166",
     "12160a050a030a01660a050a030a016712060a0167120166"},
    {"UnknownFieldsStay", "0a1f0a016e12044e6f4f702a140a025f78120e0a031a0101e20301750a031a0102",
     "0a1b0a016e12044e6f4f702a100a025f78120a0a041a020102e2030175"},
};

// The graph in a form that does not depend on the order of fields.
std::string Ordered(absl::string_view graph_def) {
  proto::GraphDef graph;
  EXPECT_TRUE(graph.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size())));
  if (graph.versions().ByteSizeLong() == 0) graph.clear_versions();  // The export writes it always.
  return absl::BytesToHexString(InFixedOrder(graph));
}

class MergeTest : public testing::TestWithParam<MergeCase> {};

TEST_P(MergeTest, ReadsAsTensorFlowDoes) {
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(absl::HexStringToBytes(GetParam().written)));
  EXPECT_EQ(Ordered(ExportGraph(graph)), Ordered(absl::HexStringToBytes(GetParam().understood)));
}

TEST_P(MergeTest, WhatIsWrittenOnceIsReadAsItStands) {
  const std::string bytes = absl::HexStringToBytes(GetParam().understood);
  ASSERT_OK_AND_ASSIGN(const MessageFormReport report, CheckGraphDefForm(bytes, 0));
  EXPECT_FALSE(report.has_repeats);
  EXPECT_OK(report.damage);
}

INSTANTIATE_TEST_SUITE_P(MessageForm, MergeTest, testing::ValuesIn(kMergeCases),
                         [](const auto& info) { return std::string(info.param.name); });

// Attrs that repeat are looked at once: what differs in one byte is not such an attr.
TEST(MessageFormTest, AttrsLikeEarlierOnesAreFoundWrong) {
  const MessageBytes good = NodeDefBytes("a", "NoOp", {}, {{"_x", StringAttr("good")}, {"T", TypeAttr(1)}});
  const MessageBytes bad = NodeDefBytes("b", "NoOp", {}, {{"_x", StringAttr("good")}, {"\xff", TypeAttr(1)}});
  const MessageBytes twice = MessageBytes().Raw(TypeAttr(1).str()).Raw(TypeAttr(1).str());
  const MessageBytes repeats = NodeDefBytes("c", "NoOp", {}, {{"_x", StringAttr("good")}, {"T", twice}});
  ASSERT_OK_AND_ASSIGN(const MessageFormReport report, CheckGraphDefForm(GraphDefBytes({good, good, good}), 0));
  EXPECT_FALSE(report.has_repeats);
  EXPECT_EQ(report.num_attrs, 6);
  EXPECT_THAT(CheckGraphDefForm(GraphDefBytes({good, good, bad}), 0).status(), IsError(ErrorCode::kFileWire, "'b'"));
  ASSERT_OK_AND_ASSIGN(const MessageFormReport third, CheckGraphDefForm(GraphDefBytes({good, repeats, good}), 0));
  EXPECT_TRUE(third.has_repeats);
  // One that is wrong is not remembered as good.
  ASSERT_OK_AND_ASSIGN(const MessageFormReport both, CheckGraphDefForm(GraphDefBytes({repeats, repeats}), 0));
  EXPECT_TRUE(both.has_repeats);
}

// The readers of values see the merged graph, not only the export.
TEST(MessageFormTest, KernelsSeeMergedAttrs) {
  const MessageBytes twice = MessageBytes().Raw(IntListAttr({1, 2}).str()).Raw(IntListAttr({3}).str());
  ASSERT_OK_AND_ASSIGN(const Graph graph, Import(GraphDefBytes({NodeDefBytes("n", "NoOp", {}, {{"_x", twice}})})));
  ASSERT_OK_AND_ASSIGN(const AttrView attr, graph.GetAttr(graph.Find("n"), "_x"));
  EXPECT_EQ(*attr.AsIntList(), (std::vector<int64_t>{1, 2, 3}));
}

TEST(MessageFormTest, OfRepeatedAttrsOfAFunctionTheLastStays) {
  const MessageBytes func = FuncAttr("f", {{"a", IntAttr(1)}, {"b", IntAttr(2)}, {"a", IntAttr(3)}});
  ASSERT_OK_AND_ASSIGN(const FuncView view, AttrView(func.str()).AsFunc());
  ASSERT_EQ(view.attrs.size(), 2u);
  EXPECT_EQ(*view.attrs[0].value.AsInt(), 3);
  EXPECT_EQ(*view.attrs[1].value.AsInt(), 2);
}

TEST(MessageFormTest, Utf8IsWhatProtobufTakes) {
  for (const absl::string_view text :
       {"", "ascii only", "\xc3\xa9", "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
        "\xf4\x8f\xbf\xbf", "1234567\xe2\x82\xac", "12345678\xe2\x82\xac"}) {
    EXPECT_TRUE(IsUtf8(text)) << absl::CHexEscape(text);
  }
  EXPECT_TRUE(IsUtf8(absl::string_view("a\0b", 3)));
  for (const absl::string_view text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80", "\xe2\x82", "12345678\xff", "1234567\xe2\x82", "\xc3\xa9\xff"}) {
    EXPECT_FALSE(IsUtf8(text)) << absl::CHexEscape(text);
  }
}

constexpr char kBad[] = "a\xff";

MessageBytes NoOpWith(const MessageBytes& more) { return MessageBytes(NodeDefBytes("n", "NoOp")).Raw(more.str()); }

MessageBytes FunctionWith(const MessageBytes& more) {
  return MessageBytes().Sub(1, MessageBytes().Bytes(1, "f")).Raw(more.str());
}

// All kinds of places that TensorFlow 2.19.1 refuses ("Invalid GraphDef").
TEST(MessageFormTest, TextThatIsNotUtf8IsRefusedWithItsPlace) {
  const MessageBytes dim_name = MessageBytes().Sub(2, MessageBytes().Bytes(2, kBad));
  const MessageBytes variant = MessageBytes().Sub(15, MessageBytes().Bytes(1, kBad));
  const struct {
    MessageBytes node;
    const char* message;
  } nodes[] = {
      {NodeDefBytes(kBad, "NoOp"), "NodeDef.name is not UTF-8"},
      {NodeDefBytes("n", kBad), "'n': the text in NodeDef.op is not UTF-8"},
      {NodeDefBytes("n", "NoOp", {kBad}), "'n': the text in NodeDef.input is not UTF-8"},
      {NodeDefBytes("n", "NoOp", {}, {}, kBad), "'n': the text in NodeDef.device is not UTF-8"},
      {NodeDefBytes("n", "NoOp", {}, {{kBad, IntAttr(1)}}), "'n': the text in the key of NodeDef.attr is not UTF-8"},
      {NodeDefBytes("n", "NoOp", {}, {{"_x", PlaceholderAttr(kBad)}}), "the text in AttrValue.placeholder"},
      {NodeDefBytes("n", "NoOp", {}, {{"_x", FuncAttr(kBad)}}), "the text in NameAttrList.name"},
      {NodeDefBytes("n", "NoOp", {}, {{"_x", FuncAttr("f", {{kBad, IntAttr(1)}})}}), "the key of NameAttrList.attr"},
      {NodeDefBytes("n", "NoOp", {}, {{"_x", MessageBytes().Sub(7, dim_name)}}), "the text in Dim.name"},
      {NodeDefBytes("n", "NoOp", {}, {{"_x", TensorAttr(variant)}}), "the text in VariantTensorDataProto.type_name"},
      {NoOpWith(MessageBytes().Sub(6, MessageBytes().Bytes(1, kBad))), "ExperimentalDebugInfo.original_node_names"},
      {NoOpWith(MessageBytes().Sub(7, MessageBytes().Bytes(3, kBad))), "the text in FullTypeDef.s"},
  };
  for (const auto& item : nodes) {
    EXPECT_THAT(Import(GraphDefBytes({NodeDefBytes("before", "NoOp"), item.node})).status(),
                IsError(ErrorCode::kFileWire, item.message));
  }
  const struct {
    MessageBytes function;
    const char* message;
  } functions[] = {
      {MessageBytes().Sub(1, MessageBytes().Bytes(1, kBad)), "the text in OpDef.name"},
      {FunctionWith(MessageBytes().Sub(3, NodeDefBytes("n", "NoOp", {kBad}))), "the text in NodeDef.input"},
      {FunctionWith(MessageBytes().Entry(4, "r", kBad)), "the value of FunctionDef.ret"},
      {FunctionWith(MessageBytes().Entry(6, kBad, "n")), "the key of FunctionDef.control_ret"},
      {FunctionWith(MessageBytes().Entry(5, kBad, IntAttr(1))), "the key of FunctionDef.attr"},
  };
  for (const auto& item : functions) {
    const std::string library = MessageBytes().Sub(2, MessageBytes().Sub(1, item.function)).str();
    const absl::Status status = Import(library).status();
    EXPECT_THAT(status, IsError(ErrorCode::kFileWire, item.message));
  }
  const MessageBytes gradient = MessageBytes().Bytes(1, "f").Bytes(2, kBad);
  EXPECT_THAT(Import(MessageBytes().Sub(2, MessageBytes().Sub(2, gradient)).str()).status(),
              IsError(ErrorCode::kFileWire, "the text in GradientDef.gradient_func"));
}

TEST(MessageFormTest, BytesAndTheTextOfDebugInfoNeedNotBeUtf8) {
  const std::string graph =
      GraphDefBytes({NodeDefBytes("n", "NoOp", {}, {{"_x", StringAttr(kBad)}, {"_y", StringListAttr({kBad})}})});
  const std::string debug_info = MessageBytes().Sub(5, MessageBytes().Bytes(1, kBad)).str();
  ASSERT_OK_AND_ASSIGN(const Graph read, Import(absl::StrCat(graph, debug_info)));
  EXPECT_EQ(*read.GetAttr(read.Find("n"), "_x")->AsString(), kBad);
}

// Packed numbers of a function's attr that no reader looks at before the function is called: protobuf reads all.
TEST(MessageFormTest, PackedNumbersThatEndInTheMiddleAreRefusedWhereverTheyStand) {
  const struct {
    MessageBytes attr;
    bool is_good;
  } items[] = {
      {TensorAttr(MessageBytes().Bytes(5, "eleven byte")), false},  // float_val
      {TensorAttr(MessageBytes().Bytes(5, "eight by")), true},
      {TensorAttr(MessageBytes().Bytes(6, "seven b")), false},   // double_val
      {TensorAttr(MessageBytes().Bytes(7, "\x01\x80")), false},  // int_val: a number is cut.
      {TensorAttr(MessageBytes().Bytes(7, "\x01\x80\x01")), true},
      {TensorAttr(MessageBytes().Bytes(10, std::string(10, '\xff') + "\x01")), false},  // int64_val: 11 bytes.
      {TensorAttr(MessageBytes().Bytes(10, std::string(9, '\xff') + "\x01")), true},
      {TensorAttr(MessageBytes().Bytes(11, "\xff")), false},            // bool_val
      {MessageBytes().Sub(1, MessageBytes().Bytes(4, "abc")), false},   // list(float)
      {MessageBytes().Sub(1, MessageBytes().Bytes(6, "\x80")), false},  // list(type)
  };
  for (const auto& item : items) {
    const MessageBytes node = NodeDefBytes("n", "NoOp", {}, {{"_x", item.attr}});
    const std::string library =
        MessageBytes().Sub(2, MessageBytes().Sub(1, FunctionWith(MessageBytes().Sub(3, node)))).str();
    EXPECT_EQ(proto::GraphDef().ParseFromString(library), item.is_good);
    if (item.is_good) {
      EXPECT_OK(Import(library).status());
    } else {
      EXPECT_THAT(Import(library).status(), IsError(ErrorCode::kFileWire, ""));
    }
  }
}

TEST(MessageFormTest, DamageThatNoPassReadsIsRefusedToo) {
  const std::string cut = NoOpWith(MessageBytes().Bytes(6, "\x0a\x05")).str();
  EXPECT_THAT(Import(MessageBytes().Bytes(1, cut).str()).status(), IsError(ErrorCode::kFileTruncated, ""));
  MessageBytes type;
  for (int i = 0; i < 200; ++i) type = MessageBytes().Sub(2, type);
  EXPECT_THAT(Import(GraphDefBytes({NoOpWith(MessageBytes().Sub(7, type))})).status(),
              IsError(ErrorCode::kLimitDepth, "nested"));
}

}  // namespace
}  // namespace sluice
