#include "tools/cli/numpy/npy_header.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;

// Where the text of the header begins, by version.
constexpr size_t kShortPrefix = 10;  // Magic, two version bytes, a 16-bit length.
constexpr size_t kLongPrefix = 12;   // The same with a 32-bit length.

absl::Status HeaderError(absl::string_view text) { return Error(ErrorCode::kNumpy).Text(text); }

// Reads the header's text: a Python dictionary of strings, True/False and a tuple of integers. Borrows the text.
class DictReader {
 public:
  explicit DictReader(absl::string_view text) : rest_(text) {}

  // Takes `token`, blanks around it left out; false when something else comes.
  bool Take(absl::string_view token) {
    SkipBlanks();
    if (rest_.substr(0, token.size()) != token) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // A quoted string without escapes.
  bool TakeString(absl::string_view* out) {
    SkipBlanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return false;
    *out = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return out->find('\\') == absl::string_view::npos;
  }
  bool TakeBool(bool* out) {
    *out = Take("True");
    return *out || Take("False");
  }
  // "(2, 3)", "(5,)", "()". Python 2 wrote "5L".
  bool TakeTuple(std::vector<int64_t>* out) {
    if (!Take("(")) return false;
    while (!Take(")")) {
      int64_t value;
      if (!TakeInt(&value)) return false;
      out->push_back(value);
      if (!Take(",")) return Take(")");
    }
    return true;
  }
  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  absl::string_view rest() const { return rest_; }

 private:
  bool TakeInt(int64_t* out) {
    SkipBlanks();
    size_t size = 0;
    while (size < rest_.size() &&
           (absl::ascii_isdigit(static_cast<unsigned char>(rest_[size])) || rest_[size] == '-')) {
      ++size;
    }
    if (!absl::SimpleAtoi(rest_.substr(0, size), out)) return false;
    rest_.remove_prefix(size);
    Take("L");
    return true;
  }
  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::string_view rest_;
};

// One numeric dtype of NumPy.
struct NumpyType {
  absl::string_view code;
  DType dtype;
};

constexpr NumpyType kNumpyTypes[] = {
    {"b1", DType::kBool},      {"i1", DType::kInt8},        {"i2", DType::kInt16},  {"i4", DType::kInt32},
    {"i8", DType::kInt64},     {"u1", DType::kUInt8},       {"u2", DType::kUInt16}, {"u4", DType::kUInt32},
    {"u8", DType::kUInt64},    {"f2", DType::kHalf},        {"f4", DType::kFloat},  {"f8", DType::kDouble},
    {"c8", DType::kComplex64}, {"c16", DType::kComplex128},
};

absl::Status UnsupportedDescr(absl::string_view descr) {
  const auto error = [descr](absl::string_view text, absl::string_view help) {
    return Error(ErrorCode::kNumpy).Found(absl::StrCat("dtype '", PrintableName(descr), "'")).Help(help).Text(text);
  };
  const absl::string_view code = descr.substr(!descr.empty() && absl::StrContains("<>|=", descr.substr(0, 1)) ? 1 : 0);
  if (code == "V2") {
    return error("the dtype is two raw bytes, which is what NumPy makes of bfloat16: the file does not say so",
                 "Save x.astype('float32'), or the tensor as a TensorProto (.pb), which has bfloat16.");
  }
  if (code.substr(0, 1) == "O") {
    return error("the array holds pickled Python objects, which are never loaded", "Save an array of numbers or text.");
  }
  if (code.substr(0, 1) == "M" || code.substr(0, 1) == "m") {
    return error("dates and time spans are not supported", "Save x.astype('int64').");
  }
  return error("no tensor dtype corresponds to the array's", "Convert it with x.astype(...) before saving.");
}

// Reads "<f4" and the like into `header`.
absl::Status ReadDescr(absl::string_view descr, NpyHeader* header) {
  absl::string_view code = descr;
  if (!code.empty() && absl::StrContains("<>|=", code.substr(0, 1))) {
    header->big_endian = code[0] == '>';
    code.remove_prefix(1);
  }
  for (const NumpyType& type : kNumpyTypes) {
    if (type.code != code) continue;
    header->dtype = type.dtype;
    header->item_bytes = static_cast<int64_t>(DTypeSize(type.dtype));
    return absl::OkStatus();
  }
  const bool unicode = code.substr(0, 1) == "U";
  int32_t length;
  if ((!unicode && code.substr(0, 1) != "S") || !absl::SimpleAtoi(code.substr(1), &length) || length < 0) {
    return UnsupportedDescr(descr);
  }
  header->kind = unicode ? NpyHeader::Kind::kUnicodeText : NpyHeader::Kind::kBytesText;
  header->dtype = DType::kString;
  header->item_bytes = int64_t{length} * (unicode ? 4 : 1);
  return absl::OkStatus();
}

// The three entries of the dictionary; each must occur exactly once.
struct Entries {
  bool has_descr = false, has_order = false, has_shape = false;
  std::vector<int64_t> dims;
};

absl::Status ReadEntry(absl::string_view key, DictReader* reader, NpyHeader* header, Entries* entries) {
  if (key == "descr" && !entries->has_descr) {
    entries->has_descr = true;
    absl::string_view descr;
    if (reader->TakeString(&descr)) return ReadDescr(descr, header);
    if (!reader->Take("[") && !reader->Take("(")) return HeaderError("the header's 'descr' is not a text");
    return Error(ErrorCode::kNumpy)
        .Help("Save each field as an array of its own (numpy.savez).")
        .Text("the array has a record dtype with several fields");
  }
  if (key == "fortran_order" && !entries->has_order) {
    entries->has_order = true;
    if (!reader->TakeBool(&header->columns_first))
      return HeaderError("the header's 'fortran_order' is neither True nor False");
    return absl::OkStatus();
  }
  if (key == "shape" && !entries->has_shape) {
    entries->has_shape = true;
    if (!reader->TakeTuple(&entries->dims)) return HeaderError("the header's 'shape' is not a tuple of integers");
    return absl::OkStatus();
  }
  return HeaderError(absl::StrCat("the header has an unknown or repeated key '", PrintableName(key), "'"));
}

absl::Status ReadDict(absl::string_view text, NpyHeader* header) {
  DictReader reader(text);
  Entries entries;
  if (!reader.Take("{")) return HeaderError("the header is not a dictionary");
  while (!reader.Take("}")) {
    absl::string_view key;
    if (!reader.TakeString(&key) || !reader.Take(":")) return HeaderError("the header is malformed");
    SLUICE_RETURN_IF_ERROR(ReadEntry(key, &reader, header, &entries));
    if (reader.Take(",")) continue;
    if (!reader.Take("}")) return HeaderError("the header is malformed");
    break;
  }
  if (!reader.AtEnd()) return HeaderError("there is text after the header's dictionary");
  if (!entries.has_descr || !entries.has_order || !entries.has_shape) {
    return HeaderError("the header lacks 'descr', 'fortran_order' or 'shape'");
  }
  absl::StatusOr<Shape> shape = Shape::Make(entries.dims);
  if (!shape.ok()) {
    const std::optional<ErrorInfo> info = ErrorInfoOf(shape.status());
    return HeaderError(info.has_value() ? info->text : "the shape is impossible");
  }
  header->shape = *std::move(shape);
  return absl::OkStatus();
}

template <typename T>
T LoadLittleEndian(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

}  // namespace

absl::StatusOr<NpyHeader> ReadNpyHeader(absl::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return HeaderError(absl::StrCat("the first bytes are not those of a .npy file",
                                    bytes.substr(0, 2) == "PK" ? " but of a zip archive, such as .npz" : ""));
  }
  if (bytes.size() < kShortPrefix) return HeaderError("the file ends within its header");
  const uint8_t major = static_cast<uint8_t>(bytes[6]);
  if (major < 1 || major > 3) {
    return Error(ErrorCode::kNumpy)
        .Found(absl::StrCat("format version ", major))
        .Expected("1, 2 or 3")
        .Text("the .npy format version is not known");
  }
  const size_t prefix = major == 1 ? kShortPrefix : kLongPrefix;
  if (bytes.size() < prefix) return HeaderError("the file ends within its header");
  const size_t length = major == 1 ? LoadLittleEndian<uint16_t>(&bytes[8]) : LoadLittleEndian<uint32_t>(&bytes[8]);
  if (length > bytes.size() - prefix) return HeaderError("the file ends within its header");
  NpyHeader header;
  header.data_offset = prefix + length;
  SLUICE_RETURN_IF_ERROR(ReadDict(bytes.substr(prefix, length), &header));
  return header;
}

std::string WriteNpyHeader(absl::string_view descr, const Shape& shape) {
  const std::string dict = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                        absl::StrJoin(shape.dims(), ", "), shape.rank() == 1 ? ",), }" : "), }");
  constexpr size_t kMaxShortText = 65535 - kAlignment;
  const bool is_short = dict.size() <= kMaxShortText;
  const size_t prefix = is_short ? kShortPrefix : kLongPrefix;
  const size_t total = (prefix + dict.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
  const uint32_t length = static_cast<uint32_t>(total - prefix);
  std::string out(kMagic);
  out.push_back(is_short ? 1 : 2);
  out.push_back(0);
  for (size_t i = 8; i < prefix; ++i) out.push_back(static_cast<char>(length >> (8 * (i - 8))));
  out += dict;
  out.resize(total - 1, ' ');
  out.push_back('\n');
  return out;
}

}  // namespace sluice
