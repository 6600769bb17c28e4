#include "graph/ir/op_registry.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "graph/ir/op_class.h"
#include "graph/ir/op_schema_builder.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using testing::ElementsAre;

OpSchema Named(absl::string_view name) { return *OpSchemaBuilder(name).Output("y: float").Build(); }

// A table of the ops "A" and "C" that counts how often it is asked.
class CountingTable : public OpTable {
 public:
  absl::StatusOr<OpSchema> Find(absl::string_view name) const override {
    ++num_finds;
    if (name == "A" || name == "C") return Named(name);
    return absl::NotFoundError("");
  }
  void ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const override {
    fn("A");
    fn("C");
  }
  mutable std::atomic<int> num_finds{0};
};

std::vector<std::string> NamesOf(const OpRegistry& registry) {
  std::vector<std::string> names;
  registry.ForEachName([&names](absl::string_view name) { names.emplace_back(name); });
  return names;
}

TEST(OpRegistryTest, OpsOfTheTableAreParsedOnceAndStayWhereTheyAre) {
  CountingTable table;
  OpRegistry registry(&table);
  const OpSchema* const a = registry.Find("A");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->name, "A");
  for (int i = 0; i < 100; ++i) ASSERT_OK(registry.Add(Named("Op" + std::to_string(i))));
  EXPECT_EQ(registry.Find("A"), a);
  EXPECT_EQ(table.num_finds, 1 + 100);
  EXPECT_EQ(registry.Find("B"), nullptr);
  EXPECT_EQ(registry.Find(""), nullptr);
}

TEST(OpRegistryTest, ANameIsTakenOnce) {
  CountingTable table;
  OpRegistry base(&table);
  OpRegistry registry(&base);
  EXPECT_THAT(registry.Add(Named("A")), IsError(ErrorCode::kOpSchema, "'A'"));
  ASSERT_OK(registry.Add(Named("B")));
  EXPECT_THAT(registry.Add(Named("B")), IsError(ErrorCode::kOpSchema, "'B'"));
}

TEST(OpRegistryTest, UnsoundSchemasAreRefused) {
  OpRegistry registry;
  OpSchema schema = Named("Bad");
  schema.outputs[0].dtype = DType::kInvalid;
  EXPECT_THAT(registry.Add(schema), IsError(ErrorCode::kOpSchema));
  EXPECT_EQ(registry.Find("Bad"), nullptr);
}

TEST(OpRegistryTest, AdditionsAreSeenOnlyAboveTheirBase) {
  CountingTable table;
  OpRegistry base(&table);
  OpRegistry registry(&base);
  ASSERT_OK(registry.Add(Named("B")));
  EXPECT_NE(registry.Find("B"), nullptr);
  EXPECT_EQ(base.Find("B"), nullptr);
  EXPECT_EQ(registry.Find("A"), base.Find("A"));
  EXPECT_THAT(NamesOf(registry), ElementsAre("A", "B", "C"));
  EXPECT_THAT(NamesOf(base), ElementsAre("A", "C"));
}

TEST(OpRegistryTest, SchemasKnowTheirClassFromTableAndAddition) {
  OpRegistry registry;
  ASSERT_OK(registry.Add(*OpSchemaBuilder("RefSwitch").Output("y: float").Build()));
  ASSERT_OK(registry.Add(Named("RefSwitch2")));
  EXPECT_EQ(registry.Find("RefSwitch")->op_class, OpClass::kSwitch);
  EXPECT_EQ(registry.Find("RefSwitch2")->op_class, OpClass::kOther);
}

TEST(OpRegistryTest, NearNamesIncludeAddedOps) {
  OpRegistry registry;
  ASSERT_OK(registry.Add(Named("Conv2D")));
  ASSERT_OK(registry.Add(Named("MatMul")));
  EXPECT_THAT(registry.Nearest("Conv2d", 3), ElementsAre("Conv2D"));
  EXPECT_THAT(registry.Nearest("matmull", 3), ElementsAre("MatMul"));
  EXPECT_THAT(registry.Nearest("Unrelated", 3), ElementsAre());
}

TEST(OpRegistryTest, ManyThreadsFindTheSameSchema) {
  CountingTable table;
  OpRegistry base(&table);
  std::vector<const OpSchema*> found(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < found.size(); ++i) threads.emplace_back([&, i] { found[i] = base.Find("C"); });
  for (std::thread& thread : threads) thread.join();
  for (const OpSchema* schema : found) EXPECT_EQ(schema, found[0]);
}

}  // namespace
}  // namespace sluice
