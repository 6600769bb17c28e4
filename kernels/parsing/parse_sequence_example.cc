#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/parsing/example_spec.h"
#include "kernels/parsing/families.h"
#include "kernels/parsing/sequence_batch.h"

namespace sluice {
namespace {

// Which form of the op: they differ in where the names of the features come from, and in their outputs.
enum class Form : uint8_t {
  kAttrs,    // ParseSequenceExample: attrs.
  kVectors,  // ParseSequenceExampleV2: inputs that are vectors, and ragged features.
  kScalars,  // ParseSingleSequenceExample: inputs that are scalars; one example.
};

absl::Status ReadTypes(const KernelConstruction& construction, absl::string_view attr, std::vector<DType>* types) {
  SLUICE_ASSIGN_OR_RETURN(*types, construction.Get<std::vector<DType>>(attr));
  return absl::OkStatus();
}

// The dense features of one side; none of variable length.
absl::Status ReadDense(const KernelConstruction& construction, absl::string_view types_attr,
                       absl::string_view shapes_attr, std::vector<DenseFeature>* dense) {
  std::vector<DType> types;
  SLUICE_RETURN_IF_ERROR(ReadTypes(construction, types_attr, &types));
  SLUICE_ASSIGN_OR_RETURN(const auto shapes, construction.Get<std::vector<PartialShape>>(shapes_attr));
  for (const PartialShape& shape : shapes) {
    if (shape.IsFullyDefined()) continue;
    return AttrError(shapes_attr, shape.ToString(), "shapes whose dimensions are known");
  }
  SLUICE_ASSIGN_OR_RETURN(*dense, MakeDenseFeatures(types, shapes));
  return absl::OkStatus();
}

absl::StatusOr<SequenceSpec> ReadSpec(const KernelConstruction& construction, Form form) {
  SequenceSpec spec;
  SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "context_sparse_types", &spec.context.sparse));
  SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "feature_list_sparse_types", &spec.lists.sparse));
  SLUICE_RETURN_IF_ERROR(ReadDense(construction, "Tcontext_dense", "context_dense_shapes", &spec.context.dense));
  SLUICE_RETURN_IF_ERROR(
      ReadDense(construction, "feature_list_dense_types", "feature_list_dense_shapes", &spec.lists.dense));
  if (form == Form::kVectors) {
    SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "context_ragged_value_types", &spec.context.ragged));
    SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "context_ragged_split_types", &spec.context.ragged_splits));
    SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "feature_list_ragged_value_types", &spec.lists.ragged));
    SLUICE_RETURN_IF_ERROR(ReadTypes(construction, "feature_list_ragged_split_types", &spec.lists.ragged_splits));
  }
  const auto check = [&construction](absl::string_view attr, size_t count) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const int64_t stated, construction.Get<int64_t>(attr));
    if (stated == static_cast<int64_t>(count)) return absl::OkStatus();
    return AttrError(attr, stated, absl::StrCat(count, ", as many as there are types"));
  };
  SLUICE_RETURN_IF_ERROR(check("Ncontext_sparse", spec.context.sparse.size()));
  SLUICE_RETURN_IF_ERROR(check("Nfeature_list_sparse", spec.lists.sparse.size()));
  SLUICE_RETURN_IF_ERROR(check("Nfeature_list_dense", spec.lists.dense.size()));
  if (spec.context.ragged.size() != spec.context.ragged_splits.size() ||
      spec.lists.ragged.size() != spec.lists.ragged_splits.size()) {
    return Error(ErrorCode::kOpAttr)
        .Attr("feature_list_ragged_split_types")
        .Expected("one for each of the value types");
  }
  return spec;
}

