#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/control/print_sink.h"
#include "kernels/control/summarize.h"
#include "kernels/step/file_access.h"
#include "kernels/step/session_state.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(SummarizeTest, ShowsTheFirstElements) {
  const Tensor vector = Tensor::Vector<float>({1.5f, 2, 3, 4});
  EXPECT_EQ(SummarizeElements(vector, 3), "1.5 2 3...");
  EXPECT_EQ(SummarizeElements(vector, -1), "1.5 2 3 4");
  EXPECT_EQ(SummarizeElements(vector, 0), "...");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(true), 3), "1");
}

TEST(SummarizeTest, RowsStandInBrackets) {
  const Tensor matrix = Tensor::Of<int32_t>(Shape::Of({2, 2}), {1, 2, 3, 4});
  EXPECT_EQ(SummarizeElements(matrix, 3), "[1 2][3...]...");
  EXPECT_EQ(SummarizeElements(matrix, 4), "[1 2][3 4]");
  const Tensor cube = Tensor::Of<float>(Shape::Of({2, 2, 2}), std::vector<float>(8));
  EXPECT_EQ(SummarizeElements(cube, 3), "[[0 0][0...]]...");
  EXPECT_EQ(SummarizeElements(cube, 8), "[[0 0][0 0]][[0 0][0 0]]");
  EXPECT_EQ(SummarizeElements(*Tensor::Make(DType::kFloat, Shape::Of({2, 0})), 3), "");
}

TEST(SummarizeTest, NumbersHaveAsManyDigitsAsTheyNeed) {
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(0.1f), 1), "0.1");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(123456.789f), 1), "123456.789");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(1.0 / 3), 1), "0.33333333333333331");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(Half(0.1f)), 1), "0.0999755859");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(-std::nanf("")), 1), "nan");
  EXPECT_EQ(SummarizeElements(Tensor::Scalar(int8_t{-3}), 1), "-3");
  EXPECT_EQ(SummarizeElements(Tensor::String("a b\n"), 1), "a b\\n");
}

TEST(AssertTest, FailsWithItsData) {
  KernelRunner op("Assert");
  EXPECT_THAT(op.Run({Tensor::Scalar(true), Tensor::String("note")}), IsOk());
  EXPECT_THAT(op.Run({Tensor::Scalar(false), Tensor::String("note"), Tensor::Scalar(2.5f)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "assertion failed: [note] [2.5]"));
  EXPECT_THAT(op.Run({Tensor::Vector<bool>({true, true}), Tensor::Scalar(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "scalar"));
}

// Keeps what is printed.
class PrintTest : public ::testing::Test {
 protected:
  PrintTest() {
    SetPrintSink([this](PrintStream stream, absl::string_view text) {
      const std::lock_guard<std::mutex> lock(mu_);
      stream_ = stream;
      text_.append(text.data(), text.size());
    });
  }
  ~PrintTest() override { SetPrintSink(nullptr); }

  std::mutex mu_;
  PrintStream stream_ = PrintStream::kStdout;
  std::string text_;
};

TEST_F(PrintTest, PrintHandsItsInputOn) {
  const absl::StatusOr<Tensor> y =
      KernelRunner("Print").Attr("message", "x is ").Run1({Tensor::Scalar(1.5f), Tensor::Scalar(2), Tensor::Scalar(3)});
  ASSERT_OK(y);
  EXPECT_EQ(*y->AsScalar<float>(), 1.5f);
  EXPECT_EQ(text_, "x is [2][3]\n");
  EXPECT_EQ(stream_, PrintStream::kStderr);
}

TEST_F(PrintTest, PrintPrintsTheFirstTimesOnly) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PreparedKernel> op,
                       PreparedKernel::Make("Print", {{"first_n", int64_t{2}}}, {DType::kInt32, DType::kInt32},
                                            &KernelRunner("Print").device()));
  for (int i = 0; i < 4; ++i) ASSERT_OK(op->Run({}, {Tensor::Scalar(0), Tensor::Scalar(i)}, /*movable=*/false));
  EXPECT_EQ(text_, "[0]\n[1]\n");
}

TEST_F(PrintTest, PrintV2AppendsToAFileThatItIsGranted) {
  const std::string directory = ::testing::TempDir(), path = directory + "/printed";
  std::remove(path.c_str());
  const auto print = [&path](SessionState& session) {
    KernelRunner op("PrintV2");
    op.Attr("output_stream", "file://" + path);
    op.run().session_state = &session;
    return op.Run({Tensor::String("line")}).status();
  };
  SessionState nothing, granted(FileAccess().Write(directory));
  EXPECT_THAT(print(nothing), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_FALSE(std::ifstream(path).is_open());
  for (int i = 0; i < 2; ++i) ASSERT_OK(print(granted));
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "line\nline\n");
}

TEST_F(PrintTest, PrintV2WritesAScalarStringToItsStream) {
  KernelRunner op("PrintV2");
  op.Attr("output_stream", "log(error)").Attr("end", "!");
  EXPECT_THAT(op.Run({Tensor::String("hello")}), IsOk());
  EXPECT_EQ(text_, "hello!");
  EXPECT_EQ(stream_, PrintStream::kLogError);
  EXPECT_THAT(op.Run({Tensor::Strings({"a", "b"})}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(PrintTest, PrintV2RefusesUnknownStreams) {
  EXPECT_THAT(KernelRunner("PrintV2").Attr("output_stream", "foo").Run({Tensor::String("x")}),
              StatusIs(absl::StatusCode::kInvalidArgument, "foo"));
}

}  // namespace
}  // namespace sluice
