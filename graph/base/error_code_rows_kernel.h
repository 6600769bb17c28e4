#ifndef SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_KERNEL_H_
#define SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_KERNEL_H_

// Rows 26xx, 42xx and 51xx of the error table: what kernels say, what ends a step, and the state of resources.
// Only error_code.cc includes this.

#include "absl/status/status.h"
#include "graph/base/error_code.h"

namespace sluice {

inline constexpr ErrorCodeRow kKernelRows[] = {
    {ErrorCode::kOpShape, absl::StatusCode::kInvalidArgument, "An input has a shape that the op cannot take.",
     "The rank or a size of one input breaks a rule of the op.",
     "SLC2601: MatMul 'y': input 0 'x:0': found [3], expected a matrix", "Reshape the input."},
    {ErrorCode::kOpShapes, absl::StatusCode::kInvalidArgument, "The shapes of the inputs do not match.",
     "Sizes that must be equal, or broadcast, differ.",
     "SLC2602: AddV2 'y': found [2,3] and [4], expected shapes that broadcast",
     "Make the sizes equal, or 1 where they should be repeated."},
    {ErrorCode::kOpValue, absl::StatusCode::kInvalidArgument, "An input has a value that the op cannot take.",
     "A size, an axis, an index or another number among the inputs breaks a rule of the op.",
     "SLC2603: Sum 'y': input 1 'axis:0': found axis 4, expected -2 to 1", "Correct the value that the message shows."},
    {ErrorCode::kOpRange, absl::StatusCode::kOutOfRange, "An input is out of range.",
     "An index or a counter is beyond the end.", "SLC2604: CountUpTo 'n': reached the limit 10",
     "Stop there: some ops end a sequence this way."},
    {ErrorCode::kOpUnimplemented, absl::StatusCode::kUnimplemented, "The kernel does not support this combination.",
     "The op exists, but not for this rank, layout or type.", "SLC2605: Reverse 'y': found rank 9, expected at most 8",
     "Use the form that the message names."},
    {ErrorCode::kOpPrecondition, absl::StatusCode::kFailedPrecondition, "The op cannot be computed in this state.",
     "Something that should have been done before has not been.", "SLC2606: Cross 'y': found sizes 3 and 4",
     "See the message for what is missing."},
    {ErrorCode::kOpBroken, absl::StatusCode::kInternal, "The computation failed.",
     "The op failed in a way for which TensorFlow gives the status INTERNAL, and so does Sluice.",
     "SLC2607: TruncateDiv 'y': division by zero", "Correct the input that the message names."},
    {ErrorCode::kOpTooLarge, absl::StatusCode::kInvalidArgument, "The result would be too large.",
     "The number of elements or bytes of an output is beyond what can be counted.",
     "SLC2608: Fill 'y': found [4294967296,4294967296]", "Correct the sizes."},
    {ErrorCode::kOpNotFound, absl::StatusCode::kNotFound, "The op did not find what it looked up.",
     "A name or a key has no entry.", "SLC2609: LookupTable 't': no such key", "Correct the name or the key."},
    {ErrorCode::kOpAttr, absl::StatusCode::kInvalidArgument, "An attr has a value that the kernel cannot take.",
     "The attrs contradict each other or the inputs.", "SLC2610: Squeeze 'y': attr 'squeeze_dims': axis 5 of rank 2",
     "Correct the attr."},
    {ErrorCode::kOpDataLoss, absl::StatusCode::kDataLoss, "Serialized data is damaged.",
     "Bytes that the op reads as a message, a record or a compressed block do not have that form.",
     "SLC2611: DecodeProtoV2 'd': the message ends in the middle of a field", "Look at where the bytes come from."},
};

inline constexpr ErrorCodeRow kStepRows[] = {
    {ErrorCode::kRunCancelled, absl::StatusCode::kCancelled, "The run was cancelled.",
     "The caller cancelled it, or another part of the same step failed first.", "SLC4201: the run was cancelled",
     "Look for the error that came first."},
    {ErrorCode::kDeadline, absl::StatusCode::kDeadlineExceeded, "The run took longer than its deadline.",
     "The deadline of the run, or the time limit of the session, has passed. All work was stopped before this answer.",
     "SLC4202: the deadline of 2s has passed", "Give more time, or see with --trace where the time goes."},
    {ErrorCode::kSessionClosed, absl::StatusCode::kCancelled, "The session is closed.",
     "Close() was called, or the session was reset.", "SLC4203: the session is closed", "Make a new session."},
    {ErrorCode::kOutputMissing, absl::StatusCode::kInternal, "A kernel did not set an output.",
     "The kernel returned OK without a value for an output that is needed.", "SLC4204: Darth 'd': output 0 was not set",
     "Correct the kernel."},
    {ErrorCode::kOutputType, absl::StatusCode::kInternal, "A node gave a value of another dtype than declared.",
     "The op's signature says one dtype, and the kernel, a peer or a stack gave another.",
     "SLC4205: _Recv 'r': output 0: found float64, expected float32",
     "Give both ends one dtype: a pop that of its stack, a receive that of its send. Correct the kernel where it is "
     "yours."},
    {ErrorCode::kFacilityMissing, absl::StatusCode::kInternal, "The run lacks something that a node needs.",
     "Sends and receives need a rendezvous, _Arg and _Retval a call frame, session handles a session.",
     "SLC4206: _Send 's': the run has no rendezvous", "Set the member of Executor::Args that the message names."},
    {ErrorCode::kMergeTwice, absl::StatusCode::kInternal, "A Merge received two values.",
     "At most one input of a Merge may be live in an iteration; here both branches ran.",
     "SLC4207: Merge 'm': inputs 0 and 1 are both live", "Feed the Merge from the two sides of one Switch."},
    {ErrorCode::kKernelException, absl::StatusCode::kInternal, "A kernel threw an exception.",
     "A library below the kernel failed.", "SLC4208: FFT 'f': exception: bad plan", "Report it with the graph."},
    {ErrorCode::kAssertFailed, absl::StatusCode::kInvalidArgument, "An Assert of the graph failed.",
     "The graph checks a condition itself, and it is false.",
     "SLC4209: Assert 'a': condition is false: [x must be > 0] [-1]",
     "The values after the colon are what the graph's author wanted you to see."},
    {ErrorCode::kInputDead, absl::StatusCode::kInternal, "A node ran without one of its inputs.",
     "Only Merge and transfers may; this is a fault of the scheduler or of a rewritten graph.",
     "SLC4210: AddV2 'a': input 1 has no value", "Report it with the graph."},
    {ErrorCode::kRefExpected, absl::StatusCode::kInvalidArgument,
     "The input must be a reference to a variable, but is a value.",
     "Assign and similar ops write into their first input, which must be a reference to a variable.",
     "SLC4211: Assign 'a': input 0 is not a reference", "Connect the variable itself."},
    {ErrorCode::kAborted, absl::StatusCode::kAborted, "The step was aborted.",
     "The rendezvous of the step was aborted by the host program, or a peer was lost.", "SLC4212: the step was aborted",
     "Run the step again."},
    {ErrorCode::kPartialRun, absl::StatusCode::kInvalidArgument, "A partial run was used wrongly.",
     "Each feed and each fetch may be used once, and a fetch only when all feeds that it needs were given.",
     "SLC4213: fetch 'y:0' needs feed 'x:0', which was not given yet", "Give the feed first, or in the same call."},
    {ErrorCode::kTensorHandle, absl::StatusCode::kInvalidArgument, "No tensor has this handle.",
     "The handle was never handed out, belongs to another session, or its tensor was deleted.",
     "SLC4214: GetSessionTensor 'g': no tensor for handle 'h;1;CPU:0'", "Keep the handle and its session together."},
    {ErrorCode::kStalled, absl::StatusCode::kDeadlineExceeded, "The step makes no progress.",
     "No node can run, and what the step waits for (a value, a lock, a peer) does not come.",
     "SLC4215: no progress for 10s; waiting: _Recv 'r'", "Look at the keys and nodes that the message lists."},
    {ErrorCode::kHostKernel, absl::StatusCode::kInvalidArgument, "A kernel or a plug-in cannot be registered.",
     "Two kernels for one op, type and device, or one for an op that does not exist; or a plug-in's library that "
     "cannot "
     "be opened, is not a plug-in, was built for another version of the interface, or has failed.",
     "SLC4216: plug-in 'libmine.so' was built for another version of the interface: found 2.0, expected 1.0 to 1.0",
     "Register each kernel once, after its op; build a plug-in again with the kernels/plugin/plugin_api.h of this "
     "version."},
};

inline constexpr ErrorCodeRow kResourceRows[] = {
    {ErrorCode::kUninitialized, absl::StatusCode::kFailedPrecondition, "A variable is used before it has a value.",
     "Nothing was assigned to it in this session.",
     "SLC5101: ReadVariableOp 'r': input 0 'w' is the handle of variable 'w', which has no value yet",
     "Restore a checkpoint first, or run the graph's init op; of a trained model that gives initial values only."},
    {ErrorCode::kResourceMissing, absl::StatusCode::kNotFound, "The resource does not exist.",
     "A variable, table, stack or queue of this name was not created in this session, or was deleted.",
     "SLC5102: AssignAddVariableOp 'a': there is no Var 'w' in container 'localhost'",
     "Create it first; run the graph's init op."},
    {ErrorCode::kResourceType, absl::StatusCode::kInvalidArgument, "A resource is of another kind, type or shape.",
     "The handle belongs to another kind of resource than the op works on.",
     "SLC5103: ReadVariableOp 'r': found a variable of int32, expected float32", "Connect the right handle."},
    {ErrorCode::kResourceExists, absl::StatusCode::kAlreadyExists, "A resource of this name exists already.",
     "Two nodes make resources of one kind under one name.", "SLC5104: 'w' exists already", "Use two names."},
    {ErrorCode::kStackEmpty, absl::StatusCode::kInvalidArgument, "A stack is empty, or full.",
     "There are more pops than pushes, or more pushes than max_size.", "SLC5105: StackPopV2 'p': the stack is empty",
     "Balance pushes and pops."},
    {ErrorCode::kTensorArray, absl::StatusCode::kInvalidArgument, "A TensorArray is used against its rules.",
     "An element is written twice, read twice with clear_after_read, or has another dtype or shape.",
     "SLC5106: TensorArrayReadV3 'r': element 3 was read before and is gone",
     "See the attrs of the node that made the array."},
    {ErrorCode::kTensorArrayIndex, absl::StatusCode::kInvalidArgument, "A TensorArray has no such element.",
     "The index is below zero or not below the size, and the array does not grow.",
     "SLC5107: TensorArrayWriteV3 'w': index 5, size 5", "Correct the index or make the array larger."},
    {ErrorCode::kResourceClosed, absl::StatusCode::kCancelled, "A resource was closed.",
     "A queue, a stack or an array was closed and accepts no further elements.",
     "SLC5108: QueueEnqueueV2 'e': the queue is closed", "Stop there, or create a new one."},
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_KERNEL_H_
