#ifndef SLUICE_KERNELS_TABLES_ROW_STORE_H_
#define SLUICE_KERNELS_TABLES_ROW_STORE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"
#include "kernels/tables/value_rows.h"

namespace sluice {

// How a key that is there already is treated.
enum class OnKnownKey {
  kReplace,      // It gets the new value.
  kMustBeEqual,  // kOpPrecondition unless the new value is the same.
};

// Keys (strings, or integers that int64 holds) and a row of values for each: what tables without a lock of their own
// are made of. Not thread-safe; constant access from any thread.
class RowStore {
 public:
  virtual ~RowStore() = default;

  // Everything lies in memory of `allocator`, which must outlive the store, but for long strings.
  static std::unique_ptr<RowStore> Make(DType key, DType value, int64_t width, Allocator& allocator);

  virtual int64_t size() const = 0;
  const ValueRows& values() const { return values_; }
  virtual int64_t MemoryUsed() const = 0;

  // REQUIRES (for all below): `keys` of the key dtype, `values` of the value dtype with a row for each key.

  // The row of each key, or -1.
  virtual void Find(const KernelContext& context, const Tensor& keys, absl::Span<int64_t> rows) const = 0;
  // Of equal keys the last counts. RESOURCE_EXHAUSTED. Rows that were inserted before an error stay.
  virtual absl::Status Insert(const Tensor& keys, const Tensor& values, OnKnownKey on_known) = 0;
  virtual void Remove(const Tensor& keys) = 0;
  // All keys, in the order of their rows.
  virtual void KeysTo(Tensor& keys) const = 0;

 protected:
  explicit RowStore(ValueRows values) : values_(std::move(values)) {}

  ValueRows values_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_ROW_STORE_H_
