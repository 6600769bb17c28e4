#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/parsing/families.h"
#include "kernels/strings/parse_number.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

// How records are written (RFC 4180 with another delimiter, or without quotes).
struct CsvFormat {
  char delimiter = ',';
  bool has_quotes = true;
  std::vector<int64_t> columns;  // Those wanted, ascending; all where empty.
};

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

// Reads a field without quotes at `*at` and its delimiter. Null, or what is wrong.
const char* TakePlain(absl::string_view record, const CsvFormat& format, size_t* at, absl::string_view* field) {
  const size_t begin = *at;
  for (; *at < record.size() && record[*at] != format.delimiter; ++*at) {
    if ((format.has_quotes && record[*at] == '"') || IsLineEnd(record[*at])) {
      return "an unquoted field has a quote or a line end inside";
    }
  }
  *field = record.substr(begin, *at - begin);
  ++*at;
  return nullptr;
}

// Reads a quoted field, whose opening quote has been consumed, and its delimiter. Null, or what is wrong.
const char* TakeQuoted(absl::string_view record, const CsvFormat& format, size_t* at, std::string* field) {
  const size_t size = record.size();
  while (*at + 1 < size && (record[*at] != '"' || record[*at + 1] != format.delimiter)) {
    if (record[*at] != '"') {
      field->push_back(record[(*at)++]);
      continue;
    }
    if (record[*at + 1] != '"') return "a quote inside a field is not doubled";
    field->push_back('"');
    *at += 2;
  }
  if (*at >= size || record[*at] != '"') return "a quoted field does not end with a quote and a delimiter or the end";
  *at += 2;
  return nullptr;
}

// The wanted fields of a record. Null, or what is wrong with it: as in TensorFlow, only up to the last wanted column.
const char* SplitCsvRecord(absl::string_view record, const CsvFormat& format, std::vector<std::string>* fields) {
  fields->clear();
  if (record.empty()) return nullptr;
  const auto is_wanted = [&](int64_t column) {
    return format.columns.empty() || format.columns[fields->size()] == column;
  };
  int64_t column = 0;
  for (size_t at = 0; at < record.size();) {
    if (IsLineEnd(record[at])) {  // Between fields they are passed over.
      ++at;
      continue;
    }
    absl::string_view plain;
    std::string quoted;
    const bool is_quoted = format.has_quotes && record[at] == '"';
    if (is_quoted) ++at;
    const char* const fault =
        is_quoted ? TakeQuoted(record, format, &at, &quoted) : TakePlain(record, format, &at, &plain);
    if (fault != nullptr) return fault;
    if (is_wanted(column++)) {
      fields->push_back(is_quoted ? std::move(quoted) : std::string(plain));
      if (!format.columns.empty() && fields->size() == format.columns.size()) return nullptr;
    }
  }
  // An empty field after the last delimiter.
  if (is_wanted(column) && record.back() == format.delimiter) fields->emplace_back();
  return nullptr;
}

using FieldCppTypes = TypeList<float, double, int32_t, int64_t>;

// Writes `text` to element `i`; false where it is not a number of the dtype.
bool SetField(absl::string_view text, Tensor* column, size_t i) {
  if (column->dtype() == DType::kString) {
    column->flat<TString>()[i].assign(text);
    return true;
  }
  bool is_number = false;
  DispatchDType<FieldCppTypes>(column->dtype(), [&](auto type) {
    is_number = ParseNumber(text, &column->flat<typename decltype(type)::Type>()[i]);
  });
  return is_number;
}

void CopyDefault(const Tensor& value, Tensor* column, size_t i) {
  if (column->dtype() == DType::kString) {
    column->flat<TString>()[i] = value.flat<TString>()[0];
    return;
  }
  DispatchDType<FieldCppTypes>(column->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    column->flat<T>()[i] = value.flat<T>()[0];
  });
}

// Reads records into one tensor for each column.
class DecodeCsvKernel : public Kernel {
 public:
  DecodeCsvKernel(CsvFormat format, std::string missing) : format_(std::move(format)), missing_(std::move(missing)) {}
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction);
  absl::Status Compute(KernelContext& context) const override;

 private:
  absl::Status CheckDefaults(const KernelContext& context) const;
  absl::Status DecodeRecord(const KernelContext& context, size_t record, const std::vector<std::string>& fields,
                            absl::Span<Tensor* const> columns) const;

  const CsvFormat format_;
  const std::string missing_;  // A field that reads so is missing, as an empty one is.
};

