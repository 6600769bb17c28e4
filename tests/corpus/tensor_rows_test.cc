// Rows T of the corpus: constants whose dtype, shape and data contradict each other.

#include <limits>
#include <string>
#include <vector>

#include "graph/value/tensor_proto.h"
#include "tests/corpus/corpus_row.h"
#include "tests/testing/graph_bytes.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using namespace graph_bytes;  // NOLINT: half of each line.

constexpr int64_t kBig = int64_t{1} << 31;
constexpr int64_t kBig62 = int64_t{1} << 62;

class TensorRows : public ::testing::TestWithParam<CorpusRow> {};

TEST_P(TensorRows, AreRefused) { ExpectRefused(GetParam()); }

// A graph whose Const 'k' of attr dtype `dtype` holds `tensor`.
std::string Holding(const MessageBytes& tensor, int64_t dtype = kFloat) {
  return GraphDefBytes({ScalarNode("c"), ConstNode("k", dtype, tensor)});
}

CorpusRow BadConst(std::string name, std::string graph, ErrorCode code) {
  return Bad(std::move(name), std::move(graph), code).AtNode("k", "Const");
}

MessageBytes Floats(const std::vector<int64_t>& dims, int count) {
  MessageBytes tensor = TensorBytes(kFloat, dims);
  for (int i = 0; i < count; ++i) tensor.Float(5, 1.5f);
  return tensor;
}

MessageBytes Content(int64_t dtype, const std::vector<int64_t>& dims, size_t bytes) {
  return TensorBytes(dtype, dims).Bytes(4, std::string(bytes, '\1'));
}

std::string WithConstAttrs(const AttrBytes& attrs) {
  return GraphDefBytes({ScalarNode("c"), NodeDefBytes("k", "Const", {}, attrs)});
}

// Variants in tensors in variants.
MessageBytes NestedVariants(int levels) {
  MessageBytes tensor = TensorBytes(kFloat, {}).Float(5, 1);
  for (int i = 0; i < levels; ++i) {
    tensor = TensorBytes(kVariant, {}).Sub(15, MessageBytes().Bytes(1, "tensorflow::TensorList").Sub(3, tensor));
  }
  return tensor;
}

