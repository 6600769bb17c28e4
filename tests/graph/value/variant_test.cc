#include "graph/value/variant.h"

#include <utility>

#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// A value that may hold another one, and so on.
class Link final : public VariantObject {
 public:
  static constexpr absl::string_view kTypeName = "Link";
  explicit Link(Variant next) : VariantObject(kTypeName), next_(std::move(next)) {}
  absl::Status Encode(std::string* metadata, std::vector<Tensor>*) const override {
    *metadata = "link";
    return absl::OkStatus();
  }

 private:
  Variant next_;
};

Variant MakeLink(Variant next) { return Variant(MakeCounted<Link>(std::move(next))); }

TEST(VariantTest, IsReadOnlyAsItsType) {
  Variant value = MakeLink(Variant());
  EXPECT_NE(value.Get<Link>(), nullptr);
  EXPECT_EQ(value.type_name(), "Link");
  EXPECT_EQ(Variant().Get<Link>(), nullptr);
  EXPECT_NE(value.GetMutable<Link>(), nullptr);
  const Variant shared = value;
  EXPECT_EQ(value.GetMutable<Link>(), nullptr);
}

TEST(VariantTest, LongChainsEndWithoutRecursion) {
  const int64_t live = VariantObject::LiveCount();
  Variant chain;
  for (int i = 0; i < 1000000; ++i) chain = MakeLink(std::move(chain));
  EXPECT_EQ(VariantObject::LiveCount(), live + 1000000);
  chain = Variant();
  EXPECT_EQ(VariantObject::LiveCount(), live);
}

TEST(VariantTest, TensorsHoldThem) {
  const int64_t live = VariantObject::LiveCount();
  {
    Tensor tensor = *Tensor::Make(DType::kVariant, Shape::Of({2}));
    tensor.flat<Variant>()[1] = MakeLink(Variant());
    EXPECT_EQ(tensor.ToString(), "variant [2] {no variant, Link}");
  }
  EXPECT_EQ(VariantObject::LiveCount(), live);
}

TEST(VariantTest, CodecsAreFoundByName) {
  constexpr VariantCodec kCodecs[] = {{"A", nullptr}, {"B", nullptr}};
  EXPECT_EQ(FindVariantCodec(kCodecs, "B"), &kCodecs[1]);
  EXPECT_EQ(FindVariantCodec(kCodecs, "C"), nullptr);
}

}  // namespace
}  // namespace sluice
