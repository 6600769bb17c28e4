#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/string_hash.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// One input: features in rows, of which row r has those from begins[r] on, up to begins[r + 1]. Numbers or strings.
struct Column {
  const Tensor* values = nullptr;
  absl::Span<int64_t> begins;
  bool is_dense = false;

  int64_t count(int64_t row) const { return begins[static_cast<size_t>(row) + 1] - begins[static_cast<size_t>(row)]; }
  bool is_text() const { return values->dtype() == DType::kString; }
  absl::string_view text(int64_t i) const { return values->flat<TString>()[static_cast<size_t>(i)].view(); }
  int64_t number(int64_t i) const { return values->flat<int64_t>()[static_cast<size_t>(i)]; }
};

// All inputs, and where the combinations of each row go.
struct CrossPlan {
  std::vector<Column> columns;
  int64_t rows = 0;
  Tensor storage;              // Of all `begins`: shapes may claim any number of rows, which takes the run's memory.
  absl::Span<int64_t> begins;  // Of the combinations of each row.
  int64_t widest = 0;
};

// Makes one combination: `features` says which feature of each column.
using MakeCross = absl::FunctionRef<void(absl::Span<const int64_t> features, int64_t to)>;

uint64_t Mix(uint64_t value) { return value ^ value >> 47; }

// One fingerprint for two, as TensorFlow joins them.
uint64_t JoinFingerprints(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  uint64_t joined = first ^ kFactor;
  joined ^= Mix(second * kFactor) * kFactor;
  joined *= kFactor;
  joined = Mix(joined) * kFactor;
  return Mix(joined);
}

// A hash as the number of one of `buckets`; of any that is not negative where there are none.
int64_t BucketOf(uint64_t hash, int64_t buckets) {
  const uint64_t most =
      buckets > 0 ? static_cast<uint64_t>(buckets) : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(hash % most);
}

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
    return Error(ErrorCode::kOpAttr)
        .Attr("sparse_types")
        .Found(absl::StrCat(inputs.values.count, " types"))
        .Expected(absl::StrCat(inputs.indices.count, ", as attr N says"));
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
    return Error(ErrorCode::kOpShapes)
        .Found(absl::StrCat("indices ", indices.shape().ToString(), " and values ", column.values->shape().ToString(),
                            " of sparse input ", i))
        .Expected("[entries, 2] and [entries]");
  }
  if (shape.flat<int64_t>()[0] != rows) {
    return Error(ErrorCode::kOpValue)
        .Input(inputs.shapes.first + i, "shapes")
        .Found(absl::StrCat(shape.flat<int64_t>()[0], " rows"))
        .Expected(absl::StrCat(rows, ", as other inputs have"));
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
    return Error(ErrorCode::kOpShape)
        .Input(input, "dense_inputs")
        .Found(column.values->shape().ToString())
        .Expected(absl::StrCat("a matrix of ", rows, " rows, as other inputs have"));
  }
  for (int64_t row = 0; row <= rows; ++row) begins[static_cast<size_t>(row)] = row * column.values->dim(1);
  return column;
}

// How many rows the inputs have: as the first one says.
absl::StatusOr<int64_t> CountRows(const KernelContext& context, const CrossInputs& inputs) {
  for (int i = 0; i < inputs.shapes.count; ++i) {
    const Tensor& shape = context.input(inputs.shapes.first + i);
    if (shape.rank() == 1 && shape.num_elements() == 2) continue;
    return Error(ErrorCode::kOpShape)
        .Input(inputs.shapes.first + i, "shapes")
        .Found(shape.shape().ToString())
        .Expected("[2], the shape of a matrix");
  }
  if (inputs.shapes.count > 0) {
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, inputs.shapes.first, "shapes"));
    return shape.dim(0);
  }
  const bool has_dense = inputs.dense.count > 0 && context.input(inputs.dense.first).rank() > 0;
  return has_dense ? context.input(inputs.dense.first).dim(0) : 0;
}

