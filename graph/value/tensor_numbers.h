#ifndef SLUICE_GRAPH_VALUE_TENSOR_NUMBERS_H_
#define SLUICE_GRAPH_VALUE_TENSOR_NUMBERS_H_

// Makes and reads tensors of numbers without a switch over their type.
//
//   SLUICE_ASSIGN_OR_RETURN(Tensor m, TensorOf<float>({{1, 2, 3}, {4, 5, 6}}));          // [2,3]
//   SLUICE_ASSIGN_OR_RETURN(Tensor half, TensorOfNumbers(DType::kHalf, shape, numbers));
//   SLUICE_ASSIGN_OR_RETURN(const double x, ElementAs<double>(loss));                    // Of any real type.
//   SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ElementsAs<int64_t>(labels));

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

// Lists in braces, nested as deep as the tensor has axes; one value is a scalar. Only for arguments of TensorOf and the
// like.
template <typename T>
class NestedList {
 public:
  NestedList(T value) : values_{value} {}  // NOLINT(google-explicit-constructor): converts numbers in lists.
  NestedList(std::initializer_list<NestedList> parts) : dims_{static_cast<int64_t>(parts.size())} {  // NOLINT
    const NestedList* first = nullptr;
    for (const NestedList& part : parts) {
      if (first == nullptr) {
        first = &part;
        dims_.insert(dims_.end(), part.dims_.begin(), part.dims_.end());
      }
      is_even_ = is_even_ && part.is_even_ && part.dims_ == first->dims_;
      values_.insert(values_.end(), part.values_.begin(), part.values_.end());
    }
  }

  absl::Span<const int64_t> dims() const { return dims_; }
  // Whether all lists of one level are equally long and deep.
  bool is_even() const { return is_even_; }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<int64_t> dims_;
  std::vector<T> values_;
  bool is_even_ = true;
};

// The error of TensorOf for uneven lists.
absl::Status UnevenLists();

// Makes a tensor from lists. kTensorShape if lists of one level differ in length or depth. Plain T.
template <typename T>
absl::StatusOr<Tensor> TensorOf(const NestedList<T>& lists) {
  if (!lists.is_even()) return UnevenLists();
  absl::StatusOr<Shape> shape = Shape::Make(lists.dims());
  if (!shape.ok()) return shape.status();
  absl::StatusOr<Tensor> made = Tensor::Make(DTypeOf<T>::value, *shape);
  if (!made.ok()) return made.status();
  const absl::Span<T> elements = made->template flat<T>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = lists.values()[i];
  return *std::move(made);
}

// A tensor of any real, complex, integer or boolean type. kTensorDType if the type cannot hold a number (2.5 for int32)
// or has none; kTensorShape if their count is not that of the shape.
absl::StatusOr<Tensor> TensorOfNumbers(DType type, const Shape& shape, absl::Span<const double> numbers);
// Sets all elements to `number`.
absl::StatusOr<Tensor> FilledTensor(DType type, const Shape& shape, double number);

// The only element of a tensor of numbers, or all of them, as T: float, double, int32_t, int64_t or bool; complex
// numbers as std::complex<float> and std::complex<double>. Fractions are cut off where T is an integer, as by a cast.
// kTensorDType if an element is beyond the range of T, is complex and T is not, or is not a number; kTensorShape (for
// one element) if there are more, or none.
template <typename T>
absl::StatusOr<T> ElementAs(const Tensor& tensor);
template <typename T>
absl::StatusOr<std::vector<T>> ElementsAs(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_GRAPH_VALUE_TENSOR_NUMBERS_H_
