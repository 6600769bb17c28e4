#include "kernels/parsing/example_batch.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/parsing/feature.h"
#include "kernels/parsing/list_outputs.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr int64_t kMaxShards = 64;
constexpr int64_t kShardBytes = 32 << 10;
constexpr double kByteNs = 1.5;
constexpr absl::string_view kNoListText = "is neither a list of bytes, of floats nor of int64";
constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Lists of one part of the batch: of dense features of variable length, sparse and ragged ones.
struct PartValues {
  std::vector<FeatureValues> dense, sparse, ragged;
};

// The inputs and outputs of one call, and the parsing of one example.
class BatchParser {
 public:
  BatchParser(KernelContext& context, const ExampleSpec& spec, const ExampleNames& names, const Tensor& serialized,
              const Tensor* example_names, const ExampleOutputs& outputs)
      : context_(context),
        spec_(spec),
        names_(names),
        serialized_(serialized),
        example_names_(example_names),
        outputs_(outputs) {}

  absl::Status Run();

 private:
  // Which example a feature was last seen in. Of each thread.
  struct Seen {
    std::vector<size_t> dense, sparse, ragged;
  };

  bool has_batch() const { return serialized_.rank() > 0; }
  size_t num_examples() const { return static_cast<size_t>(serialized_.num_elements()); }

  absl::Status AllocateDense();
  absl::Status ParsePart(size_t begin, size_t end, PartValues* part) const;
  absl::Status ParseOne(size_t example, absl::Span<const NamedFeature> features, Seen* seen, PartValues* part) const;
  absl::Status ParseDense(size_t example, size_t d, const NamedFeature& feature, DType found, PartValues* part) const;
  absl::Status ParseList(size_t example, const NamedFeature& feature, DType found, DType wanted,
                         FeatureValues* values) const;
  absl::Status FillMissing(size_t example, const Seen& seen) const;
  absl::Status BadFeature(size_t example, absl::string_view feature, absl::string_view text) const;
  absl::Status WrongType(size_t example, absl::string_view feature, DType found, DType wanted) const;

  absl::Status SetSparse(size_t d);
  absl::Status SetVariableDense(size_t d);
  absl::Status SetRagged(size_t d);

  KernelContext& context_;
  const ExampleSpec& spec_;
  const ExampleNames& names_;
  const Tensor& serialized_;
  const Tensor* const example_names_;
  const ExampleOutputs& outputs_;
  std::vector<Tensor*> dense_;  // Null for those of variable length.
  std::vector<PartValues> parts_;
};

absl::Status BatchParser::BadFeature(size_t example, absl::string_view feature, absl::string_view text) const {
  std::string which = absl::StrCat("example ", example);
  if (example_names_ != nullptr && example_names_->num_elements() > 0) {
    absl::StrAppend(&which, " ('", PrintableName(example_names_->flat<TString>()[example].view()), "')");
  }
  return Error(ErrorCode::kOpValue)
      .Input(0, "serialized")
      .Text(absl::StrCat(which, ", feature '", PrintableName(feature), "': ", text));
}

absl::Status BatchParser::WrongType(size_t example, absl::string_view feature, DType found, DType wanted) const {
  return BadFeature(
      example, feature,
      absl::StrCat("data types do not match: found ", DTypeName(found), ", expected ", DTypeName(wanted)));
}

absl::Status BatchParser::AllocateDense() {
  for (size_t d = 0; d < spec_.dense.size(); ++d) {
    const DenseFeature& feature = spec_.dense[d];
    dense_.push_back(nullptr);
    if (feature.is_variable) continue;
    std::vector<int64_t> dims(feature.shape.dims().begin(), feature.shape.dims().end());
    if (has_batch()) dims.insert(dims.begin(), static_cast<int64_t>(num_examples()));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    SLUICE_ASSIGN_OR_RETURN(dense_.back(), context_.AllocateOutput(outputs_.dense + static_cast<int>(d), shape));
  }
  return absl::OkStatus();
}

