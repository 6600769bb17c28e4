// DecodeProtoV2: fields of messages as tensors.

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/proto/families.h"
#include "kernels/proto/message_type.h"
#include "kernels/proto/node_message.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

using Field = MessageField;

// One value of a field: the bits of a number (sign-extended as its type says), or text.
struct FieldValue {
  uint64_t bits = 0;
  absl::string_view text;
  bool is_packed = false;
};

// A field that is wanted. A number stands in the message in one of three forms.
struct WantedField {
  const Field* field = nullptr;
  size_t index = 0;  // Of the field in attr field_names.
  WireType wire_type = WireType::kVarint;
};

WireType WireTypeOf(const Field& field) {
  switch (field.type) {
    case FieldType::kDouble:
    case FieldType::kFixed64:
    case FieldType::kSFixed64:
      return WireType::kFixed64;
    case FieldType::kFloat:
    case FieldType::kFixed32:
    case FieldType::kSFixed32:
      return WireType::kFixed32;
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage:
      return WireType::kBytes;
    case FieldType::kGroup:
      return WireType::kGroup;
    default:
      return WireType::kVarint;
  }
}

uint64_t ExtendedFrom32(uint64_t bits) { return static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)}); }

// What the bits of a varint or a fixed number mean for the field.
uint64_t BitsOf(const Field& field, uint64_t raw) {
  switch (field.type) {
    case FieldType::kInt32:
    case FieldType::kEnum:
    case FieldType::kSFixed32:
      return ExtendedFrom32(raw);
    case FieldType::kUInt32:
      return raw & 0xffffffff;
    case FieldType::kSInt32: {
      const uint32_t low = static_cast<uint32_t>(raw);
      return ExtendedFrom32(low >> 1 ^ (~(low & 1) + 1));
    }
    case FieldType::kSInt64:
      return raw >> 1 ^ (~(raw & 1) + 1);
    case FieldType::kBool:
      return raw != 0 ? 1 : 0;
    default:
      return raw;
  }
}

using Visit = absl::FunctionRef<void(const WantedField& field, const FieldValue& value)>;
// Asked before the values of a packed field are read: whether there may be any.
using MayRead = absl::FunctionRef<bool(const WantedField& field)>;

// The varint at `*at`, which moves behind it. False where it is cut or longer than ten bytes.
bool ReadVarint(absl::string_view bytes, size_t* at, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (*at == bytes.size()) return false;
    const uint8_t byte = static_cast<uint8_t>(bytes[(*at)++]);
    if (shift < 64) *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// The values of a packed field, one after the other. False where they are malformed.
bool VisitPacked(const WantedField& wanted, absl::string_view bytes, Visit visit) {
  const size_t size = wanted.wire_type == WireType::kFixed64 ? 8 : wanted.wire_type == WireType::kFixed32 ? 4 : 0;
  if (size > 0) {
    if (bytes.size() % size != 0) return false;
    for (size_t at = 0; at < bytes.size(); at += size) {
      uint64_t raw = 0;
      std::memcpy(&raw, bytes.data() + at, size);
      visit(wanted, {BitsOf(*wanted.field, raw), {}, /*is_packed=*/true});
    }
    return true;
  }
  for (size_t at = 0; at < bytes.size();) {
    uint64_t raw = 0;
    if (!ReadVarint(bytes, &at, &raw)) return false;
    visit(wanted, {BitsOf(*wanted.field, raw), {}, /*is_packed=*/true});
  }
  return true;
}

// A group with its tags as TensorFlow gives it: each number in it in as few bytes as it takes. Groups inside of it end
// where a tag says so, so nothing has to be nested here. REQUIRES: WireReader takes `group`.
std::string ShortestGroup(absl::string_view group) {
  std::string out;
  WireWriter writer(&out);
  for (size_t at = 0; at < group.size();) {
    uint64_t number = 0;
    ReadVarint(group, &at, &number);
    writer.RawVarint(number);
    const WireType type = static_cast<WireType>(number & 7);
    size_t size = type == WireType::kFixed64 ? 8 : type == WireType::kFixed32 ? 4 : 0;
    if (type == WireType::kVarint || type == WireType::kBytes) {
      ReadVarint(group, &at, &number);
      writer.RawVarint(number);
      if (type == WireType::kBytes) size = static_cast<size_t>(number);
    }
    const absl::string_view bytes = group.substr(at, size);
    out.append(bytes.data(), bytes.size());
    at += bytes.size();
  }
  return out;
}

// Calls `visit` with each value of each of `fields`, which ascend by number; of several with one number, for the first.
// False where the message is malformed, or `may_read` says so.
bool VisitMessage(absl::string_view message, absl::Span<const WantedField> fields, MayRead may_read, Visit visit) {
  WireReader reader(message);
  while (reader.Next()) {
    const auto of_number = [](const WantedField& f, uint32_t number) {
      return static_cast<uint32_t>(f.field->number) < number;
    };
    const auto wanted = std::lower_bound(fields.begin(), fields.end(), reader.field(), of_number);
    if (wanted == fields.end() || static_cast<uint32_t>(wanted->field->number) != reader.field()) continue;
    if (reader.type() == wanted->wire_type) {
      if (reader.type() == WireType::kBytes) {
        visit(*wanted, {0, reader.bytes()});
      } else if (reader.type() == WireType::kGroup) {
        visit(*wanted, {0, reader.raw()});
      } else {
        visit(*wanted, {BitsOf(*wanted->field, reader.varint()), {}});
      }
    } else if (reader.type() == WireType::kBytes) {
      if (wanted->wire_type == WireType::kGroup || !may_read(*wanted)) return false;
      if (!VisitPacked(*wanted, reader.bytes(), visit)) return false;
    }
  }
  return reader.ok();
}

float FloatOf(uint64_t bits) {
  const uint32_t low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof(value));
  return value;
}

