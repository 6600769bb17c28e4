// `sluice ops`: what runs here, and what an op is.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

nlohmann::json OpsJson(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"ops", "--json"});
  return nlohmann::json::parse(RunSluice(arguments).out);
}

bool Lists(const nlohmann::json& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(OpsTest, AnOpIsInOneOfTheTwoLists) {
  const nlohmann::json run = OpsJson({}), missing = OpsJson({"--missing"});
  EXPECT_EQ(run.size() + missing.size(), nlohmann::json::parse(RunSluice({"version", "--json"}).out)["ops"]);
  for (const char* op : {"MatMul", "Switch", "NoOp", "While", "PartitionedCall"}) {
    EXPECT_TRUE(Lists(run, op)) << op;
    EXPECT_FALSE(Lists(missing, op)) << op;
  }
  EXPECT_TRUE(Lists(missing, "MapDataset"));
  EXPECT_FALSE(Lists(run, "MapDataset"));
}

TEST(OpsTest, CallsThatAreReplacedByTheirBodiesRunAndThoseThatNeedAKernelDoNot) {
  for (const char* op : {"Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf",
                         "StatelessWhile", "SymbolicGradient", "While"}) {
    EXPECT_TRUE(absl::StrContains(RunSluice({"ops", op}).out, "replaced by the nodes of its functions")) << op;
  }
  const nlohmann::json missing = OpsJson({"--missing"});
  EXPECT_TRUE(Lists(missing, "RemoteCall"));
  EXPECT_FALSE(Lists(missing, "SymbolicGradient"));
}

TEST(OpsTest, AnOpIsShownWithItsArgumentsAttrsAndDtypes) {
  const RunResult run = RunSluice({"ops", "MatMul"});
  EXPECT_EQ(run.status, 0);
  for (const char* part :
       {"MatMul\n", "inputs    a: T\n            b: T\n", "product: T", "transpose_a: bool = false",
        "runs      CPU, T in {float32, ", "gradient  yes\n", "traits    fails only where shapes disagree\n"}) {
    EXPECT_TRUE(absl::StrContains(run.out, part)) << run.out;
  }
  EXPECT_FALSE(absl::StrContains(run.out, "BatchMatMul"));
  EXPECT_TRUE(absl::StrContains(RunSluice({"ops", "Merge"}).out, "the executor itself"));
  EXPECT_TRUE(absl::StrContains(RunSluice({"ops", "MapDataset"}).out, "no kernel here"));
}

TEST(OpsTest, TraitsOfAnOpAreShown) {
  const nlohmann::json variable = OpsJson({"VarHandleOp"})[0];
  EXPECT_EQ(variable["gradient"], "no derivative: gradients end here");
  EXPECT_EQ(variable["traits"], nlohmann::json({"stateful", "may run again in a recomputed body", "makes a variable",
                                                "not an output that is guessed"}));
  EXPECT_EQ(OpsJson({"MapDataset"})[0]["gradient"], "none is registered");
  EXPECT_EQ(OpsJson({"SparseMatMul"})[0]["traits"], nlohmann::json::array());
}

TEST(OpsTest, DtypesAreThoseOfTheKernelThatTheOpAllows) {
  const nlohmann::json op = OpsJson({"BitwiseAnd"})[0];
  EXPECT_EQ(op["runs"], true);
  const nlohmann::json types = op["kernels"][0]["types"]["T"];
  EXPECT_TRUE(Lists(types, "int32"));
  EXPECT_FALSE(Lists(types, "float32"));
}

TEST(OpsTest, PartOfANameMeansAllThatHoldIt) {
  const nlohmann::json ops = OpsJson({"matmulv"});
  ASSERT_GE(ops.size(), 2u);
  EXPECT_EQ(ops[0]["op"], "BatchMatMulV2");
}

TEST(OpsTest, AnUnknownNameIsWrongUseWithTheNearestNames) {
  const RunResult run = RunSluice({"ops", "MatMull"});
  EXPECT_EQ(run.status, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(absl::StrContains(run.err, "there is no op 'MatMull'; did you mean MatMul")) << run.err;
}

}  // namespace
}  // namespace sluice