absl::Status BatchParser::ParseDense(size_t example, size_t d, const NamedFeature& feature, DType found,
                                     PartValues* part) const {
  const DenseFeature& wanted = spec_.dense[d];
  if (found != wanted.dtype) return WrongType(example, feature.name, found, wanted.dtype);
  if (!wanted.is_variable) {
    size_t count = 0;
    if (!WriteValues(feature.feature, dense_[d], example * wanted.elements, wanted.elements, &count)) {
      return BadFeature(example, feature.name, "malformed");
    }
    if (count == wanted.elements) return absl::OkStatus();
    return BadFeature(
        example, feature.name,
        absl::StrCat(count, " values, expected ", wanted.elements, " as the shape ", wanted.stated.ToString(), " has"));
  }
  FeatureValues& values = part->dense[d];
  const size_t before = values.size(wanted.dtype);
  if (!AppendValues(feature.feature, found, &values)) return BadFeature(example, feature.name, "malformed");
  const size_t count = values.size(wanted.dtype) - before;
  if (count % wanted.elements == 0) return absl::OkStatus();
  return BadFeature(example, feature.name,
                    absl::StrCat(count, " values, expected a multiple of ", wanted.elements, " for the shape ",
                                 wanted.stated.ToString()));
}

absl::Status BatchParser::ParseList(size_t example, const NamedFeature& feature, DType found, DType wanted,
                                    FeatureValues* values) const {
  if (found == DType::kInvalid) return absl::OkStatus();
  if (found != wanted) return WrongType(example, feature.name, found, wanted);
  if (AppendValues(feature.feature, found, values)) return absl::OkStatus();
  return BadFeature(example, feature.name, "malformed");
}

absl::Status BatchParser::ParseOne(size_t example, absl::Span<const NamedFeature> features, Seen* seen,
                                   PartValues* part) const {
  // Of features of one name the last counts.
  for (size_t i = features.size(); i-- > 0;) {
    const NamedFeature& feature = features[i];
    const auto place = names_.places.find(feature.name);
    if (place == names_.places.end()) continue;
    DType found = DType::kInvalid;
    if (!FindFeatureType(feature.feature, &found)) return BadFeature(example, feature.name, kNoListText);
    const size_t index = place->second.index;
    const bool is_dense = place->second.kind == FeaturePlace::Kind::kDense;
    if (is_dense && found == DType::kInvalid) continue;
    const bool is_ragged = place->second.kind == FeaturePlace::Kind::kRagged;
    size_t& last = (is_dense ? seen->dense : is_ragged ? seen->ragged : seen->sparse)[index];
    if (last == example) continue;
    last = example;
    if (is_dense) {
      SLUICE_RETURN_IF_ERROR(ParseDense(example, index, feature, found, part));
    } else {
      SLUICE_RETURN_IF_ERROR(ParseList(example, feature, found, (is_ragged ? spec_.ragged : spec_.sparse)[index],
                                       &(is_ragged ? part->ragged : part->sparse)[index]));
    }
  }
  return FillMissing(example, *seen);
}

absl::Status BatchParser::FillMissing(size_t example, const Seen& seen) const {
  for (size_t d = 0; d < spec_.dense.size(); ++d) {
    if (spec_.dense[d].is_variable || seen.dense[d] == example) continue;
    if (names_.defaults[d]->num_elements() == 0) {
      return BadFeature(example, names_.dense[d], "is required but could not be found");
    }
    CopyElements(*names_.defaults[d], dense_[d], example * spec_.dense[d].elements);
  }
  return absl::OkStatus();
}

absl::Status BatchParser::ParsePart(size_t begin, size_t end, PartValues* part) const {
  part->dense.resize(spec_.dense.size());
  part->sparse.resize(spec_.sparse.size());
  part->ragged.resize(spec_.ragged.size());
  Seen seen;
  seen.dense.assign(spec_.dense.size(), kNone);
  seen.sparse.assign(spec_.sparse.size(), kNone);
  seen.ragged.assign(spec_.ragged.size(), kNone);
  std::vector<NamedFeature> features;
  const auto end_lists = [](std::vector<FeatureValues>* lists, auto type_of) {
    for (size_t d = 0; d < lists->size(); ++d) (*lists)[d].ends.push_back((*lists)[d].size(type_of(d)));
  };
  for (size_t example = begin; example < end; ++example) {
    const absl::string_view bytes = serialized_.flat<TString>()[example].view();
    if (!ReadExample(bytes, &features)) {
      return Error(ErrorCode::kOpValue)
          .Input(0, "serialized")
          .Text(absl::StrCat("example ", example, " could not be parsed: ", PrintableName(bytes)));
    }
    SLUICE_RETURN_IF_ERROR(ParseOne(example, features, &seen, part));
    end_lists(&part->dense, [this](size_t d) { return spec_.dense[d].dtype; });
    end_lists(&part->sparse, [this](size_t d) { return spec_.sparse[d]; });
    end_lists(&part->ragged, [this](size_t d) { return spec_.ragged[d]; });
  }
  return absl::OkStatus();
}

