#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "tests/testing/status_matchers.h"
#include "tools/cli/conform/conform_case.h"
#include "tools/cli/conform/conform_report.h"
#include "tools/cli/conform/conform_runner.h"
#include "tools/cli/numpy/npy.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Case folders below a scratch directory; each holds the graph "out = Relu(x)".
class ConformTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
  }
  // Writes suite/name with case.json of the fields given.
  std::string Write(const std::string& name, const std::string& fields) const {
    const fs::path folder = root_ / "suite" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "case.json") << R"({"name": "suite/x", "graph": "graph.pb", )" << fields << "}";
    GraphBuilder b(NewOpRegistry());
    b.Op("Relu", "out", {b.Placeholder("x", DType::kFloat)});
    std::ofstream(folder / "graph.pb", std::ios::binary) << ExportGraph(b.graph());
    return folder.string();
  }
  CaseResult Run(const std::string& name, const std::string& fields,
                 const KernelRegistry& kernels = BuiltinKernels()) const {
    const absl::StatusOr<ConformCase> test = ReadConformCase(Write(name, fields));
    EXPECT_OK(test);
    return test.ok() ? RunConformCase(*test, kernels) : CaseResult();
  }
  // Values that a case may feed ("t0.npy") and what Relu makes of them ("t1.npy").
  void WriteValues(const std::string& name) const {
    const fs::path folder = root_ / "suite" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "t0.npy", std::ios::binary) << *WriteNpy(Tensor::Vector<float>({-1, 2}));
    std::ofstream(folder / "t1.npy", std::ios::binary) << *WriteNpy(Tensor::Vector<float>({0, 2}));
  }

  fs::path root_;
};

TEST_F(ConformTest, FindsCasesInOrderAtAnyDepth) {
  Write("b", R"("steps": [])");
  Write("a", R"("steps": [])");
  ASSERT_OK_AND_ASSIGN(const std::vector<std::string> folders, FindCaseFolders(root_.string()));
  ASSERT_EQ(folders.size(), 2u);
  EXPECT_THAT(folders[0], ::testing::EndsWith("suite/a"));
  EXPECT_THAT(FindCaseFolders((root_ / "nowhere").string()), IsError(ErrorCode::kFileMissing));
}

TEST_F(ConformTest, ReadsStepsAndErrors) {
  const std::string folder = Write("a", R"("rtol": 0.5, "steps": [{"name": "s", "feeds": {"x:0": "t0.npy"},
      "fetches": [["out:0", null], ["y", "t1.npy"]], "repeat": 3,
      "error": {"code": "NOT_FOUND", "contains": ["y"], "when": "any"}}])");
  ASSERT_OK_AND_ASSIGN(const ConformCase test, ReadConformCase(folder));
  EXPECT_EQ(test.name, "suite/a");
  EXPECT_EQ(test.rtol, 0.5);
  ASSERT_EQ(test.steps.size(), 1u);
  EXPECT_EQ(test.steps[0].fetches[0].file, "");
  EXPECT_EQ(test.steps[0].fetches[1].file, "t1.npy");
  EXPECT_EQ(test.steps[0].repeat, 3);
  EXPECT_EQ(test.steps[0].error->when, ExpectedError::When::kAny);
}

TEST_F(ConformTest, MalformedCasesAreErrorsNotCrashes) {
  EXPECT_THAT(ReadConformCase(Write("a", R"("steps": [{"fetches": [[]]}])")), IsError(ErrorCode::kFileText));
  EXPECT_THAT(ReadConformCase(Write("b", R"("steps": 3, "tags": {})")), IsError(ErrorCode::kFileText));
  EXPECT_THAT(ReadConformCase((root_ / "none").string()), IsError(ErrorCode::kFileRead));
}

TEST_F(ConformTest, ExpectedErrorsOfTheFetchPass) {
  const CaseResult result = Run("a", R"("steps": [{"fetches": [["nix:0", null]],
      "error": {"code": "INVALID_ARGUMENT", "contains": ["NIX"]}}])");
  ASSERT_EQ(result.steps.size(), 1u);
  EXPECT_TRUE(result.passed()) << result.steps[0].why;
}

TEST_F(ConformTest, AnotherCodeOrAMissingWordFails) {
  EXPECT_FALSE(Run("a", R"("steps": [{"fetches": [["nix", null]], "error": {"code": "INTERNAL"}}])").passed());
  EXPECT_FALSE(Run("b", R"("steps": [{"fetches": [["nix", null]],
      "error": {"code": "INVALID_ARGUMENT", "contains": ["zebra"]}}])")
                   .passed());
}

TEST_F(ConformTest, LoadErrorsDoNotPassAtTheRun) {
  const CaseResult result = Run("a", R"("steps": [{"fetches": [["nix", null]],
      "error": {"code": "INVALID_ARGUMENT", "when": "load"}}])");
  EXPECT_FALSE(result.passed());
  EXPECT_THAT(result.steps[0].why, ::testing::HasSubstr("loaded"));
}

TEST_F(ConformTest, AnswersAreCompared) {
  WriteValues("a");
  WriteValues("b");
  const CaseResult right = Run("a", R"("steps": [{"feeds": {"x": "t0.npy"}, "fetches": [["out", "t1.npy"]]}])");
  EXPECT_TRUE(right.passed()) << right.steps[0].why;
  const CaseResult wrong = Run("b", R"("steps": [{"feeds": {"x": "t0.npy"}, "fetches": [["out", "t0.npy"]]}])");
  EXPECT_FALSE(wrong.passed());
  EXPECT_THAT(wrong.steps[0].why, ::testing::HasSubstr("element 0"));
}

TEST_F(ConformTest, WhatHasNoKernelHasFailed) {
  WriteValues("a");
  const KernelRegistry none;
  const CaseResult result = Run("a", R"("steps": [{"feeds": {"x": "t0.npy"}, "fetches": [["out", "t1.npy"]]}])", none);
  EXPECT_FALSE(result.passed());
  EXPECT_THAT(result.steps[0].why, ::testing::HasSubstr("Sluice has no kernel for Relu"));
  EXPECT_THAT(result.unsupported_ops, ::testing::Contains("Relu"));
}

TEST_F(ConformTest, InspectComparesCounts) {
  EXPECT_TRUE(
      Run("a", R"("inspect": {"nodes": 2, "functions": 0, "op_types": {"Relu": 1, "Placeholder": 1}})").passed());
  EXPECT_FALSE(Run("b", R"("inspect": {"nodes": 3})").passed());
  EXPECT_FALSE(Run("c", R"("inspect": {"op_types": {"Relu": 2}})").passed());
}

TEST_F(ConformTest, ReportCountsBySuiteAndNamesFailures) {
  ConformReport report;
  report.Add(Run("a", R"("inspect": {"nodes": 2})"));
  report.Add(Run("b", R"("steps": [{"fetches": [["nix", null]]}])"));
  EXPECT_EQ(report.ClosingLine(), "1 passed, 1 failed");
  const nlohmann::ordered_json document = report.ToJson();
  EXPECT_EQ(document["cases"], 2);
  EXPECT_EQ(document["suites"]["suite"]["passed"], 1);
  ASSERT_EQ(document["failures"].size(), 1u);
  EXPECT_EQ(document["failures"][0]["case"], "suite/b");
  EXPECT_EQ(document["failures"][0]["code"], "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace sluice
