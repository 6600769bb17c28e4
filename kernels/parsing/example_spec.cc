#include "kernels/parsing/example_spec.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"

namespace sluice {

absl::StatusOr<std::vector<DenseFeature>> MakeDenseFeatures(const std::vector<DType>& types,
                                                            const std::vector<PartialShape>& shapes) {
  if (types.size() != shapes.size()) {
    return AttrError("dense_shapes", absl::StrCat(shapes.size(), " shapes"),
                     absl::StrCat("one for each of ", types.size(), " dense features"));
  }
  std::vector<DenseFeature> features(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    DenseFeature& feature = features[i];
    feature.dtype = types[i];
    feature.stated = shapes[i];
    feature.is_variable = shapes[i].has_rank() && shapes[i].rank() > 0 && shapes[i].dim(0) < 0;
    bool is_known = shapes[i].has_rank();
    std::vector<int64_t> dims;
    for (int axis = feature.is_variable ? 1 : 0; is_known && axis < shapes[i].rank(); ++axis) {
      is_known = shapes[i].dim(axis) >= 0;
      dims.push_back(shapes[i].dim(axis));
    }
    if (!is_known) {
      return AttrError("dense_shapes", absl::StrCat(shapes[i].ToString(), " as shape ", i),
                       "a shape whose dimensions are known, but for the first");
    }
    SLUICE_ASSIGN_OR_RETURN(feature.shape, Shape::Make(dims));
    feature.elements = static_cast<size_t>(feature.shape.num_elements());
    if (feature.is_variable && feature.elements == 0) {
      return AttrError("dense_shapes", absl::StrCat(shapes[i].ToString(), " as shape ", i),
                       "no dimension of size 0 where the first is unknown");
    }
  }
  return features;
}

absl::Status ExampleNames::Index() {
  const auto add = [this](const std::vector<absl::string_view>& names, FeaturePlace::Kind kind) -> absl::Status {
    for (size_t i = 0; i < names.size(); ++i) {
      if (places.try_emplace(names[i], FeaturePlace{kind, i}).second) continue;
      return Error(ErrorCode::kOpValue).Text(absl::StrCat("feature '", PrintableName(names[i]), "' is wanted twice"));
    }
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(add(dense, FeaturePlace::Kind::kDense));
  SLUICE_RETURN_IF_ERROR(add(sparse, FeaturePlace::Kind::kSparse));
  return add(ragged, FeaturePlace::Kind::kRagged);
}

absl::Status ReadNames(const KernelContext& context, int i, absl::string_view argument, size_t count,
                       std::vector<absl::string_view>* names) {
  const Tensor& input = context.input(i);
  if (input.rank() != 1 || input.num_elements() != static_cast<int64_t>(count)) {
    return ShapeError(i, argument, input.shape(),
                      absl::StrCat("a vector of ", count, ", as many as the node has types"));
  }
  for (const TString& name : input.flat<TString>()) names->push_back(name.view());
  return absl::OkStatus();
}

absl::Status ReadScalarNames(const KernelContext& context, ArgRange range, absl::string_view argument,
                             std::vector<absl::string_view>* names) {
  for (int i = range.first; i < range.first + range.count; ++i) {
    const Tensor& input = context.input(i);
    if (input.num_elements() != 1) return ShapeError(i, argument, input.shape(), "a scalar");
    names->push_back(input.flat<TString>()[0].view());
  }
  return absl::OkStatus();
}

absl::Status ReadDefaults(const KernelContext& context, ArgRange range, absl::Span<const DenseFeature> dense,
                          std::vector<const Tensor*>* defaults) {
  for (size_t i = 0; i < dense.size(); ++i) {
    const int input = range.first + static_cast<int>(i);
    const Tensor& value = context.input(input);
    const bool fits = dense[i].is_variable
                          ? value.num_elements() == 1
                          : value.num_elements() == 0 || dense[i].stated.IsCompatibleWith(value.shape());
    if (!fits) {
      return ShapeError(input, "dense_defaults", value.shape(),
                        dense[i].is_variable
                            ? absl::StrCat("one element to fill up with, for the shape ", dense[i].stated.ToString())
                            : absl::StrCat(dense[i].stated.ToString(), " as in dense_shapes, or nothing"));
    }
    defaults->push_back(&value);
  }
  return absl::OkStatus();
}

}  // namespace sluice
