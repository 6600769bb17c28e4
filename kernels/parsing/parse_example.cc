#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/parsing/example_batch.h"
#include "kernels/parsing/example_spec.h"
#include "kernels/parsing/families.h"

namespace sluice {
namespace {

absl::StatusOr<ExampleOutputs> FindOutputs(const KernelConstruction& construction, bool has_ragged) {
  ExampleOutputs outputs;
  const auto first = [&construction](absl::string_view name, int* index) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const ArgRange range, construction.OutputRange(name));
    *index = range.first;
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(first("sparse_indices", &outputs.sparse_indices));
  SLUICE_RETURN_IF_ERROR(first("sparse_values", &outputs.sparse_values));
  SLUICE_RETURN_IF_ERROR(first("sparse_shapes", &outputs.sparse_shapes));
  SLUICE_RETURN_IF_ERROR(first("dense_values", &outputs.dense));
  if (!has_ragged) return outputs;
  SLUICE_RETURN_IF_ERROR(first("ragged_values", &outputs.ragged_values));
  SLUICE_RETURN_IF_ERROR(first("ragged_row_splits", &outputs.ragged_splits));
  return outputs;
}

// Dense and sparse features, which all three ops have. `count_attr` says how many sparse ones there are.
absl::StatusOr<ExampleSpec> ReadSpec(const KernelConstruction& construction, absl::string_view count_attr) {
  ExampleSpec spec;
  SLUICE_ASSIGN_OR_RETURN(spec.sparse, construction.Get<std::vector<DType>>("sparse_types"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, construction.Get<int64_t>(count_attr));
  if (count != static_cast<int64_t>(spec.sparse.size())) {
    return AttrError("sparse_types", absl::StrCat(spec.sparse.size(), " types"),
                     absl::StrCat(count, " as in ", count_attr));
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, construction.Get<std::vector<DType>>("Tdense"));
  SLUICE_ASSIGN_OR_RETURN(const auto shapes, construction.Get<std::vector<PartialShape>>("dense_shapes"));
  SLUICE_ASSIGN_OR_RETURN(spec.dense, MakeDenseFeatures(types, shapes));
  return spec;
}

// Input 0 is a vector of examples, or a single one where that is allowed; input 1 has a name for each, or none.
absl::Status CheckExamples(const KernelContext& context, bool may_be_one) {
  const Tensor& serialized = context.input(0);
  const Tensor& names = context.input(1);
  if (serialized.rank() > 1 || (serialized.rank() == 0 && !may_be_one)) {
    return ShapeError(0, "serialized", serialized.shape(), may_be_one ? "a scalar or a vector" : "a vector");
  }
  if (names.num_elements() == 0 || names.shape() == serialized.shape()) return absl::OkStatus();
  return ShapesError(
      absl::StrCat("names ", names.shape().ToString(), " and serialized ", serialized.shape().ToString()),
      "as many names as examples, or none");
}

// --- ParseExample ------------------------------------------------------------------------------------------------

// Names of features come as scalars.
class ParseExampleKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<ParseExampleKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->spec_, ReadSpec(construction, "Nsparse"));
    SLUICE_ASSIGN_OR_RETURN(kernel->outputs_, FindOutputs(construction, /*has_ragged=*/false));
    SLUICE_ASSIGN_OR_RETURN(kernel->sparse_keys_, construction.InputRange("sparse_keys"));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_keys_, construction.InputRange("dense_keys"));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_defaults_, construction.InputRange("dense_defaults"));
    if (kernel->dense_keys_.count != static_cast<int>(kernel->spec_.dense.size())) {
      return Error(ErrorCode::kOpAttr).Attr("Ndense").Expected("as many as there are dense_shapes");
    }
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckExamples(context, /*may_be_one=*/false));
    ExampleNames names;
    SLUICE_RETURN_IF_ERROR(ReadScalarNames(context, sparse_keys_, "sparse_keys", &names.sparse));
    SLUICE_RETURN_IF_ERROR(ReadScalarNames(context, dense_keys_, "dense_keys", &names.dense));
    SLUICE_RETURN_IF_ERROR(ReadDefaults(context, dense_defaults_, spec_.dense, &names.defaults));
    SLUICE_RETURN_IF_ERROR(names.Index());
    return ParseExamples(context, spec_, names, context.input(0), &context.input(1), outputs_);
  }

 private:
  ExampleSpec spec_;
  ExampleOutputs outputs_;
  ArgRange sparse_keys_, dense_keys_, dense_defaults_;
};

