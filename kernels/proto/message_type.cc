#include "kernels/proto/message_type.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/stubs/logging.h"
#include "google/protobuf/text_format.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

// The messages that every TensorFlow program knows and that hold data.
constexpr char kLocalFile[] = R"pb(
  name: "tensorflow/core/example/example.proto"
  package: "tensorflow"
  syntax: "proto3"
  message_type {
    name: "BytesList"
    field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES }
  }
  message_type {
    name: "FloatList"
    field {
      name: "value"
      number: 1
      label: LABEL_REPEATED
      type: TYPE_FLOAT
      options { packed: true }
    }
  }
  message_type {
    name: "Int64List"
    field {
      name: "value"
      number: 1
      label: LABEL_REPEATED
      type: TYPE_INT64
      options { packed: true }
    }
  }
  message_type {
    name: "Feature"
    field {
      name: "bytes_list"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".tensorflow.BytesList"
      oneof_index: 0
    }
    field {
      name: "float_list"
      number: 2
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".tensorflow.FloatList"
      oneof_index: 0
    }
    field {
      name: "int64_list"
      number: 3
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".tensorflow.Int64List"
      oneof_index: 0
    }
    oneof_decl { name: "kind" }
  }
  message_type {
    name: "Features"
    field {
      name: "feature"
      number: 1
      label: LABEL_REPEATED
      type: TYPE_MESSAGE
      type_name: ".tensorflow.Features.FeatureEntry"
    }
    nested_type {
      name: "FeatureEntry"
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".tensorflow.Feature" }
      options { map_entry: true }
    }
  }
  message_type {
    name: "FeatureList"
    field { name: "feature" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".tensorflow.Feature" }
  }
  message_type {
    name: "FeatureLists"
    field {
      name: "feature_list"
      number: 1
      label: LABEL_REPEATED
      type: TYPE_MESSAGE
      type_name: ".tensorflow.FeatureLists.FeatureListEntry"
    }
    nested_type {
      name: "FeatureListEntry"
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".tensorflow.FeatureList" }
      options { map_entry: true }
    }
  }
  message_type {
    name: "Example"
    field { name: "features" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".tensorflow.Features" }
  }
  message_type {
    name: "SequenceExample"
    field { name: "context" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".tensorflow.Features" }
    field {
      name: "feature_lists"
      number: 2
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".tensorflow.FeatureLists"
    }
  }
)pb";

// Keeps the first complaint instead of printing all.
class FirstError final : public pb::DescriptorPool::ErrorCollector {
 public:
  void AddError(const std::string& file, const std::string& element, const pb::Message*, ErrorLocation,
                const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat(file, ": ", element, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Swallows the complaints of the parser of texts, which prints them otherwise.
class Silence final : public pb::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string&) override {}
};

absl::Status BadSource(absl::string_view found) {
  return AttrError("descriptor_source", found, "local://, or bytes:// and a FileDescriptorSet");
}

// protobuf counts bytes by int.
bool IsTooLong(absl::string_view bytes) { return bytes.size() > std::numeric_limits<int>::max(); }

// The files in `source`.
absl::StatusOr<pb::FileDescriptorSet> ReadSource(const std::string& source) {
  pb::FileDescriptorSet files;
  absl::string_view rest = source;
  if (source.empty() || source == "local://") {
    SLUICE_CHECK(pb::TextFormat::ParseFromString(kLocalFile, files.add_file()));
    return files;
  }
  if (!absl::ConsumePrefix(&rest, "bytes://")) return BadSource(source);
  if (!IsTooLong(rest) && files.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) return files;
  return BadSource("bytes that are not a FileDescriptorSet");
}

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

// The field's default value.
void SetDefault(const Field& from, MessageField* field) {
  switch (from.cpp_type()) {
    case Field::CPPTYPE_DOUBLE:
      field->default_bits = BitsOf(from.default_value_double());
      return;
    case Field::CPPTYPE_FLOAT:
      field->default_bits = BitsOf(from.default_value_float());
      return;
    case Field::CPPTYPE_INT64:
      field->default_bits = static_cast<uint64_t>(from.default_value_int64());
      return;
    case Field::CPPTYPE_UINT64:
      field->default_bits = from.default_value_uint64();
      return;
    case Field::CPPTYPE_INT32:
      field->default_bits = static_cast<uint64_t>(int64_t{from.default_value_int32()});
      return;
    case Field::CPPTYPE_UINT32:
      field->default_bits = from.default_value_uint32();
      return;
    case Field::CPPTYPE_BOOL:
      field->default_bits = from.default_value_bool() ? 1 : 0;
      return;
    case Field::CPPTYPE_ENUM:
      field->default_bits = static_cast<uint64_t>(int64_t{from.default_value_enum()->number()});
      return;
    case Field::CPPTYPE_STRING:
      field->default_text = from.default_value_string();
      return;
    default:
      return;
  }
}

}  // namespace