absl::StatusOr<std::unique_ptr<Kernel>> DecodeCsvKernel::Make(const KernelConstruction& construction) {
  CsvFormat format;
  SLUICE_ASSIGN_OR_RETURN(const std::string delimiter, construction.Get<std::string>("field_delim"));
  SLUICE_ASSIGN_OR_RETURN(format.has_quotes, construction.Get<bool>("use_quote_delim"));
  SLUICE_ASSIGN_OR_RETURN(format.columns, construction.Get<std::vector<int64_t>>("select_cols"));
  SLUICE_ASSIGN_OR_RETURN(std::string missing, construction.Get<std::string>("na_value"));
  if (delimiter.size() != 1) return AttrError("field_delim", PrintableName(delimiter), "one character");
  format.delimiter = delimiter[0];
  if (!format.columns.empty() && static_cast<int>(format.columns.size()) != construction.num_outputs()) {
    return AttrError("select_cols", absl::StrCat(format.columns.size(), " columns"),
                     absl::StrCat(construction.num_outputs(), ", one for each output"));
  }
  int64_t before = -1;
  for (const int64_t column : format.columns) {
    if (column <= before) return AttrError("select_cols", column, "indices from 0 on, ascending");
    before = column;
  }
  return std::make_unique<DecodeCsvKernel>(std::move(format), std::move(missing));
}

absl::Status DecodeCsvKernel::CheckDefaults(const KernelContext& context) const {
  for (int i = 1; i < context.num_inputs(); ++i) {
    const Tensor& value = context.input(i);
    if (value.num_elements() <= 1) continue;
    return ShapeError(i, "record_defaults", absl::StrCat(value.num_elements(), " elements"),
                      "one default, or none where the field is required");
  }
  return absl::OkStatus();
}

absl::Status DecodeCsvKernel::DecodeRecord(const KernelContext& context, size_t record,
                                           const std::vector<std::string>& fields,
                                           absl::Span<Tensor* const> columns) const {
  if (fields.size() != columns.size()) {
    return ValueError(0, "records", absl::StrCat(fields.size(), " fields in record ", record),
                      absl::StrCat(columns.size()));
  }
  for (size_t f = 0; f < fields.size(); ++f) {
    if (fields[f].empty() || fields[f] == missing_) {
      const Tensor& value = context.input(static_cast<int>(f) + 1);
      if (value.num_elements() == 0) {
        return Error(ErrorCode::kOpValue)
            .Input(0, "records")
            .Text(absl::StrCat("field ", f, " is required but missing in record ", record));
      }
      CopyDefault(value, columns[f], record);
    } else if (!SetField(fields[f], columns[f], record)) {
      return ValueError(0, "records",
                        absl::StrCat("'", PrintableName(fields[f]), "' as field ", f, " of record ", record),
                        absl::StrCat("a number of ", DTypeName(columns[f]->dtype())));
    }
  }
  return absl::OkStatus();
}

absl::Status DecodeCsvKernel::Compute(KernelContext& context) const {
  SLUICE_RETURN_IF_ERROR(CheckDefaults(context));
  const Tensor& input = context.input(0);
  const absl::Span<const TString> records = input.flat<TString>();
  std::vector<Tensor*> columns;
  for (int i = 0; i < context.num_outputs(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Tensor* const column, context.AllocateOutput(i, input.shape()));
    columns.push_back(column);
  }
  const double unit_ns = StringNs(input.num_elements(), TotalBytes(input), 5);
  return ForStrings(context, input.num_elements(), unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
    std::vector<std::string> fields;
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const char* const fault = SplitCsvRecord(records[i].view(), format_, &fields);
      if (fault != nullptr) {
        return Error(ErrorCode::kOpValue).Input(0, "records").Found(absl::StrCat("record ", i, ": ", fault));
      }
      SLUICE_RETURN_IF_ERROR(DecodeRecord(context, i, fields, columns));
    }
    return absl::OkStatus();
  });
}

constexpr DTypeSet kFieldTypes = {DType::kFloat, DType::kDouble, DType::kInt32, DType::kInt64, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("DecodeCSV", &New<DecodeCsvKernel>).Types("OUT_TYPE", kFieldTypes),
};

}  // namespace

absl::Span<const KernelRow> DecodeCsvKernels() { return kRows; }

}  // namespace sluice