// Element `at` of `out` becomes `value`. REQUIRES: CanHold.
void Store(const Field& field, const FieldValue& value, Tensor* out, size_t at) {
  switch (out->dtype()) {
    case DType::kString:
      if (field.type == FieldType::kGroup) {
        out->flat<TString>()[at].assign(ShortestGroup(value.text));
      } else {
        out->flat<TString>()[at].assign(value.text);
      }
      return;
    case DType::kDouble:
      if (field.type == FieldType::kFloat) {
        out->flat<double>()[at] = double{FloatOf(value.bits)};
      } else {
        std::memcpy(out->flat<double>().data() + at, &value.bits, sizeof(value.bits));
      }
      return;
    case DType::kFloat:
      out->flat<float>()[at] = FloatOf(value.bits);
      return;
    case DType::kBool:
      out->flat<bool>()[at] = value.bits != 0;
      return;
    case DType::kInt32:
      out->flat<int32_t>()[at] = static_cast<int32_t>(value.bits);
      return;
    case DType::kUInt32:
      out->flat<uint32_t>()[at] = static_cast<uint32_t>(value.bits);
      return;
    case DType::kUInt64:
      out->flat<uint64_t>()[at] = value.bits;
      return;
    default:
      out->flat<int64_t>()[at] = static_cast<int64_t>(value.bits);
  }
}

