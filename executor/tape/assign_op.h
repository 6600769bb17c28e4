#ifndef SLUICE_EXECUTOR_TAPE_ASSIGN_OP_H_
#define SLUICE_EXECUTOR_TAPE_ASSIGN_OP_H_

#include <memory>

#include "absl/status/statusor.h"
#include "executor/tape/eager_op.h"
#include "graph/ir/op_registry.h"
#include "graph/value/dtype.h"

namespace sluice {

// Makes Var::Assign an op, for its node in the record ("AssignBackward"). Inputs: false, the value before, the value
// assigned, which is the result. TensorFlow has no such op without references, so it is a SelectV2 with another
// gradient: zeros for the value before, all for the other, nothing saved. The caller retires it.
absl::StatusOr<std::shared_ptr<const EagerOp>> MakeAssignOp(const OpRegistry& ops, DType type);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_ASSIGN_OP_H_