// --- ParseExampleV2 ----------------------------------------------------------------------------------------------

// Names of features come as vectors; some features are ragged.
class ParseExampleV2Kernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<ParseExampleV2Kernel>();
    ExampleSpec& spec = kernel->spec_;
    SLUICE_ASSIGN_OR_RETURN(spec, ReadSpec(construction, "num_sparse"));
    SLUICE_ASSIGN_OR_RETURN(spec.ragged, construction.Get<std::vector<DType>>("ragged_value_types"));
    SLUICE_ASSIGN_OR_RETURN(spec.ragged_splits, construction.Get<std::vector<DType>>("ragged_split_types"));
    if (spec.ragged.size() != spec.ragged_splits.size()) {
      return AttrError("ragged_split_types", absl::StrCat(spec.ragged_splits.size(), " types"),
                       absl::StrCat(spec.ragged.size(), " as in ragged_value_types"));
    }
    SLUICE_ASSIGN_OR_RETURN(kernel->outputs_, FindOutputs(construction, /*has_ragged=*/true));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_defaults_, construction.InputRange("dense_defaults"));
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckExamples(context, /*may_be_one=*/true));
    ExampleNames names;
    SLUICE_RETURN_IF_ERROR(ReadNames(context, 2, "sparse_keys", spec_.sparse.size(), &names.sparse));
    SLUICE_RETURN_IF_ERROR(ReadNames(context, 3, "dense_keys", spec_.dense.size(), &names.dense));
    SLUICE_RETURN_IF_ERROR(ReadNames(context, 4, "ragged_keys", spec_.ragged.size(), &names.ragged));
    SLUICE_RETURN_IF_ERROR(ReadDefaults(context, dense_defaults_, spec_.dense, &names.defaults));
    SLUICE_RETURN_IF_ERROR(names.Index());
    return ParseExamples(context, spec_, names, context.input(0), &context.input(1), outputs_);
  }

 private:
  ExampleSpec spec_;
  ExampleOutputs outputs_;
  ArgRange dense_defaults_;
};

// --- ParseSingleExample ------------------------------------------------------------------------------------------

// One example; names of features are attrs.
class ParseSingleExampleKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<ParseSingleExampleKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->spec_, ReadSpec(construction, "num_sparse"));
    SLUICE_ASSIGN_OR_RETURN(kernel->sparse_keys_, construction.Get<std::vector<std::string>>("sparse_keys"));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_keys_, construction.Get<std::vector<std::string>>("dense_keys"));
    if (kernel->sparse_keys_.size() != kernel->spec_.sparse.size()) {
      return Error(ErrorCode::kOpAttr).Attr("sparse_keys").Expected("as many as there are sparse_types");
    }
    if (kernel->dense_keys_.size() != kernel->spec_.dense.size()) {
      return Error(ErrorCode::kOpAttr).Attr("dense_keys").Expected("as many as there are dense_shapes");
    }
    SLUICE_ASSIGN_OR_RETURN(kernel->outputs_, FindOutputs(construction, /*has_ragged=*/false));
    SLUICE_ASSIGN_OR_RETURN(kernel->dense_defaults_, construction.InputRange("dense_defaults"));
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& serialized = context.input(0);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 0, "serialized"));
    ExampleNames names;
    names.sparse.assign(sparse_keys_.begin(), sparse_keys_.end());
    names.dense.assign(dense_keys_.begin(), dense_keys_.end());
    SLUICE_RETURN_IF_ERROR(ReadDefaults(context, dense_defaults_, spec_.dense, &names.defaults));
    SLUICE_RETURN_IF_ERROR(names.Index());
    return ParseExamples(context, spec_, names, serialized, nullptr, outputs_);
  }

 private:
  ExampleSpec spec_;
  ExampleOutputs outputs_;
  std::vector<std::string> sparse_keys_, dense_keys_;
  ArgRange dense_defaults_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ParseExample", &New<ParseExampleKernel>),
    KernelRow("ParseExampleV2", &New<ParseExampleV2Kernel>),
    KernelRow("ParseSingleExample", &New<ParseSingleExampleKernel>),
};

}  // namespace

absl::Span<const KernelRow> ParseExampleKernels() { return kRows; }

}  // namespace sluice
