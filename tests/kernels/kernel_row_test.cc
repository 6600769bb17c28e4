#include "kernels/kernel_row.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/families/register_all.h"
#include "kernels/owned_kernel_row.h"

namespace sluice {
namespace {

constexpr TypeConstraint kThree[] = {{"Ta", kFloatTypes}, {"Tb", kIntegerTypes}, {"Tc", {DType::kBool}}};
constexpr absl::string_view kNames[] = {"a", "b", "c"};

// Rows are constants: what they say is known to the compiler.
constexpr KernelRow kInPlace =
    KernelRow("Op", KernelFactory()).Types("T", kFloatTypes).Types("Tidx", kIndexTypes).HostInput("axis").Cheap();
static_assert(kInPlace.types().size() == 2 && kInPlace.types()[1].attr == "Tidx");
static_assert(kInPlace.host_inputs().size() == 1 && kInPlace.cost() == CostHint::kCheap);
constexpr KernelRow kElsewhere = KernelRow("Op", KernelFactory()).AllTypes(kThree).HostInputs(kNames);
static_assert(kElsewhere.types().size() == 3 && kElsewhere.host_inputs().size() == 3);

KernelRow RowOf(DTypeSet t, DTypeSet index) { return KernelRow("Op", KernelFactory()).Types("T", t).Types("I", index); }

TEST(KernelRowTest, RowsOverlapUnlessAnAttrTellsThemApart) {
  const KernelRow floats = RowOf(kFloatTypes, kIndexTypes);
  EXPECT_TRUE(Overlap(floats, floats));
  EXPECT_TRUE(Overlap(floats, RowOf({DType::kHalf}, {DType::kInt32})));
  EXPECT_FALSE(Overlap(floats, RowOf(kComplexTypes, kIndexTypes)));
  EXPECT_FALSE(Overlap(floats, RowOf(kFloatTypes, kFloatTypes)));
  EXPECT_TRUE(Overlap(floats, KernelRow("Op", KernelFactory()).Types("Other", kFloatTypes)));
  EXPECT_TRUE(Overlap(KernelRow("Op", KernelFactory()).Types("Other", kFloatTypes), floats));
  EXPECT_FALSE(Overlap(floats, KernelRow("Po", KernelFactory())));
  EXPECT_FALSE(Overlap(floats, KernelRow("Op", KernelFactory()).On(DeviceKind::kCuda)));
  EXPECT_FALSE(Overlap(floats, KernelRow("Op", KernelFactory()).Priority(1)));
  EXPECT_FALSE(Overlap(floats, KernelRow("Op", KernelFactory()).Label("fast")));
}

// One more than the span holds would be read past its end.
TEST(KernelRowTest, NothingIsAddedToListsOfOthers) {
  EXPECT_THROW(KernelRow("Op", KernelFactory()).AllTypes(kThree).Types("T", kFloatTypes), std::out_of_range);
  // An empty span has no end to read past: nothing is lent.
  EXPECT_EQ(KernelRow("Op", KernelFactory()).AllTypes({}).Types("T", kFloatTypes).types().size(), 1u);
  const absl::Span<const absl::string_view> one(kNames, 1);
  EXPECT_THROW(KernelRow("Op", KernelFactory()).HostInputs(one).HostInput("d"), std::out_of_range);
  EXPECT_THROW(KernelRow("Op", KernelFactory()).HostOutputs(one).HostOutput("d"), std::out_of_range);
}

TEST(KernelRowTest, OwnedRowsKeepTheirTextsWhenTheyAreMoved) {
  auto text = std::make_unique<std::string>("a name that is too long to be kept in place");
  OwnedKernelRow made(*text, KernelFactory(), nullptr);
  for (int i = 0; i < 9; ++i) made.HostInput(*text).HostOutput(*text);
  made.Types(*text, kFloatTypes).Label(*text);
  const std::string expected = *text;
  text.reset();
  const OwnedKernelRow moved = std::move(made);
  EXPECT_EQ(moved.row().op(), expected);
  EXPECT_EQ(moved.row().label(), expected);
  EXPECT_EQ(moved.row().types()[0].attr, expected);
  EXPECT_EQ(moved.row().host_inputs().size(), 9u);
  EXPECT_EQ(moved.row().host_outputs()[8], expected);
  EXPECT_EQ(moved.row().sharing(), Sharing::kBySchema);
}

TEST(KernelRowTest, FunctionsOfHostsMakeAKernelForEachNode) {
  const OwnedKernelRow row("Neg", [](const KernelConstruction&) { return std::unique_ptr<Kernel>(); });
  EXPECT_EQ(row.row().sharing(), Sharing::kNone);
}

std::vector<const KernelRow*> BuiltinRows() {
  std::vector<const KernelRow*> rows;
  for (const absl::Span<const KernelRow> table : BuiltinKernels().Tables()) {
    for (const KernelRow& row : table) rows.push_back(&row);
  }
  return rows;
}

// Which of two rows is taken would depend on the order of the tables.
TEST(BuiltinRowsTest, NoTwoAreForTheSameNodes) {
  const std::vector<const KernelRow*> rows = BuiltinRows();
  ASSERT_GT(rows.size(), 300u);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t k = 0; k < i; ++k) EXPECT_FALSE(Overlap(*rows[i], *rows[k])) << rows[i]->op();
  }
}

bool HasArg(const std::vector<ArgSpec>& args, absl::string_view name) {
  for (const ArgSpec& arg : args) {
    if (arg.name == name) return true;
  }
  return false;
}

TEST(BuiltinRowsTest, TheyNameAttrsAndArgumentsThatTheirOpsHave) {
  for (const KernelRow* const row : BuiltinRows()) {
    const OpSchema* const schema = BuiltinOps().Find(row->op());
    ASSERT_NE(schema, nullptr) << row->op();
    for (const TypeConstraint& constraint : row->types()) {
      const AttrSpec* const attr = schema->FindAttr(constraint.attr);
      ASSERT_NE(attr, nullptr) << row->op() << " " << constraint.attr;
      EXPECT_EQ(ElementType(attr->type), AttrType::kType) << row->op() << " " << constraint.attr;
    }
    for (const absl::string_view name : row->host_inputs()) EXPECT_TRUE(HasArg(schema->inputs, name)) << row->op();
    for (const absl::string_view name : row->host_outputs()) EXPECT_TRUE(HasArg(schema->outputs, name)) << row->op();
    // Kernels that are shared by default need no mark.
    EXPECT_TRUE(row->sharing() != Sharing::kEqualNodes || schema->is_stateful) << row->op();
  }
}

}  // namespace
}  // namespace sluice
