#include "kernels/tables/hash_table.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

absl::Status CannotChange(absl::string_view what) {
  return Error(ErrorCode::kOpUnimplemented).Text(absl::StrCat("a table that is initialised once knows no ", what));
}

// The values of `keys`, of shape `shape`.
absl::StatusOr<Tensor> FindIn(const RowStore& store, const KernelContext& context, const Tensor& keys,
                              const Tensor& missing, bool is_one_missing, const Shape& shape) {
  SLUICE_ASSIGN_OR_RETURN(Tensor values, Tensor::Make(store.values().dtype(), shape, context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(Tensor rows,
                          Tensor::Make(DType::kInt64, Shape::Of({keys.num_elements()}), context.allocator()));
  store.Find(context, keys, rows.flat<int64_t>());
  store.values().Gather(context, rows.flat<int64_t>(), missing, is_one_missing, values);
  return values;
}

absl::StatusOr<TableItems> ItemsOf(const RowStore& store, const LookupTable& table, const KernelContext& context) {
  const int64_t count = store.size();
  std::vector<int64_t> dims{count};
  dims.insert(dims.end(), table.value_shape().dims().begin(), table.value_shape().dims().end());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  TableItems items;
  SLUICE_ASSIGN_OR_RETURN(items.keys, Tensor::Make(table.key_dtype(), Shape::Of({count}), context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(items.values, Tensor::Make(table.value_dtype(), shape, context.allocator()));
  store.KeysTo(items.keys);
  store.values().CopyTo(count, items.values);
  return items;
}

}  // namespace

// --- InitializedTable --------------------------------------------------------------------------------------------

int64_t InitializedTable::size() const { return is_initialized() ? store()->size() : 0; }

// As in TensorFlow, the first of several missing values is that of all keys.
absl::StatusOr<Tensor> InitializedTable::Find(const KernelContext& context, const Tensor& keys,
                                              const Tensor& missing) const {
  SLUICE_RETURN_IF_ERROR(IsOneMissing(missing, keys.shape()).status());
  if (!is_initialized()) return Error(ErrorCode::kOpPrecondition).Text("the table is not initialised");
  return FindIn(*store(), context, keys, missing, /*is_one_missing=*/true, keys.shape());
}

absl::Status InitializedTable::Insert(const KernelContext&, const Tensor&, const Tensor&) {
  return CannotChange("insertion");
}

absl::Status InitializedTable::Remove(const KernelContext&, const Tensor&) { return CannotChange("removal"); }

absl::Status InitializedTable::Import(const KernelContext& context, const Tensor& keys, const Tensor& values) {
  return Initialize(context, keys, values);
}

absl::StatusOr<TableItems> InitializedTable::Export(const KernelContext& context) const {
  if (!is_initialized()) return Error(ErrorCode::kAborted).Text("the table is not initialised");
  return ItemsOf(*store(), *this, context);
}

absl::Status InitializedTable::Initialize(const KernelContext& context, const Tensor& keys, const Tensor& values) {
  if (keys.rank() != 1 || values.shape() != keys.shape() || keys.num_elements() == 0) {
    return ShapesError(absl::StrCat("keys ", keys.shape().ToString(), ", values ", values.shape().ToString()),
                       "two vectors of one length above 0");
  }
  MutexLock lock(&mu_);
  if (owned_ != nullptr) {
    if (owned_->size() == keys.num_elements()) return absl::OkStatus();
    return Error(ErrorCode::kOpPrecondition)
        .Found(absl::StrCat("a table that was initialised with ", owned_->size(), " keys"))
        .Expected(absl::StrCat(keys.num_elements(), ", or a table that was not"));
  }
  std::unique_ptr<RowStore> filled = RowStore::Make(key_dtype(), value_dtype(), 1, context.allocator());
  SLUICE_RETURN_IF_ERROR(filled->Insert(keys, values, OnKnownKey::kMustBeEqual));
  owned_ = std::move(filled);
  store_.store(owned_.get(), std::memory_order_release);  // Release: publishes the contents.
  return absl::OkStatus();
}

// --- MutableTable ------------------------------------------------------------------------------------------------

MutableTable::MutableTable(DType key, DType value, Shape value_shape, Allocator& allocator)
    : LookupTable(key, value, Shape(), value_shape),
      store_(RowStore::Make(key, value, value_shape.num_elements(), allocator)) {}

int64_t MutableTable::size() const {
  MutexLock lock(&mu_);
  return store_->size();
}

int64_t MutableTable::MemoryUsed() const {
  MutexLock lock(&mu_);
  return store_->MemoryUsed();
}

absl::StatusOr<Tensor> MutableTable::Find(const KernelContext& context, const Tensor& keys,
                                          const Tensor& missing) const {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfValues(keys.shape()));
  SLUICE_ASSIGN_OR_RETURN(const bool is_one_missing, IsOneMissing(missing, shape));
  MutexLock lock(&mu_);
  return FindIn(*store_, context, keys, missing, is_one_missing, shape);
}

absl::Status MutableTable::Insert(const KernelContext&, const Tensor& keys, const Tensor& values) {
  SLUICE_RETURN_IF_ERROR(CheckValues(keys.shape(), values.shape()));
  MutexLock lock(&mu_);
  return store_->Insert(keys, values, OnKnownKey::kReplace);
}

absl::Status MutableTable::Remove(const KernelContext&, const Tensor& keys) {
  MutexLock lock(&mu_);
  store_->Remove(keys);
  return absl::OkStatus();
}

absl::Status MutableTable::Import(const KernelContext& context, const Tensor& keys, const Tensor& values) {
  SLUICE_RETURN_IF_ERROR(CheckValues(keys.shape(), values.shape()));
  std::unique_ptr<RowStore> imported =
      RowStore::Make(key_dtype(), value_dtype(), value_shape().num_elements(), context.allocator());
  SLUICE_RETURN_IF_ERROR(imported->Insert(keys, values, OnKnownKey::kReplace));
  MutexLock lock(&mu_);
  store_.swap(imported);  // The former contents are destroyed after the lock is released.
  return absl::OkStatus();
}

absl::StatusOr<TableItems> MutableTable::Export(const KernelContext& context) const {
  MutexLock lock(&mu_);
  return ItemsOf(*store_, *this, context);
}

}  // namespace sluice
