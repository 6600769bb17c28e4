#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/families/register_all.h"
#include "tests/testing/counting_allocator.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

TEST(BasicKernelsTest, ConstGivesItsAttr) {
  const absl::StatusOr<Tensor> y =
      KernelRunner("Const").Attr("value", Tensor::Scalar(2.5f)).Attr("dtype", DType::kFloat).Run1({});
  ASSERT_OK(y);
  EXPECT_EQ(*y->AsScalar<float>(), 2.5f);
}

TEST(BasicKernelsTest, IdentityHandsItsBufferOn) {
  const std::vector<float> values(100, 1.0f);
  const Tensor x = Tensor::Vector<float>(values);
  const absl::StatusOr<Tensor> y = KernelRunner("Identity").Run1({x});
  ASSERT_OK(y);
  EXPECT_TRUE(y->SharesBufferWith(x));
}

TEST(BasicKernelsTest, APlaceholderMustBeFed) {
  const absl::StatusOr<Tensor> y = KernelRunner("Placeholder").Attr("dtype", DType::kFloat).Run1({});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(BasicKernelsTest, NumbersTextsAndListsAreTrueOrFalse) {
  const std::vector<std::pair<Tensor, bool>> cases = {
      {Tensor::Scalar(0.0f), false},
      {Tensor::Scalar(-0.0), false},
      {Tensor::Scalar(std::numeric_limits<float>::quiet_NaN()), true},
      {Tensor::Scalar(int32_t{0}), false},
      {Tensor::Scalar(int64_t{1} << 40), true},
      {Tensor::Scalar(uint8_t{3}), true},
      {Tensor::Scalar(false), false},
      {Tensor::String(""), false},
      {Tensor::String("x"), true},
      {Tensor::Vector<float>({}), false},
      {Tensor::Vector<float>({0}), true},  // It has an element.
  };
  for (const auto& [value, expected] : cases) {
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner("ToBool").Run1({value}));
    EXPECT_EQ(*y.AsScalar<bool>(), expected) << value.ToString();
  }
  EXPECT_THAT(KernelRunner("ToBool").Run1({Tensor::Scalar(uint16_t{1})}), IsError(ErrorCode::kOpValue));
}

// A graph of one large Const, imported from bytes that someone keeps alive.
class ConstOfAFileTest : public ::testing::Test {
 protected:
  // `name` moves the elements in the file: where they are aligned they are shared.
  void Import(const std::string& name) {
    GraphBuilder b(NewOpRegistry());
    std::vector<float> values(1 << 14);
    std::iota(values.begin(), values.end(), 0.5f);
    b.Const(name, Tensor::Vector<float>(values));
    file_ = std::make_shared<const std::string>(ExportGraph(b.Build().value()));
    ImportOptions options;
    options.ops = NewOpRegistry();
    graph_ = std::make_unique<Graph>(ImportGraph({*file_, file_, "test.pb", 0, {}}, options).value());
    const GraphNode node(*graph_, graph_->Find(name));
    const KernelConstruction construction(node);
    kernel_ = BuiltinKernels().Create(construction, DeviceKind::kCpu).value();
  }
  bool IsInFile(const Tensor& tensor) const {
    const char* const data = static_cast<const char*>(tensor.raw_data());
    return data >= file_->data() && data < file_->data() + file_->size();
  }

  std::shared_ptr<const std::string> file_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Kernel> kernel_;
};

TEST_F(ConstOfAFileTest, SharesTheElementsThatAreAlignedInTheFile) {
  int shared = 0;
  for (const char* name : {"c", "cc", "ccc", "cccc", "ccccc"}) {
    Import(name);
    const Tensor& value = *kernel_->ConstantValue();
    EXPECT_EQ(value.flat<float>()[100], 100.5f);
    if (IsInFile(value)) ++shared;
    EXPECT_FALSE(IsInFile(value) && value.IsUniquelyOwned());  // Nothing may be written into a file.
  }
  EXPECT_GE(shared, 1);
}

TEST_F(ConstOfAFileTest, TheFileLivesAsLongAsTheValue) {
  for (const char* name : {"c", "cc", "ccc", "cccc", "ccccc"}) {
    Import(name);
    const Tensor value = *kernel_->ConstantValue();
    const std::weak_ptr<const std::string> file = file_;
    const bool is_shared = IsInFile(value);
    kernel_ = nullptr;
    graph_ = nullptr;
    file_ = nullptr;
    EXPECT_EQ(file.expired(), !is_shared);
    EXPECT_EQ(value.flat<float>()[16383], 16383.5f);
  }
}

TEST(BasicKernelsTest, ReadingVariablesTakesOneTypePerVariable) {
  KernelRunner runner("_ReadVariablesOp");
  runner.Attr("N", 0).Attr("dtypes", std::vector<DType>{DType::kFloat});
  EXPECT_THAT(runner.Run({}), IsError(ErrorCode::kOpAttr));
  KernelRunner more("_ReadVariablesOp");
  const Tensor handle = Tensor::Make(DType::kResource, Shape()).value();
  more.Attr("N", 1).Attr("dtypes", std::vector<DType>{DType::kFloat, DType::kInt32});
  EXPECT_THAT(more.Run({handle}), IsError(ErrorCode::kOpAttr, "2 types for 1 variables"));
}

TEST(BasicKernelsTest, TheValueOfAFakeParamIsTakenFromTheDevicesMemory) {
  CountingAllocator memory;
  memory.set_limit(1 << 20);
  CpuDevice device("/device:CPU:0", 1, &memory);
  const auto make = [&device](int64_t elements) {
    const PreparedKernel::Attrs attrs = {{"dtype", DType::kHalf}, {"shape", PartialShape::Of({elements})}};
    return PreparedKernel::Make("FakeParam", attrs, {}, &device);
  };
  EXPECT_THAT(make((1 << 19) + 1).status(), IsError(ErrorCode::kOutOfMemory));
  {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<PreparedKernel> fits, make(1 << 18));
    EXPECT_EQ(memory.live(), 1);
  }
  EXPECT_EQ(memory.live(), 0);
}

}  // namespace
}  // namespace sluice