// Counts the combinations of each row.
absl::Status CountCrosses(CrossPlan* plan) {
  plan->begins[0] = 0;
  for (int64_t row = 0; row < plan->rows; ++row) {
    int64_t count = 1, end = 0;
    bool fits = true;
    for (const Column& column : plan->columns) fits = fits && CheckedMul(count, column.count(row), &count);
    if (!fits || !CheckedAdd(plan->begins[static_cast<size_t>(row)], count, &end)) {
      return Error(ErrorCode::kOpTooLarge)
          .Found(absl::StrCat("more combinations in row ", row, " than can be counted"));
    }
    plan->widest = std::max(plan->widest, count);
    plan->begins[static_cast<size_t>(row) + 1] = end;
  }
  return absl::OkStatus();
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

// Calls `make` with each combination of a row, in order: the last column runs fastest.
void ForEachCross(const CrossPlan& plan, int64_t row, MakeCross make) {
  std::vector<int64_t> features;
  for (const Column& column : plan.columns) features.push_back(column.begins[static_cast<size_t>(row)]);
  for (int64_t to = plan.begins[static_cast<size_t>(row)]; to < plan.begins[static_cast<size_t>(row) + 1]; ++to) {
    make(features, to);
    for (size_t c = plan.columns.size(); c-- > 0;) {
      if (++features[c] < plan.columns[c].begins[static_cast<size_t>(row) + 1]) break;
      features[c] = plan.columns[c].begins[static_cast<size_t>(row)];
    }
  }
}

// Gives all outputs; `make` writes the values.
absl::Status GiveCrosses(KernelContext& context, const CrossPlan& plan, MakeCross make) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back(), 2}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, shape));
  int64_t* const to = indices->flat<int64_t>().data();
  const double crosses = static_cast<double>(plan.begins.back()) / static_cast<double>(std::max<int64_t>(plan.rows, 1));
  SLUICE_RETURN_IF_ERROR(ForStrings(context, plan.rows, 20 + 40 * crosses, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t first = plan.begins[static_cast<size_t>(row)];
      ForEachCross(plan, row, [&](absl::Span<const int64_t> features, int64_t cross) {
        to[2 * cross] = row;
        to[2 * cross + 1] = cross - first;
        make(features, cross);
      });
    }
    return absl::OkStatus();
  }));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const size, context.AllocateOutput(2, Shape::Of({2})));
  size->flat<int64_t>()[0] = plan.rows;
  size->flat<int64_t>()[1] = plan.widest;
  return absl::OkStatus();
}

// The bytes of all combinations as texts; the largest number where they cannot be counted.
int64_t TextBytes(const CrossPlan& plan, int64_t separator_bytes) {
  constexpr int64_t kNumberBytes = 20;
  const int64_t gaps = std::max<int64_t>(static_cast<int64_t>(plan.columns.size()) - 1, 0);
  double bytes = static_cast<double>(plan.begins.back()) * static_cast<double>(gaps * separator_bytes);
  for (int64_t row = 0; row < plan.rows; ++row) {
    const int64_t crosses = plan.begins[static_cast<size_t>(row) + 1] - plan.begins[static_cast<size_t>(row)];
    if (crosses == 0) continue;
    for (const Column& column : plan.columns) {
      const int64_t begin = column.begins[static_cast<size_t>(row)], count = column.count(row);
      int64_t own = 0;
      for (int64_t i = begin; i < begin + count; ++i) {
        own += column.is_text() ? static_cast<int64_t>(column.text(i).size()) : kNumberBytes;
      }
      bytes += static_cast<double>(own) * static_cast<double>(crosses / count);
    }
  }
  return bytes < 9e18 ? static_cast<int64_t>(bytes) : std::numeric_limits<int64_t>::max();
}

