#ifndef SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_
#define SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "graph/value/dtype.h"
#include "kernels/kernel_construction.h"

namespace sluice {

// The message type that a node's attrs message_type and descriptor_source state, and the fields that it names.
// Owns the descriptors. Immutable; thread-safe.
class MessageType {
 public:
  using Field = google::protobuf::FieldDescriptor;

  // kOpAttr for descriptors that are none, and for a type that is not among them. Of "local://" these are
  // tensorflow.Example, tensorflow.SequenceExample and what they consist of; all others have to come with the node
  // ("bytes://" and a FileDescriptorSet).
  static absl::StatusOr<std::unique_ptr<MessageType>> Make(const KernelConstruction& construction);

  const google::protobuf::Descriptor& descriptor() const { return *descriptor_; }
  const google::protobuf::DescriptorPool& pool() const { return *pool_; }
  // In the order of attr field_names.
  const std::vector<const Field*>& fields() const { return fields_; }

 private:
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;
  const google::protobuf::Descriptor* descriptor_ = nullptr;
  std::vector<const Field*> fields_;
};

// Whether values of the field can be elements of `dtype`.
bool CanHold(DType dtype, const MessageType::Field& field);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PROTO_MESSAGE_TYPE_H_
