// ReadFile, WriteFile, MatchingFiles, ShardedFilename, ShardedFilespec. Answers and codes are TensorFlow's (2.19).

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/ir/builder.h"
#include "graph/value/tstring.h"
#include "gtest/gtest.h"
#include "kernels/step/file_access.h"
#include "kernels/step/session_state.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using Code = absl::StatusCode;

std::string Text(const absl::StatusOr<Tensor>& answer) {
  return answer.ok() ? std::string(answer->flat<TString>()[0].view()) : "error " + answer.status().ToString();
}

std::vector<std::string> Texts(const Tensor& tensor) {
  std::vector<std::string> texts;
  for (const TString& text : tensor.flat<TString>()) texts.emplace_back(text.view());
  return texts;
}

// Works in a directory of its own.
class FilesTest : public ::testing::Test {
 protected:
  FilesTest() : before_(fs::current_path()) {
    const fs::path directory =
        fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory);
    fs::create_directories(directory / "d" / "e");
    fs::current_path(directory);
    for (const char* name : {"f1", "f[1]", ".hid", "d/f3", "d/e/f2"}) std::ofstream(name) << name;
  }
  ~FilesTest() override { fs::current_path(before_); }

  const fs::path before_;
};

using Names = std::vector<std::string>;

TEST_F(FilesTest, PatternsMatchAsInTensorFlow) {
  const std::vector<std::pair<std::string, Names>> cases = {
      {"*", {"./.hid", "./d", "./f1", "./f[1]"}},
      {"d/*", {"d/e", "d/f3"}},
      {"d/*/f2", {"d/e/f2"}},
      {"*/*", {"./d/e", "./d/f3"}},
      {"f?", {"./f1"}},
      {"f[1]", {"./f1"}},
      {"f\\[1\\]", {"./f[1]"}},
      {"f[!1]*", {"./f[1]"}},
      {"nope*", {}},
      {"nope", {}},
      {"d", {"d"}},
      {"d/", {"d/"}},
      {"./f1", {"./f1"}},
      {"", {}},
      {"/", {"/"}},
      {"{f1,d}", {}},
      {"d/**", {"d/e", "d/f3"}},
      {"*hid", {"./.hid"}},
      {"f[", {}},
      {"./*", {"./.hid", "./d", "./f1", "./f[1]"}},
      {"d//f3", {"d//f3"}},
  };
  for (const auto& [pattern, files] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor found, KernelRunner("MatchingFiles").Run1({Tensor::String(pattern)}));
    EXPECT_EQ(Texts(found), files) << pattern;
    EXPECT_EQ(found.rank(), 1);
  }
  ASSERT_OK_AND_ASSIGN(const Tensor several,
                       KernelRunner("MatchingFiles").Run1({Tensor::Strings({"d/*", "f*", "f1"})}));
  EXPECT_EQ(Texts(several), (Names{"./f1", "./f[1]", "d/e", "d/f3", "f1"}));
  const Tensor matrix = Tensor::Make(DType::kString, Shape::Of({1, 1})).value();
  EXPECT_THAT(KernelRunner("MatchingFiles").Run1({matrix}), StatusIs(Code::kInvalidArgument));
}

