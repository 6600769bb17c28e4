#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/crosses.h"
#include "kernels/sparse/families.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/string_hash.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// The inputs that all three ops have.
struct CrossInputs {
  ArgRange indices, values, shapes, dense;
};

absl::StatusOr<CrossInputs> FindInputs(const KernelConstruction& construction) {
  CrossInputs inputs;
  SLUICE_ASSIGN_OR_RETURN(inputs.indices, construction.InputRange("indices"));
  SLUICE_ASSIGN_OR_RETURN(inputs.values, construction.InputRange("values"));
  SLUICE_ASSIGN_OR_RETURN(inputs.shapes, construction.InputRange("shapes"));
  SLUICE_ASSIGN_OR_RETURN(inputs.dense, construction.InputRange("dense_inputs"));
  if (inputs.values.count != inputs.indices.count) {
    return AttrError("sparse_types", absl::StrCat(inputs.values.count, " types"),
                     absl::StrCat(inputs.indices.count, ", as attr N says"));
  }
  return inputs;
}

// The features of sparse input `i`. As in TensorFlow, entries count as long as their rows ascend.
absl::StatusOr<Column> ReadSparseColumn(const KernelContext& context, const CrossInputs& inputs, int i,
                                        absl::Span<int64_t> begins) {
  const int64_t rows = static_cast<int64_t>(begins.size()) - 1;
  const Tensor& indices = context.input(inputs.indices.first + i);
  const Tensor& shape = context.input(inputs.shapes.first + i);
  Column column;
  column.values = &context.input(inputs.values.first + i);
  column.begins = begins;
  if (indices.rank() != 2 || indices.dim(1) != 2 || column.values->rank() != 1 ||
      column.values->dim(0) != indices.dim(0)) {
    return ShapesError(absl::StrCat("indices ", indices.shape().ToString(), " and values ",
                                    column.values->shape().ToString(), " of sparse input ", i),
                       "[entries, 2] and [entries]");
  }
  if (shape.flat<int64_t>()[0] != rows) {
    return ValueError(inputs.shapes.first + i, "shapes", absl::StrCat(shape.flat<int64_t>()[0], " rows"),
                      absl::StrCat(rows, ", as other inputs have"));
  }
  const absl::Span<const int64_t> numbers = indices.flat<int64_t>();
  size_t entry = 0;
  for (int64_t row = 0; row < rows; ++row) {
    begins[static_cast<size_t>(row)] = static_cast<int64_t>(entry);
    while (2 * entry < numbers.size() && numbers[2 * entry] == row) ++entry;
  }
  begins.back() = static_cast<int64_t>(entry);
  return column;
}

absl::StatusOr<Column> ReadDenseColumn(const KernelContext& context, int input, absl::Span<int64_t> begins) {
  const int64_t rows = static_cast<int64_t>(begins.size()) - 1;
  Column column;
  column.values = &context.input(input);
  column.begins = begins;
  column.is_dense = true;
  if (column.values->rank() != 2 || column.values->dim(0) != rows) {
    return ShapeError(input, "dense_inputs", column.values->shape(),
                      absl::StrCat("a matrix of ", rows, " rows, as other inputs have"));
  }
  for (int64_t row = 0; row <= rows; ++row) begins[static_cast<size_t>(row)] = row * column.values->dim(1);
  return column;
}

// How many rows the inputs have: as the first one says.
absl::StatusOr<int64_t> CountRows(const KernelContext& context, const CrossInputs& inputs) {
  for (int i = 0; i < inputs.shapes.count; ++i) {
    const Tensor& shape = context.input(inputs.shapes.first + i);
    if (shape.rank() == 1 && shape.num_elements() == 2) continue;
    return ShapeError(inputs.shapes.first + i, "shapes", shape.shape(), "[2], the shape of a matrix");
  }
  if (inputs.shapes.count > 0) {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, inputs.shapes.first, "shapes"));
    return shape.dim(0);
  }
  const bool has_dense = inputs.dense.count > 0 && context.input(inputs.dense.first).rank() > 0;
  return has_dense ? context.input(inputs.dense.first).dim(0) : 0;
}

absl::StatusOr<CrossPlan> PlanCross(KernelContext& context, const CrossInputs& inputs) {
  CrossPlan plan;
  SLUICE_ASSIGN_OR_RETURN(plan.rows, CountRows(context, inputs));
  const int64_t lists = 1 + inputs.indices.count + inputs.dense.count;
  SLUICE_RETURN_IF_ERROR(MakeShape({plan.rows}).status());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({lists, plan.rows + 1}));
  SLUICE_ASSIGN_OR_RETURN(plan.storage, context.AllocateTemp(DType::kInt64, shape));
  const auto begins = [&plan](int list) {
    const size_t size = static_cast<size_t>(plan.rows) + 1;
    return plan.storage.flat<int64_t>().subspan(static_cast<size_t>(list) * size, size);
  };
  plan.begins = begins(0);
  for (int i = 0; i < inputs.indices.count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Column column, ReadSparseColumn(context, inputs, i, begins(1 + i)));
    plan.columns.push_back(column);
  }
  for (int i = 0; i < inputs.dense.count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const Column column,
                            ReadDenseColumn(context, inputs.dense.first + i, begins(1 + inputs.indices.count + i)));
    plan.columns.push_back(column);
  }
  SLUICE_RETURN_IF_ERROR(CountCrosses(&plan));
  return plan;
}

