// Sparse tensors as elements of dense ones: SerializeSparse, SerializeManySparse, DeserializeSparse,
// DeserializeManySparse. Each is three elements: indices, values, shape.

#include <vector>

#include "graph/base/status_macros.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/memory/container_allocator.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/sparse_rows.h"
#include "kernels/sparse/tensor_element.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// What bytes can be made of; variants hold anything.
constexpr DTypeSet kWrittenTypes = kNumberTypes | kQuantizedTypes | DTypeSet{DType::kBool, DType::kString};

// --- SerializeSparse ----------------------------------------------------------------------------------------------

// As in TensorFlow, that the three parts belong together is looked at when they are read again.
absl::Status Serialize(KernelContext& context) {
  constexpr int kRanks[] = {2, 1, 1};
  int64_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    if (context.input(i).rank() != kRanks[i]) {
      return ShapeError(i, "", context.input(i).shape(),
                        i == 0 ? "a matrix, the indices of a sparse tensor" : "a vector");
    }
    bytes += WrittenBytes(context.input(i));
  }
  if (context.output_type(0) == DType::kString) SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, bytes));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, Shape::Of({3})));
  for (int i = 0; i < 3; ++i) PutTensor(context.input(i), out, i);
  return absl::OkStatus();
}

// --- SerializeManySparse ------------------------------------------------------------------------------------------

// Element `from` of a tensor of strings or variants becomes its element `to`, too.
void CopyElement(int64_t from, int64_t to, Tensor* tensor) {
  const auto copy = [&](auto elements) { elements[static_cast<size_t>(to)] = elements[static_cast<size_t>(from)]; };
  if (tensor->dtype() == DType::kVariant) return copy(tensor->flat<Variant>());
  copy(tensor->flat<TString>());
}

// A matrix with a row for each row of the sparse tensor.
absl::Status SerializeMany(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAscending));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<RowEntries> runs, FindRows(sparse));
  const int64_t rows = sparse.dims[0];
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({rows, 3}));
  SLUICE_ASSIGN_OR_RETURN(const SparseParts none, CopyRow(context, sparse, RowEntries()));
  const Tensor sizes = Tensor::Vector<int64_t>(none.dims);
  if (context.output_type(0) == DType::kString) {
    const int64_t each = WrittenBytes(none.indices) + WrittenBytes(none.values) + WrittenBytes(sizes);
    if (rows > kMaxTextBytes / each) return CheckTextMemory(context, kMaxTextBytes + 1);
    const int64_t all = WrittenBytes(*sparse.indices) + WrittenBytes(*sparse.values) + rows * each;
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, all));
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  const auto put = [&](int64_t row, const SparseParts& parts) {
    PutTensor(parts.indices, out, 3 * row);
    PutTensor(parts.values, out, 3 * row + 1);
    PutTensor(sizes, out, 3 * row + 2);
  };
  // How many rows are empty is a claim of the shape, so these share what they hold, where elements can.
  int64_t first_empty = -1;
  size_t next = 0;
  for (int64_t row = 0; row < rows; ++row) {
    if (next < runs.size() && runs[next].row == row) {
      SLUICE_ASSIGN_OR_RETURN(const SparseParts parts, CopyRow(context, sparse, runs[next++]));
      put(row, parts);
    } else if (first_empty < 0) {
      first_empty = row;
      put(row, none);
    } else {
      for (int64_t i = 0; i < 3; ++i) CopyElement(3 * first_empty + i, 3 * row + i, out);
    }
  }
  return absl::OkStatus();
}

// --- DeserializeSparse, DeserializeManySparse ---------------------------------------------------------------------

// A sparse tensor whose first axes are those of the input but the last, on which the three parts stand; of a vector
// the sparse tensor itself.
absl::Status Deserialize(KernelContext& context) {
  const Tensor& input = context.input(0);
  if (input.rank() < 1 || input.dim(input.rank() - 1) != 3 || input.num_elements() == 0) {
    return ShapeError(0, "serialized_sparse", input.shape(), "elements, 3 on the last axis");
  }
  SLUICE_RETURN_IF_ERROR(CheckElements(context, 0));
  const int64_t count = input.num_elements() / 3;
  // A tensor takes more memory than the element that it is read from.
  std::vector<SparseParts, ContainerAllocator<SparseParts>> parts{ContainerAllocator<SparseParts>(context.allocator())};
  parts.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(Tensor indices, TakeTensor(context, 0, 3 * i));
    SLUICE_ASSIGN_OR_RETURN(Tensor values, TakeTensor(context, 0, 3 * i + 1));
    SLUICE_ASSIGN_OR_RETURN(const Tensor shape, TakeTensor(context, 0, 3 * i + 2));
    SLUICE_ASSIGN_OR_RETURN(SparseParts made,
                            MakeParts(std::move(indices), std::move(values), shape, context.output_type(1), 0, i));
    parts.push_back(std::move(made));
  }
  if (input.rank() > 1) {
    const absl::Span<const int64_t> dims = input.shape().dims();
    SLUICE_ASSIGN_OR_RETURN(const Shape batch, Shape::Make(dims.subspan(0, dims.size() - 1)));
    std::vector<const SparseParts*> all;
    for (const SparseParts& part : parts) all.push_back(&part);
    return OutputJoined(context, all, batch);
  }
  context.SetOutput(0, std::move(parts[0].indices));
  context.SetOutput(1, std::move(parts[0].values));
  return OutputVector(context, 2, parts[0].dims);
}

constexpr TypeConstraint kFromText[] = {{"dtype", kWrittenTypes}, {"Tserialized", {DType::kString}}};
constexpr TypeConstraint kFromVariants[] = {{"Tserialized", {DType::kVariant}}};
constexpr TypeConstraint kToText[] = {{"T", kWrittenTypes}, {"out_type", {DType::kString}}};
constexpr TypeConstraint kToVariants[] = {{"out_type", {DType::kVariant}}};

constexpr KernelRow kRows[] = {
    KernelRow("DeserializeManySparse", &Call<Deserialize>).Types("dtype", kWrittenTypes),
    KernelRow("DeserializeSparse", &Call<Deserialize>).AllTypes(kFromText),
    KernelRow("DeserializeSparse", &Call<Deserialize>).AllTypes(kFromVariants),
    KernelRow("SerializeManySparse", &Call<SerializeMany>).AllTypes(kToText),
    KernelRow("SerializeManySparse", &Call<SerializeMany>).AllTypes(kToVariants),
    KernelRow("SerializeSparse", &Call<Serialize>).AllTypes(kToText),
    KernelRow("SerializeSparse", &Call<Serialize>).AllTypes(kToVariants),
};

}  // namespace

absl::Span<const KernelRow> SparseSerializeKernels() { return kRows; }

}  // namespace sluice
