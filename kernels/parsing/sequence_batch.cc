#include "kernels/parsing/sequence_batch.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/parsing/feature.h"
#include "kernels/parsing/list_outputs.h"
#include "kernels/parsing/wanted_features.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

constexpr int64_t kMaxShards = 64;
constexpr int64_t kShardBytes = 32 << 10;
constexpr double kByteNs = 2;

// Values of a feature list; `values.ends` are those of entries, `rows.ends` say how many entries there are after each
// example.
struct ListValues {
  FeatureValues values;
  FeatureValues rows;
};

// The results of one part of the batch.
struct PartValues {
  std::vector<FeatureValues> context_sparse, context_ragged;
  std::vector<ListValues> list_dense, list_sparse, list_ragged;
};

// The inputs and outputs of one call, and the parsing of one example. Borrows all of it; lives for the call. Parts of
// the batch are parsed by several threads, each into its own PartValues.
class SequenceParser {
 public:
  SequenceParser(KernelContext& context, const SequenceSpec& spec, const SequenceNames& names, const Tensor& serialized,
                 const Tensor& example_names, const SequenceOutputs& outputs)
      : context_(context),
        spec_(spec),
        names_(names),
        serialized_(serialized),
        example_names_(example_names),
        outputs_(outputs) {}

  absl::Status Run();

 private:
  bool has_batch() const { return serialized_.rank() > 0; }
  int64_t num_examples() const { return serialized_.num_elements(); }

  // As in TensorFlow: a batch without examples has no values for a dense feature of the context that has no default.
  absl::Status CheckNotEmpty() const;
  absl::Status AllocateContextDense();
  absl::Status ParsePart(size_t begin, size_t end, PartValues* part) const;
  absl::Status ParseContext(size_t example, const WantedFeatures& wanted, PartValues* part) const;
  absl::Status ParseContextDense(size_t example, size_t d, const FoundFeature& found) const;
  absl::Status ParseLists(size_t example, const WantedFeatures& wanted, PartValues* part) const;
  // The entries of a list; `elements` of each, any number where it is negative.
  absl::Status ParseList(size_t example, absl::string_view name, absl::string_view list, DType dtype, int64_t elements,
                         ListValues* values) const;
  absl::Status Bad(size_t example, absl::string_view feature, absl::string_view text) const;

  absl::Status SetContext();
  absl::Status SetListDense(size_t d);
  absl::Status SetListSparse(size_t d);
  absl::Status SetListRagged(size_t d);
  // A part's share of one output, of each part.
  template <typename Of>
  std::vector<const FeatureValues*> Collect(Of of) const {
    std::vector<const FeatureValues*> lists;
    for (const PartValues& part : parts_) lists.push_back(&of(part));
    return lists;
  }

  KernelContext& context_;
  const SequenceSpec& spec_;
  const SequenceNames& names_;
  const Tensor& serialized_;
  const Tensor& example_names_;
  const SequenceOutputs& outputs_;
  std::vector<Tensor*> context_dense_;
  std::vector<PartValues> parts_;
};

absl::Status SequenceParser::Bad(size_t example, absl::string_view feature, absl::string_view text) const {
  std::string which = absl::StrCat("example ", example);
  if (example_names_.num_elements() > static_cast<int64_t>(example)) {
    absl::StrAppend(&which, " ('", PrintableName(example_names_.flat<TString>()[example].view()), "')");
  }
  return Error(ErrorCode::kOpValue)
      .Input(0, "serialized")
      .Text(absl::StrCat(which, ", feature '", PrintableName(feature), "': ", text));
}

