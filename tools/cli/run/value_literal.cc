#include "tools/cli/run/value_literal.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

absl::Status SyntaxError(absl::string_view what) { return Error(ErrorCode::kValueSyntax).Text(what); }

// The number that the four hexadecimal digits of "\\u1234" at the start of `text` say, or -1.
int64_t UnicodeEscape(absl::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return -1;
  const absl::string_view digits = text.substr(2, 4);
  if (!std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); })) return -1;
  uint32_t code = 0;
  return absl::SimpleHexAtoi(digits, &code) ? static_cast<int64_t>(code) : -1;
}

// `quoted` with JSON's escapes for characters beyond U+FFFF, which are two numbers each, as C's escapes of one.
std::string JoinSurrogates(absl::string_view quoted) {
  std::string out;
  while (!quoted.empty()) {
    const int64_t high = UnicodeEscape(quoted);
    const int64_t low = high >= 0xd800 && high < 0xdc00 ? UnicodeEscape(quoted.substr(6)) : -1;
    size_t part = quoted[0] == '\\' ? std::min<size_t>(quoted.size(), 2) : 1;
    if (low >= 0xdc00 && low < 0xe000) {
      absl::StrAppendFormat(&out, "\\U%08x", 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      part = 12;
    } else {
      out.append(quoted.data(), part);
    }
    quoted.remove_prefix(part);
  }
  return out;
}

// Reads one literal from left to right; an open list is a level of `levels_`, not of the call stack.
class LiteralReader {
 public:
  explicit LiteralReader(absl::string_view text) : text_(text) {}

  absl::StatusOr<ValueLiteral> Read() {
    bool wants_value = true;
    while (true) {
      SkipSpace();
      if (AtEnd()) break;
      if (wants_value) {
        SLUICE_RETURN_IF_ERROR(ReadValue(&wants_value));
      } else if (levels_.empty()) {
        return Problem("there is something after the value");
      } else {
        SLUICE_RETURN_IF_ERROR(ReadAfterValue(&wants_value));
      }
    }
    if (!levels_.empty()) return Problem("a bracket is missing");
    if (wants_value) return Problem("there is no value");
    return std::move(literal_);
  }

 private:
  struct Level {
    int64_t count = 0;
  };

  bool AtEnd() const { return at_ >= text_.size(); }
  char Here() const { return text_[at_]; }
  void SkipSpace() {
    while (!AtEnd() && absl::ascii_isspace(static_cast<unsigned char>(Here()))) ++at_;
  }
  absl::Status Problem(absl::string_view what) const { return SyntaxError(absl::StrCat(what, " at byte ", at_)); }

  absl::Status ReadValue(bool* wants_value) {
    if (Here() == '[') {
      if (levels_.size() >= static_cast<size_t>(kMaxRank)) return Problem("lists are nested too deeply");
      ++at_;
      levels_.emplace_back();
      if (literal_.dims.size() < levels_.size()) literal_.dims.push_back(-1);
      return absl::OkStatus();
    }
    if (Here() == ']' && !levels_.empty() && levels_.back().count == 0) {
      *wants_value = false;
      return Close();
    }
    if (leaf_depth_ < 0) leaf_depth_ = static_cast<int64_t>(levels_.size());
    if (leaf_depth_ != static_cast<int64_t>(levels_.size()) || literal_.dims.size() != levels_.size()) {
      return Problem("a number is where a list should be, or a list where a number should be,");
    }
    *wants_value = false;
    if (Here() == '{') return ReadBytes();
    return Here() == '"' ? ReadQuoted() : ReadWord();
  }

  absl::Status ReadAfterValue(bool* wants_value) {
    ++levels_.back().count;
    if (Here() == ',') {
      ++at_;
      *wants_value = true;
      SkipSpace();
      return AtEnd() || Here() == ']' ? Problem("a value is missing") : absl::OkStatus();
    }
    if (Here() == ']') return Close();
    return Problem("a comma or a bracket is missing");
  }

  absl::Status Close() {
    ++at_;
    int64_t& dim = literal_.dims[levels_.size() - 1];
    if (dim >= 0 && dim != levels_.back().count) return Problem("rows have different lengths");
    dim = levels_.back().count;
    levels_.pop_back();
    return absl::OkStatus();
  }

  absl::Status ReadQuoted() {
    const size_t begin = ++at_;
    while (!AtEnd() && Here() != '"') at_ += Here() == '\\' ? 2 : 1;
    if (AtEnd()) return Problem("a quote is missing");
    LiteralElement element;
    element.is_quoted = true;
    std::string error;
    const std::string quoted = JoinSurrogates(text_.substr(begin, at_ - begin));
    if (!absl::CUnescape(quoted, &element.text, &error)) return Problem(error);
    ++at_;
    literal_.elements.push_back(std::move(element));
    return absl::OkStatus();
  }

  // {"b64": "..."}, as JSON writes bytes that are not UTF-8.
  absl::Status ReadBytes() {
    for (const absl::string_view part : {"{", "\"b64\"", ":"}) {
      SkipSpace();
      if (!absl::StartsWith(text_.substr(at_), part))
        return Problem("{\"b64\": \"...\"} is the only object that is a value; it is not one");
      at_ += part.size();
    }
    SkipSpace();
    if (AtEnd() || Here() != '"') return Problem("the text of b64 is missing");
    SLUICE_RETURN_IF_ERROR(ReadQuoted());
    SkipSpace();
    if (AtEnd() || Here() != '}') return Problem("a brace is missing");
    ++at_;
    std::string bytes;
    LiteralElement& element = literal_.elements.back();
    if (!absl::Base64Unescape(element.text, &bytes)) return Problem("the text of b64 is not base64");
    element.text = std::move(bytes);
    element.is_bytes = true;
    return absl::OkStatus();
  }

  absl::Status ReadWord() {
    const size_t begin = at_;
    while (!AtEnd() && !absl::StrContains(",[]\" \t\n", Here())) ++at_;
    if (at_ == begin) return Problem("a value is missing");
    literal_.elements.push_back({std::string(text_.substr(begin, at_ - begin)), false});
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t at_ = 0;
  std::vector<Level> levels_;
  int64_t leaf_depth_ = -1;
  ValueLiteral literal_;
};

// The outcome of reading a number.
enum class Reading { kDone, kNoNumber, kOutOfRange };

Reading IsDone(bool is_done) { return is_done ? Reading::kDone : Reading::kNoNumber; }

// Whether `text` is digits, after a sign or not.
bool IsWholeNumber(absl::string_view text) {
  const absl::string_view digits = text.substr(!text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
}

// Whether a number overflowed to infinity; the words "inf" and "infinity" mean it.
template <typename T>
Reading CheckFinite(absl::string_view text, T number) {
  const bool has_digits = std::any_of(text.begin(), text.end(), absl::ascii_isdigit);
  return has_digits && std::isinf(static_cast<double>(number)) ? Reading::kOutOfRange : Reading::kDone;
}

template <typename T>
Reading ReadNumber(absl::string_view text, T* value) {
  if constexpr (std::is_same<T, float>::value) {
    return absl::SimpleAtof(text, value) ? CheckFinite(text, *value) : Reading::kNoNumber;
  } else if constexpr (std::is_same<T, double>::value) {
    return absl::SimpleAtod(text, value) ? CheckFinite(text, *value) : Reading::kNoNumber;
  } else if constexpr (std::is_same<T, uint64_t>::value) {
    if (absl::SimpleAtoi(text, value)) return Reading::kDone;
  } else {
    int64_t number = 0;
    const bool is_read = absl::SimpleAtoi(text, &number);
    *value = static_cast<T>(number);
    if (is_read && static_cast<int64_t>(*value) == number) return Reading::kDone;
  }
  return IsWholeNumber(text) ? Reading::kOutOfRange : Reading::kNoNumber;
}

Reading ReadElement(const LiteralElement& element, bool* value) {
  const std::string word = absl::AsciiStrToLower(element.text);
  *value = word == "true" || word == "1";
  return IsDone(*value || word == "false" || word == "0");
}
Reading ReadElement(const LiteralElement& element, TString* value) {
  value->assign(element.text);
  return Reading::kDone;
}
template <typename F16>
Reading ReadFloat16(const LiteralElement& element, F16* value) {
  float single = 0;
  const Reading reading = ReadNumber(element.text, &single);
  *value = F16(single);
  return reading == Reading::kDone ? CheckFinite(element.text, static_cast<float>(*value)) : reading;
}
Reading ReadElement(const LiteralElement& element, Half* value) { return ReadFloat16(element, value); }
Reading ReadElement(const LiteralElement& element, BFloat16* value) { return ReadFloat16(element, value); }
template <typename T>
Reading ReadElement(const LiteralElement& element, std::complex<T>* value) {
  absl::string_view text = element.text;
  T real = 0, imaginary = 0;
  Reading reading = Reading::kDone;
  if (!absl::EndsWith(text, "j") && !absl::EndsWith(text, "i")) {
    reading = ReadNumber(text, &real);
  } else {
    text.remove_suffix(1);
    size_t split = text.find_last_of("+-");
    if (split != absl::string_view::npos && split > 0 && (text[split - 1] == 'e' || text[split - 1] == 'E')) {
      split = text.find_last_of("+-", split - 2);
    }
    if (split == absl::string_view::npos) split = 0;
    if (split > 0) reading = ReadNumber(text.substr(0, split), &real);
    const Reading second = ReadNumber(text.substr(split), &imaginary);
    if (reading == Reading::kDone || second == Reading::kNoNumber) reading = second;
  }
  *value = {real, imaginary};
  return reading;
}
template <typename Int, int kTag>
Reading ReadElement(const LiteralElement& element, Quantized<Int, kTag>* value) {
  return ReadNumber(element.text, &value->value);
}
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
Reading ReadElement(const LiteralElement& element, T* value) {
  return ReadNumber(element.text, value);
}

// Whether JSON writes numbers of T as this quoted text, because it lacks them.
template <typename T>
bool IsJsonFloat(absl::string_view text) {
  constexpr bool is_float = std::is_floating_point<T>::value || std::is_same<T, Half>::value ||
                            std::is_same<T, BFloat16>::value || std::is_same<T, std::complex<float>>::value ||
                            std::is_same<T, std::complex<double>>::value;
  return is_float && (text == "nan" || text == "inf" || text == "-inf");
}

template <typename T>
absl::Status ReadElements(const ValueLiteral& literal, Tensor* tensor) {
  const absl::Span<T> values = tensor->flat<T>();
  const bool wants_text = std::is_same<T, TString>::value;
  for (size_t i = 0; i < values.size(); ++i) {
    const LiteralElement& element = literal.elements[i];
    const bool is_text = element.is_quoted && !wants_text && (element.is_bytes || !IsJsonFloat<T>(element.text));
    const Reading reading = is_text ? Reading::kNoNumber : ReadElement(element, &values[i]);
    if (reading == Reading::kDone) continue;
    return Error(ErrorCode::kValueSyntax)
        .Text(absl::StrCat("'", PrintableName(element.text), "' is not a value of ", DTypeName(tensor->dtype()),
                           reading == Reading::kOutOfRange ? ": it is out of range" : ""));
  }
  return absl::OkStatus();
}

absl::Status FillFrom(const ValueLiteral& literal, Tensor* tensor) {
  switch (tensor->dtype()) {
    case DType::kFloat:
      return ReadElements<float>(literal, tensor);
    case DType::kDouble:
      return ReadElements<double>(literal, tensor);
    case DType::kHalf:
      return ReadElements<Half>(literal, tensor);
    case DType::kBFloat16:
      return ReadElements<BFloat16>(literal, tensor);
    case DType::kInt8:
      return ReadElements<int8_t>(literal, tensor);
    case DType::kInt16:
      return ReadElements<int16_t>(literal, tensor);
    case DType::kInt32:
      return ReadElements<int32_t>(literal, tensor);
    case DType::kInt64:
      return ReadElements<int64_t>(literal, tensor);
    case DType::kUInt8:
      return ReadElements<uint8_t>(literal, tensor);
    case DType::kUInt16:
      return ReadElements<uint16_t>(literal, tensor);
    case DType::kUInt32:
      return ReadElements<uint32_t>(literal, tensor);
    case DType::kUInt64:
      return ReadElements<uint64_t>(literal, tensor);
    case DType::kBool:
      return ReadElements<bool>(literal, tensor);
    case DType::kString:
      return ReadElements<TString>(literal, tensor);
    case DType::kComplex64:
      return ReadElements<std::complex<float>>(literal, tensor);
    case DType::kComplex128:
      return ReadElements<std::complex<double>>(literal, tensor);
    case DType::kQInt8:
      return ReadElements<QInt8>(literal, tensor);
    case DType::kQUInt8:
      return ReadElements<QUInt8>(literal, tensor);
    case DType::kQInt16:
      return ReadElements<QInt16>(literal, tensor);
    case DType::kQUInt16:
      return ReadElements<QUInt16>(literal, tensor);
    case DType::kQInt32:
      return ReadElements<QInt32>(literal, tensor);
    default:
      return SyntaxError(absl::StrCat("a ", DTypeName(tensor->dtype()), " cannot be written down; give a file"));
  }
}

}  // namespace

absl::StatusOr<ValueLiteral> ParseValueLiteral(absl::string_view text) { return LiteralReader(text).Read(); }

bool JoinComplexPairs(ValueLiteral* literal) {
  if (literal->dims.empty() || literal->dims.back() != 2) return false;
  literal->dims.pop_back();
  std::vector<LiteralElement>& elements = literal->elements;
  for (size_t i = 0; i < elements.size() / 2; ++i) {
    const std::string& imaginary = elements[2 * i + 1].text;
    const bool has_sign = absl::StartsWith(imaginary, "-") || absl::StartsWith(imaginary, "+");
    elements[i] = {absl::StrCat(elements[2 * i].text, has_sign ? "" : "+", imaginary, "j"), false, false};
  }
  elements.resize(elements.size() / 2);
  return true;
}

absl::StatusOr<Tensor> LiteralToTensor(const ValueLiteral& literal, DType dtype) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(literal.dims));
  if (shape.num_elements() != static_cast<int64_t>(literal.elements.size())) {
    return SyntaxError("a row has no elements where others have some");
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(dtype, shape));
  SLUICE_RETURN_IF_ERROR(FillFrom(literal, &tensor));
  return tensor;
}

}  // namespace sluice
