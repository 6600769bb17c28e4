#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/linalg/einsum_equation.h"
#include "kernels/linalg/families.h"
#include "kernels/linalg/float_cast.h"
#include "kernels/linalg/labelled_tensor.h"
#include "kernels/linalg/products.h"

namespace sluice {
namespace {

using Labels = EinsumEquation::Labels;
using EinsumTypes = Join<TypeList<float, double>, Join<IntegerCppTypes, ComplexCppTypes>>;

bool HasLabel(const Labels& labels, int label) { return absl::c_linear_search(labels, label); }

Labels Joined(const Labels& a, const Labels& b) {
  Labels all(a);
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

// Which labels play which part in a product of two inputs.
struct Roles {
  Labels batch;     // In both and in the output.
  Labels a_free;    // In A and the output only.
  Labels b_free;    // In B and the output only.
  Labels contract;  // In both, summed.
};

Roles RolesOf(const LabelledTensor& a, const LabelledTensor& b, const Labels& output) {
  Roles roles;
  for (const int label : output) {
    if (HasLabel(roles.batch, label) || HasLabel(roles.a_free, label) || HasLabel(roles.b_free, label)) continue;
    const bool in_a = HasLabel(a.labels, label);
    const bool in_b = HasLabel(b.labels, label);
    (in_a && in_b ? roles.batch : in_a ? roles.a_free : roles.b_free).push_back(label);
  }
  for (const int label : a.labels) {
    if (HasLabel(b.labels, label) && !HasLabel(output, label) && !HasLabel(roles.contract, label))
      roles.contract.push_back(label);
  }
  return roles;
}

// The product of the sizes of `labels`.
int64_t SizeOf(const Labels& labels, const AxisSizes& sizes) {
  int64_t size = 1;
  for (const int label : labels) size *= sizes.at(label);
  return size;
}

// The sizes of all labels. kOpShape, kOpShapes when inputs do not fit the equation or each other.
absl::StatusOr<AxisSizes> ResolveSizes(absl::Span<const LabelledTensor> inputs) {
  AxisSizes sizes;
  for (const LabelledTensor& input : inputs) {
    for (size_t axis = 0; axis < input.labels.size(); ++axis) {
      const int label = input.labels[axis];
      const int64_t size = input.value.dim(static_cast<int>(axis));
      const auto [entry, is_new] = sizes.emplace(label, size);
      if (is_new || entry->second == size) continue;
      const bool is_hidden = label >= EinsumEquation::kFirstHidden;
      if (!is_hidden || (size != 1 && entry->second != 1)) {
        return ShapesError(absl::StrCat("sizes ", entry->second, " and ", size), "equal sizes where labels are equal");
      }
      if (size != 1) entry->second = size;
    }
  }
  return sizes;
}

// Sums of products over named axes.
class EinsumKernel : public Kernel {
 public:
  explicit EinsumKernel(EinsumEquation equation) : equation_(std::move(equation)) {}

  absl::Status Compute(KernelContext& context) const override {
    std::vector<LabelledTensor> inputs;
    int num_hidden = 0;
    for (int i = 0; i < context.num_inputs(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(const int hidden, NumHidden(i, context.input(i).shape()));
      num_hidden = std::max(num_hidden, hidden);
      inputs.push_back({context.input(i), EinsumEquation::Expand(equation_.inputs[static_cast<size_t>(i)], hidden)});
    }
    const Labels output_labels = EinsumEquation::Expand(equation_.output, num_hidden);
    SLUICE_ASSIGN_OR_RETURN(const AxisSizes sizes, ResolveSizes(inputs));
    std::vector<int64_t> dims;
    for (const int label : output_labels) dims.push_back(sizes.at(label));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    if (output->dtype() == DType::kHalf || output->dtype() == DType::kBFloat16) {
      return ComputeInFloats(context, std::move(inputs), output_labels, sizes, output);
    }
    return Dispatch(context, inputs, output_labels, sizes, output);
  }

 private:
  // How many axes "..." stands for in input `i`.
  absl::StatusOr<int> NumHidden(int i, const Shape& shape) const {
    const Labels& labels = equation_.inputs[static_cast<size_t>(i)];
    const bool has_hidden = HasLabel(labels, EinsumEquation::kEllipsis);
    const int num_named = static_cast<int>(labels.size()) - (has_hidden ? 1 : 0);
    if (shape.rank() == num_named || (has_hidden && shape.rank() > num_named)) return shape.rank() - num_named;
    return ShapeError(i, "", shape, absl::StrCat(num_named, has_hidden ? " or more axes" : " axes"));
  }

  // Sums are made in float and rounded once.
  static absl::Status ComputeInFloats(KernelContext& context, std::vector<LabelledTensor> inputs,
                                      const Labels& output_labels, const AxisSizes& sizes, Tensor* output) {
    for (LabelledTensor& input : inputs) {
      SLUICE_ASSIGN_OR_RETURN(input.value, ToFloats(input.value, context.allocator()));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor floats, context.AllocateTemp(DType::kFloat, output->shape()));
    SLUICE_RETURN_IF_ERROR(Dispatch(context, inputs, output_labels, sizes, &floats));
    RoundFloats(floats, output);
    return absl::OkStatus();
  }

  static absl::Status Dispatch(KernelContext& context, const std::vector<LabelledTensor>& inputs,
                               const Labels& output_labels, const AxisSizes& sizes, Tensor* output) {
    absl::Status status;
    const bool found = DispatchDType<EinsumTypes>(output->dtype(), [&](auto type) {
      using T = typename decltype(type)::Type;
      if (inputs.size() == 1) {
        SumInto<T>(inputs[0], output_labels, output);
      } else {
        status = Multiply<T>(context, inputs[0], inputs[1], output_labels, sizes, output);
      }
    });
    if (!found)
      return Error(ErrorCode::kOpUnimplemented)
          .Found(DTypeName(output->dtype()))
          .Text("Einsum has no sums of this dtype");
    return status;
  }

  template <typename T>
  static absl::Status Multiply(KernelContext& context, const LabelledTensor& a, const LabelledTensor& b,
                               const Labels& output_labels, const AxisSizes& sizes, Tensor* output) {
    const Roles roles = RolesOf(a, b, output_labels);
    Products<T> products;
    products.form.stacks = MatMulForm::Stacks::kBroadcast;
    // Where the axes of an input lie right but for the last two groups, the product takes it transposed.
    const Labels a_order = Joined(roles.batch, Joined(roles.a_free, roles.contract));
    const Labels b_order = Joined(roles.batch, Joined(roles.contract, roles.b_free));
    products.form.transpose_a =
        a.labels != a_order && a.labels == Joined(roles.batch, Joined(roles.contract, roles.a_free));
    products.form.transpose_b =
        b.labels != b_order && b.labels == Joined(roles.batch, Joined(roles.b_free, roles.contract));
    SLUICE_ASSIGN_OR_RETURN(const LabelledTensor left, Arranged<T>(context, a, products.form.transpose_a, a_order));
    SLUICE_ASSIGN_OR_RETURN(const LabelledTensor right, Arranged<T>(context, b, products.form.transpose_b, b_order));
    const int64_t m = SizeOf(roles.a_free, sizes);
    const int64_t n = SizeOf(roles.b_free, sizes);
    const int64_t k = SizeOf(roles.contract, sizes);
    SLUICE_ASSIGN_OR_RETURN(const Shape a_shape,
                            StackShape(left.value, roles.batch.size(), products.form.transpose_a ? k : m,
                                       products.form.transpose_a ? m : k));
    SLUICE_ASSIGN_OR_RETURN(const Shape b_shape,
                            StackShape(right.value, roles.batch.size(), products.form.transpose_b ? n : k,
                                       products.form.transpose_b ? k : n));
    MatMulShape shape;
    SLUICE_RETURN_IF_ERROR(ResolveMatMul(products.form, a_shape, b_shape, &shape));
    products.shape = &shape;
    products.a = left.value.flat<T>().data();
    products.b = right.value.flat<T>().data();

    LabelledTensor result;
    result.labels = Joined(roles.batch, Joined(roles.a_free, roles.b_free));
    if (result.labels == output_labels) {
      products.c = output->flat<T>().data();
      return Run(context, products);
    }
    std::vector<int64_t> dims;
    for (const int label : result.labels) dims.push_back(sizes.at(label));
    SLUICE_ASSIGN_OR_RETURN(const Shape result_shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(result.value, context.AllocateTemp(DTypeOf<T>::value, result_shape));
    products.c = result.value.flat<T>().data();
    SLUICE_RETURN_IF_ERROR(Run(context, products));
    SumInto<T>(result, output_labels, output);
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status Run(KernelContext& context, const Products<T>& products) {
    if constexpr (std::is_floating_point_v<T>) {
      return MultiplyFloats(context, products, PackedOperand());
    } else {
      return MultiplyPlain(context, products);
    }
  }

  // `tensor` with its axes in `order`, axes that are not in it summed; returned unchanged if it has that form already.
  template <typename T>
  static absl::StatusOr<LabelledTensor> Arranged(KernelContext& context, const LabelledTensor& tensor, bool as_it_is,
                                                 const Labels& order) {
    if (as_it_is || tensor.labels == order) return tensor;
    std::vector<int64_t> dims;
    for (const int label : order) {
      const auto at = absl::c_find(tensor.labels, label) - tensor.labels.begin();
      dims.push_back(tensor.value.dim(static_cast<int>(at)));
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    LabelledTensor result;
    result.labels = order;
    SLUICE_ASSIGN_OR_RETURN(result.value, context.AllocateTemp(DTypeOf<T>::value, shape));
    SumInto<T>(tensor, order, &result.value);
    return result;
  }

  // The first `num_batch` sizes of `tensor`, then `rows` and `cols`.
  static absl::StatusOr<Shape> StackShape(const Tensor& tensor, size_t num_batch, int64_t rows, int64_t cols) {
    std::vector<int64_t> dims(tensor.shape().dims().begin(),
                              tensor.shape().dims().begin() + static_cast<std::ptrdiff_t>(num_batch));
    dims.push_back(rows);
    dims.push_back(cols);
    return MakeShape(dims);
  }

  const EinsumEquation equation_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeEinsum(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, construction.Get<std::string>("equation"));
  SLUICE_ASSIGN_OR_RETURN(EinsumEquation equation, EinsumEquation::Parse(text, construction.num_inputs()));
  return std::make_unique<EinsumKernel>(std::move(equation));
}

constexpr KernelRow kRows[] = {
    KernelRow("Einsum", &MakeEinsum).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> EinsumKernels() { return kRows; }

}  // namespace sluice