absl::Status BatchParser::SetSparse(size_t d) {
  std::vector<const FeatureValues*> lists;
  for (const PartValues& part : parts_) lists.push_back(&part.sparse[d]);
  const int at = static_cast<int>(d);
  return SetSparseOutputs(context_, lists, has_batch(),
                          {outputs_.sparse_indices + at, outputs_.sparse_values + at, outputs_.sparse_shapes + at});
}

absl::Status BatchParser::SetVariableDense(size_t d) {
  const DenseFeature& feature = spec_.dense[d];
  std::vector<const FeatureValues*> lists;
  for (const PartValues& part : parts_) lists.push_back(&part.dense[d]);
  const size_t longest = TotalOf(lists).longest;
  std::vector<int64_t> dims(feature.shape.dims().begin(), feature.shape.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(longest / feature.elements));
  if (has_batch()) dims.insert(dims.begin(), static_cast<int64_t>(num_examples()));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context_.AllocateOutput(outputs_.dense + static_cast<int>(d), shape));
  size_t row = 0;
  for (const FeatureValues* const list : lists) {
    size_t before = 0;
    for (const size_t end : list->ends) {
      const size_t count = end - before;
      CopySomeValues(*list, before, count, output, row);
      FillElements(*names_.defaults[d], 0, output, row + count, longest - count);
      row += longest;
      before = end;
    }
  }
  return absl::OkStatus();
}

absl::Status BatchParser::SetRagged(size_t d) {
  std::vector<const FeatureValues*> lists;
  for (const PartValues& part : parts_) lists.push_back(&part.ragged[d]);
  const int at = static_cast<int>(d);
  SLUICE_RETURN_IF_ERROR(SetValuesOutput(context_, lists, outputs_.ragged_values + at));
  // One example alone has no rows.
  if (!has_batch()) return context_.AllocateOutput(outputs_.ragged_splits + at, Shape::Of({0})).status();
  return SetSplitsOutput(context_, lists, outputs_.ragged_splits + at);
}

absl::Status BatchParser::Run() {
  SLUICE_RETURN_IF_ERROR(AllocateDense());
  int64_t bytes = 0;
  for (const TString& example : serialized_.flat<TString>()) bytes += static_cast<int64_t>(example.size());
  const int64_t count = static_cast<int64_t>(num_examples());
  const int64_t num_parts =
      std::clamp<int64_t>(bytes / kShardBytes, 1, std::min(kMaxShards, std::max<int64_t>(count, 1)));
  parts_.resize(static_cast<size_t>(num_parts));
  const double part_ns = kByteNs * static_cast<double>(bytes) / static_cast<double>(num_parts);
  const Workers workers(context_.run());
  SLUICE_RETURN_IF_ERROR(workers.ForEachShard(num_parts, part_ns, [&](int64_t part, int) {
    return ParsePart(static_cast<size_t>(count * part / num_parts), static_cast<size_t>(count * (part + 1) / num_parts),
                     &parts_[static_cast<size_t>(part)]);
  }));
  for (size_t d = 0; d < spec_.sparse.size(); ++d) SLUICE_RETURN_IF_ERROR(SetSparse(d));
  for (size_t d = 0; d < spec_.dense.size(); ++d) {
    if (spec_.dense[d].is_variable) SLUICE_RETURN_IF_ERROR(SetVariableDense(d));
  }
  for (size_t d = 0; d < spec_.ragged.size(); ++d) SLUICE_RETURN_IF_ERROR(SetRagged(d));
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseExamples(KernelContext& context, const ExampleSpec& spec, const ExampleNames& names,
                           const Tensor& serialized, const Tensor* example_names, const ExampleOutputs& outputs) {
  return BatchParser(context, spec, names, serialized, example_names, outputs).Run();
}

}  // namespace sluice
