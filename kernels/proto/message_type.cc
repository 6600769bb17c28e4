#include "kernels/proto/message_type.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "graph/base/check.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

namespace pb = google::protobuf;

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

absl::Status BadSource(absl::string_view found) {
  return Error(ErrorCode::kOpAttr).Attr("descriptor_source").Found(found).Expected("descriptors of messages");
}

// The files in `source`.
absl::StatusOr<pb::FileDescriptorSet> ReadSource(const std::string& source) {
  pb::FileDescriptorSet files;
  absl::string_view rest = source;
  if (source.empty() || source == "local://") {
    SLUICE_CHECK(pb::TextFormat::ParseFromString(kLocalFile, files.add_file()));
    return files;
  }
  if (!absl::ConsumePrefix(&rest, "bytes://")) {
    return Error(ErrorCode::kOpAttr)
        .Attr("descriptor_source")
        .Found(source)
        .Expected("local:// or bytes:// and a FileDescriptorSet")
        .Help("put the bytes of the file behind bytes://");
  }
  if (!files.ParseFromArray(rest.data(), static_cast<int>(rest.size()))) {
    return BadSource("bytes that are not a FileDescriptorSet");
  }
  return files;
}

}  // namespace

absl::StatusOr<std::unique_ptr<MessageType>> MessageType::Make(const KernelConstruction& construction) {
  auto type = std::make_unique<MessageType>();
  SLUICE_ASSIGN_OR_RETURN(const std::string source, construction.Get<std::string>("descriptor_source"));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, construction.Get<std::string>("message_type"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                          construction.Get<std::vector<std::string>>("field_names"));
  SLUICE_ASSIGN_OR_RETURN(const pb::FileDescriptorSet files, ReadSource(source));
  type->pool_ = std::make_unique<pb::DescriptorPool>();
  for (const pb::FileDescriptorProto& file : files.file()) {
    FirstError error;
    if (type->pool_->BuildFileCollectingErrors(file, &error) == nullptr) return BadSource(error.text());
  }
  type->descriptor_ = type->pool_->FindMessageTypeByName(name);
  if (type->descriptor_ == nullptr) {
    return Error(ErrorCode::kOpAttr)
        .Attr("message_type")
        .Found(name)
        .Expected("a message that attr descriptor_source describes")
        .Help("state descriptor_source = bytes:// and a FileDescriptorSet");
  }
  for (const std::string& field_name : names) {
    const Field* field = type->descriptor_->FindFieldByName(field_name);
    if (field == nullptr) {
      const Field* const extension = type->pool_->FindExtensionByName(field_name);
      if (extension != nullptr && extension->containing_type() == type->descriptor_) field = extension;
    }
    if (field == nullptr) {
      return Error(ErrorCode::kOpAttr).Attr("field_names").Found(field_name).Expected(absl::StrCat("fields of ", name));
    }
    type->fields_.push_back(field);
  }
  return type;
}

bool CanHold(DType dtype, const MessageType::Field& field) {
  using Field = MessageType::Field;
  const auto is = [dtype](std::initializer_list<DType> types) {
    for (const DType type : types) {
      if (type == dtype) return true;
    }
    return false;
  };
  switch (field.type()) {
    case Field::TYPE_DOUBLE:
      return is({DType::kDouble});
    case Field::TYPE_FLOAT:
      return is({DType::kFloat, DType::kDouble});
    case Field::TYPE_INT64:
    case Field::TYPE_SFIXED64:
    case Field::TYPE_SINT64:
      return is({DType::kInt64});
    case Field::TYPE_UINT64:
    case Field::TYPE_FIXED64:
      return is({DType::kUInt64});
    case Field::TYPE_INT32:
    case Field::TYPE_SFIXED32:
    case Field::TYPE_SINT32:
      return is({DType::kInt32, DType::kInt64});
    case Field::TYPE_UINT32:
    case Field::TYPE_FIXED32:
      return is({DType::kUInt32, DType::kUInt64});
    case Field::TYPE_BOOL:
      return is({DType::kBool});
    case Field::TYPE_ENUM:
      return is({DType::kInt32});
    default:
      return is({DType::kString});
  }
}

}  // namespace sluice
