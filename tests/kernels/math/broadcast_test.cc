#include "kernels/math/broadcast.h"

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// For each output element, the elements of the inputs that it is made of, as ForRows says, in parts of `part`.
std::vector<Broadcast::Offsets> Walk(const Broadcast& broadcast, size_t inputs, int64_t part) {
  const int64_t total = broadcast.shape().num_elements();
  std::vector<Broadcast::Offsets> found(static_cast<size_t>(total));
  for (int64_t begin = 0; begin < total; begin += part) {
    broadcast.ForRows(begin, std::min(begin + part, total), [&](int64_t out, const Broadcast::Offsets& in, int64_t n) {
      for (int64_t k = 0; k < n; ++k) {
        for (size_t i = 0; i < inputs; ++i) found[static_cast<size_t>(out + k)][i] = in[i] + k * broadcast.step(i);
      }
    });
  }
  return found;
}

// The element of an input of `shape` that belongs to output element `index`, by the definition.
int64_t ElementOf(const Shape& shape, const Shape& output, int64_t index) {
  int64_t element = 0;
  int64_t stride = 1;
  for (int k = 0; k < output.rank(); ++k) {
    const int64_t size = output.dim(output.rank() - 1 - k);
    const int64_t place = index % size;
    index /= size;
    if (k >= shape.rank()) continue;
    const int64_t own = shape.dim(shape.rank() - 1 - k);
    if (own != 1) element += place * stride;
    stride *= own;
  }
  return element;
}

TEST(BroadcastTest, ShapesAreAlignedAtTheirLastAxes) {
  const Shape a = Shape::Of({2, 1, 4});
  const Shape b = Shape::Of({3, 1});
  const absl::StatusOr<Broadcast> broadcast = Broadcast::Make({&a, &b});
  ASSERT_OK(broadcast);
  EXPECT_EQ(broadcast->shape(), Shape::Of({2, 3, 4}));
}

TEST(BroadcastTest, AnEmptyAxisWinsOverOne) {
  const absl::StatusOr<Shape> shape = BroadcastShapes(Shape::Of({0, 3}), Shape::Of({1, 3}));
  ASSERT_OK(shape);
  EXPECT_EQ(*shape, Shape::Of({0, 3}));
}

TEST(BroadcastTest, SizesThatDifferAreRefusedWithBothShapes) {
  const absl::StatusOr<Shape> shape = BroadcastShapes(Shape::Of({2, 3}), Shape::Of({4}));
  EXPECT_EQ(shape.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(shape.status().message().find("[2,3] and [4]"), absl::string_view::npos);
}

TEST(BroadcastTest, RandomShapesAreWalkedAsDefined) {
  std::mt19937 random(20261121);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<Shape> shapes;
    std::vector<int64_t> full(random() % 6);
    for (int64_t& size : full) size = 1 + static_cast<int64_t>(random() % 4);
    for (int i = 0; i < 3; ++i) {
      std::vector<int64_t> sizes(full.begin() + static_cast<int64_t>(random() % (full.size() + 1)), full.end());
      for (int64_t& size : sizes) size = random() % 3 == 0 ? 1 : size;
      shapes.push_back(*Shape::Make(sizes));
    }
    const absl::StatusOr<Broadcast> broadcast = Broadcast::Make({&shapes[0], &shapes[1], &shapes[2]});
    ASSERT_OK(broadcast);
    const auto found = Walk(*broadcast, 3, 1 + static_cast<int64_t>(random() % 20));
    for (size_t k = 0; k < found.size(); ++k) {
      for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(found[k][i], ElementOf(shapes[i], broadcast->shape(), static_cast<int64_t>(k))) << "trial " << trial;
      }
    }
  }
}

}  // namespace
}  // namespace sluice