INSTANTIATE_TEST_SUITE_P(
    DTypes, TensorRows,
    ::testing::Values(
        BadConst("T01_DTypeInvalid", Holding(Floats({}, 1).Int(1, 0)), ErrorCode::kTensorDType).AtAttr("value"),
        BadConst("T01_DType9999", Holding(Floats({}, 1).Int(1, 9999)), ErrorCode::kTensorDType).AtAttr("value"),
        BadConst("T01_NoElementsBadDType", Holding(TensorBytes(9999, {0})), ErrorCode::kTensorDType).AtAttr("value"),
        BadConst("T02_DTypeRef", Holding(Floats({}, 1).Int(1, kFloatRef)), ErrorCode::kTensorDType).AtAttr("value"),
        BadConst("T11_IntOfString", Holding(TensorBytes(kString, {}).Bytes(8, "x"), kInt32), ErrorCode::kTensorDType)
            .AtAttr("value"),
        BadConst("T11_HalfAsString", Holding(TensorBytes(kString, {}).Bytes(8, "x"), kHalf), ErrorCode::kTensorDType)
            .AtAttr("value")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Shapes, TensorRows,
    ::testing::Values(
        BadConst("T03_DimMinus1", Holding(Floats({-1}, 1)), ErrorCode::kTensorShape).AtAttr("value"),
        BadConst("T03_DimMinus5", Holding(Floats({2, -5}, 1)), ErrorCode::kTensorShape).AtAttr("value"),
        BadConst("T03_UnknownRank", Holding(MessageBytes().Int(1, kFloat).Sub(2, MessageBytes().Int(3, 1))),
                 ErrorCode::kTensorShape)
            .AtAttr("value"),
        BadConst("T03_Overflow", Holding(Floats({kBig, kBig, kBig}, 1)), ErrorCode::kTensorShape).AtAttr("value"),
        BadConst("T04_Rank255", Holding(Floats(std::vector<int64_t>(255, 1), 1)), ErrorCode::kTensorShape)
            .Or(ErrorCode::kLimitRank)
            .AtAttr("value"),
        BadConst("T04_Rank300", Holding(Floats(std::vector<int64_t>(300, 1), 1)), ErrorCode::kTensorShape)
            .Or(ErrorCode::kLimitRank)
            .AtAttr("value"),
        BadConst("T04_OverflowBehindZero", Holding(Floats({0, kBig62, kBig62}, 1)), ErrorCode::kTensorShape)
            .AtAttr("value")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Contents, TensorRows,
    ::testing::Values(
        BadConst("T05_3BytesForFloat4", Holding(Content(kFloat, {4}, 3)), ErrorCode::kTensorContent).Says("16"),
        BadConst("T05_17BytesForFloat4", Holding(Content(kFloat, {4}, 17)), ErrorCode::kTensorContent).Says("17"),
        BadConst("T05_1ByteForFloat0", Holding(Content(kFloat, {0}, 1)), ErrorCode::kTensorContent).AtAttr("value"),
        BadConst("T06_SplatHuge", Holding(Floats({1000000000000}, 1)), ErrorCode::kTensorTooLarge)
            .Or(ErrorCode::kTensorShape)
            .AtAttr("value"),
        BadConst("T06_ZerosHuge", Holding(TensorBytes(kFloat, {1 << 20, 1 << 20})), ErrorCode::kTensorTooLarge)
            .AtAttr("value"),
        BadConst("T07_StringContent", Holding(Content(kString, {1}, 4), kString), ErrorCode::kTensorContent)
            .Or(ErrorCode::kTensorKind)
            .AtAttr("value"),
        BadConst("T07_LengthPastEnd", Holding(TensorBytes(kString, {1}).Raw("\x42\x7fx"), kString),
                 ErrorCode::kFileTruncated)
            .Or(ErrorCode::kTensorContent)
            .AtAttr("value"),
        BadConst("T09_TwoHandlesForAScalar",
                 Holding(TensorBytes(kResource, {}).Sub(14, MessageBytes()).Sub(14, MessageBytes()), kResource),
                 ErrorCode::kTensorKind)
            .Or(ErrorCode::kTensorValue)
            .AtAttr("value"),
        BadConst("T08_BoolByteOfSeven", Holding(TensorBytes(kBool, {2}).Bytes(4, "\x07\x01"), kBool),
                 ErrorCode::kTensorContent)
            .AtAttr("value"),
        BadConst("T10_VariantsNested1000", Holding(NestedVariants(1000), kVariant), ErrorCode::kLimitDepth)
            .AtAttr("value")),
    CorpusRowName());

INSTANTIATE_TEST_SUITE_P(
    Attrs, TensorRows,
    ::testing::Values(
        BadConst("T12_NoValue", WithConstAttrs({{"dtype", TypeAttr(kFloat)}}), ErrorCode::kAttrRequired)
            .AtAttr("value"),
        BadConst("T12_NoDType", WithConstAttrs({{"value", TensorAttr(Floats({}, 1))}}), ErrorCode::kAttrMissing)
            .AtAttr("dtype"),
        BadConst("T12_ValueIsAList", WithConstAttrs({{"dtype", TypeAttr(kFloat)}, {"value", IntListAttr({1})}}),
                 ErrorCode::kAttrKind)
            .AtAttr("value"),
        BadConst("T12_ValueIsANumber", WithConstAttrs({{"dtype", TypeAttr(kFloat)}, {"value", FloatAttr(1)}}),
                 ErrorCode::kAttrKind)
            .AtAttr("value"),
        BadConst("T12_KeyRenamed", WithConstAttrs({{"dtype", TypeAttr(kFloat)}, {"valu", TensorAttr(Floats({}, 1))}}),
                 ErrorCode::kAttrRequired)
            .AtAttr("value")),
    CorpusRowName());

TEST(TensorCorpus, T06_SurplusValuesAreIgnoredAsInTensorFlow) {
  EXPECT_OK(LoadCorpusGraph(Holding(Floats({4}, 5))).status());
}

TEST(TensorCorpus, T10_VariantsOfUnknownTypesAreCarriedAlongButNotDecoded) {
  const MessageBytes tensor = TensorBytes(kVariant, {}).Sub(15, MessageBytes().Bytes(1, "my.Type"));
  EXPECT_OK(LoadCorpusGraph(Holding(tensor, kVariant)).status());
  EXPECT_THAT(DecodeTensorProto(tensor.str()), IsError(ErrorCode::kTensorKind));
}

TEST(TensorCorpus, ConstantsThatFitAreAccepted) {
  EXPECT_OK(LoadCorpusGraph(Holding(Floats({2, 3}, 1))).status());
  EXPECT_OK(LoadCorpusGraph(Holding(Content(kFloat, {4}, 16))).status());
  EXPECT_OK(LoadCorpusGraph(Holding(TensorBytes(kString, {3}).Bytes(8, "x"), kString)).status());
  EXPECT_OK(LoadCorpusGraph(Holding(TensorBytes(kFloat, {0, 5}))).status());
  EXPECT_OK(LoadCorpusGraph(Holding(Floats(std::vector<int64_t>(254, 1), 1))).status());
}

}  // namespace
}  // namespace sluice
