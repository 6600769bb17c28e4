#include "tools/cli/numpy/npy.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "tools/cli/numpy/npy_header.h"

namespace sluice {
namespace {

// Smaller data is copied: cheaper than keeping a file in memory.
constexpr size_t kMinSharedBytes = 1024;

// Checks that `data` has as many bytes as the header says and that the tensor fits into the limits.
absl::Status CheckSizes(const NpyHeader& header, absl::string_view data, const LoadLimits& limits) {
  const int64_t count = header.shape.num_elements();
  int64_t stored = 0;
  int64_t memory = 0;
  const bool fits = CheckedMul(count, header.item_bytes, &stored) &&
                    CheckedMul(count, static_cast<int64_t>(DTypeSize(header.dtype)), &memory) &&
                    (header.dtype != DType::kString || CheckedAdd(memory, stored, &memory));
  if (!fits || stored != static_cast<int64_t>(data.size())) {
    return Error(ErrorCode::kNumpy)
        .Found(absl::StrCat(data.size(), " bytes of data"))
        .Expected(fits ? absl::StrCat(stored, " for ", DTypeName(header.dtype), " ", header.shape.ToString())
                       : absl::StrCat("more bytes than can be counted for ", header.shape.ToString()))
        .Text("the data does not have the size that dtype and shape need");
  }
  if (memory > limits.max_tensor_bytes) {
    return Error(ErrorCode::kTensorTooLarge)
        .Found(absl::StrCat(memory, " bytes"))
        .Limit("max_tensor_bytes", limits.max_tensor_bytes)
        .Text("the array needs too much memory");
  }
  return absl::OkStatus();
}

// Walks the elements of a shape row by row, and computes the place of each in column order.
// Not thread-safe.
class ColumnOrder {
 public:
  explicit ColumnOrder(const Shape& shape) : dims_(shape.dims()), index_(dims_.size(), 0), strides_(dims_.size(), 1) {
    for (size_t axis = 1; axis < dims_.size(); ++axis) strides_[axis] = strides_[axis - 1] * dims_[axis - 1];
  }

  int64_t position() const { return position_; }
  void Advance() {
    for (size_t axis = dims_.size(); axis-- > 0;) {
      position_ += strides_[axis];
      if (++index_[axis] < dims_[axis]) return;
      position_ -= dims_[axis] * strides_[axis];
      index_[axis] = 0;
    }
  }

 private:
  absl::Span<const int64_t> dims_;
  std::vector<int64_t> index_;
  std::vector<int64_t> strides_;
  int64_t position_ = 0;
};

// Calls fn(const char* stored_element) for each element, row by row.
template <typename Fn>
void ForEachStored(const NpyHeader& header, absl::string_view data, Fn fn) {
  const int64_t count = header.shape.num_elements();
  if (!header.columns_first || header.shape.rank() < 2) {
    for (int64_t i = 0; i < count; ++i) fn(data.data() + i * header.item_bytes);
    return;
  }
  ColumnOrder order(header.shape);
  for (int64_t i = 0; i < count; ++i) {
    fn(data.data() + order.position() * header.item_bytes);
    order.Advance();
  }
}

// Appends `code_point` as UTF-8; returns false if it is not a valid code point.
bool AppendUtf8(uint32_t code_point, std::string* out) {
  const auto push = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000)) return false;
  if (code_point < 0x80) {
    push(code_point);
    return true;
  }
  if (code_point < 0x800) {
    push(0xc0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    push(0xe0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3f));
  } else {
    push(0xf0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3f));
    push(0x80 | (code_point >> 6 & 0x3f));
  }
  push(0x80 | (code_point & 0x3f));
  return true;
}

// The text of one 'U' element: 32-bit code points, zeros at the end dropped. Returns false if one is not a valid code
// point.
bool DecodeUnicode(const char* stored, const NpyHeader& header, std::string* out) {
  out->clear();
  size_t text_size = 0;
  for (int64_t at = 0; at < header.item_bytes; at += 4) {
    uint32_t code_point;
    std::memcpy(&code_point, stored + at, sizeof(code_point));
    if (header.big_endian) code_point = __builtin_bswap32(code_point);
    if (!AppendUtf8(code_point, out)) return false;
    if (code_point != 0) text_size = out->size();
  }
  out->resize(text_size);
  return true;
}

absl::Status DecodeText(const NpyHeader& header, absl::string_view data, Tensor* tensor) {
  TString* element = tensor->flat<TString>().data();
  std::string utf8;
  bool ok = true;
  ForEachStored(header, data, [&](const char* stored) {
    if (header.kind == NpyHeader::Kind::kUnicodeText) {
      ok = ok && DecodeUnicode(stored, header, &utf8);
      *element++ = utf8;
      return;
    }
    const absl::string_view text(stored, static_cast<size_t>(header.item_bytes));
    *element++ = text.substr(0, text.find_last_not_of('\0') + 1);  // npos + 1 is 0.
  });
  if (ok) return absl::OkStatus();
  return Error(ErrorCode::kNumpy).Text("the text holds a number that is not a Unicode code point");
}

// Reverses each number of `number_bytes` bytes.
void SwapBytes(char* data, size_t bytes, size_t number_bytes) {
  for (size_t at = 0; at < bytes; at += number_bytes) std::reverse(data + at, data + at + number_bytes);
}

template <size_t kItemBytes>
void CopyColumns(const NpyHeader& header, absl::string_view data, char* out) {
  ForEachStored(header, data, [&out](const char* stored) {
    std::memcpy(out, stored, kItemBytes);
    out += kItemBytes;
  });
}

