#include "tools/cli/run/value_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"

namespace sluice {
namespace {

constexpr int64_t kMaxShortElements = 60;
constexpr int64_t kShortEdge = 3;
constexpr double kMaxShownElements = 1000;            // Of a value that is cut.
constexpr size_t kMaxElementBytes = size_t{1} << 16;  // The same, of one string.
constexpr int64_t kMaxEmptyLists = 10'000;
constexpr size_t kSinkBytes = size_t{1} << 16;
constexpr size_t kMaxDebugBytes = 1000;

template <typename F>
std::string FloatText(F value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char digits[64];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof(digits), value);
  return std::string(digits, end.ptr);
}

// Returns the size of the visible UTF-8 character at the start of `text`; 0 for a control character, an invisible mark,
// or a byte that is not UTF-8.
size_t ShownBytes(absl::string_view text) {
  for (size_t bytes = 1; bytes <= std::min<size_t>(text.size(), 4); ++bytes) {
    const absl::string_view character = text.substr(0, bytes);
    if (PrintableName(character) == character) return bytes;
  }
  return 0;
}

// Escapes quotes, backslashes and characters unsafe on a terminal as in C: CUnescape gives the bytes back.
std::string EscapedText(absl::string_view text) {
  std::string out;
  bool after_hex = false;  // Then a digit would belong to the escape before it.
  while (!text.empty()) {
    const char c = text[0];
    const bool is_digit = absl::ascii_isxdigit(static_cast<unsigned char>(c));
    const size_t shown = after_hex && is_digit ? 0 : ShownBytes(text);
    const absl::string_view part = text.substr(0, std::max<size_t>(shown, 1));
    if (shown == 0 && c != '\n' && c != '\r' && c != '\t') {
      absl::StrAppend(&out, "\\x", absl::BytesToHexString(part));
      after_hex = true;
    } else {
      absl::StrAppend(&out, shown > 1 ? std::string(part) : absl::CEscape(part));
      after_hex = false;
    }
    text.remove_prefix(part.size());
  }
  return out;
}

std::string Text(float value) { return FloatText(value); }
std::string Text(double value) { return FloatText(value); }
// Six digits tell all 16-bit floats apart.
std::string Text(Half value) { return absl::StrCat(static_cast<float>(value)); }
std::string Text(BFloat16 value) { return absl::StrCat(static_cast<float>(value)); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(const TString& value) { return absl::StrCat("\"", EscapedText(value.view()), "\""); }
std::string Text(const ResourceHandle& value) { return PrintableName(value.DebugString(), kMaxDebugBytes); }
std::string Text(const Variant& value) {
  return value.has_value() ? PrintableName(value.object()->DebugString(), kMaxDebugBytes) : "an empty variant";
}
template <typename F>
std::string Text(std::complex<F> value) {
  const std::string imaginary = FloatText(value.imag());
  return absl::StrCat(FloatText(value.real()), imaginary[0] == '-' ? "" : "+", imaginary, "j");
}
template <typename Int, int kTag>
std::string Text(Quantized<Int, kTag> value) {
  return absl::StrCat(static_cast<int64_t>(value.value));
}
template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
std::string Text(T value) {
  return absl::StrCat(+value);
}

// A number whose shortest text is that of `value`: 0.1f gives 0.1.
template <typename F>
nlohmann::ordered_json FloatJson(F value) {
  const std::string text = Text(value);
  if (!std::isfinite(static_cast<double>(value))) return text;
  return std::strtod(text.c_str(), nullptr);
}

nlohmann::ordered_json Json(float value) { return FloatJson(value); }
nlohmann::ordered_json Json(double value) { return FloatJson(value); }
nlohmann::ordered_json Json(Half value) { return FloatJson(static_cast<float>(value)); }
nlohmann::ordered_json Json(BFloat16 value) { return FloatJson(static_cast<float>(value)); }
nlohmann::ordered_json Json(bool value) { return value; }
nlohmann::ordered_json Json(const TString& value) {
  const nlohmann::ordered_json text = std::string(value.view());
  const std::string dumped = text.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::ignore);
  // The writer drops bytes that are not UTF-8.
  if (nlohmann::ordered_json::parse(dumped) == text) return text;
  return nlohmann::ordered_json::object({{"b64", absl::Base64Escape(value.view())}});
}
nlohmann::ordered_json Json(const ResourceHandle& value) { return Text(value); }
nlohmann::ordered_json Json(const Variant& value) { return Text(value); }
template <typename F>
nlohmann::ordered_json Json(std::complex<F> value) {
  return nlohmann::ordered_json::array({FloatJson(value.real()), FloatJson(value.imag())});
}
template <typename Int, int kTag>
nlohmann::ordered_json Json(Quantized<Int, kTag> value) {
  return static_cast<int64_t>(value.value);
}
template <typename T, typename = std::enable_if_t<std::is_integral<T>::value>>
nlohmann::ordered_json Json(T value) {
  return value;
}

// The functions for the elements of one dtype.
struct ElementFns {
  std::string (*text)(const Tensor&, size_t);
  nlohmann::ordered_json (*json)(const Tensor&, size_t);
};
template <typename T>
constexpr ElementFns FnsOf() {
  return {[](const Tensor& tensor, size_t i) { return Text(tensor.flat<T>()[i]); },
          [](const Tensor& tensor, size_t i) { return Json(tensor.flat<T>()[i]); }};
}

// By dtype number, from 1 on.
constexpr ElementFns kElementFns[] = {
    FnsOf<float>(),    FnsOf<double>(),
    FnsOf<int32_t>(),  FnsOf<uint8_t>(),
    FnsOf<int16_t>(),  FnsOf<int8_t>(),
    FnsOf<TString>(),  FnsOf<std::complex<float>>(),
    FnsOf<int64_t>(),  FnsOf<bool>(),
    FnsOf<QInt8>(),    FnsOf<QUInt8>(),
    FnsOf<QInt32>(),   FnsOf<BFloat16>(),
    FnsOf<QInt16>(),   FnsOf<QUInt16>(),
    FnsOf<uint16_t>(), FnsOf<std::complex<double>>(),
    FnsOf<Half>(),     FnsOf<ResourceHandle>(),
    FnsOf<Variant>(),  FnsOf<uint32_t>(),
    FnsOf<uint64_t>(),
};
static_assert(sizeof(kElementFns) / sizeof(kElementFns[0]) == static_cast<size_t>(DType::kUInt64), "one per dtype");

const ElementFns& ElementsOf(const Tensor& tensor) { return kElementFns[static_cast<size_t>(tensor.dtype()) - 1]; }

// The lists of a shape without elements: "[[],[]]" of [2,0,3].
std::string EmptyLists(const Shape& shape) {
  std::string text = "[]";
  int axis = 0;
  while (shape.dim(axis) > 0) ++axis;
  int64_t lists = 1;
  for (int i = 0; i < axis; ++i) lists *= shape.dim(i);
  if (lists > kMaxEmptyLists) return text;
  for (--axis; axis >= 0; --axis) {
    const std::vector<std::string> rows(static_cast<size_t>(shape.dim(axis)), text);
    text = absl::StrCat("[", absl::StrJoin(rows, ","), "]");
  }
  return text;
}

// Elements below one place of each axis from the outermost on: strides in elements.
std::vector<int64_t> Strides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis) + 1] * shape.dim(axis + 1);
  }
  return strides;
}

