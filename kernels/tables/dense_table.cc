#include "kernels/tables/dense_table.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/strings/string_hash.h"

namespace sluice {
namespace {

// Note [Order of buckets]
// Export of a dense table shows its buckets, and graphs may have come to count on their order. So keys are hashed as
// TensorFlow does it: an integer is its own hash, a string has MurmurHash64A of a fixed seed, and the hashes of several
// elements are mixed one after the other. This does not protect against keys chosen by an adversary; each step of the
// search goes farther than the one before, as in TensorFlow.

uint64_t HashElement(const Tensor& keys, int64_t i) {
  if (keys.dtype() == DType::kString) return MurmurHash(keys.flat<TString>()[static_cast<size_t>(i)].view());
  return static_cast<uint64_t>(IndexAt(keys, i));
}

// The hash of elements [row * width, (row + 1) * width) of `keys`, of strings or integers.
uint64_t HashKey(const Tensor& keys, int64_t row, int64_t width) {
  if (width == 1) return HashElement(keys, row);
  uint64_t hash = 0;
  for (int64_t i = 0; i < width; ++i) {
    hash ^= HashElement(keys, row * width + i) + 0x9e3779b97f4a7800 + (hash << 10) + (hash >> 4);
  }
  return hash;
}

}  // namespace

absl::StatusOr<CountedPtr<DenseTable>> DenseTable::Make(const Options& options, Allocator& allocator) {
  if (!(options.max_load > 0 && options.max_load < 1)) {
    return AttrError("max_load_factor", options.max_load, "between 0 and 1");
  }
  const int64_t count = options.num_buckets;
  if (count < 4 || (count & (count - 1)) != 0) {
    return AttrError("initial_num_buckets", count, "a power of two of at least 4");
  }
  if (options.empty_key.shape() != options.deleted_key.shape()) {
    return ShapesError(absl::StrCat("empty_key ", options.empty_key.shape().ToString(), ", deleted_key ",
                                    options.deleted_key.shape().ToString()),
                       "equal shapes");
  }
  CountedPtr<DenseTable> table = MakeCounted<DenseTable>(options, allocator);
  if (table->IsDeleted(options.empty_key, 0)) {
    return ValueError("an empty_key that is the deleted_key, too", "two keys");
  }
  SLUICE_ASSIGN_OR_RETURN(Buckets buckets, table->MakeBuckets(count));
  DenseTable* const made = table.get();
  MutexLock lock(&made->mu_);
  made->buckets_ = std::move(buckets);
  return table;
}

DenseTable::DenseTable(const Options& options, Allocator& allocator)
    : LookupTable(options.empty_key.dtype(), options.value_dtype, options.empty_key.shape(), options.value_shape),
      options_(options),
      allocator_(allocator),
      buckets_{ValueRows(options.empty_key.dtype(), options.empty_key.num_elements(), allocator),
               ValueRows(options.value_dtype, options.value_shape.num_elements(), allocator)} {}

absl::StatusOr<DenseTable::Buckets> DenseTable::MakeBuckets(int64_t count) const {
  if (count > kMaxBuckets) {
    return Error(ErrorCode::kOutOfMemory)
        .Found(absl::StrCat(count, " buckets"))
        .Expected(absl::StrCat("at most ", kMaxBuckets));
  }
  Buckets buckets{ValueRows(key_dtype(), key_shape().num_elements(), allocator_),
                  ValueRows(value_dtype(), value_shape().num_elements(), allocator_)};
  SLUICE_RETURN_IF_ERROR(buckets.keys.Reserve(count));
  SLUICE_RETURN_IF_ERROR(buckets.values.Reserve(count));
  buckets.count = count;
  for (int64_t i = 0; i < count; ++i) buckets.keys.Set(i, options_.empty_key, 0);
  buckets.values.Clear();
  return buckets;
}

bool DenseTable::IsEmpty(const Tensor& keys, int64_t row) const {
  return SameRow(options_.empty_key, 0, keys, row, key_shape().num_elements());
}

bool DenseTable::IsDeleted(const Tensor& keys, int64_t row) const {
  return SameRow(options_.deleted_key, 0, keys, row, key_shape().num_elements());
}

int64_t DenseTable::BucketOf(const Buckets& buckets, const Tensor& keys, int64_t row, bool or_deleted) const {
  const uint64_t count = static_cast<uint64_t>(buckets.count);
  uint64_t bucket = HashKey(keys, row, key_shape().num_elements()) & (count - 1);
  for (uint64_t step = 1; step <= count; ++step) {  // Growing steps visit every bucket once.
    const int64_t at = static_cast<int64_t>(bucket);
    if (buckets.keys.Equals(at, keys, row) || IsEmpty(buckets.keys.rows(), at)) return at;
    if (or_deleted && IsDeleted(buckets.keys.rows(), at)) return at;
    bucket = (bucket + step) & (count - 1);
  }
  return -1;
}

absl::StatusOr<int64_t> DenseTable::FindKey(const Buckets& buckets, const Tensor& keys, int64_t row) const {
  const int64_t bucket = BucketOf(buckets, keys, row, /*or_deleted=*/false);
  if (bucket < 0) {
    return Error(ErrorCode::kOpBroken)
        .Found(absl::StrCat("no empty bucket among ", buckets.count))
        .Text("removed keys fill the table; it must be rebuilt before missing keys can be looked up");
  }
  return IsEmpty(buckets.keys.rows(), bucket) ? -1 : bucket;
}

void DenseTable::InsertOne(Buckets& buckets, const Tensor& keys, const Tensor& values, int64_t row) const {
  const int64_t bucket = BucketOf(buckets, keys, row, /*or_deleted=*/true);
  buckets.values.Set(bucket, values, row);  // First: a key is never without its value.
  if (buckets.keys.Equals(bucket, keys, row)) return;
  buckets.keys.Set(bucket, keys, row);
  ++buckets.live;
}

absl::Status DenseTable::MakeRoom(Buckets& buckets, int64_t more) const {
  const auto fits = [this](int64_t keys, int64_t count) {
    return static_cast<double>(keys) <= static_cast<double>(count) * options_.max_load;
  };
  if (fits(buckets.live + more, buckets.count)) return absl::OkStatus();
  int64_t count = 2 * buckets.count;
  while (!fits(buckets.live + more, count) && count <= kMaxBuckets) count *= 2;
  SLUICE_ASSIGN_OR_RETURN(Buckets roomy, MakeBuckets(count));
  const Tensor& keys = buckets.keys.rows();
  for (int64_t i = 0; i < buckets.count; ++i) {
    if (!IsEmpty(keys, i) && !IsDeleted(keys, i)) InsertOne(roomy, keys, buckets.values.rows(), i);
  }
  buckets = std::move(roomy);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> DenseTable::CheckKeys(const Tensor& keys) const {
  if (keys.rank() > key_shape().rank() + 1) {
    return ShapesError(absl::StrCat("keys ", keys.shape().ToString()),
                       absl::StrCat("a list of keys of shape ", key_shape().ToString()));
  }
  SLUICE_RETURN_IF_ERROR(ShapeOfValues(keys.shape()).status());
  const int64_t count = keys.rank() > key_shape().rank() ? keys.dim(0) : 1;
  for (int64_t i = 0; i < count; ++i) {
    if (!IsEmpty(keys, i) && !IsDeleted(keys, i)) continue;
    return ValueError(absl::StrCat("the table's ", IsEmpty(keys, i) ? "empty_key" : "deleted_key", " at ", i),
                      "other keys");
  }
  return count;
}

int64_t DenseTable::size() const {
  MutexLock lock(&mu_);
  return buckets_.live;
}

int64_t DenseTable::MemoryUsed() const {
  MutexLock lock(&mu_);
  return buckets_.keys.MemoryUsed() + buckets_.values.MemoryUsed();
}

// As in TensorFlow, the first of several missing values is that of all keys.
absl::StatusOr<Tensor> DenseTable::Find(const KernelContext& context, const Tensor& keys, const Tensor& missing) const {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CheckKeys(keys));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ShapeOfValues(keys.shape()));
  SLUICE_RETURN_IF_ERROR(IsOneMissing(missing, shape).status());
  SLUICE_ASSIGN_OR_RETURN(Tensor values, Tensor::Make(value_dtype(), shape, context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(Tensor rows, Tensor::Make(DType::kInt64, Shape::Of({count}), context.allocator()));
  const absl::Span<int64_t> numbers = rows.flat<int64_t>();
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(numbers[static_cast<size_t>(i)], FindKey(buckets_, keys, i));
  }
  buckets_.values.Gather(context, numbers, missing, /*one_missing=*/true, values);
  return values;
}

absl::Status DenseTable::Insert(const KernelContext&, const Tensor& keys, const Tensor& values) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CheckKeys(keys));
  SLUICE_RETURN_IF_ERROR(CheckValues(keys.shape(), values.shape()));
  MutexLock lock(&mu_);
  SLUICE_RETURN_IF_ERROR(MakeRoom(buckets_, count));
  for (int64_t i = 0; i < count; ++i) InsertOne(buckets_, keys, values, i);
  return absl::OkStatus();
}

