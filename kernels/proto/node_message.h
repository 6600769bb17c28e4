#ifndef SLUICE_KERNELS_PROTO_NODE_MESSAGE_H_
#define SLUICE_KERNELS_PROTO_NODE_MESSAGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "kernels/kernel_construction.h"
#include "kernels/proto/message_type.h"

namespace sluice {

// The message type that a node's attrs message_type and descriptor_source state, with the fields of attr field_names.
absl::StatusOr<std::unique_ptr<MessageType>> MessageTypeOf(const KernelConstruction& construction);

// Whether values of the field can be elements of `dtype`.
bool CanHold(DType dtype, const MessageField& field);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PROTO_NODE_MESSAGE_H_
