// EncodeProto: tensors as fields of messages.

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
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

// The number in element `at` as 64 bits; of int32 sign-extended.
uint64_t NumberAt(const Tensor& values, size_t at) {
  switch (values.dtype()) {
    case DType::kBool:
      return values.flat<bool>()[at] ? 1 : 0;
    case DType::kInt32:
      return static_cast<uint64_t>(int64_t{values.flat<int32_t>()[at]});
    case DType::kUInt32:
      return values.flat<uint32_t>()[at];
    case DType::kUInt64:
      return values.flat<uint64_t>()[at];
    default:
      return static_cast<uint64_t>(values.flat<int64_t>()[at]);
  }
}

void AppendFixed(uint64_t bits, size_t size, std::string* out) {
  out->append(reinterpret_cast<const char*>(&bits), size);  // Little endian, as this machine is.
}

// The bytes of element `at` without a tag and, of texts, without a length.
void AppendValue(const Field& field, const Tensor& values, size_t at, std::string* out) {
  WireWriter writer(out);
  switch (field.type) {
    case FieldType::kDouble:
    case FieldType::kFloat: {
      const double value = values.dtype() == DType::kDouble ? values.flat<double>()[at] : values.flat<float>()[at];
      const float narrow = static_cast<float>(value);
      const bool is_wide = field.type == FieldType::kDouble;
      out->append(is_wide ? reinterpret_cast<const char*>(&value) : reinterpret_cast<const char*>(&narrow),
                  is_wide ? sizeof(value) : sizeof(narrow));
      return;
    }
    case FieldType::kFixed64:
    case FieldType::kSFixed64:
      return AppendFixed(NumberAt(values, at), 8, out);
    case FieldType::kFixed32:
    case FieldType::kSFixed32:
      return AppendFixed(NumberAt(values, at) & 0xffffffff, 4, out);
    case FieldType::kUInt32:
      return writer.RawVarint(NumberAt(values, at) & 0xffffffff);
    case FieldType::kInt32:
    case FieldType::kEnum:
      return writer.RawVarint(static_cast<uint64_t>(int64_t{static_cast<int32_t>(NumberAt(values, at))}));
    case FieldType::kSInt32: {
      const uint32_t bits = static_cast<uint32_t>(NumberAt(values, at));
      return writer.RawVarint(bits << 1 ^ (bits >> 31 != 0 ? 0xffffffff : 0));
    }
    case FieldType::kSInt64: {
      const uint64_t bits = NumberAt(values, at);
      return writer.RawVarint(bits << 1 ^ (bits >> 63 != 0 ? ~uint64_t{0} : 0));
    }
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage:
    case FieldType::kGroup: {
      const TString& text = values.flat<TString>()[at];
      out->append(text.data(), text.size());
      return;
    }
    default:
      return writer.RawVarint(NumberAt(values, at));
  }
}

// The type that a tag of the field states.
uint32_t WireNumberOf(const Field& field) {
  switch (field.type) {
    case FieldType::kDouble:
    case FieldType::kFixed64:
    case FieldType::kSFixed64:
      return 1;
    case FieldType::kString:
    case FieldType::kBytes:
    case FieldType::kMessage:
      return 2;
    case FieldType::kGroup:
      return 3;
    case FieldType::kFloat:
    case FieldType::kFixed32:
    case FieldType::kSFixed32:
      return 5;
    default:
      return 0;
  }
}

// Elements [begin, end) as values of the field.
void AppendField(const Field& field, const Tensor& values, size_t begin, size_t end, std::string* out) {
  WireWriter writer(out);
  const uint32_t number = static_cast<uint32_t>(field.number) << 3, type = WireNumberOf(field);
  if (field.is_packed) {
    std::string packed;
    for (size_t at = begin; at < end; ++at) AppendValue(field, values, at, &packed);
    writer.Bytes(static_cast<uint32_t>(field.number), packed);
    return;
  }
  for (size_t at = begin; at < end; ++at) {
    writer.RawVarint(number | type);
    if (type == 2) writer.RawVarint(values.flat<TString>()[at].size());
    AppendValue(field, values, at, out);
    if (type == 3) writer.RawVarint(number | 4);
  }
}

