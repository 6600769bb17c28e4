#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// The form in which elements are compared. TensorFlow compares single elements of 16-bit floats by their bits, so that
// -0 and 0 are two, but by value where they are parts of rows.
template <typename T>
auto KeyOf(const T& value) {
  if constexpr (std::is_same<T, TString>::value) {
    return value.view();
  } else if constexpr (kIsHalf<T>) {
    return value.bits;
  } else {
    return value;
  }
}
template <typename T>
using Key = decltype(KeyOf(std::declval<const T&>()));

// A NaN equals nothing, not even itself: it must not become a key.
template <typename T>
bool HasEquals(const T& value) {
  if constexpr (std::is_floating_point<T>::value) {
    return !(value != value);
  } else if constexpr (kIsHalf<T>) {
    return HasEquals(static_cast<float>(value));
  } else {
    return true;
  }
}

using KeyTypes = Join<RealCppTypes, TypeList<bool, TString>>;

// Which group each row belongs to, and the first row of each group.
class Grouping {
 public:
  // `group_of_row` has a place for each row.
  explicit Grouping(absl::Span<int64_t> group_of_row) : group_of_row_(group_of_row) {}

  // The number that the next new group gets.
  int64_t next_group() const { return static_cast<int64_t>(first_row_.size()); }
  // Notes that `row`, the one after those noted before, belongs to `group`: one that there is, or next_group().
  void Add(int64_t row, int64_t group) {
    if (group == next_group()) {
      first_row_.push_back(row);
      count_.push_back(0);
    }
    ++count_[static_cast<size_t>(group)];
    group_of_row_[static_cast<size_t>(row)] = group;
  }
  const std::vector<int64_t>& first_row() const { return first_row_; }
  const std::vector<int64_t>& count() const { return count_; }

 private:
  const absl::Span<int64_t> group_of_row_;
  std::vector<int64_t> first_row_;
  std::vector<int64_t> count_;
};

// Rows of one element.
template <typename T>
void GroupElements(const T* elements, int64_t rows, Grouping* grouping) {
  HashMap<Key<T>, int64_t> groups;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t next = grouping->next_group();
    const bool has_equals = HasEquals(elements[row]);
    grouping->Add(row, has_equals ? groups.try_emplace(KeyOf(elements[row]), next).first->second : next);
  }
}

// Appends bytes that are equal for equal elements, which `element` has (HasEquals).
template <typename T>
void AppendKey(const T& element, std::string* key) {
  if constexpr (std::is_same<T, TString>::value) {
    const uint64_t size = element.size();
    key->append(reinterpret_cast<const char*>(&size), sizeof(size));
    key->append(element.data(), element.size());
  } else if constexpr (kIsHalf<T>) {
    AppendKey(static_cast<float>(element), key);
  } else {
    const T value = element == T(0) ? T(0) : element;  // Not -0.
    key->append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
}

// Rows of `size` elements.
template <typename T>
void GroupRows(const T* elements, int64_t rows, int64_t size, Grouping* grouping) {
  if (size == 1) return GroupElements(elements, rows, grouping);
  HashMap<std::string, int64_t> groups;
  std::string key;
  for (int64_t row = 0; row < rows; ++row) {
    const T* const begin = elements + row * size;
    const int64_t next = grouping->next_group();
    const bool has_equals = std::all_of(begin, begin + size, &HasEquals<T>);
    key.clear();
    for (int64_t i = 0; has_equals && i < size; ++i) AppendKey(begin[i], &key);
    grouping->Add(row, has_equals ? groups.try_emplace(key, next).first->second : next);
  }
}

// Groups the rows of input 0 along `axis`, and sets outputs: one row of each group, the group of each row and (third
// output, if there is one) the sizes of the groups.
absl::Status UniqueRows(KernelContext& context, int axis) {
  const Tensor input = context.input(0);
  const Shape& shape = input.shape();
  const int64_t outer = SizeOfAxes(shape, 0, axis);
  const int64_t rows = shape.dim(axis);
  const int64_t inner = SizeOfAxes(shape, axis + 1, shape.rank());
  Tensor ordered = input;  // Rows to the front.
  if (outer > 1) {
    SLUICE_ASSIGN_OR_RETURN(ordered, context.AllocateTemp(input.dtype(), shape));
    const CopyAxis axes[] = {{rows, outer * inner, inner}, {outer, inner, rows * inner}, {inner, 1, 1}};
    CopyStrided(context, axes, ordered, 0, input, 0);
  }
  // From the allocator, which may refuse: rows without elements take no memory of their own.
  SLUICE_ASSIGN_OR_RETURN(Tensor group_of_row, context.AllocateTemp(DType::kInt64, Shape::Of({rows})));
  Grouping grouping(group_of_row.flat<int64_t>());
  DispatchDType<KeyTypes>(input.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    GroupRows(Elements<T>(std::as_const(ordered)), rows, outer * inner, &grouping);
  });
  const int64_t groups = grouping.next_group();
  IndexVector dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<size_t>(axis)] = groups;
  SLUICE_ASSIGN_OR_RETURN(const Shape result, MakeShape(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, result));
  DispatchMoved(input.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    // Without elements there may be any number of slabs.
    const int64_t slabs = output->num_elements() > 0 ? outer : 0;
    for (int64_t slab = 0; slab < slabs; ++slab) {
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t from = (slab * rows + grouping.first_row()[static_cast<size_t>(group)]) * inner;
        std::copy_n(Elements<T>(input) + from, inner, Elements<T>(*output) + (slab * groups + group) * inner);
      }
    }
  });
  SLUICE_RETURN_IF_ERROR(SetIndexOutput(context, 1, group_of_row.flat<int64_t>()));
  return context.num_outputs() > 2 ? SetIndexOutput(context, 2, grouping.count()) : absl::OkStatus();
}