// Values are the features with `separator` between them.
absl::Status GiveTexts(KernelContext& context, const CrossPlan& plan, absl::string_view separator) {
  SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, TextBytes(plan, static_cast<int64_t>(separator.size()))));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, shape));
  const absl::Span<TString> texts = values->flat<TString>();
  return GiveCrosses(context, plan, [&](absl::Span<const int64_t> features, int64_t to) {
    std::string text;
    for (size_t c = 0; c < features.size(); ++c) {
      if (c > 0) text.append(separator.data(), separator.size());
      const Column& column = plan.columns[c];
      if (column.is_text()) {
        text.append(column.text(features[c]).data(), column.text(features[c]).size());
      } else {
        absl::StrAppend(&text, column.number(features[c]));
      }
    }
    texts[static_cast<size_t>(to)].assign(text);
  });
}

// The hash of feature `i` of a column.
using HashFeature = absl::FunctionRef<uint64_t(const Column& column, int64_t i)>;

// Values are hashes of the features; `seed` (null: none) comes before these.
absl::Status GiveHashes(KernelContext& context, const CrossPlan& plan, const uint64_t* seed, int64_t buckets,
                        HashFeature hash_feature) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({plan.begins.back()}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, shape));
  const absl::Span<int64_t> hashes = values->flat<int64_t>();
  return GiveCrosses(context, plan, [&](absl::Span<const int64_t> features, int64_t to) {
    uint64_t hash = seed != nullptr ? *seed : 0;
    for (size_t c = 0; c < features.size(); ++c) {
      const uint64_t own = hash_feature(plan.columns[c], features[c]);
      hash = c == 0 && seed == nullptr ? own : JoinFingerprints(hash, own);
    }
    hashes[static_cast<size_t>(to)] = BucketOf(hash, buckets);
  });
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
    if (context.output_type(1) == DType::kString) return GiveTexts(context, plan, "_X_");
    return GiveHashes(context, plan, &key_, buckets_, [](const Column& column, int64_t i) {
      return column.is_text() ? FarmHash64(column.text(i)) : static_cast<uint64_t>(column.number(i));
    });
  }

 private:
  // Features that are joined as strings have to be strings.
  static absl::Status CheckTypes(const KernelConstruction& construction, const CrossInputs& inputs) {
    SLUICE_ASSIGN_OR_RETURN(const DType type, construction.Get<DType>("internal_type"));
    if (type != DType::kString) return absl::OkStatus();
    for (const ArgRange range : {inputs.values, inputs.dense}) {
      for (int i = range.first; i < range.first + range.count; ++i) {
        if (construction.input_type(i) == DType::kString) continue;
        return Error(ErrorCode::kOpAttr)
            .Attr("internal_type")
            .Found("string")
            .Expected(absl::StrCat("int64, as input ", i, " has numbers"));
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
    return GiveTexts(context, plan, context.input(separator).flat<TString>()[0].view());
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
    if (salt.num_elements() != 2) {
      return Error(ErrorCode::kOpShape).Input(first + 2, "salt").Found(salt.shape().ToString()).Expected("two numbers");
    }
    SLUICE_ASSIGN_OR_RETURN(const CrossPlan plan, PlanCross(context, inputs_));
    const int64_t buckets = context.input(first).flat<int64_t>()[0];
    if (!context.input(first + 1).flat<bool>()[0]) {
      return GiveHashes(context, plan, nullptr, buckets, [](const Column& column, int64_t i) {
        if (column.is_dense && !column.is_text()) return static_cast<uint64_t>(column.number(i));
        return FarmHash64(BytesOf(column, i));
      });
    }
    const uint64_t key0 = static_cast<uint64_t>(salt.flat<int64_t>()[0]);
    const uint64_t key1 = static_cast<uint64_t>(salt.flat<int64_t>()[1]);
    return GiveHashes(context, plan, nullptr, buckets, [key0, key1](const Column& column, int64_t i) {
      return SipHash(BytesOf(column, i), key0, key1);
    });
  }

 private:
  // What is hashed of a feature: of a number, as in TensorFlow, the lower four bytes.
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