absl::StatusOr<SequenceOutputs> FindOutputs(const KernelConstruction& construction, Form form) {
  struct Named {
    absl::string_view name;
    int* first;
    bool only_vectors;  // Of kVectors alone.
  };
  SequenceOutputs outputs;
  const Named all[] = {
      {"context_sparse_indices", &outputs.context.sparse_indices, false},
      {"context_sparse_values", &outputs.context.sparse_values, false},
      {"context_sparse_shapes", &outputs.context.sparse_shapes, false},
      {"context_dense_values", &outputs.context.dense, false},
      {"context_ragged_values", &outputs.context.ragged_values, true},
      {"context_ragged_row_splits", &outputs.context.ragged_splits, true},
      {"feature_list_sparse_indices", &outputs.lists.sparse_indices, false},
      {"feature_list_sparse_values", &outputs.lists.sparse_values, false},
      {"feature_list_sparse_shapes", &outputs.lists.sparse_shapes, false},
      {"feature_list_dense_values", &outputs.lists.dense, false},
      {"feature_list_ragged_values", &outputs.lists.ragged_values, true},
      {"feature_list_ragged_inner_splits", &outputs.lists.ragged_splits, true},
      {"feature_list_ragged_outer_splits", &outputs.list_outer_splits, true},
  };
  for (const Named& one : all) {
    if (one.only_vectors && form != Form::kVectors) continue;
    SLUICE_ASSIGN_OR_RETURN(const ArgRange range, construction.OutputRange(one.name));
    *one.first = range.first;
  }
  if (form != Form::kScalars) {
    SLUICE_ASSIGN_OR_RETURN(const ArgRange range, construction.OutputRange("feature_list_dense_lengths"));
    outputs.list_lengths = range.first;
  }
  return outputs;
}

// The names of one kind of features, wherever they come from.
struct NameSource {
  absl::string_view argument;          // Of the op: an attr or an input.
  size_t count = 0;                    // How many there must be.
  std::vector<std::string> from_attr;  // kAttrs.
  ArgRange inputs;                     // The others.
};