TEST_F(FilesTest, FilesAreReadAndWritten) {
  const std::string bytes("a\0b\xff", 4);
  const auto write = [](const Tensor& name, const Tensor& contents) {
    return KernelRunner("WriteFile").Run({name, contents}).status();
  };
  ASSERT_OK(write(Tensor::String("n1/n2/f"), Tensor::String(bytes)));
  EXPECT_EQ(Text(KernelRunner("ReadFile").Run1({Tensor::String("n1/n2/f")})), bytes);
  EXPECT_EQ(Text(KernelRunner("ReadFile").Run1({Tensor::String("file://" + fs::current_path().string() + "/f1")})),
            "f1");
  ASSERT_OK(write(Tensor::String("f1"), Tensor::String("")));
  EXPECT_EQ(Text(KernelRunner("ReadFile").Run1({Tensor::String("f1")})), "");
  const auto code = [](const Tensor& name) { return KernelRunner("ReadFile").Run1({name}).status().code(); };
  EXPECT_EQ(code(Tensor::String("nope")), Code::kNotFound);
  EXPECT_EQ(code(Tensor::String("")), Code::kNotFound);
  EXPECT_EQ(code(Tensor::String("d")), Code::kFailedPrecondition);
  EXPECT_EQ(code(Tensor::String("s3://x/y")), Code::kUnimplemented);
  EXPECT_EQ(code(Tensor::Strings({"f1"})), Code::kInvalidArgument);
  EXPECT_EQ(code(Tensor::String(std::string("f1\0", 3))), Code::kInvalidArgument);
  EXPECT_THAT(write(Tensor::String("d"), Tensor::String("x")), StatusIs(Code::kFailedPrecondition));
  EXPECT_THAT(write(Tensor::String("f1/q"), Tensor::String("x")), StatusIs(Code::kFailedPrecondition));
  EXPECT_THAT(write(Tensor::String(""), Tensor::String("x")), StatusIs(Code::kNotFound));
  EXPECT_THAT(write(Tensor::Strings({"q"}), Tensor::String("x")), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(write(Tensor::String("q"), Tensor::Strings({"x"})), StatusIs(Code::kInvalidArgument));
}

TEST_F(FilesTest, ShardsHaveNames) {
  const auto name = [](const Tensor& base, int32_t shard, int32_t count) {
    return KernelRunner("ShardedFilename").Run1({base, Tensor::Scalar(shard), Tensor::Scalar(count)});
  };
  const Tensor a = Tensor::String("a");
  EXPECT_EQ(Text(name(Tensor::String("a/b"), 3, 10)), "a/b-00003-of-00010");
  EXPECT_EQ(Text(name(a, -3, -10)), "a--0003-of--0010");
  EXPECT_EQ(Text(name(a, 1234567, std::numeric_limits<int32_t>::max())), "a-1234567-of-2147483647");
  EXPECT_THAT(name(Tensor::Strings({"a"}), 3, 10), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(Text(KernelRunner("ShardedFilespec").Run1({a, Tensor::Scalar<int32_t>(10)})), "a-\?\?\?\?\?-of-00010");
  EXPECT_THAT(KernelRunner("ShardedFilespec").Run1({a, Tensor::Vector<int32_t>({1})}),
              StatusIs(Code::kInvalidArgument));
}

TEST_F(FilesTest, NoOpTouchesFilesThatAreNotGranted) {
  const Tensor path = Tensor::String("f1"), names = Tensor::Strings({"v"}), slices = Tensor::Strings({""});
  const Tensor value = Tensor::Vector<float>({1});
  const std::vector<DType> floats = {DType::kFloat};
  const struct {
    const char* op;
    std::vector<Tensor> inputs;
    GraphBuilder::Attrs attrs;
  } rows[] = {
      {"ReadFile", {path}, {}},
      {"WriteFile", {path, Tensor::String("x")}, {}},
      {"MatchingFiles", {path}, {}},
      {"SaveV2", {path, names, slices, value}, {{"dtypes", floats}}},
      {"RestoreV2", {path, names, slices}, {{"dtypes", floats}}},
      {"MergeV2Checkpoints", {Tensor::Strings({"f1"}), path}, {}},
      {"Save", {path, names, value}, {{"T", floats}}},
      {"SaveSlices", {path, names, slices, value}, {{"T", floats}}},
      {"Restore", {path, Tensor::String("v")}, {{"dt", DType::kFloat}}},
      {"RestoreSlice", {path, Tensor::String("v"), Tensor::String("")}, {{"dt", DType::kFloat}}},
  };
  for (const auto& row : rows) {
    KernelRunner runner(row.op);
    for (const auto& [name, attr] : row.attrs) runner.Attr(name, attr);
    SessionState nothing;
    runner.run().session_state = &nothing;
    const absl::Status status = runner.Run(row.inputs).status();
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << row.op << ": " << status;
    EXPECT_EQ(ErrorInfoOf(status).value_or(ErrorInfo()).input, row.op == std::string("MergeV2Checkpoints") ? 1 : 0);
  }
  EXPECT_EQ(Text(KernelRunner("ReadFile").Run1({path})), "f1") << "nothing has changed";
}

TEST_F(FilesTest, WhatMayBeReadMayNotBeWritten) {
  SessionState readable(FileAccess().Read("d"));
  const auto run = [&readable](const char* op, std::vector<Tensor> inputs) {
    KernelRunner runner(op);
    runner.run().session_state = &readable;
    return runner.Run(std::move(inputs));
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> read, run("ReadFile", {Tensor::String("d/f3")}));
  EXPECT_EQ(Texts(read[0]), Names{"d/f3"});
  EXPECT_THAT(run("WriteFile", {Tensor::String("d/f3"), Tensor::String("x")}), StatusIs(Code::kPermissionDenied));
  EXPECT_THAT(run("ReadFile", {Tensor::String("f1")}), StatusIs(Code::kPermissionDenied));
}

}  // namespace
}  // namespace sluice
