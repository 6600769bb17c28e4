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

}  // namespace
}  // namespace sluice
