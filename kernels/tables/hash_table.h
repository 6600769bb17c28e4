#ifndef SLUICE_KERNELS_TABLES_HASH_TABLE_H_
#define SLUICE_KERNELS_TABLES_HASH_TABLE_H_

#include <atomic>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "kernels/tables/lookup_table.h"
#include "kernels/tables/row_store.h"

namespace sluice {

// HashTable: filled once, read without a lock from then on. Thread-safe.
class InitializedTable final : public LookupTable {
 public:
  InitializedTable(DType key, DType value) : LookupTable(key, value, Shape(), Shape()) {}

  int64_t size() const override;
  absl::StatusOr<Tensor> Find(const KernelContext& context, const Tensor& keys, const Tensor& missing) const override;
  absl::Status Insert(const KernelContext& context, const Tensor& keys, const Tensor& values) override;
  absl::Status Remove(const KernelContext& context, const Tensor& keys) override;
  absl::Status Import(const KernelContext& context, const Tensor& keys, const Tensor& values) override;
  absl::StatusOr<TableItems> Export(const KernelContext& context) const override;
  absl::Status Initialize(const KernelContext& context, const Tensor& keys, const Tensor& values) override
      ABSL_LOCKS_EXCLUDED(mu_);
  bool is_initialized() const override { return store() != nullptr; }
  absl::Status CheckFilledOnce() const override { return absl::OkStatus(); }
  int64_t MemoryUsed() const override { return is_initialized() ? store()->MemoryUsed() : 0; }

 private:
  // Null before the table is initialised; never changed afterwards.
  const RowStore* store() const { return store_.load(std::memory_order_acquire); }  // Acquire: sees its contents.

  Mutex mu_;  // Held while the table is filled.
  std::unique_ptr<const RowStore> owned_ ABSL_GUARDED_BY(mu_);
  std::atomic<const RowStore*> store_{nullptr};
};

// MutableHashTable and MutableHashTableOfTensors. Thread-safe: each call sees and changes the table as a whole.
class MutableTable final : public LookupTable {
 public:
  MutableTable(DType key, DType value, Shape value_shape, Allocator& allocator);

  int64_t size() const override ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<Tensor> Find(const KernelContext& context, const Tensor& keys, const Tensor& missing) const override
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Insert(const KernelContext& context, const Tensor& keys, const Tensor& values) override
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Remove(const KernelContext& context, const Tensor& keys) override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Import(const KernelContext& context, const Tensor& keys, const Tensor& values) override
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<TableItems> Export(const KernelContext& context) const override ABSL_LOCKS_EXCLUDED(mu_);
  int64_t MemoryUsed() const override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  mutable Mutex mu_;
  std::unique_ptr<RowStore> store_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_HASH_TABLE_H_
