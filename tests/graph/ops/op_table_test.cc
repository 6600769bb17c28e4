#include "graph/ops/op_table.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "graph/ir/op_schema_builder.h"
#include "graph/ops/op_traits.h"
#include "graph/ops/tensorflow_ops.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::Contains;
using testing::ElementsAre;

// TensorFlow's.
std::vector<std::string> AllNames() {
  std::vector<std::string> names;
  OpTextTable(TensorFlowOpsText()).ForEachName([&names](absl::string_view name) { names.emplace_back(name); });
  return names;
}

TEST(OpTableTest, HoldsEveryOpOfTensorFlow) {
  const std::vector<std::string> names = AllNames();
  EXPECT_EQ(names.size(), 1788u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

// TensorFlow registers ops for its own tests too; the graphs of users hold none, but functions may have such names.
TEST(OpTableTest, OpsOfTensorFlowsTestsAreLeftOut) {
  for (const char* op : {"A", "B", "Attr", "AttrEnumList", "Foo1", "None", "Old", "Unary", "RefIn", "TestAttr",
                         "Namespace>TestStringOutput", "ConstructionFails"}) {
    EXPECT_EQ(BuiltinOps().Find(op), nullptr) << op;
  }
  EXPECT_NE(BuiltinOps().Find("Any"), nullptr);
}

TEST(OpTableTest, EveryLineIsFoundByItsNameAndIsSound) {
  const OpTextTable table(TensorFlowOpsText());
  size_t num_attrs = 0, num_defaults = 0, num_stateful = 0, num_deprecated = 0;
  for (const std::string& name : AllNames()) {
    const absl::StatusOr<OpSchema> schema = table.Find(name);
    ASSERT_THAT(schema, IsOk()) << name;
    EXPECT_EQ(schema->name, name);
    num_attrs += schema->attrs.size();
    for (const AttrSpec& attr : schema->attrs) num_defaults += attr.has_default;
    num_stateful += schema->is_stateful;
    num_deprecated += schema->deprecated_at != 0;
  }
  EXPECT_EQ(num_attrs, 5560u);
  EXPECT_EQ(num_defaults, 2504u);
  EXPECT_EQ(num_stateful, 540u);
  EXPECT_EQ(num_deprecated, 62u);
}

TEST(OpTableTest, EveryOpSurvivesTheWayThroughItsOpDef) {
  for (const std::string& name : AllNames()) {
    const std::string bytes = EncodeOpDef(*BuiltinOps().Find(name));
    const absl::StatusOr<OpSchema> again = ParseOpDef(bytes);
    ASSERT_THAT(again, IsOk()) << name;
    EXPECT_EQ(EncodeOpDef(*again), bytes) << name;
  }
}

TEST(OpTableTest, OwnOpsStandBesideThoseOfTensorFlow) {
  std::vector<std::string> expected = AllNames(), names;
  expected.push_back("GradSum");
  expected.push_back("_DeviceCopy");
  std::sort(expected.begin(), expected.end());
  BuiltinOps().ForEachName([&names](absl::string_view name) { names.emplace_back(name); });
  EXPECT_EQ(names, expected);
  const OpSchema* const schema = BuiltinOps().Find("GradSum");
  ASSERT_NE(schema, nullptr);
  EXPECT_EQ(schema->inputs[0].number_attr, "N");
  EXPECT_EQ(schema->FindAttr("N")->minimum, 1);
  EXPECT_FALSE(schema->is_commutative) << "sums are made in the order of the inputs";
  EXPECT_THAT(ParseOpDef(EncodeOpDef(*schema)), IsOk());
}

// A new op is classified once, here; each line says what the parsed traits say.
TEST(OpTableTest, EveryOpHasItsTraits) {
  std::vector<std::string> names, lines = absl::StrSplit(OpTraitsText(), '\n', absl::SkipEmpty());
  BuiltinOps().ForEachName([&names](absl::string_view name) { names.emplace_back(name); });
  ASSERT_EQ(lines.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string line =
        absl::StrCat(names[i], "\t", absl::StrJoin(TraitWords(BuiltinOps().Find(names[i])->traits), "\t"));
    EXPECT_EQ(lines[i], line);
  }
}

TEST(OpTableTest, TraitsThatDoNotFitTheOpAreNotGiven) {
  BuiltinOps().ForEachName([](absl::string_view name) {
    const OpSchema& op = *BuiltinOps().Find(name);
    EXPECT_FALSE(op.is_stateful && op.traits.is_impure) << name << ": state says so already";
    EXPECT_TRUE(op.is_stateful || !op.traits.may_run_again) << name << ": nothing forbids it";
    EXPECT_FALSE(op.is_stateful && op.traits.takes_any_value) << name;
  });
}

TEST(OpTableTest, NamesThatAreNotThereAreNotFound) {
  for (const char* name : {"", "AddV", "AddV22", "Conv2d", "zzz", "~", "\t", "Abs\t<x:T", "\n"}) {
    EXPECT_EQ(BuiltinOps().Find(name), nullptr) << name;
  }
  EXPECT_THAT(BuiltinOps().Nearest("Conv2d", 2), Contains("Conv2D"));
  EXPECT_THAT(BuiltinOps().Nearest("MatMull", 1), ElementsAre("MatMul"));
}

TEST(OpTableTest, InternalOpsOfRewrittenGraphsAreThere) {
  for (const char* name : {"_Arg", "_Retval", "_DeviceArg", "_DeviceRetval", "_Send", "_Recv", "_HostSend", "_HostRecv",
                           "_FusedMatMul", "_FusedConv2D", "_SwitchN", "_If", "_While", "_ListToArray"}) {
    EXPECT_NE(BuiltinOps().Find(name), nullptr) << name;
  }
}

TEST(OpTableTest, HostAdditionsDoNotTouchTheTable) {
  const std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  ASSERT_OK(ops->Add(*OpSchemaBuilder("MyOp").Output("y: int32").Build()));
  EXPECT_NE(ops->Find("MyOp"), nullptr);
  EXPECT_EQ(NewOpRegistry()->Find("MyOp"), nullptr);
  EXPECT_EQ(ops->Find("AddV2"), BuiltinOps().Find("AddV2"));
  EXPECT_THAT(ops->Add(*OpSchemaBuilder("AddV2").Build()), IsError(ErrorCode::kOpSchema));
}

TEST(OpTableTest, ATextOfOneLineAndAnEmptyOneAreTables) {
  EXPECT_FALSE(OpTextTable("").Find("A").ok());
  const OpTextTable one("A\t>y:float");
  EXPECT_OK(one.Find("A"));
  EXPECT_FALSE(one.Find("B").ok());
  EXPECT_THAT(OpTextTable("A\t?x\n").Find("A"), IsError(ErrorCode::kOpSchema));
  EXPECT_THAT(OpTextTable("A\t~x\n").Find("A"), IsError(ErrorCode::kOpSchema));
}

}  // namespace
}  // namespace sluice
