#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/state/step_resource.h"
#include "kernels/step/file_access.h"
#include "kernels/strings/parse_number.h"
#include "kernels/tables/families.h"
#include "kernels/tables/lookup_table.h"

namespace sluice {
namespace {

// Which part of a line is a key, or a value.
constexpr int64_t kWholeLine = -2, kLineNumber = -1;  // Else a column, from 0.

// The lines of a file, without their line ends; the last line may lack one. As in TensorFlow, a "\r" is part of a line
// end, and a lone "\r" at the end of the file is not a line.
class Lines {
 public:
  explicit Lines(absl::string_view text) : text_(text) {}

  bool Next(absl::string_view* line) {
    if (text_.empty() || text_ == "\r") return false;
    const size_t end = text_.find('\n');
    *line = text_.substr(0, end);
    text_.remove_prefix(end == absl::string_view::npos ? text_.size() : end + 1);
    if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
    return true;
  }

  // How many there are from here on.
  int64_t Count() const {
    const int64_t ended = std::count(text_.begin(), text_.end(), '\n');
    const absl::string_view last = text_.substr(text_.rfind('\n') + 1);
    return ended + (last.empty() || last == "\r" ? 0 : 1);
  }

 private:
  absl::string_view text_;
};

absl::Status BadLine(int64_t number, absl::string_view found, absl::string_view expected) {
  return ValueError(1, "filename", absl::StrCat(found, " in line ", number + 1, " of the file"), expected);
}

// Element `i` of `to` as `text` says.
template <typename T>
absl::Status PutNumber(absl::string_view text, int64_t i, Tensor& to) {
  if (ParseNumber(text, &to.flat<T>()[static_cast<size_t>(i)])) return absl::OkStatus();
  return BadLine(i, absl::StrCat("'", PrintableName(text), "'"), absl::StrCat("a number of ", DTypeName(to.dtype())));
}

// InitializeTableFromTextFile: keys and values are parts of the lines of a file, or the lines' numbers.
class InitializeFromFileKernel : public Kernel {
 public:
  struct Spec {
    int64_t key_index = 0, value_index = 0;
    int64_t vocab_size = -1;  // Lines to read; -1: all.
    int64_t offset = 0;       // The offset that is added to line numbers and, as in TensorFlow, to columns of int32.
    char delimiter = '\t';
  };
  explicit InitializeFromFileKernel(Spec spec) : spec_(spec) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    Spec spec;
    SLUICE_ASSIGN_OR_RETURN(spec.key_index, construction.Get<int64_t>("key_index"));
    SLUICE_ASSIGN_OR_RETURN(spec.value_index, construction.Get<int64_t>("value_index"));
    SLUICE_ASSIGN_OR_RETURN(spec.vocab_size, construction.Get<int64_t>("vocab_size"));
    SLUICE_ASSIGN_OR_RETURN(spec.offset, construction.Get<int64_t>("offset"));
    SLUICE_ASSIGN_OR_RETURN(const std::string delimiter, construction.Get<std::string>("delimiter"));
    if (delimiter.size() != 1) return AttrError("delimiter", PrintableName(delimiter), "one character");
    spec.delimiter = delimiter[0];
    return std::make_unique<InitializeFromFileKernel>(spec);
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
    const Tensor& name = context.input(1);
    SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "filename"));
    SLUICE_RETURN_IF_ERROR(table->CheckFilledOnce());
    SLUICE_RETURN_IF_ERROR(CheckPart(spec_.key_index, table->key_dtype(), "key"));
    SLUICE_RETURN_IF_ERROR(CheckPart(spec_.value_index, table->value_dtype(), "value"));
    const std::string path(name.flat<TString>()[0].view());
    SLUICE_RETURN_IF_ERROR(CheckFileRead(context.run().session_state, path));
    SLUICE_ASSIGN_OR_RETURN(const std::shared_ptr<const MappedFile> file,
                            MappedFile::Open(path, std::numeric_limits<int64_t>::max()));
    // As in TensorFlow, a table that has its contents keeps them: the first line is looked at, no other one.
    const bool has_contents = table->is_initialized();
    SLUICE_ASSIGN_OR_RETURN(const int64_t count, LinesToRead(Lines(file->bytes()), has_contents ? 1 : -1));
    const Shape shape = Shape::Of({count});
    SLUICE_ASSIGN_OR_RETURN(Tensor keys, context.AllocateTemp(table->key_dtype(), shape));
    SLUICE_ASSIGN_OR_RETURN(Tensor values, context.AllocateTemp(table->value_dtype(), shape));
    SLUICE_RETURN_IF_ERROR(ReadLines(Lines(file->bytes()), count, keys, values));
    if (has_contents) return absl::OkStatus();
    const absl::Status done = table->Initialize(context, keys, values);
    // Another node was faster, with something else.
    return absl::IsFailedPrecondition(done) && table->is_initialized() ? absl::OkStatus() : done;
  }

 private:
  // Whether a table of `dtype` may have lines' numbers, or whole lines, as its keys or values.
  static absl::Status CheckPart(int64_t index, DType dtype, absl::string_view what) {
    const bool is_whole = index == kWholeLine, is_integer = dtype == DType::kInt32 || dtype == DType::kInt64;
    const bool fits = is_whole ? is_integer || dtype == DType::kString : index != kLineNumber || dtype == DType::kInt64;
    if (fits) return absl::OkStatus();
    return Error(ErrorCode::kResourceType)
        .Found(absl::StrCat("a table whose ", what, " is ", DTypeName(dtype)))
        .Expected(is_whole ? "string or integers, for whole lines" : "int64, for numbers of lines");
  }

  // How many lines to read: at most `most`, unless that is -1.
  absl::StatusOr<int64_t> LinesToRead(const Lines& lines, int64_t most) const {
    const int64_t count = lines.Count();
    if (count == 0 && spec_.vocab_size <= 0) {
      return Error(ErrorCode::kOpRange).Input(1, "filename").Found("an empty file").Expected("lines");
    }
    if (spec_.vocab_size == 0) {
      return Error(ErrorCode::kOpRange).Attr("vocab_size").Found("0").Expected("lines to read");
    }
    if (most >= 0) return most;
    if (spec_.vocab_size > count) {
      return ValueError(1, "filename", absl::StrCat("a file of ", count, " lines"),
                        absl::StrCat("vocab_size of them, ", spec_.vocab_size));
    }
    return spec_.vocab_size > 0 ? spec_.vocab_size : count;
  }

  absl::Status ReadLines(Lines lines, int64_t count, Tensor& keys, Tensor& values) const {
    absl::string_view line;
    for (int64_t i = 0; i < count; ++i) {
      if (!lines.Next(&line) || line.empty()) return BadLine(i, "nothing", "keys and values");
      SLUICE_RETURN_IF_ERROR(Put(line, spec_.key_index, i, keys));
      SLUICE_RETURN_IF_ERROR(Put(line, spec_.value_index, i, values));
    }
    return absl::OkStatus();
  }

  // Element `i` of `to`: the part `index` of `line`.
  absl::Status Put(absl::string_view line, int64_t index, int64_t i, Tensor& to) const {
    if (index == kWholeLine) return PutText(line, i, to);
    if (index == kLineNumber) {
      to.flat<int64_t>()[static_cast<size_t>(i)] = i;
      AddOffset<int64_t>(i, to);
      return absl::OkStatus();
    }
    absl::string_view rest = line;
    for (int64_t column = 0;; ++column) {
      const size_t end = rest.find(spec_.delimiter);
      if (column == index) return PutText(rest.substr(0, end), i, to);
      if (end == absl::string_view::npos) {
        return BadLine(i, absl::StrCat(column + 1, " columns"), absl::StrCat("at least ", index + 1));
      }
      rest.remove_prefix(end + 1);
    }
  }

  // Element `i` of `to` as `text` says.
  absl::Status PutText(absl::string_view text, int64_t i, Tensor& to) const {
    switch (to.dtype()) {
      case DType::kString:
        to.flat<TString>()[static_cast<size_t>(i)] = text;
        return absl::OkStatus();
      case DType::kInt32:
        SLUICE_RETURN_IF_ERROR(PutNumber<int32_t>(text, i, to));
        AddOffset<int32_t>(i, to);
        return absl::OkStatus();
      case DType::kInt64:
        return PutNumber<int64_t>(text, i, to);
      case DType::kFloat:
        return PutNumber<float>(text, i, to);
      case DType::kDouble:
        return PutNumber<double>(text, i, to);
      default:
        return ValueError(DTypeName(to.dtype()), "a dtype that text can state");
    }
  }

  // Wraps: an offset is any number.
  template <typename T>
  void AddOffset(int64_t i, Tensor& to) const {
    T& element = to.flat<T>()[static_cast<size_t>(i)];
    element = static_cast<T>(static_cast<uint64_t>(element) + static_cast<uint64_t>(spec_.offset));
  }

  const Spec spec_;
};

constexpr KernelRow kRows[] = {
    KernelRow("InitializeTableFromTextFile", &New<InitializeFromFileKernel>),
    KernelRow("InitializeTableFromTextFileV2", &New<InitializeFromFileKernel>),
};

}  // namespace

absl::Span<const KernelRow> VocabularyKernels() { return kRows; }

}  // namespace sluice
