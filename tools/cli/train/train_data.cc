#include "tools/cli/train/train_data.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/nearest_names.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/train/tensor_numbers.h"

namespace sluice {
namespace {

// Data sets may be larger than models: files are mapped, not read.
constexpr int64_t kMaxDataBytes = std::numeric_limits<int64_t>::max();

absl::StatusOr<NpzReader> OpenNpz(const std::string& path, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file, MappedFile::Open(path, kMaxDataBytes));
  absl::StatusOr<NpzReader> archive = NpzReader::Open(file->bytes(), limits, file);
  if (!archive.ok()) return WithFile(archive.status(), path);
  return archive;
}

absl::Status NoArray(const NpzReader& file, const TrainInput& input) {
  const std::vector<absl::string_view> names(file.names().begin(), file.names().end());
  const bool has_own = std::find(names.begin(), names.end(), input.name) != names.end();
  const std::vector<std::string> near = NearestNames(input.array, names, 1);
  const std::string name = PrintableName(input.name);
  const std::string guess = has_own ? name : near.empty() ? std::string("ARRAY") : PrintableName(near[0]);
  return Error(ErrorCode::kFeedMissing)
      .Found(file.NamesText())
      .Expected(absl::StrCat("'", PrintableName(input.array), "'"))
      .Help(absl::StrCat("name the array with --data ", name, "=", guess,
                         ", or give one value for all steps with --feed ", name, "=VALUE"))
      .Text(absl::StrCat("the data has no array for the input '", name, "'"));
}

// Checks the shape of rows: the placeholder's, with the batch as its first size.
absl::Status CheckRows(const TrainInput& input, const Shape& shape, const ArrayRules& rules) {
  const std::string what =
      absl::StrCat("array '", PrintableName(input.array), "' for the input '", PrintableName(input.name), "'");
  if (shape.rank() == 0) {
    return Error(ErrorCode::kFeedShape)
        .Text(absl::StrCat(what, " has no rows"))
        .Found("[]")
        .Expected("an array whose first axis counts examples");
  }
  if (!input.shape.has_rank()) return absl::OkStatus();
  const auto per_row = [](absl::Span<const int64_t> dims) {
    return PartialShape::Make(dims.empty() ? dims : dims.subspan(1)).value_or(PartialShape());
  };
  const PartialShape stated = input.shape.WithoutIds();
  const bool fits = stated.rank() == shape.rank() && per_row(stated.dims()).IsCompatibleWith(per_row(shape.dims()));
  if (!fits) {
    return Error(ErrorCode::kFeedShape)
        .Text(absl::StrCat(what, " has rows of another shape than the input"))
        .Found(shape.ToString())
        .Expected(stated.rank() == 0 ? "a scalar: give it with --feed" : stated.ToString());
  }
  if (stated.dim(0) >= 0 && stated.dim(0) != rules.batch) {
    return Error(ErrorCode::kFeedShape)
        .Help(absl::StrCat("add --batch ", stated.dim(0)))
        .Text(absl::StrCat("the input '", PrintableName(input.name), "' takes batches of another size"))
        .Found(absl::StrCat("--batch ", rules.batch))
        .Expected(stated.ToString());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ArrayNames(const std::string& path, const LoadLimits& limits) {
  SLUICE_ASSIGN_OR_RETURN(const NpzReader file, OpenNpz(path, limits));
  return file.names();
}

absl::StatusOr<TrainData> TrainData::Read(const std::string& path, absl::Span<const TrainInput> inputs,
                                          const ArrayRules& rules) {
  SLUICE_ASSIGN_OR_RETURN(const NpzReader file, OpenNpz(path, rules.limits));
  TrainData data;
  ErrorCollector errors;
  for (const TrainInput& input : inputs) errors.Add(data.AddArray(file, path, input, rules));
  SLUICE_RETURN_IF_ERROR(errors.Finish());
  return data;
}

absl::Status TrainData::AddArray(const NpzReader& file, const std::string& path, const TrainInput& input,
                                 const ArrayRules& rules) {
  bool is_there = false;
  for (const std::string& name : file.names()) is_there = is_there || name == input.array;
  if (!is_there) return WithFile(NoArray(file, input), path);
  absl::StatusOr<Tensor> array = file.Read(input.array);
  if (!array.ok()) return WithFile(array.status(), path);
  if (rules.convert && array->dtype() != input.dtype) {
    array = ConvertNumbers(*array, input.dtype);
    if (!array.ok()) return WithFile(array.status(), path);
  }
  if (array->dtype() != input.dtype) {
    const std::string dtype = DTypeName(input.dtype);
    return WithFile(
        Error(ErrorCode::kFeedType)
            .Found(DTypeName(array->dtype()))
            .Expected(dtype)
            .Help(absl::StrCat("save ", PrintableName(input.array), ".astype('", dtype, "'), or add --convert"))
            .Text(absl::StrCat("array '", PrintableName(input.array), "' has another dtype than the input '",
                               PrintableName(input.name), "'"))
            .Build(),
        path);
  }
  if (absl::Status rows = CheckRows(input, array->shape(), rules); !rows.ok()) return WithFile(rows, path);
  if (!arrays_.empty() && array->dim(0) != num_rows_) {
    return WithFile(
        Error(ErrorCode::kOpShapes)
            .Text(absl::StrCat("array '", PrintableName(input.array), "' has another number of rows than those before"))
            .Found(CountOf(array->dim(0), "row"))
            .Expected(CountText(num_rows_))
            .Build(),
        path);
  }
  num_rows_ = array->dim(0);
  arrays_.push_back(*std::move(array));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TrainData::Gather(size_t input, absl::Span<const int64_t> rows) const {
  const Tensor& array = arrays_[input];
  std::vector<int64_t> dims(array.shape().dims().begin(), array.shape().dims().end());
  dims[0] = static_cast<int64_t>(rows.size());
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  SLUICE_ASSIGN_OR_RETURN(Tensor batch, Tensor::Make(array.dtype(), shape));
  const size_t row_elements = num_rows_ == 0 ? 0 : static_cast<size_t>(array.num_elements() / num_rows_);
  if (array.dtype() == DType::kString) {
    const absl::Span<TString> to = batch.flat<TString>();
    for (size_t i = 0; i < rows.size() * row_elements; ++i) {
      const size_t row = static_cast<size_t>(rows[i / row_elements]);
      to[i] = array.flat<TString>()[row * row_elements + i % row_elements];
    }
    return batch;
  }
  const size_t row_bytes = row_elements * DTypeSize(array.dtype());
  const auto* const from = static_cast<const char*>(array.raw_data());
  auto* const to = static_cast<char*>(batch.mutable_raw_data());
  for (size_t i = 0; row_bytes > 0 && i < rows.size(); ++i) {
    std::memcpy(to + i * row_bytes, from + static_cast<size_t>(rows[i]) * row_bytes, row_bytes);
  }
  return batch;
}

}  // namespace sluice