absl::Status DenseTable::Remove(const KernelContext&, const Tensor& keys) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, CheckKeys(keys));
  MutexLock lock(&mu_);
  for (int64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t bucket, FindKey(buckets_, keys, i));
    if (bucket < 0) continue;
    buckets_.keys.Set(bucket, options_.deleted_key, 0);
    --buckets_.live;
  }
  return absl::OkStatus();
}

// The output of Export: all buckets, including empty ones and removed keys. They are kept as they are, as in
// TensorFlow, if their number can be a table's.
absl::Status DenseTable::Import(const KernelContext&, const Tensor& keys, const Tensor& values) {
  const int64_t count = keys.rank() == 0 ? 0 : keys.dim(0);
  const auto is_list = [count](const Tensor& tensor, const Shape& element) {
    return tensor.rank() > 0 && tensor.dim(0) == count && tensor.num_elements() == count * element.num_elements();
  };
  if (count >= kMaxBuckets || !is_list(keys, key_shape()) || !is_list(values, value_shape())) {
    return ShapesError(absl::StrCat("keys ", keys.shape().ToString(), ", values ", values.shape().ToString()),
                       "as many keys as values");
  }
  int64_t num_buckets = 4;
  while (num_buckets < count) num_buckets *= 2;
  SLUICE_ASSIGN_OR_RETURN(Buckets imported, MakeBuckets(num_buckets));
  for (int64_t i = 0; i < count; ++i) {
    const bool has_key = !IsEmpty(keys, i) && !IsDeleted(keys, i);
    if (count == num_buckets) {
      imported.values.Set(i, values, i);
      imported.keys.Set(i, keys, i);
      imported.live += has_key ? 1 : 0;
    } else if (has_key) {
      SLUICE_RETURN_IF_ERROR(MakeRoom(imported, 1));
      InsertOne(imported, keys, values, i);
    }
  }
  MutexLock lock(&mu_);
  std::swap(buckets_, imported);  // The former contents are destroyed after the lock is released.
  return absl::OkStatus();
}

absl::StatusOr<TableItems> DenseTable::Export(const KernelContext& context) const {
  MutexLock lock(&mu_);
  SLUICE_ASSIGN_OR_RETURN(const Shape keys, Shape::Make({buckets_.count, key_shape().num_elements()}));
  SLUICE_ASSIGN_OR_RETURN(const Shape values, Shape::Make({buckets_.count, value_shape().num_elements()}));
  TableItems items;
  SLUICE_ASSIGN_OR_RETURN(items.keys, Tensor::Make(key_dtype(), keys, context.allocator()));
  SLUICE_ASSIGN_OR_RETURN(items.values, Tensor::Make(value_dtype(), values, context.allocator()));
  buckets_.keys.CopyTo(buckets_.count, items.keys);
  buckets_.values.CopyTo(buckets_.count, items.values);
  return items;
}

}  // namespace sluice