// Which places of each axis are shown: the first `head` and the last `tail`, or all of them.
struct ShownPlaces {
  std::vector<int64_t> head, tail;

  int64_t Count(const Shape& shape, int axis) const {
    const auto i = static_cast<size_t>(axis);
    return std::min(shape.dim(axis), head[i] + tail[i]);
  }
};

// As in NumPy, three at each end of long axes; if that is still too much in all (many short axes), fewer of the outer
// axes, from the outermost on: two places, then one.
ShownPlaces ChoosePlaces(const Shape& shape, bool full) {
  const auto rank = static_cast<size_t>(shape.rank());
  const int64_t edge = full ? std::numeric_limits<int64_t>::max() / 2 : kShortEdge;
  ShownPlaces shown = {std::vector<int64_t>(rank, edge), std::vector<int64_t>(rank, edge)};
  if (full) return shown;
  const auto total = [&] {
    double elements = 1;
    for (int axis = 0; axis < shape.rank(); ++axis) elements *= static_cast<double>(shown.Count(shape, axis));
    return elements;
  };
  for (const int64_t tail : {1, 0}) {
    for (size_t axis = 0; axis < rank && total() > kMaxShownElements; ++axis) {
      if (shape.dim(static_cast<int>(axis)) < 2) continue;
      shown.head[axis] = 1;
      shown.tail[axis] = tail;
    }
  }
  return shown;
}

