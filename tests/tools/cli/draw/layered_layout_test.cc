#include "tools/cli/draw/layered_layout.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

std::vector<LayerPin> Free(size_t count) { return std::vector<LayerPin>(count, LayerPin::kFree); }

// The layer that holds `item`.
int LayerOf(const Layering& layering, int32_t item) {
  for (size_t r = 0; r < layering.layers.size(); ++r) {
    const auto& layer = layering.layers[r];
    if (std::find(layer.begin(), layer.end(), item) != layer.end()) return static_cast<int>(r);
  }
  return -1;
}

TEST(AssignLayersTest, AChainTakesOneLayerEach) {
  const Layering layering = AssignLayers(Free(3), {{0, 1}, {1, 2}});
  ASSERT_EQ(layering.layers.size(), 3u);
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(LayerOf(layering, i), i);
  EXPECT_EQ(layering.num_items, 3);
}

TEST(AssignLayersTest, LongEdgesPassAPointInEachLayer) {
  const Layering layering = AssignLayers(Free(4), {{0, 1}, {1, 2}, {2, 3}, {0, 3}});
  ASSERT_EQ(layering.routes[3].points.size(), 2u);
  EXPECT_EQ(LayerOf(layering, layering.routes[3].points[0]), 1);
  EXPECT_EQ(LayerOf(layering, layering.routes[3].points[1]), 2);
}

TEST(AssignLayersTest, SourcesStandJustAboveTheirFirstUser) {
  const Layering layering = AssignLayers(Free(4), {{0, 1}, {1, 2}, {3, 2}});
  EXPECT_EQ(LayerOf(layering, 3), 1);
}

TEST(AssignLayersTest, TheEdgeThatClosesACycleLeadsUp) {
  const std::vector<LayoutEdge> edges = {{0, 1}, {1, 2}, {2, 1}};
  const Layering layering = AssignLayers(Free(3), edges);
  EXPECT_FALSE(layering.routes[0].reversed);
  EXPECT_FALSE(layering.routes[1].reversed);
  EXPECT_TRUE(layering.routes[2].reversed);
  EXPECT_LT(LayerOf(layering, 1), LayerOf(layering, 2));
}

TEST(AssignLayersTest, AnEdgeMarkedBackIsTheOneTurnedRound) {
  const std::vector<LayoutEdge> edges = {{2, 1}, {1, 0}, {0, 2, true}};
  const Layering layering = AssignLayers(Free(3), edges);
  EXPECT_TRUE(layering.routes[2].reversed);
  EXPECT_LT(LayerOf(layering, 2), LayerOf(layering, 0));
}

TEST(AssignLayersTest, PortsStandOnTheBorders) {
  const std::vector<LayerPin> pins = {LayerPin::kFree, LayerPin::kFree, LayerPin::kTop, LayerPin::kBottom};
  const Layering layering = AssignLayers(pins, {{2, 1}, {0, 1}, {0, 3}});
  EXPECT_EQ(LayerOf(layering, 2), 0);
  EXPECT_EQ(LayerOf(layering, 3), static_cast<int>(layering.layers.size()) - 1);
  EXPECT_GT(LayerOf(layering, 0), 0);
}

TEST(AssignLayersTest, OrderAvoidsCrossingsThatNeedNotBe) {
  // Two chains side by side, given crosswise.
  const std::vector<LayoutEdge> edges = {{0, 3}, {1, 2}, {2, 4}, {3, 5}};
  const Layering layering = AssignLayers(Free(6), edges);
  EXPECT_EQ(CountCrossings(layering, edges), 0);
}

TEST(AssignLayersTest, PointsAreBounded) {
  std::vector<LayoutEdge> edges;
  for (int32_t i = 0; i + 1 < 100; ++i) edges.push_back({i, i + 1});
  for (int32_t i = 0; i < 50; ++i) edges.push_back({i, 99});
  EXPECT_LE(AssignLayers(Free(100), edges, 200).num_items, 300);
}

TEST(AssignLayersTest, NothingGivesNothing) {
  const Layering layering = AssignLayers({}, {});
  EXPECT_TRUE(layering.layers.empty());
  EXPECT_EQ(PlaceItems(layering, {}, {}, {}).height, 0);
}

// Boxes of one layer, left to right, with their sizes.
TEST(PlaceItemsTest, BoxesNeverOverlapWhateverTheGraph) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    const int32_t n = 2 + static_cast<int32_t>(random() % 40);
    std::vector<LayoutEdge> edges;
    for (int32_t i = 0; i < 2 * n; ++i) {
      edges.push_back({static_cast<int32_t>(random() % static_cast<unsigned>(n)),
                       static_cast<int32_t>(random() % static_cast<unsigned>(n))});
    }
    std::vector<ItemSize> sizes;
    for (int32_t i = 0; i < n; ++i) sizes.push_back({20.0 + random() % 200, 30});
    const Layering layering = AssignLayers(Free(static_cast<size_t>(n)), edges);
    const Placement2D places = PlaceItems(layering, edges, sizes, {});
    for (const auto& layer : layering.layers) {
      for (size_t i = 1; i < layer.size(); ++i) {
        const auto a = static_cast<size_t>(layer[i - 1]), b = static_cast<size_t>(layer[i]);
        const double half_a = a < sizes.size() ? sizes[a].width / 2 : 0,
                     half_b = b < sizes.size() ? sizes[b].width / 2 : 0;
        EXPECT_LE(places.x[a] + half_a, places.x[b] - half_b + 1e-6) << "round " << round;
      }
    }
  }
}

TEST(PlaceItemsTest, AChainIsStraight) {
  const std::vector<LayoutEdge> edges = {{0, 1}, {1, 2}};
  const Placement2D places = PlaceItems(AssignLayers(Free(3), edges), edges, {{100, 30}, {40, 30}, {60, 30}}, {});
  EXPECT_NEAR(places.x[0], places.x[1], 1e-6);
  EXPECT_NEAR(places.x[1], places.x[2], 1e-6);
  EXPECT_NEAR(places.width, 100, 1e-6);
}

}  // namespace
}  // namespace sluice
