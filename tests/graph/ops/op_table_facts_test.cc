// Spot checks of ops with unusual parts: what a wrong generator or parser would get wrong.

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/attr_literal.h"
#include "graph/ir/op_class.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;

const OpSchema& Op(absl::string_view name) {
  static const OpSchema missing;
  const OpSchema* const schema = BuiltinOps().Find(name);
  EXPECT_NE(schema, nullptr) << name;
  return schema == nullptr ? missing : *schema;
}

const AttrSpec& Attr(absl::string_view op, absl::string_view name) {
  static const AttrSpec missing;
  const AttrSpec* const attr = Op(op).FindAttr(name);
  EXPECT_NE(attr, nullptr) << op << " " << name;
  return attr == nullptr ? missing : *attr;
}

void ExpectDefault(absl::string_view op, absl::string_view name, absl::string_view literal) {
  const AttrSpec& attr = Attr(op, name);
  EXPECT_TRUE(attr.has_default) << op << " " << name;
  EXPECT_EQ(attr.default_value, EncodeAttrLiteral(attr.type, literal).value_or("bad literal")) << op << " " << name;
}

TEST(OpTableFactsTest, OpsThatSchedulersKnowHaveTheirClass) {
  const std::pair<const char*, OpClass> ops[] = {{"Case", OpClass::kCase},
                                                 {"HostConst", OpClass::kConst},
                                                 {"Snapshot", OpClass::kOther},
                                                 {"IdentityN", OpClass::kForward},
                                                 {"RefMerge", OpClass::kMerge},
                                                 {"_SwitchN", OpClass::kSwitchN},
                                                 {"RefEnter", OpClass::kEnter},
                                                 {"NextIteration", OpClass::kNextIteration},
                                                 {"_HostRecv", OpClass::kHostRecv},
                                                 {"_Retval", OpClass::kRetval},
                                                 {"StatelessWhile", OpClass::kWhile},
                                                 {"MatMul", OpClass::kOther}};
  for (const auto& [name, op_class] : ops) EXPECT_EQ(Op(name).op_class, op_class) << name;
}

TEST(OpTableFactsTest, ArgumentsOfOneKindEach) {
  EXPECT_EQ(Op("Add").inputs[0].type_attr, "T");
  EXPECT_EQ(Op("Shape").outputs[0].type_attr, "out_type");
  EXPECT_EQ(Op("AddN").inputs[0].number_attr, "N");
  EXPECT_EQ(Op("IdentityN").inputs[0].type_list_attr, "T");
  EXPECT_EQ(Op("ReadFile").inputs[0].dtype, DType::kString);
  EXPECT_EQ(Op("XlaLaunch").inputs[2].number_attr, "Nresources");
  EXPECT_EQ(Op("XlaLaunch").inputs[2].dtype, DType::kResource);
  EXPECT_EQ(Op("ConcatOffset").outputs[0].number_attr, "N");
  EXPECT_EQ(Op("ParseExample").inputs.size(), 5u);
  EXPECT_EQ(Op("FusedBatchNormV3").outputs.size(), 6u);
}

TEST(OpTableFactsTest, ReferencesAndUninitializedInputs) {
  EXPECT_TRUE(Op("Assign").inputs[0].is_ref);
  EXPECT_TRUE(Op("Assign").outputs[0].is_ref);
  EXPECT_TRUE(Op("Assign").allows_uninitialized_input);
  EXPECT_TRUE(Op("RefMerge").inputs[0].is_ref);
  EXPECT_EQ(Op("RefMerge").inputs[0].number_attr, "N");
  EXPECT_EQ(Op("RefMerge").outputs[1].dtype, DType::kInt32);
  EXPECT_TRUE(Op("VariableV2").outputs[0].is_ref);
  EXPECT_FALSE(Op("Merge").inputs[0].is_ref);
}

TEST(OpTableFactsTest, Flags) {
  EXPECT_TRUE(Op("VarHandleOp").is_stateful);
  EXPECT_FALSE(Op("Const").is_stateful);
  EXPECT_TRUE(Op("AddN").is_aggregate);
  EXPECT_TRUE(Op("AddN").is_commutative);
  EXPECT_TRUE(Op("_Recv").is_distributed_communication);
  EXPECT_TRUE(Op("RandomUniform").is_stateful);
  EXPECT_FALSE(Op("StatelessRandomUniform").is_stateful);
}

TEST(OpTableFactsTest, DefaultsOfEveryKind) {
  ExpectDefault("Conv2D", "data_format", "'NHWC'");
  ExpectDefault("Conv2D", "dilations", "[1,1,1,1]");
  ExpectDefault("Conv2D", "explicit_paddings", "[]");
  ExpectDefault("Conv2D", "use_cudnn_on_gpu", "true");
  ExpectDefault("MatMul", "transpose_a", "false");
  ExpectDefault("FusedBatchNormV3", "epsilon", "0.0001");
  ExpectDefault("DebugNumericSummary", "lower_bound", "-inf");
  ExpectDefault("Cumsum", "Tidx", "DT_INT32");
  ExpectDefault("Placeholder", "shape", "{ unknown_rank: true }");
  ExpectDefault("TensorArrayV3", "element_shape", "?");
  ExpectDefault("FIFOQueueV2", "shapes", "[]");
  ExpectDefault("FIFOQueueV2", "capacity", "-1");
  ExpectDefault("While", "parallel_iterations", "10");
  ExpectDefault("StatefulPartitionedCall", "config_proto", "''");
  ExpectDefault("DecodeImage", "dtype", "uint8");
  EXPECT_FALSE(Attr("MatMul", "T").has_default);
}

TEST(OpTableFactsTest, Constraints) {
  EXPECT_THAT(Attr("Conv2D", "padding").allowed_strings, ElementsAre("SAME", "VALID", "EXPLICIT"));
  EXPECT_THAT(Attr("Reshape", "Tshape").allowed_types, ElementsAre(DType::kInt32, DType::kInt64));
  EXPECT_EQ(Attr("AddN", "T").allowed_types.size(), 20u);
  EXPECT_EQ(Attr("Mul", "T").type, AttrType::kType);
  EXPECT_TRUE(Attr("ConcatV2", "N").has_minimum);
  EXPECT_EQ(Attr("ConcatV2", "N").minimum, 2);
  EXPECT_EQ(Attr("MaxPool", "ksize").minimum, 4);
  EXPECT_EQ(Attr("MaxPool", "ksize").type, AttrType::kListInt);
  EXPECT_THAT(Attr("ParseExample", "Tdense").allowed_types, ElementsAre(DType::kFloat, DType::kInt64, DType::kString));
  EXPECT_EQ(Attr("ParseExample", "Tdense").type, AttrType::kListType);
  EXPECT_EQ(Attr("If", "then_branch").type, AttrType::kFunc);
  EXPECT_EQ(Attr("Case", "branches").type, AttrType::kListFunc);
  EXPECT_EQ(Attr("Case", "branches").minimum, 1);
  EXPECT_EQ(Attr("Const", "value").type, AttrType::kTensor);
}

TEST(OpTableFactsTest, Deprecations) {
  EXPECT_EQ(Op("TensorArrayV2").deprecated_at, 26);
  EXPECT_EQ(Op("TopK").deprecated_at, 7);
  EXPECT_EQ(Op("BatchCholesky").deprecation_text, "Use Cholesky instead.");
  EXPECT_EQ(Op("TensorArrayV3").deprecated_at, 0);
}

}  // namespace
}  // namespace sluice