// Fields are written in the order of their numbers. Immutable; thread-safe.
class EncodeKernel : public Kernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    auto kernel = std::make_unique<EncodeKernel>();
    SLUICE_ASSIGN_OR_RETURN(kernel->type_, MessageTypeOf(construction));
    const std::vector<Field>& fields = kernel->type_->fields();
    for (size_t i = 0; i < fields.size(); ++i) kernel->order_.push_back(i);
    std::stable_sort(kernel->order_.begin(), kernel->order_.end(),
                     [&fields](size_t a, size_t b) { return fields[a].number < fields[b].number; });
    return kernel;
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_RETURN_IF_ERROR(CheckInputs(context));
    const Tensor& sizes = context.input(0);
    const size_t fields = order_.size();
    const absl::Span<const int64_t> dims = sizes.shape().dims();
    SLUICE_ASSIGN_OR_RETURN(const Shape batch, Shape::Make(dims.subspan(0, dims.size() - 1)));
    SLUICE_RETURN_IF_ERROR(CheckTextMemory(context, CountBytes(context)));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, batch));
    const absl::Span<TString> messages = out->flat<TString>();
    for (size_t i = 0; i < messages.size(); ++i) {
      std::string message;
      for (const size_t f : order_) {
        const int32_t size = sizes.flat<int32_t>()[i * fields + f];
        if (size <= 0) continue;
        const Tensor& values = context.input(1 + static_cast<int>(f));
        const size_t begin = i * static_cast<size_t>(values.dim(values.rank() - 1));
        AppendField(type_->fields()[f], values, begin, begin + static_cast<size_t>(size), &message);
      }
      messages[i].assign(message);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckInputs(const KernelContext& context) const {
    const std::vector<Field>& fields = type_->fields();
    const Tensor& sizes = context.input(0);
    if (context.num_inputs() - 1 != static_cast<int>(fields.size())) {
      return AttrError("field_names", absl::StrCat(fields.size(), " names"),
                       absl::StrCat(context.num_inputs() - 1, ", as there are values"));
    }
    for (int i = 1; i < context.num_inputs(); ++i) {
      const Tensor& values = context.input(i);
      const Field& field = fields[static_cast<size_t>(i) - 1];
      if (!CanHold(values.dtype(), field)) {
        return ValueError(i, "values", DTypeName(values.dtype()),
                          absl::StrCat("a type for field '", field.name, "', which is ", field.type_name));
      }
      bool fits = values.rank() >= 2 && values.rank() == context.input(1).rank() && values.rank() == sizes.rank();
      for (int d = 0; fits && d + 1 < values.rank(); ++d) fits = values.dim(d) == sizes.dim(d);
      if (!fits || sizes.dim(sizes.rank() - 1) != static_cast<int64_t>(fields.size())) {
        return ShapesError(
            i, "values", absl::StrCat(values.shape().ToString(), " with sizes ", sizes.shape().ToString()),
            absl::StrCat("matrices or more, alike but for the last axis, sizes with ", fields.size(), " on theirs"));
      }
    }
    const absl::Span<const int32_t> numbers = sizes.flat<int32_t>();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const Tensor& values = context.input(1 + static_cast<int>(i % fields.size()));
      if (numbers[i] <= values.dim(values.rank() - 1)) continue;
      return ValueError(0, "sizes", absl::StrCat(numbers[i], " at position ", i),
                        absl::StrCat("at most ", values.dim(values.rank() - 1), ", as there are values"));
    }
    return absl::OkStatus();
  }

  // A bound.
  static int64_t CountBytes(const KernelContext& context) {
    constexpr int64_t kMostOfNumber = 20;  // Tag or length, and value.
    int64_t bytes = context.input(0).num_elements() * kMostOfNumber;
    for (int i = 1; i < context.num_inputs(); ++i) {
      bytes += context.input(i).num_elements() * kMostOfNumber;
      if (context.input(i).dtype() == DType::kString) bytes += TotalBytes(context.input(i));
    }
    return bytes;
  }

  std::unique_ptr<MessageType> type_;
  std::vector<size_t> order_;
};

constexpr KernelRow kRows[] = {KernelRow("EncodeProto", &New<EncodeKernel>)};

}  // namespace

absl::Span<const KernelRow> EncodeProtoKernels() { return kRows; }

}  // namespace sluice
