#include "kernels/tables/row_store.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/tables/key_index.h"

namespace sluice {
namespace {

// Integers.
struct IntKeys {
  using Index = IntKeyIndex;
  static int64_t At(const Tensor& keys, int64_t i) { return IndexAt(keys, i); }
  static std::string Text(int64_t key) { return absl::StrCat(key); }
  static void Put(int64_t key, Tensor& keys, int64_t i) { SetIndexAt(keys, i, key); }
};

struct StringKeys {
  using Index = StringKeyIndex;
  static absl::string_view At(const Tensor& keys, int64_t i) {
    return keys.flat<TString>()[static_cast<size_t>(i)].view();
  }
  static std::string Text(absl::string_view key) { return absl::StrCat("'", PrintableName(key), "'"); }
  static void Put(const TString& key, Tensor& keys, int64_t i) { keys.flat<TString>()[static_cast<size_t>(i)] = key; }
};

// The store for one kind of keys. Owns them and the rows; as thread-safe as RowStore.
template <typename Keys>
class KeyedRows final : public RowStore {
 public:
  KeyedRows(ValueRows values, Allocator& allocator) : RowStore(std::move(values)), index_(allocator) {}

  int64_t size() const override { return index_.size(); }
  int64_t MemoryUsed() const override { return index_.MemoryUsed() + values_.MemoryUsed(); }

  void Find(const KernelContext& context, const Tensor& keys, absl::Span<int64_t> rows) const override {
    constexpr double kFindNs = 40;
    context.ParallelFor(keys.num_elements(), kFindNs, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) rows[static_cast<size_t>(i)] = index_.Find(Keys::At(keys, i));
    });
  }

  absl::Status Insert(const Tensor& keys, const Tensor& values, OnKnownKey on_known) override {
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      const int64_t before = index_.size();
      if (before >= Keys::Index::kMaxSize) return Error(ErrorCode::kOutOfMemory).Text("the table has too many keys");
      SLUICE_RETURN_IF_ERROR(values_.Reserve(before + 1));
      const auto key = Keys::At(keys, i);
      const int64_t row = index_.Find(key);
      if (row >= 0 && on_known == OnKnownKey::kMustBeEqual) {
        if (values_.Equals(row, values, i)) continue;
        return Error(ErrorCode::kOpPrecondition)
            .Found(absl::StrCat("key ", Keys::Text(key), " again, with another value"))
            .Expected("one value for each key");
      }
      values_.Set(row >= 0 ? row : before, values, i);  // First: a key is never without its value.
      if (row < 0) index_.Insert(key);
    }
    return absl::OkStatus();
  }

  void Remove(const Tensor& keys) override {
    for (int64_t i = 0; i < keys.num_elements(); ++i) {
      const int64_t row = index_.Remove(Keys::At(keys, i));
      if (row >= 0) values_.Move(index_.size(), row);
    }
  }

  void KeysTo(Tensor& keys) const override {
    for (int64_t i = 0; i < index_.size(); ++i) Keys::Put(index_.key(i), keys, i);
  }

 private:
  typename Keys::Index index_;
};

}  // namespace

std::unique_ptr<RowStore> RowStore::Make(DType key, DType value, int64_t width, Allocator& allocator) {
  ValueRows values(value, width, allocator);
  if (key == DType::kString) return std::make_unique<KeyedRows<StringKeys>>(std::move(values), allocator);
  return std::make_unique<KeyedRows<IntKeys>>(std::move(values), allocator);
}

}  // namespace sluice