// Walks the places of a tensor in order and writes them as nested lists, without recursion: `at_` is the place.
class NestedText {
 public:
  NestedText(const Tensor& tensor, bool full, TextSink sink)
      : tensor_(tensor),
        shape_(tensor.shape()),
        strides_(Strides(shape_)),
        full_(full),
        shown_(ChoosePlaces(shape_, full || tensor.num_elements() <= kMaxShortElements)),
        sink_(sink),
        at_(static_cast<size_t>(shape_.rank()), 0) {}

  absl::Status Write() {
    const int rank = shape_.rank();
    if (shape_.num_elements() == 0) return sink_(absl::StrCat("[] (", shape_.ToString(), ")"));
    out_.append(static_cast<size_t>(rank), '[');
    while (true) {
      WriteElement();
      if (out_.size() >= kSinkBytes) {
        SLUICE_RETURN_IF_ERROR(sink_(out_));
        out_.clear();
      }
      int axis = rank - 1;
      while (axis >= 0 && !Advance(axis)) {
        if (skipped_) out_ += axis == rank - 1 ? ", ..." : absl::StrCat(",", NewLine(axis), "...");
        at_[static_cast<size_t>(axis)] = 0;
        out_ += ']';
        --axis;
      }
      if (axis < 0) return sink_(out_);
      if (axis == rank - 1) {
        out_ += ", ";
        if (skipped_) out_ += "..., ";
      } else {
        BreakLine(axis);
      }
    }
  }

 private:
  // To the next place of `axis` that is shown; false at its end. skipped_: places were left out before it.
  bool Advance(int axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t dim = shape_.dim(axis);
    skipped_ = dim > shown_.Count(shape_, axis) && at_[i] == shown_.head[i] - 1;
    at_[i] = skipped_ ? dim - shown_.tail[i] : at_[i] + 1;
    return at_[i] < dim;
  }

  void WriteElement() {
    int64_t index = 0;
    for (size_t axis = 0; axis < at_.size(); ++axis) index += at_[axis] * strides_[axis];
    const std::string text = ElementsOf(tensor_).text(tensor_, static_cast<size_t>(index));
    const bool is_cut = !full_ && text.size() > kMaxElementBytes;
    absl::StrAppend(&out_, is_cut ? CutText(text) : text);
  }

  // The beginning of a long string, at the end of a character and of an escape.
  static std::string CutText(absl::string_view text) {
    size_t end = kMaxElementBytes;
    for (int i = 0; i < 8 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80; ++i) --end;
    for (int i = 0; i < 8 && text.substr(end - 8, 8).find('\\') != absl::string_view::npos; ++i) --end;
    return absl::StrCat(text.substr(0, end), "...\"");
  }

  static std::string NewLine(int axis) { return absl::StrCat("\n", std::string(static_cast<size_t>(axis) + 1, ' ')); }

  // Between two lists that are elements of `axis`.
  void BreakLine(int axis) {
    const std::string new_line = NewLine(axis);
    absl::StrAppend(&out_, ",", skipped_ ? absl::StrCat(new_line, "...,") : "", new_line,
                    std::string(at_.size() - static_cast<size_t>(axis) - 1, '['));
  }

  const Tensor& tensor_;
  const Shape& shape_;
  const std::vector<int64_t> strides_;
  const bool full_;
  const ShownPlaces shown_;
  const TextSink sink_;
  std::vector<int64_t> at_;
  bool skipped_ = false;
  std::string out_;
};

}  // namespace

absl::Status WriteValueText(const Tensor& tensor, bool full, TextSink sink) {
  return NestedText(tensor, full, sink).Write();
}

absl::Status WriteValueJson(const Tensor& tensor, TextSink sink) {
  const ElementFns& elements = ElementsOf(tensor);
  const int rank = tensor.rank();
  if (tensor.num_elements() == 0) return sink(EmptyLists(tensor.shape()));
  std::string out(static_cast<size_t>(rank), '[');
  std::vector<int64_t> at(static_cast<size_t>(rank), 0);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    if (i > 0) {
      int closed = 0;  // Lists that end before this element.
      for (int axis = rank - 1; ++at[static_cast<size_t>(axis)] == tensor.dim(axis); --axis) {
        at[static_cast<size_t>(axis)] = 0;
        ++closed;
      }
      out.append(static_cast<size_t>(closed), ']');
      out += ',';
      out.append(static_cast<size_t>(closed), '[');
    }
    out += EscapedJson(elements.json(tensor, static_cast<size_t>(i)).dump());
    if (out.size() >= kSinkBytes) {
      SLUICE_RETURN_IF_ERROR(sink(out));
      out.clear();
    }
  }
  out.append(static_cast<size_t>(rank), ']');
  return sink(out);
}

}  // namespace sluice