absl::Status FindNames(const KernelConstruction& construction, Form form, NameSource* source) {
  if (form != Form::kAttrs) {
    SLUICE_ASSIGN_OR_RETURN(source->inputs, construction.InputRange(source->argument));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(source->from_attr, construction.Get<std::vector<std::string>>(source->argument));
  if (source->from_attr.size() == source->count) return absl::OkStatus();
  return AttrError(source->argument, absl::StrCat(source->from_attr.size(), " names"),
                   absl::StrCat(source->count, ", as many as there are types"));
}

absl::Status CollectNames(const KernelContext& context, Form form, const NameSource& source,
                          std::vector<absl::string_view>* names) {
  if (form == Form::kAttrs) {
    names->assign(source.from_attr.begin(), source.from_attr.end());
    return absl::OkStatus();
  }
  if (form == Form::kScalars) return ReadScalarNames(context, source.inputs, source.argument, names);
  return ReadNames(context, source.inputs.first, source.argument, source.count, names);
}

// All three forms of the op.
class ParseSequenceKernel : public Kernel {
 public:
  explicit ParseSequenceKernel(Form form) : form_(form) {}
  template <Form kForm>
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<ParseSequenceKernel>(kForm);
    SLUICE_RETURN_IF_ERROR(kernel->Read(construction));
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override;

 private:
  absl::Status Read(const KernelConstruction& construction);
  absl::Status CheckShapes(const KernelContext& context, const Tensor& example_names) const;
  // Which dense lists may be missing, as the op's argument says.
  absl::Status ReadMissing(const KernelContext& context, SequenceNames* names) const;

  const Form form_;
  SequenceSpec spec_;
  SequenceOutputs outputs_;
  NameSource context_sparse_, context_dense_, context_ragged_, list_sparse_, list_dense_, list_ragged_;
  ArgRange defaults_, debug_name_, missing_;
  std::vector<std::string> missing_from_attr_;
};

absl::Status ParseSequenceKernel::Read(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(spec_, ReadSpec(construction, form_));
  SLUICE_ASSIGN_OR_RETURN(outputs_, FindOutputs(construction, form_));
  context_sparse_ = {"context_sparse_keys", spec_.context.sparse.size(), {}, {}};
  context_dense_ = {"context_dense_keys", spec_.context.dense.size(), {}, {}};
  list_sparse_ = {"feature_list_sparse_keys", spec_.lists.sparse.size(), {}, {}};
  list_dense_ = {"feature_list_dense_keys", spec_.lists.dense.size(), {}, {}};
  for (NameSource* const source : {&context_sparse_, &context_dense_, &list_sparse_, &list_dense_}) {
    SLUICE_RETURN_IF_ERROR(FindNames(construction, form_, source));
  }
  if (form_ == Form::kVectors) {
    context_ragged_ = {"context_ragged_keys", spec_.context.ragged.size(), {}, {}};
    list_ragged_ = {"feature_list_ragged_keys", spec_.lists.ragged.size(), {}, {}};
    SLUICE_RETURN_IF_ERROR(FindNames(construction, form_, &context_ragged_));
    SLUICE_RETURN_IF_ERROR(FindNames(construction, form_, &list_ragged_));
  }
  SLUICE_ASSIGN_OR_RETURN(defaults_, construction.InputRange("context_dense_defaults"));
  SLUICE_ASSIGN_OR_RETURN(debug_name_, construction.InputRange("debug_name"));
  constexpr absl::string_view kMissing = "feature_list_dense_missing_assumed_empty";
  if (form_ == Form::kAttrs) {
    SLUICE_ASSIGN_OR_RETURN(missing_from_attr_, construction.Get<std::vector<std::string>>(kMissing));
  } else {
    SLUICE_ASSIGN_OR_RETURN(missing_, construction.InputRange(kMissing));
  }
  return absl::OkStatus();
}

absl::Status ParseSequenceKernel::CheckShapes(const KernelContext& context, const Tensor& example_names) const {
  const Tensor& serialized = context.input(0);
  const int max_rank = form_ == Form::kScalars ? 0 : 1;
  if (serialized.rank() > max_rank) {
    return ShapeError(0, "serialized", serialized.shape(), max_rank == 0 ? "a scalar" : "a scalar or a vector");
  }
  if (example_names.num_elements() > 0 && example_names.num_elements() != serialized.num_elements()) {
    return ShapesError(
        absl::StrCat(example_names.num_elements(), " names for ", serialized.num_elements(), " examples"),
        "as many names as examples, or none");
  }
  return absl::OkStatus();
}

absl::Status ParseSequenceKernel::ReadMissing(const KernelContext& context, SequenceNames* names) const {
  const size_t count = names->lists.dense.size();
  names->may_lists_be_missing.assign(count, false);
  if (form_ == Form::kVectors) {
    const Tensor& may = context.input(missing_.first);
    if (may.rank() != 1 || may.num_elements() != static_cast<int64_t>(count)) {
      return ShapeError(missing_.first, "feature_list_dense_missing_assumed_empty", may.shape(),
                        absl::StrCat("a vector of ", count, ", as many as there are dense feature lists"));
    }
    for (size_t d = 0; d < count; ++d) names->may_lists_be_missing[d] = may.flat<bool>()[d];
    return absl::OkStatus();
  }
  const auto allow = [names](absl::string_view name) {
    for (size_t d = 0; d < names->lists.dense.size(); ++d) {
      if (names->lists.dense[d] == name) names->may_lists_be_missing[d] = true;
    }
  };
  for (const std::string& name : missing_from_attr_) allow(name);
  if (form_ == Form::kScalars) {
    for (const TString& name : context.input(missing_.first).flat<TString>()) allow(name.view());
  }
  return absl::OkStatus();
}

absl::Status ParseSequenceKernel::Compute(KernelContext& context) const {
  const Tensor& example_names = context.input(debug_name_.first);
  SLUICE_RETURN_IF_ERROR(CheckShapes(context, example_names));
  SequenceNames names;
  names.may_kinds_share = form_ == Form::kScalars;  // As in TensorFlow, whose other forms read faster.
  SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, context_sparse_, &names.context.sparse));
  SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, context_dense_, &names.context.dense));
  SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, list_sparse_, &names.lists.sparse));
  SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, list_dense_, &names.lists.dense));
  if (form_ == Form::kVectors) {
    SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, context_ragged_, &names.context.ragged));
    SLUICE_RETURN_IF_ERROR(CollectNames(context, form_, list_ragged_, &names.lists.ragged));
  }
  SLUICE_RETURN_IF_ERROR(ReadDefaults(context, defaults_, spec_.context.dense, &names.context.defaults));
  SLUICE_RETURN_IF_ERROR(ReadMissing(context, &names));
  return ParseSequenceExamples(context, spec_, names, context.input(0), example_names, outputs_);
}

constexpr KernelRow kRows[] = {
    KernelRow("ParseSequenceExample", &ParseSequenceKernel::Make<Form::kAttrs>),
    KernelRow("ParseSequenceExampleV2", &ParseSequenceKernel::Make<Form::kVectors>),
    KernelRow("ParseSingleSequenceExample", &ParseSequenceKernel::Make<Form::kScalars>),
};

}  // namespace

absl::Span<const KernelRow> ParseSequenceExampleKernels() { return kRows; }

}  // namespace sluice
