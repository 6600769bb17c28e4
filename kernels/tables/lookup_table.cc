#include "kernels/tables/lookup_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {

absl::Status LookupTable::Initialize(const KernelContext&, const Tensor&, const Tensor&) { return CheckFilledOnce(); }

absl::Status LookupTable::CheckFilledOnce() const {
  return Error(ErrorCode::kResourceType).Found(DebugString()).Expected("a table that is initialised once");
}

std::string LookupTable::DebugString() const {
  return absl::StrCat(type_name(), " of ", size(), " ", DTypeName(key_dtype()), " to ", DTypeName(value_dtype()));
}

absl::Status LookupTable::CheckTypes(DType key, DType value) const {
  if (key == key_dtype_ && value == value_dtype_) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Found(absl::StrCat("a table of ", DTypeName(key_dtype_), " to ", DTypeName(value_dtype_)))
      .Expected(absl::StrCat(DTypeName(key), " to ", DTypeName(value)));
}

absl::StatusOr<Shape> LookupTable::ShapeOfValues(const Shape& keys) const {
  const int batch = keys.rank() - key_shape_.rank();
  if (batch < 0 || keys.dims().subspan(static_cast<size_t>(batch)) != key_shape_.dims()) {
    return ShapesError(absl::StrCat("keys ", keys.ToString()),
                       absl::StrCat("the shape of a key, ", key_shape_.ToString(), ", at the end"));
  }
  IndexVector dims(keys.dims().begin(), keys.dims().begin() + batch);
  dims.insert(dims.end(), value_shape_.dims().begin(), value_shape_.dims().end());
  return MakeShape(dims);
}

absl::Status LookupTable::CheckValues(const Shape& keys, const Shape& values) const {
  SLUICE_ASSIGN_OR_RETURN(const Shape wanted, ShapeOfValues(keys));
  if (values == wanted) return absl::OkStatus();
  return ShapesError(absl::StrCat("values ", values.ToString(), " for keys ", keys.ToString()),
                     absl::StrCat("values ", wanted.ToString()));
}

absl::StatusOr<bool> LookupTable::IsOneMissing(const Tensor& missing, const Shape& values) const {
  if (missing.shape() == value_shape_) return true;
  if (missing.shape() == values) return false;
  return ShapesError(2, "default_value", missing.shape(),
                     absl::StrCat(value_shape_.ToString(), " or ", values.ToString()));
}

}  // namespace sluice
