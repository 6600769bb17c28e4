#ifndef SLUICE_KERNELS_TABLES_DENSE_TABLE_H_
#define SLUICE_KERNELS_TABLES_DENSE_TABLE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "graph/base/mutex.h"
#include "kernels/tables/lookup_table.h"
#include "kernels/tables/value_rows.h"

namespace sluice {

// MutableDenseHashTable: keys and values in buckets, exported as they lie there, with two keys that stand for "empty"
// and "removed". Keys may be vectors. Thread-safe: each call sees and changes the table as a whole.
//
// A key is looked for in bucket h, h+1, h+3, h+6, ... modulo their number, where h is the integer itself or a hash
// (Note [Order of buckets]): the order that TensorFlow exports.
class DenseTable final : public LookupTable {
 public:
  struct Options {
    DType value_dtype = DType::kInvalid;
    Shape value_shape;
    Tensor empty_key, deleted_key;  // Of equal dtypes and shapes, and different.
    int64_t num_buckets = 4;        // A power of two from 4 to kMaxBuckets.
    double max_load = 0.8;          // Between 0 and 1.
  };
  static constexpr int64_t kMaxBuckets = int64_t{1} << 30;

  // kOpAttr, kOpShapes or kOpValue for other options than those, RESOURCE_EXHAUSTED. All of the table lies in memory of
  // `allocator`, which must outlive it.
  static absl::StatusOr<CountedPtr<DenseTable>> Make(const Options& options, Allocator& allocator);
  // For Make. REQUIRES: options that it has checked.
  DenseTable(const Options& options, Allocator& allocator);

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
  // Not thread-safe.
  struct Buckets {
    ValueRows keys, values;
    int64_t count = 0;  // A power of two.
    int64_t live = 0;   // Buckets with a key.
  };

  absl::StatusOr<Buckets> MakeBuckets(int64_t count) const;
  bool IsEmpty(const Tensor& keys, int64_t row) const;
  bool IsDeleted(const Tensor& keys, int64_t row) const;
  // The first bucket on the way of key `row` that holds the key, is empty or, with `or_deleted`, held a removed key. -1
  // if there is no such bucket.
  int64_t BucketOf(const Buckets& buckets, const Tensor& keys, int64_t row, bool or_deleted) const;
  // The bucket of key `row`, or -1 if it is not here. kOpBroken when no bucket is empty: then the search has no end.
  absl::StatusOr<int64_t> FindKey(const Buckets& buckets, const Tensor& keys, int64_t row) const;
  // As in TensorFlow a new key takes the first bucket that is empty or whose key was removed; so does a key that is
  // here already, behind such a bucket, and is then here twice. REQUIRES: room, and no key that stands for something
  // else.
  void InsertOne(Buckets& buckets, const Tensor& keys, const Tensor& values, int64_t row) const;
  // Makes room for `more` keys. RESOURCE_EXHAUSTED.
  absl::Status MakeRoom(Buckets& buckets, int64_t more) const;
  // How many keys there are. kOpShapes for another shape, kOpValue for keys that stand for something else.
  absl::StatusOr<int64_t> CheckKeys(const Tensor& keys) const;

  const Options options_;
  Allocator& allocator_;
  mutable Mutex mu_;
  Buckets buckets_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_DENSE_TABLE_H_