// Outputs the index (row, combination) of each value, and the dense shape.
absl::Status OutputPlaces(KernelContext& context, const CrossPlan& plan) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back(), 2}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, shape));
  int64_t* to = indices->flat<int64_t>().data();
  for (int64_t row = 0; row < plan.rows; ++row) {
    const size_t at = static_cast<size_t>(row);
    for (int64_t i = 0; i < plan.begins[at + 1] - plan.begins[at]; ++i) {
      *to++ = row;
      *to++ = i;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const size, context.AllocateOutput(2, Shape::Of({2})));
  size->flat<int64_t>()[0] = plan.rows;
  size->flat<int64_t>()[1] = plan.widest;
  return absl::OkStatus();
}

absl::Status OutputTexts(KernelContext& context, const CrossPlan& plan, absl::string_view separator) {
  SLUICE_RETURN_IF_ERROR(OutputCrossTexts(context, plan, separator, 1));
  return OutputPlaces(context, plan);
}

absl::Status OutputHashes(KernelContext& context, const CrossPlan& plan, const uint64_t* seed, int64_t buckets,
                          HashFeature hash_feature) {
  SLUICE_RETURN_IF_ERROR(OutputCrossHashes(context, plan, seed, buckets, hash_feature, 1));
  return OutputPlaces(context, plan);
}

// SparseCross: texts or hashes, as attrs say.
class CrossKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<CrossKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->inputs_, FindInputs(construction));
    SLUICE_RETURN_IF_ERROR(CheckTypes(construction, kernel->inputs_));
    SLUICE_ASSIGN_OR_RETURN(kernel->buckets_, construction.Get<int64_t>("num_buckets"));
    SLUICE_ASSIGN_OR_RETURN(const int64_t key, construction.Get<int64_t>("hash_key"));
    kernel->key_ = static_cast<uint64_t>(key);
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CrossPlan plan, PlanCross(context, inputs_));
    if (context.output_type(1) == DType::kString) return OutputTexts(context, plan, "_X_");
    return OutputHashes(context, plan, &key_, buckets_, &FeatureFingerprint);
  }

 private:
  // Features that are joined as strings have to be strings.
  static absl::Status CheckTypes(const KernelConstruction& construction, const CrossInputs& inputs) {
    SLUICE_ASSIGN_OR_RETURN(const DType type, construction.Get<DType>("internal_type"));
    if (type != DType::kString) return absl::OkStatus();
    for (const ArgRange range : {inputs.values, inputs.dense}) {
      for (int i = range.first; i < range.first + range.count; ++i) {
        if (construction.input_type(i) == DType::kString) continue;
        return AttrError("internal_type", "string", absl::StrCat("int64, as input ", i, " has numbers"));
      }
    }
    return absl::OkStatus();
  }

  CrossInputs inputs_;
  int64_t buckets_ = 0;
  uint64_t key_ = 0;
};

// SparseCrossV2: texts, with the separator as an input.
class CrossTextKernel : public Kernel {
 public:
  explicit CrossTextKernel(const CrossInputs& inputs) : inputs_(inputs) {}

  absl::Status Compute(KernelContext& context) const override {
    const int separator = inputs_.dense.first + inputs_.dense.count;
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, separator, "sep"));
    SLUICE_ASSIGN_OR_RETURN(const CrossPlan plan, PlanCross(context, inputs_));
    return OutputTexts(context, plan, context.input(separator).flat<TString>()[0].view());
  }

 private:
  const CrossInputs inputs_;
};

// SparseCrossHashed: hashes, with what they depend on as inputs.
class CrossHashKernel : public Kernel {
 public:
  explicit CrossHashKernel(const CrossInputs& inputs) : inputs_(inputs) {}

  absl::Status Compute(KernelContext& context) const override {
    const int first = inputs_.dense.first + inputs_.dense.count;
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, first, "num_buckets"));
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, first + 1, "strong_hash"));
    const Tensor& salt = context.input(first + 2);
    if (salt.num_elements() != 2) return ShapeError(first + 2, "salt", salt.shape(), "two numbers");
    SLUICE_ASSIGN_OR_RETURN(const CrossPlan plan, PlanCross(context, inputs_));
    const int64_t buckets = context.input(first).flat<int64_t>()[0];
    if (!context.input(first + 1).flat<bool>()[0]) {
      return OutputHashes(context, plan, nullptr, buckets, [](const Column& column, int64_t i) {
        if (column.is_dense && !column.is_text()) return static_cast<uint64_t>(column.number(i));
        return FarmHash64(BytesOf(column, i));
      });
    }
    const uint64_t key0 = static_cast<uint64_t>(salt.flat<int64_t>()[0]);
    const uint64_t key1 = static_cast<uint64_t>(salt.flat<int64_t>()[1]);
    return OutputHashes(context, plan, nullptr, buckets, [key0, key1](const Column& column, int64_t i) {
      return SipHash(BytesOf(column, i), key0, key1);
    });
  }

 private:
  // The hashed bytes of a feature: of a number only the lower four, as in TensorFlow.
  static absl::string_view BytesOf(const Column& column, int64_t i) {
    if (column.is_text()) return column.text(i);
    return {reinterpret_cast<const char*>(column.values->flat<int64_t>().data() + i), sizeof(int32_t)};
  }

  const CrossInputs inputs_;
};

constexpr KernelRow kRows[] = {
    KernelRow("SparseCross", &New<CrossKernel>),
    KernelRow("SparseCrossHashed", &NewWith<CrossHashKernel, &FindInputs>),
    KernelRow("SparseCrossV2", &NewWith<CrossTextKernel, &FindInputs>),
};

}  // namespace

absl::Span<const KernelRow> FeatureCrossKernels() { return kRows; }

}  // namespace sluice