// Protobuf's part. The factory locks.
struct MessageType::Descriptors {
  pb::DescriptorPool pool;
  const pb::Descriptor* type = nullptr;
  pb::DynamicMessageFactory factory{&pool};
  const pb::Message* prototype = nullptr;  // The factory's.
};

MessageType::MessageType() : descriptors_(std::make_unique<Descriptors>()) {}
MessageType::~MessageType() = default;

absl::StatusOr<std::unique_ptr<MessageType>> MessageType::Make(const std::string& source, const std::string& name,
                                                               absl::Span<const std::string> field_names) {
  std::unique_ptr<MessageType> made(new MessageType());  // NOLINT: the constructor is private.
  Descriptors& all = *made->descriptors_;
  SLUICE_ASSIGN_OR_RETURN(const pb::FileDescriptorSet files, ReadSource(source));
  for (const pb::FileDescriptorProto& file : files.file()) {
    FirstError error;
    if (all.pool.BuildFileCollectingErrors(file, &error) == nullptr) return BadSource(error.text());
  }
  all.type = all.pool.FindMessageTypeByName(name);
  if (all.type == nullptr) {
    return Error(ErrorCode::kOpAttr)
        .Attr("message_type")
        .Found(name)
        .Expected("a message that attr descriptor_source describes")
        .Help("state descriptor_source = bytes:// and a FileDescriptorSet");
  }
  for (const std::string& field : field_names) SLUICE_RETURN_IF_ERROR(made->AddField(field));
  all.prototype = all.factory.GetPrototype(all.type);
  return made;
}

absl::Status MessageType::AddField(const std::string& name) {
  const Field* from = descriptors_->type->FindFieldByName(name);
  if (from == nullptr) {
    const Field* const extension = descriptors_->pool.FindExtensionByName(name);
    if (extension != nullptr && extension->containing_type() == descriptors_->type) from = extension;
  }
  if (from == nullptr) {
    return AttrError("field_names", name, absl::StrCat("fields of ", descriptors_->type->full_name()));
  }
  MessageField field;
  field.name = from->name();
  field.type_name = from->type_name();
  field.type = static_cast<FieldType>(from->type());
  field.number = from->number();
  field.is_repeated = from->is_repeated();
  field.is_packed = from->options().packed();  // As TensorFlow asks: what the file says, not what proto3 does.
  SetDefault(*from, &field);
  fields_.push_back(std::move(field));
  return absl::OkStatus();
}

bool MessageType::Rewrite(absl::string_view message, bool is_text, std::string* bytes) const {
  const pb::LogSilencer silencer;  // Of texts that are not UTF-8.
  const std::unique_ptr<pb::Message> parsed(descriptors_->prototype->New());
  if (!is_text) {
    return !IsTooLong(message) && parsed->ParseFromArray(message.data(), static_cast<int>(message.size())) &&
           parsed->SerializeToString(bytes);
  }
  pb::TextFormat::Parser parser;
  Silence silence;
  parser.RecordErrorsTo(&silence);
  parser.SetRecursionLimit(100);
  return parser.ParseFromString(std::string(message), parsed.get()) && parsed->SerializeToString(bytes);
}

}  // namespace sluice