absl::Status ComputeUnique(KernelContext& context) {
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 0, "x"));
  return UniqueRows(context, 0);
}

absl::Status ComputeUniqueV2(KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(context, 1, "axis"));
  if (axes.size() > 1) return ShapeError(1, "axis", absl::StrCat(axes.size(), " axes"), "none or one");
  if (axes.empty()) return ComputeUnique(context);
  SLUICE_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axes[0], shape.rank(), 1, "axis"));
  return UniqueRows(context, axis);
}

// --- ListDiff ----------------------------------------------------------------------------------------------------

// The elements of x that are not in y, and their positions.
absl::Status ComputeListDiff(KernelContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& y = context.input(1);
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 0, "x"));
  SLUICE_RETURN_IF_ERROR(CheckVector(context, 1, "y"));
  std::vector<int64_t> positions;
  DispatchDType<KeyTypes>(x.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    HashSet<Key<T>> left_out;
    for (const T& element : y.flat<T>()) {
      if (HasEquals(element)) left_out.insert(KeyOf(element));
    }
    const absl::Span<const T> elements = x.flat<T>();
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool is_left_out = HasEquals(elements[i]) && left_out.contains(KeyOf(elements[i]));
      if (!is_left_out) positions.push_back(static_cast<int64_t>(i));
    }
  });
  SLUICE_ASSIGN_OR_RETURN(Tensor * output,
                          context.AllocateOutput(0, Shape::Of({static_cast<int64_t>(positions.size())})));
  DispatchMoved(x.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    T* to = Elements<T>(*output);
    for (const int64_t position : positions) *to++ = Elements<T>(x)[position];
  });
  return SetIndexOutput(context, 1, positions);
}

constexpr DTypeSet kComparable = kRealTypes | DTypeSet{DType::kBool, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("Unique", &Call<ComputeUnique>).Types("T", kComparable),
    KernelRow("UniqueV2", &Call<ComputeUniqueV2>).Types("T", kComparable),
    KernelRow("UniqueWithCounts", &Call<ComputeUnique>).Types("T", kComparable),
    KernelRow("UniqueWithCountsV2", &Call<ComputeUniqueV2>).Types("T", kComparable),
    KernelRow("ListDiff", &Call<ComputeListDiff>).Types("T", kComparable),
};

}  // namespace

absl::Span<const KernelRow> UniqueKernels() { return kRows; }

}  // namespace sluice