absl::Status SequenceParser::AllocateContextDense() {
  for (size_t d = 0; d < spec_.context.dense.size(); ++d) {
    const Shape& own = spec_.context.dense[d].shape;
    std::vector<int64_t> dims(own.dims().begin(), own.dims().end());
    if (has_batch()) dims.insert(dims.begin(), num_examples());
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output,
                            context_.AllocateOutput(outputs_.context.dense + static_cast<int>(d), shape));
    context_dense_.push_back(output);
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::ParseContextDense(size_t example, size_t d, const FoundFeature& found) const {
  const DenseFeature& wanted = spec_.context.dense[d];
  const absl::string_view name = names_.context.dense[d];
  if (!found.is_present) {
    const Tensor& value = *names_.context.defaults[d];
    if (value.num_elements() == 0) return Bad(example, name, "is required but could not be found");
    CopyElements(value, context_dense_[d], example * wanted.elements);
    return absl::OkStatus();
  }
  size_t count = 0;
  if (!found.bytes.empty()) {
    DType type = DType::kInvalid;
    if (!FindFeatureType(found.bytes, &type) || type != wanted.dtype)
      return Bad(example, name, absl::StrCat("expected ", DTypeName(wanted.dtype)));
    if (!WriteValues(found.bytes, context_dense_[d], example * wanted.elements, wanted.elements, &count)) {
      return Bad(example, name, "malformed");
    }
  }
  if (count == wanted.elements) return absl::OkStatus();
  return Bad(example, name, absl::StrCat(count, " values, expected ", wanted.elements));
}

absl::Status SequenceParser::ParseContext(size_t example, const WantedFeatures& wanted, PartValues* part) const {
  for (size_t d = 0; d < spec_.context.dense.size(); ++d) {
    SLUICE_RETURN_IF_ERROR(ParseContextDense(example, d, wanted.dense(d)));
  }
  const auto parse = [&](const std::vector<DType>& types, const std::vector<absl::string_view>& names, auto found_of,
                         std::vector<FeatureValues>* lists) -> absl::Status {
    for (size_t d = 0; d < types.size(); ++d) {
      const FoundFeature& found = found_of(d);
      FeatureValues& values = (*lists)[d];
      if (!found.bytes.empty()) {
        DType type = DType::kInvalid;
        if (!FindFeatureType(found.bytes, &type) || type != types[d])
          return Bad(example, names[d], absl::StrCat("expected ", DTypeName(types[d])));
        if (!AppendValues(found.bytes, type, &values)) return Bad(example, names[d], "malformed");
      }
      values.ends.push_back(values.size(types[d]));
    }
    return absl::OkStatus();
  };
  SLUICE_RETURN_IF_ERROR(parse(
      spec_.context.sparse, names_.context.sparse, [&](size_t d) -> const FoundFeature& { return wanted.sparse(d); },
      &part->context_sparse));
  return parse(
      spec_.context.ragged, names_.context.ragged, [&](size_t d) -> const FoundFeature& { return wanted.ragged(d); },
      &part->context_ragged);
}

absl::Status SequenceParser::ParseList(size_t example, absl::string_view name, absl::string_view list, DType dtype,
                                       int64_t elements, ListValues* values) const {
  ProtoCursor cursor(list);
  absl::string_view entry;
  size_t rows = values->rows.ends.empty() ? 0 : values->rows.ends.back();
  while (!cursor.AtEnd()) {
    if (!cursor.TakeTag(ProtoCursor::BytesTag(1)) || !cursor.TakeMessage(&entry))
      return Bad(example, name, "malformed");
    const size_t before = values->values.size(dtype);
    if (!entry.empty()) {
      DType type = DType::kInvalid;
      if (!FindFeatureType(entry, &type) || type != dtype)
        return Bad(example, name, absl::StrCat("expected ", DTypeName(dtype)));
      if (!AppendValues(entry, type, &values->values)) return Bad(example, name, "malformed");
    }
    const size_t after = values->values.size(dtype);
    if (elements >= 0 && after - before != static_cast<size_t>(elements)) {
      return Bad(example, name, absl::StrCat(after - before, " values in an entry, expected ", elements));
    }
    values->values.ends.push_back(after);
    ++rows;
  }
  values->rows.ends.push_back(rows);
  return absl::OkStatus();
}

absl::Status SequenceParser::ParseLists(size_t example, const WantedFeatures& wanted, PartValues* part) const {
  for (size_t d = 0; d < spec_.lists.dense.size(); ++d) {
    const FoundFeature& found = wanted.dense(d);
    if (!found.is_present && !names_.may_lists_be_missing[d]) {
      return Bad(example, names_.lists.dense[d],
                 "is required but could not be found; feature_list_dense_missing_assumed_empty says otherwise");
    }
    SLUICE_RETURN_IF_ERROR(ParseList(example, names_.lists.dense[d], found.bytes, spec_.lists.dense[d].dtype,
                                     static_cast<int64_t>(spec_.lists.dense[d].elements), &part->list_dense[d]));
  }
  for (size_t d = 0; d < spec_.lists.sparse.size(); ++d) {
    SLUICE_RETURN_IF_ERROR(ParseList(example, names_.lists.sparse[d], wanted.sparse(d).bytes, spec_.lists.sparse[d], -1,
                                     &part->list_sparse[d]));
  }
  for (size_t d = 0; d < spec_.lists.ragged.size(); ++d) {
    SLUICE_RETURN_IF_ERROR(ParseList(example, names_.lists.ragged[d], wanted.ragged(d).bytes, spec_.lists.ragged[d], -1,
                                     &part->list_ragged[d]));
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::ParsePart(size_t begin, size_t end, PartValues* part) const {
  part->context_sparse.resize(spec_.context.sparse.size());
  part->context_ragged.resize(spec_.context.ragged.size());
  part->list_dense.resize(spec_.lists.dense.size());
  part->list_sparse.resize(spec_.lists.sparse.size());
  part->list_ragged.resize(spec_.lists.ragged.size());
  SLUICE_ASSIGN_OR_RETURN(WantedFeatures context,
                          WantedFeatures::Make(names_.context, "context feature", names_.may_kinds_share));
  SLUICE_ASSIGN_OR_RETURN(WantedFeatures lists,
                          WantedFeatures::Make(names_.lists, "feature list", names_.may_kinds_share));
  for (size_t example = begin; example < end; ++example) {
    context.Clear();
    lists.Clear();
    if (!FindSequenceFeatures(serialized_.flat<TString>()[example].view(), &context, &lists)) {
      return Error(ErrorCode::kOpValue)
          .Input(0, "serialized")
          .Text(absl::StrCat("example ", example, " could not be parsed"));
    }
    SLUICE_RETURN_IF_ERROR(ParseContext(example, context, part));
    SLUICE_RETURN_IF_ERROR(ParseLists(example, lists, part));
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::SetContext() {
  for (size_t d = 0; d < spec_.context.sparse.size(); ++d) {
    const int at = static_cast<int>(d);
    const auto lists = Collect([d](const PartValues& part) -> const FeatureValues& { return part.context_sparse[d]; });
    SLUICE_RETURN_IF_ERROR(SetSparseOutputs(context_, lists, has_batch(),
                                            {outputs_.context.sparse_indices + at, outputs_.context.sparse_values + at,
                                             outputs_.context.sparse_shapes + at}));
  }
  for (size_t d = 0; d < spec_.context.ragged.size(); ++d) {
    const int at = static_cast<int>(d);
    const auto lists = Collect([d](const PartValues& part) -> const FeatureValues& { return part.context_ragged[d]; });
    SLUICE_RETURN_IF_ERROR(SetValuesOutput(context_, lists, outputs_.context.ragged_values + at));
    SLUICE_RETURN_IF_ERROR(SetSplitsOrZero(context_, lists, has_batch(), outputs_.context.ragged_splits + at));
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::SetListDense(size_t d) {
  const DenseFeature& feature = spec_.lists.dense[d];
  const auto rows = Collect([d](const PartValues& part) -> const FeatureValues& { return part.list_dense[d].rows; });
  const size_t longest = TotalOf(rows).longest;
  std::vector<int64_t> dims(feature.shape.dims().begin(), feature.shape.dims().end());
  dims.insert(dims.begin(), static_cast<int64_t>(longest));
  if (has_batch()) dims.insert(dims.begin(), num_examples());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  const int at = static_cast<int>(d);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context_.AllocateOutput(outputs_.lists.dense + at, shape));
  Tensor* lengths = nullptr;
  if (outputs_.list_lengths >= 0) {
    SLUICE_ASSIGN_OR_RETURN(lengths, context_.AllocateOutput(outputs_.list_lengths + at, serialized_.shape()));
  }
  size_t example = 0;
  for (const PartValues& part : parts_) {
    const ListValues& list = part.list_dense[d];
    size_t before = 0;
    for (const size_t end : list.rows.ends) {
      const size_t begin = example * longest * feature.elements;
      CopySomeValues(list.values, before * feature.elements, (end - before) * feature.elements, output, begin);
      ClearElements(output, begin + (end - before) * feature.elements, (longest - (end - before)) * feature.elements);
      if (lengths != nullptr) lengths->flat<int64_t>()[example] = static_cast<int64_t>(end - before);
      before = end;
      ++example;
    }
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::SetListSparse(size_t d) {
  const auto values =
      Collect([d](const PartValues& part) -> const FeatureValues& { return part.list_sparse[d].values; });
  const auto rows = Collect([d](const PartValues& part) -> const FeatureValues& { return part.list_sparse[d].rows; });
  const ListTotal total = TotalOf(values);
  const int64_t rank = has_batch() ? 3 : 2;
  const int at = static_cast<int>(d);
  SLUICE_RETURN_IF_ERROR(SetValuesOutput(context_, values, outputs_.lists.sparse_values + at));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices,
                          context_.AllocateOutput(outputs_.lists.sparse_indices + at,
                                                  Shape::Of({static_cast<int64_t>(total.count), rank})));
  int64_t* index = indices->flat<int64_t>().data();
  int64_t example = 0;
  for (const PartValues& part : parts_) {
    const ListValues& list = part.list_sparse[d];
    size_t row = 0, before = 0;
    for (const size_t last_row : list.rows.ends) {
      for (int64_t entry = 0; row < last_row; ++row, ++entry) {
        const size_t end = list.values.ends[row];
        for (size_t i = 0; i < end - before; ++i) {
          if (has_batch()) *index++ = example;
          *index++ = entry;
          *index++ = static_cast<int64_t>(i);
        }
        before = end;
      }
      ++example;
    }
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const shape,
                          context_.AllocateOutput(outputs_.lists.sparse_shapes + at, Shape::Of({rank})));
  const absl::Span<int64_t> sizes = shape->flat<int64_t>();
  if (has_batch()) sizes[0] = num_examples();
  sizes[sizes.size() - 2] = static_cast<int64_t>(TotalOf(rows).longest);
  sizes.back() = static_cast<int64_t>(total.longest);
  return absl::OkStatus();
}

absl::Status SequenceParser::SetListRagged(size_t d) {
  const auto values =
      Collect([d](const PartValues& part) -> const FeatureValues& { return part.list_ragged[d].values; });
  const auto rows = Collect([d](const PartValues& part) -> const FeatureValues& { return part.list_ragged[d].rows; });
  const int at = static_cast<int>(d);
  SLUICE_RETURN_IF_ERROR(SetValuesOutput(context_, values, outputs_.lists.ragged_values + at));
  SLUICE_RETURN_IF_ERROR(SetSplitsOutput(context_, values, outputs_.lists.ragged_splits + at));
  return SetSplitsOrZero(context_, rows, has_batch(), outputs_.list_outer_splits + at);
}

absl::Status SequenceParser::CheckNotEmpty() const {
  for (size_t d = 0; d < spec_.context.dense.size(); ++d) {
    if (num_examples() > 0 || spec_.context.dense[d].elements == 0) continue;
    if (names_.context.defaults[d]->num_elements() > 0) continue;
    return ValueError(
        0, "serialized", "no examples",
        absl::StrCat("one or more, as context feature '", PrintableName(names_.context.dense[d]), "' has no default"));
  }
  return absl::OkStatus();
}

absl::Status SequenceParser::Run() {
  SLUICE_RETURN_IF_ERROR(CheckNotEmpty());
  SLUICE_RETURN_IF_ERROR(AllocateContextDense());
  int64_t bytes = 0;
  for (const TString& example : serialized_.flat<TString>()) bytes += static_cast<int64_t>(example.size());
  const int64_t count = num_examples();
  const int64_t num_parts =
      std::clamp<int64_t>(bytes / kShardBytes, 1, std::min(kMaxShards, std::max<int64_t>(count, 1)));
  parts_.resize(static_cast<size_t>(num_parts));
  const double part_ns = kByteNs * static_cast<double>(bytes) / static_cast<double>(num_parts);
  const Workers workers(context_.run());
  SLUICE_RETURN_IF_ERROR(workers.ForEachShard(num_parts, part_ns, [&](int64_t part, int) {
    return ParsePart(static_cast<size_t>(count * part / num_parts), static_cast<size_t>(count * (part + 1) / num_parts),
                     &parts_[static_cast<size_t>(part)]);
  }));
  SLUICE_RETURN_IF_ERROR(SetContext());
  for (size_t d = 0; d < spec_.lists.dense.size(); ++d) SLUICE_RETURN_IF_ERROR(SetListDense(d));
  for (size_t d = 0; d < spec_.lists.sparse.size(); ++d) SLUICE_RETURN_IF_ERROR(SetListSparse(d));
  for (size_t d = 0; d < spec_.lists.ragged.size(); ++d) SLUICE_RETURN_IF_ERROR(SetListRagged(d));
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseSequenceExamples(KernelContext& context, const SequenceSpec& spec, const SequenceNames& names,
                                   const Tensor& serialized, const Tensor& example_names,
                                   const SequenceOutputs& outputs) {
  return SequenceParser(context, spec, names, serialized, example_names, outputs).Run();
}

}  // namespace sluice
