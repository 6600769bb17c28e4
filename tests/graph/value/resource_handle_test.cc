#include "graph/value/resource_handle.h"

#include <utility>

#include "graph/value/tensor.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

class Table final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Table";
  explicit Table(bool* ended) : Resource(kTypeName), ended_(ended) {}
  ~Table() override { *ended_ = true; }

 private:
  bool* ended_;
};

class Queue final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Queue";
  Queue() : Resource(kTypeName) {}
};

// Holds a value, as variables and arrays do.
class Cell final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Cell";
  Cell(Tensor value, int* live) : Resource(kTypeName), value_(std::move(value)), live_(live) { ++*live_; }
  ~Cell() override { --*live_; }

 private:
  const Tensor value_;
  int* const live_;
};

TEST(ResourceHandleTest, KnowsTheTypeOfWhatItHolds) {
  bool ended = false;
  {
    ResourceHandleData data;
    data.container = "localhost";
    data.name = "words";
    data.resource = MakeCounted<Table>(&ended);
    const ResourceHandle handle = ResourceHandle::Make(std::move(data));
    const ResourceHandle copy = handle;
    EXPECT_NE(copy.Get<Table>(), nullptr);
    EXPECT_EQ(copy.Get<Queue>(), nullptr);
    EXPECT_EQ(copy.DebugString(), "resource localhost/words");
  }
  EXPECT_TRUE(ended);
}

TEST(ResourceHandleTest, AFreshTensorHoldsNoResource) {
  bool ended = false;
  {
    Tensor tensor = *Tensor::Make(DType::kResource, Shape());
    EXPECT_FALSE(tensor.flat<ResourceHandle>()[0].has_value());
    EXPECT_EQ(tensor.flat<ResourceHandle>()[0].Get<Table>(), nullptr);
    ResourceHandleData data;
    data.resource = MakeCounted<Table>(&ended);
    tensor.flat<ResourceHandle>()[0] = ResourceHandle::Make(std::move(data));
  }
  EXPECT_TRUE(ended);
}

// What holds what holds what holds ...: all end, one after the other.
TEST(ResourceHandleTest, AChainEndsWithoutRecursion) {
  int live = 0;
  {
    Tensor last = *Tensor::Make(DType::kResource, Shape());
    for (int i = 0; i < 200'000; ++i) {
      ResourceHandleData data;
      data.resource = MakeCounted<Cell>(std::move(last), &live);
      last = *Tensor::Make(DType::kResource, Shape::Of({2}));
      last.flat<ResourceHandle>()[i % 2] = ResourceHandle::Make(std::move(data));
    }
    EXPECT_EQ(live, 200'000);
  }
  EXPECT_EQ(live, 0);
}

}  // namespace
}  // namespace sluice
