#include "graph/base/nearest_names.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearestNamesTest, AnotherCaseComesBeforeAnotherLetter) {
  EXPECT_THAT(NearestNames("conv2d", {"Conv3D", "conv2e", "Conv2D"}, 3), ElementsAre("Conv2D", "conv2e", "Conv3D"));
}

TEST(NearestNamesTest, OneEditForEachThreeLettersIsNear) {
  EXPECT_THAT(NearestNames("Rellu", {"Relu", "Relu6", "Elu"}, 3), ElementsAre("Relu"));
  EXPECT_THAT(NearestNames("abcdef", {"abcd", "abcdefgh", "abc"}, 3), ElementsAre("abcd", "abcdefgh"));
  EXPECT_THAT(NearestNames("xy", {"yx", "x", "ab"}, 3), ElementsAre("x"));
}

TEST(NearestNamesTest, TheNameItselfAndTheRestBeyondMaxAreLeftOut) {
  EXPECT_THAT(NearestNames("node", {"node", "node1", "node2", "node3"}, 2), ElementsAre("node1", "node2"));
  EXPECT_THAT(NearestNames("", {"a"}, 2), IsEmpty());
}

TEST(NearestNamesTest, LongNamesCostNothing) {
  const std::string name(257, 'a');
  const std::string longest(256, 'b');
  const std::string near = std::string(255, 'b') + std::string(80, 'c');
  EXPECT_THAT(NearestNames(name, {"a", name}, 3), IsEmpty());
  EXPECT_THAT(NearestNames(longest, {near}, 3), ElementsAre(near));
}

}  // namespace
}  // namespace sluice