void DecodePlain(const NpyHeader& header, absl::string_view data, Tensor* tensor) {
  char* const out = static_cast<char*>(tensor->mutable_raw_data());
  if (!header.columns_first || header.shape.rank() < 2) {
    if (!data.empty()) std::memcpy(out, data.data(), data.size());
  } else {
    switch (header.item_bytes) {
      case 1:
        CopyColumns<1>(header, data, out);
        break;
      case 2:
        CopyColumns<2>(header, data, out);
        break;
      case 4:
        CopyColumns<4>(header, data, out);
        break;
      case 8:
        CopyColumns<8>(header, data, out);
        break;
      default:
        CopyColumns<16>(header, data, out);
    }
  }
  const size_t item = static_cast<size_t>(header.item_bytes);
  if (header.big_endian && item > 1) SwapBytes(out, data.size(), IsComplex(header.dtype) ? item / 2 : item);
  if (header.dtype == DType::kBool) {
    for (size_t i = 0; i < data.size(); ++i) out[i] = out[i] != 0 ? 1 : 0;  // As NumPy reads it.
  }
}

// Whether the stored elements can be used as they are.
bool IsShareable(const NpyHeader& header, absl::string_view data, const ReadNpyOptions& options) {
  const size_t alignment = std::min<size_t>(static_cast<size_t>(header.item_bytes), 8);
  return options.owner != nullptr && data.size() >= kMinSharedBytes && header.kind == NpyHeader::Kind::kPlain &&
         header.dtype != DType::kBool && !(header.big_endian && header.item_bytes > 1) &&
         !(header.columns_first && header.shape.rank() > 1) &&
         reinterpret_cast<uintptr_t>(data.data()) % alignment == 0;
}

// NumPy's code for plain dtypes, or "".
absl::string_view DescrOf(DType dtype) {
  constexpr absl::string_view kDescrs[] = {"",    "<f4", "<f8",  "<i4", "|u1", "<i2", "|i1", "",
                                           "<c8", "<i8", "|b1",  "",    "",    "",    "",    "",
                                           "",    "<u2", "<c16", "<f2", "",    "",    "<u4", "<u8"};
  return IsSupported(dtype) ? kDescrs[static_cast<size_t>(dtype)] : absl::string_view();
}

absl::StatusOr<std::string> WriteText(const Tensor& tensor) {
  const absl::Span<const TString> elements = tensor.flat<TString>();
  size_t longest = 1;  // NumPy has no texts of size 0.
  for (const TString& text : elements) {
    longest = std::max(longest, text.size());
    if (text.empty() || text.data()[text.size() - 1] != '\0') continue;
    return Error(ErrorCode::kNumpy)
        .Help("Write the tensor as a TensorProto (.pb).")
        .Text("a string ends in a zero byte, which NumPy's 'S' dtype drops");
  }
  int64_t bytes;
  if (!CheckedMul(tensor.num_elements(), static_cast<int64_t>(longest), &bytes) ||
      bytes > LoadLimits().max_tensor_bytes) {
    return Error(ErrorCode::kNumpy)
        .Found(absl::StrCat(elements.size(), " strings of up to ", longest, " bytes"))
        .Help("Write the tensor as a TensorProto (.pb).")
        .Text("the strings need too much room when each takes as much as the longest");
  }
  std::string out = WriteNpyHeader(absl::StrCat("|S", longest), tensor.shape());
  out.reserve(out.size() + static_cast<size_t>(bytes));
  for (const TString& text : elements) {
    out.append(text.data(), text.size());
    out.append(longest - text.size(), '\0');
  }
  return out;
}

}  // namespace

absl::StatusOr<Tensor> ReadNpy(absl::string_view bytes, const ReadNpyOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const NpyHeader header, ReadNpyHeader(bytes));
  const absl::string_view data = bytes.substr(header.data_offset);
  SLUICE_RETURN_IF_ERROR(CheckSizes(header, data, options.limits));
  if (IsShareable(header, data, options)) {
    return Tensor::Wrap(
        header.dtype, header.shape, const_cast<char*>(data.data()), data.size(), [owner = options.owner] {},
        /*read_only=*/true);
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Make(header.dtype, header.shape));
  if (header.kind == NpyHeader::Kind::kPlain) {
    DecodePlain(header, data, &tensor);
  } else {
    SLUICE_RETURN_IF_ERROR(DecodeText(header, data, &tensor));
  }
  return tensor;
}

absl::StatusOr<std::string> WriteNpy(const Tensor& tensor) {
  if (!tensor.has_value()) return Error(ErrorCode::kNumpy).Text("a tensor without a value cannot be written");
  if (tensor.dtype() == DType::kString) return WriteText(tensor);
  const absl::string_view descr = DescrOf(tensor.dtype());
  if (descr.empty()) {
    return Error(ErrorCode::kNumpy)
        .Found(DTypeName(tensor.dtype()))
        .Help("Cast it to a dtype that NumPy has, or write the tensor as a TensorProto (.pb).")
        .Text(absl::StrCat("NumPy has no dtype for ", DTypeName(tensor.dtype())));
  }
  std::string out = WriteNpyHeader(descr, tensor.shape());
  out.reserve(out.size() + tensor.total_bytes());
  out.append(tensor.bytes().data(), tensor.total_bytes());
  return out;
}

}  // namespace sluice