// Immutable; thread-safe.
class DecodeKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<DecodeKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->type_, MessageTypeOf(construction));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, construction.Get<std::vector<DType>>("output_types"));
    SLUICE_ASSIGN_OR_RETURN(const std::string format, construction.Get<std::string>("message_format"));
    SLUICE_ASSIGN_OR_RETURN(kernel->is_rewritten_, construction.Get<bool>("sanitize"));
    if (format != "binary" && format != "text") return AttrError("message_format", format, "binary or text");
    kernel->is_text_ = format == "text";
    const std::vector<Field>& fields = kernel->type_->fields();
    if (types.size() != fields.size()) {
      return AttrError("output_types", absl::StrCat(types.size(), " types"),
                       absl::StrCat(fields.size(), ", as there are fields"));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (!CanHold(types[i], fields[i])) {
        return AttrError("output_types", DTypeName(types[i]),
                         absl::StrCat("a type for field '", fields[i].name, "', which is ", fields[i].type_name));
      }
      kernel->wanted_.push_back({&fields[i], i, WireTypeOf(fields[i])});
    }
    std::stable_sort(kernel->wanted_.begin(), kernel->wanted_.end(),
                     [](const WantedField& a, const WantedField& b) { return a.field->number < b.field->number; });
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    if (input.num_elements() == 0) return ShapeError(0, "bytes", input.shape(), "a message or more");
    std::vector<std::string> rewritten;
    std::vector<absl::string_view> messages;
    for (const TString& text : input.flat<TString>()) messages.push_back(text.view());
    if (is_text_ || is_rewritten_) {
      for (size_t i = 0; i < messages.size(); ++i) {
        std::string bytes;
        if (!type_->Rewrite(messages[i], is_text_, &bytes)) return Malformed(i);
        rewritten.push_back(std::move(bytes));
      }
      messages.assign(rewritten.begin(), rewritten.end());
    }
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.push_back(static_cast<int64_t>(wanted_.size()));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const sizes, context.AllocateOutput(0, shape));
    std::vector<int64_t> longest(wanted_.size(), 1);  // As in TensorFlow, there is always one place.
    int64_t text_bytes = 0;
    SLUICE_RETURN_IF_ERROR(CountValues(messages, sizes->flat<int32_t>(), &longest, &text_bytes));
    return GiveValues(context, messages, longest, text_bytes, dims);
  }

 private:
  static absl::Status Malformed(size_t message) {
    return Error(ErrorCode::kOpDataLoss)
        .Input(0, "bytes")
        .Text(absl::StrCat("element ", message, " is not a well-formed message"));
  }

  // How many values each message has of each field; one at most where a field is not repeated.
  absl::Status CountValues(absl::Span<const absl::string_view> messages, absl::Span<int32_t> sizes,
                           std::vector<int64_t>* longest, int64_t* text_bytes) const {
    std::fill(sizes.begin(), sizes.end(), 0);
    for (size_t i = 0; i < messages.size(); ++i) {
      const absl::Span<int32_t> own = sizes.subspan(i * wanted_.size(), wanted_.size());
      const auto count = [&](const WantedField& wanted, const FieldValue& value) {
        *text_bytes += static_cast<int64_t>(value.text.size());
        int32_t& size = own[wanted.index];
        size = wanted.field->is_repeated ? size + 1 : 1;  // No overflow: a value takes a byte.
      };
      const auto always = [](const WantedField&) { return true; };
      if (!VisitMessage(messages[i], wanted_, always, count)) return Malformed(i);
      for (size_t f = 0; f < own.size(); ++f) (*longest)[f] = std::max<int64_t>((*longest)[f], own[f]);
    }
    return absl::OkStatus();
  }

  // `found` and the texts that may stand in place of missing values; the largest number where there are more.
  int64_t TextBytes(size_t messages, const std::vector<int64_t>& longest, int64_t found) const {
    for (const WantedField& wanted : wanted_) {
      int64_t places, bytes;
      if (!CheckedMul(static_cast<int64_t>(messages), longest[wanted.index], &places) ||
          !CheckedMul(places, static_cast<int64_t>(wanted.field->default_text.size()), &bytes) ||
          !CheckedAdd(found, bytes, &found)) {
        return std::numeric_limits<int64_t>::max();
      }
    }
    return found;
  }

  absl::Status GiveValues(KernelContext& context, absl::Span<const absl::string_view> messages,
                          const std::vector<int64_t>& longest, int64_t text_bytes, IndexVector dims) const {
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, TextBytes(messages.size(), longest, text_bytes)));
    std::vector<Tensor*> outputs(wanted_.size());
    for (size_t f = 0; f < wanted_.size(); ++f) {
      dims.back() = longest[f];
      SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
      SLUICE_ASSIGN_OR_RETURN(outputs[f], context.AllocateOutput(1 + static_cast<int>(f), shape));
    }
    for (size_t i = 0; i < messages.size(); ++i) {
      std::vector<size_t> next(wanted_.size(), 0);
      const auto place = [&](size_t f) { return i * static_cast<size_t>(longest[f]) + next[f]; };
      // As in TensorFlow: a packed field is an error once the output row is full, even if the field is empty; packed
      // values of a field that is not repeated are counted, but not kept.
      const auto has_place = [&](const WantedField& wanted) {
        return next[wanted.index] < static_cast<size_t>(longest[wanted.index]);
      };
      const auto store = [&](const WantedField& wanted, const FieldValue& value) {
        const size_t f = wanted.index;
        if (!wanted.field->is_repeated) {
          if (value.is_packed) return;
          next[f] = 0;  // The last value counts.
        }
        Store(*wanted.field, value, outputs[f], place(f));
        ++next[f];
      };
      if (!VisitMessage(messages[i], wanted_, has_place, store)) return Malformed(i);
      for (const WantedField& wanted : wanted_) {
        const size_t f = wanted.index;
        const FieldValue missing = {wanted.field->default_bits, wanted.field->default_text};
        for (; next[f] < static_cast<size_t>(longest[f]); ++next[f]) {
          Store(*wanted.field, missing, outputs[f], place(f));
        }
      }
    }
    return absl::OkStatus();
  }

  std::unique_ptr<MessageType> type_;
  std::vector<WantedField> wanted_;
  bool is_text_ = false;
  bool is_rewritten_ = false;
};

constexpr KernelRow kRows[] = {KernelRow("DecodeProtoV2", &New<DecodeKernel>)};

}  // namespace

absl::Span<const KernelRow> DecodeProtoKernels() { return kRows; }

}  // namespace sluice
