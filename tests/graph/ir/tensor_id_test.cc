#include "graph/ir/tensor_id.h"

#include <string>

#include "gtest/gtest.h"

namespace sluice {
namespace {

struct Row {
  const char* text;
  const char* node;
  int index;
};

TEST(TensorIdTest, NamesAreReadFromTheEnd) {
  constexpr Row kRows[] = {
      {"", "", 0},
      {"a", "a", 0},
      {"a:0", "a", 0},
      {"a:1", "a", 1},
      {"a:b", "a:b", 0},
      {"a:b:1", "a:b", 1},
      {"^a", "a", -1},
      {"^a:0", "a:0", -1},
      {"^", "", -1},
      {":0", ":0", 0},
      {"a:", "a:", 0},
      {"a:-1", "a:-1", 0},
      {"a:1x", "a:1x", 0},
      {"12", "12", 0},
      {"12:3", "12", 3},
      {"a:007", "a", 7},
      {"a:2147483647", "a", 2147483647},
      {"a:2147483648", "a:2147483648", 0},
      {"a:99999999999", "a:99999999999", 0},
  };
  for (const Row& row : kRows) {
    const TensorId id = ParseTensorId(row.text);
    EXPECT_EQ(id.node, row.node) << row.text;
    EXPECT_EQ(id.index, row.index) << row.text;
  }
}

TEST(NodeNameTest, GrammarIsThatOfTheFormat) {
  for (const char* good : {"a", "9", ".x", "a/b_c.d-e>f", "A0", "a/", "a//b", "a_", "a>.b", "a>b>9c"})
    EXPECT_TRUE(IsValidNodeName(good, false)) << good;
  for (const char* bad :
       {"", "^a", "a:0", "a b", "-x", "/x", "\xc3\xa4", "a\n", ">x", "a>", "a>>b", "a>_b", "a>-b", "a>/b", "_>"}) {
    EXPECT_FALSE(IsValidNodeName(bad, true)) << bad;
  }
  EXPECT_FALSE(IsValidNodeName(std::string("a\0c", 3), true));
  EXPECT_FALSE(IsValidNodeName("_x", false));
  EXPECT_FALSE(IsValidNodeName("_tf.foo", false));
  EXPECT_TRUE(IsValidNodeName("_x", true));
  EXPECT_TRUE(IsValidNodeName("_", true));
}

}  // namespace
}  // namespace sluice
