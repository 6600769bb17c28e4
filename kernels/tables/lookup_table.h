#ifndef SLUICE_KERNELS_TABLES_LOOKUP_TABLE_H_
#define SLUICE_KERNELS_TABLES_LOOKUP_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tensor.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Keys and values of a table, as tensors.
struct TableItems {
  Tensor keys, values;
};

// A table of values by key, which outlives steps. Of one type whatever its kind, as nodes find it: kinds differ in what
// they refuse. Tensors of keys and values are checked by the table.
// Owned by the resource manager, or, without a name, by its handle. Thread-safe.
class LookupTable : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "LookupTable";

  DType key_dtype() const { return key_dtype_; }
  DType value_dtype() const { return value_dtype_; }
  // Of one key and one value.
  const Shape& key_shape() const { return key_shape_; }
  const Shape& value_shape() const { return value_shape_; }

  virtual int64_t size() const = 0;
  // The values of `keys`, and `missing` for absent keys: one value, or one per key (only a MutableTable uses more than
  // the first, as in TensorFlow).
  virtual absl::StatusOr<Tensor> Find(const KernelContext& context, const Tensor& keys,
                                      const Tensor& missing) const = 0;
  // Adds values or replaces those of keys that are there. UNIMPLEMENTED where a table is only initialised.
  virtual absl::Status Insert(const KernelContext& context, const Tensor& keys, const Tensor& values) = 0;
  // Keys that are not there are no error.
  virtual absl::Status Remove(const KernelContext& context, const Tensor& keys) = 0;
  // Replaces everything.
  virtual absl::Status Import(const KernelContext& context, const Tensor& keys, const Tensor& values) = 0;
  virtual absl::StatusOr<TableItems> Export(const KernelContext& context) const = 0;
  // Fills the table for the first and only time; once more with as many keys is no error and changes nothing.
  // INVALID_ARGUMENT where a table is not made for it.
  virtual absl::Status Initialize(const KernelContext& context, const Tensor& keys, const Tensor& values);
  virtual bool is_initialized() const { return true; }
  // INVALID_ARGUMENT where a table is not made for Initialize.
  virtual absl::Status CheckFilledOnce() const;

  // "LookupTable of 3 string to int64".
  std::string DebugString() const override;

  // kResourceType unless the table is of these.
  absl::Status CheckTypes(DType key, DType value) const;

 protected:
  LookupTable(DType key, DType value, Shape key_shape, Shape value_shape)
      : Resource(kTypeName),
        key_dtype_(key),
        value_dtype_(value),
        key_shape_(std::move(key_shape)),
        value_shape_(std::move(value_shape)) {}

  // The shape of the values of `keys`, whose last sizes must be those of a key. kOpShapes.
  absl::StatusOr<Shape> ShapeOfValues(const Shape& keys) const;
  // kOpShapes unless `values` has one value for each key.
  absl::Status CheckValues(const Shape& keys, const Shape& values) const;
  // Whether `missing` is one value; else it must be one for each key, or kOpShapes.
  absl::StatusOr<bool> IsOneMissing(const Tensor& missing, const Shape& values) const;

 private:
  const DType key_dtype_, value_dtype_;
  const Shape key_shape_, value_shape_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_TABLES_LOOKUP_TABLE_H_
