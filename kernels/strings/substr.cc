#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/text_memory.h"
#include "kernels/strings/unicode/utf8.h"

namespace sluice {
namespace {

constexpr absl::string_view kNowhere;

// Moves `at` forward over up to `count` characters. Whether there were as many.
bool Forward(absl::string_view text, int64_t count, size_t* at) {
  int64_t passed = 0;
  for (; passed < count && *at < text.size(); ++passed) {
    do {
      ++*at;
    } while (*at < text.size() && IsTrailByte(text[*at]));
  }
  return passed >= count;
}

// Moves `at` back over `count` characters. Whether there were as many.
bool Backward(absl::string_view text, int64_t count, size_t* at) {
  int64_t passed = 0;
  for (; passed<count&& * at> 0; ++passed) {
    do {
      --*at;
    } while (*at > 0 && IsTrailByte(text[*at]));
  }
  return passed >= count;
}

// `length` bytes from `position` on, which counts from the end where it is negative; all that follow where `length` is
// negative. False where the position is outside.
bool PartOfBytes(absl::string_view text, int64_t position, int64_t length, absl::string_view* part) {
  const int64_t size = static_cast<int64_t>(text.size());
  if (position < -size || position > size) return false;
  const size_t begin = static_cast<size_t>(position < 0 ? position + size : position);
  *part = text.substr(begin, length < 0 ? absl::string_view::npos : static_cast<size_t>(length));
  return true;
}

// The same in characters of UTF-8. As in TensorFlow, a negative `length` gives nothing where the position counts from
// the front, and is outside where it counts from the end.
bool PartOfRunes(absl::string_view text, int64_t position, int64_t length, absl::string_view* part) {
  size_t begin = 0, end = text.size();
  if (position < 0) {
    // Back over what follows the part, and then over the part.
    if (position < -static_cast<int64_t>(text.size()) || length < 0) return false;
    const int64_t after = std::max<int64_t>(-position - length, 0);
    if (!Backward(text, after, &end)) return false;
    begin = end;
    if (!Backward(text, -position - after, &begin)) return false;
  } else {
    if (!Forward(text, position, &begin)) return false;
    end = begin;
    Forward(text, length, &end);
  }
  *part = text.substr(begin, end - begin);
  return true;
}

// Which element of each operand makes element `i` of the result.
struct Places {
  Shape shape;
  int64_t columns = 1;
  int64_t string_row = 0, string_column = 0;  // Steps in the strings for a step in the result; likewise the positions.
  int64_t number_row = 0, number_column = 0;

  int64_t StringAt(int64_t i) const { return i / columns * string_row + i % columns * string_column; }
  int64_t NumberAt(int64_t i) const { return i / columns * number_row + i % columns * number_column; }
};

// Steps through an operand of at most two dimensions that is broadcast to `columns` columns.
void SetSteps(const Shape& operand, int64_t* row, int64_t* column) {
  const int rank = operand.rank();
  const int64_t columns = rank > 0 ? operand.dim(rank - 1) : 1;
  const int64_t rows = rank > 1 ? operand.dim(0) : 1;
  *column = columns == 1 ? 0 : 1;
  *row = rows == 1 ? 0 : columns;
}

absl::StatusOr<Places> FindPlaces(const Shape& strings, const Shape& numbers) {
  Places places;
  places.shape = strings;
  if (numbers.IsScalar() || strings == numbers) {
    // As one row.
    places.columns = std::max<int64_t>(strings.num_elements(), 1);
    places.string_column = 1;
    places.number_column = numbers.IsScalar() ? 0 : 1;
    return places;
  }
  const int rank = std::max(strings.rank(), numbers.rank());
  IndexVector dims(static_cast<size_t>(rank));
  for (int axis = 1; axis <= rank; ++axis) {
    const int64_t a = axis <= strings.rank() ? strings.dim(strings.rank() - axis) : 1;
    const int64_t b = axis <= numbers.rank() ? numbers.dim(numbers.rank() - axis) : 1;
    if (a != b && a != 1 && b != 1) {
      return ShapesError(absl::StrCat(strings.ToString(), " and ", numbers.ToString()), "shapes that broadcast");
    }
    dims[static_cast<size_t>(rank - axis)] = a == 1 ? b : a;
  }
  if (rank > 2) {
    return Error(ErrorCode::kOpUnimplemented)
        .Found(absl::StrCat("shapes ", strings.ToString(), " and ", numbers.ToString()))
        .Expected("at most 2 dimensions where shapes are broadcast");
  }
  SLUICE_ASSIGN_OR_RETURN(places.shape, MakeShape(dims));
  places.columns = std::max<int64_t>(dims.back(), 1);
  SetSteps(strings, &places.string_row, &places.string_column);
  SetSteps(numbers, &places.number_row, &places.number_column);
  return places;
}

// Takes a part of each string.
class SubstrKernel : public Kernel {
 public:
  explicit SubstrKernel(const std::string& unit) : part_of_(unit == "UTF8_CHAR" ? &PartOfRunes : &PartOfBytes) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& strings = context.input(0);
    const Tensor& positions = context.input(1);
    if (positions.shape() != context.input(2).shape()) {
      return ShapesError(
          absl::StrCat("pos ", positions.shape().ToString(), " and len ", context.input(2).shape().ToString()),
          "equal shapes");
    }
    SLUICE_ASSIGN_OR_RETURN(const Places places, FindPlaces(strings.shape(), positions.shape()));
    if (places.shape != strings.shape()) {
      SLUICE_RETURN_IF_ERROR(CheckMemory(context, places));
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, places.shape));
    const absl::Span<TString> parts = output->flat<TString>();
    const double unit_ns = StringNs(strings.num_elements(), TotalBytes(strings), 0.5);
    return ForStrings(context, places.shape.num_elements(), unit_ns, [&](int64_t begin, int64_t end) -> absl::Status {
      for (int64_t i = begin; i < end; ++i) {
        SLUICE_ASSIGN_OR_RETURN(const absl::string_view part, PartAt(context, places, i));
        parts[static_cast<size_t>(i)].assign(part);
      }
      return absl::OkStatus();
    });
  }

 private:
  absl::StatusOr<absl::string_view> PartAt(const KernelContext& context, const Places& places, int64_t i) const {
    const TString& text = context.input(0).flat<TString>()[static_cast<size_t>(places.StringAt(i))];
    const int64_t number = places.NumberAt(i);
    const int64_t position = IndexAt(context.input(1), number);
    absl::string_view part = kNowhere;
    if (part_of_(text.view(), position, IndexAt(context.input(2), number), &part)) return part;
    return ValueError(1, "pos", absl::StrCat(position, " for string ", i, ", of ", text.size(), " bytes"),
                      "a position in the string");
  }

  // Broadcasting can make a text of many from one.
  absl::Status CheckMemory(const KernelContext& context, const Places& places) const {
    int64_t bytes = 0;
    for (int64_t i = 0; i < places.shape.num_elements(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(const absl::string_view part, PartAt(context, places, i));
      bytes += static_cast<int64_t>(part.size());
      if (bytes > kMaxTextBytes) break;
    }
    return CheckTextMemory(context, bytes);
  }

  bool (*const part_of_)(absl::string_view text, int64_t position, int64_t length, absl::string_view* part);
};

constexpr KernelRow kRows[] = {
    KernelRow("Substr", FromAttr<SubstrKernel, std::string>("unit")).Types("T", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> SubstrKernels() { return kRows; }

}  // namespace sluice
