#include "kernels/memory/file_tensor.h"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "graph/value/allocator.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

class FileTensorTest : public ::testing::Test {
 protected:
  FileTensorTest() : bytes_(std::make_shared<std::string>(1 + sizeof(kValues), '\0')) {
    std::memcpy(&(*bytes_)[1], kValues, sizeof(kValues));
  }
  absl::StatusOr<Tensor> Make() {
    return TensorInFile(DType::kFloat, Shape::Of({2, 3}), absl::string_view(*bytes_).substr(1), bytes_);
  }

  static constexpr float kValues[6] = {1, 2, 3, 4, 5, 6};
  std::shared_ptr<std::string> bytes_;
};

TEST_F(FileTensorTest, ItsElementsAreTheBytesOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Make());
  EXPECT_EQ(tensor.raw_data(), bytes_->data() + 1);
  EXPECT_EQ(tensor.shape(), Shape::Of({2, 3}));
  EXPECT_TRUE(IsInFile(tensor));
  EXPECT_FALSE(tensor.IsUniquelyOwned()) << "nobody may write into a file";
}

TEST_F(FileTensorTest, ACopyCanBeRead) {
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Make());
  ASSERT_OK_AND_ASSIGN(const Tensor copy, CopyFromFile(tensor));
  EXPECT_FALSE(IsInFile(copy));
  EXPECT_EQ(copy.flat<float>(), absl::MakeConstSpan(kValues));
}

TEST_F(FileTensorTest, TheLastTensorGivesTheFileUp) {
  const int64_t before = HostAllocatorLiveBytes();
  {
    ASSERT_OK_AND_ASSIGN(Tensor tensor, Make());
    const Tensor other = tensor;
    tensor = Tensor();
    EXPECT_TRUE(IsInFile(other));
    EXPECT_EQ(bytes_.use_count(), 2);
  }
  EXPECT_EQ(bytes_.use_count(), 1);
  EXPECT_EQ(HostAllocatorLiveBytes(), before);
}

TEST_F(FileTensorTest, OtherTensorsAreInNoFile) {
  EXPECT_FALSE(IsInFile(Tensor()));
  EXPECT_FALSE(IsInFile(Tensor::Scalar(1.0f)));
  EXPECT_FALSE(IsInFile(Tensor::Vector<float>(std::vector<float>(100))));
  static float outside[64];
  ASSERT_OK_AND_ASSIGN(const Tensor wrapped,
                       Tensor::Wrap(DType::kFloat, Shape::Of({64}), outside, sizeof(outside), [] {}));
  EXPECT_FALSE(IsInFile(wrapped));
}

// A device's memory that happens to be called as files are.
class MemoryOfThisName final : public Allocator {
 public:
  absl::string_view name() const override { return "file"; }
  bool IsHostMemory() const override { return false; }
  void* Allocate(size_t bytes, StreamTag stream) override { return HostAllocator().Allocate(bytes, stream); }
  void Free(void* data, size_t bytes, StreamTag stream) override { HostAllocator().Free(data, bytes, stream); }
};

TEST_F(FileTensorTest, ANameMakesNoFile) {
  MemoryOfThisName memory;
  ASSERT_OK_AND_ASSIGN(const Tensor tensor, Tensor::Make(DType::kFloat, Shape::Of({64}), memory));
  EXPECT_FALSE(IsInFile(tensor));
}

}  // namespace
}  // namespace sluice
