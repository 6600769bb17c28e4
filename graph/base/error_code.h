#ifndef SLUICE_GRAPH_BASE_ERROR_CODE_H_
#define SLUICE_GRAPH_BASE_ERROR_CODE_H_

// The stable numbers of our errors. A number never changes its meaning; the table in error_code.cc has, for each,
// the canonical code, cause, an example and the fix (`sluice explain SLC2104`).
// Ranges: 1xxx file and protobuf, 2xxx node, type, shape, 3xxx control flow and functions, 4xxx run time,
// 5xxx resources and checkpoints, 6xxx cluster, 7xxx limits, 8xxx the tape, 9xxx ours.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice {

enum class ErrorCode : int32_t {
  // File and protobuf.
  kFileMissing = 1001,
  kFileRead = 1002,
  kFileNotGraph = 1003,
  kFileWire = 1004,
  kFileTruncated = 1005,
  kFileText = 1006,
  kFileVersion = 1007,
  kFileBadVersion = 1008,
  kFileWrite = 1009,
  kFileEmpty = 1010,
  kNumpy = 1020,
  kSavedModelMissing = 1030,
  kSavedModelTags = 1031,
  kSavedModelSignature = 1032,
  kSavedModelKind = 1033,
  kSavedModelSignatureUnknown = 1034,  // Requested by name; 1032 is for wrong ones.
  // Nodes, attrs, types, shapes.
  kNodeName = 2001,
  kNodeDuplicate = 2002,
  kOpUnknown = 2003,
  kOpDeprecated = 2004,
  kOpInternal = 2005,
  kOpSchema = 2006,
  kNodeMissing = 2007,
  kInputSyntax = 2101,
  kInputUnknown = 2102,
  kInputSlot = 2103,
  kInputOrder = 2104,
  kInputCount = 2105,
  kInputType = 2106,
  kInputRef = 2107,
  kAttrMissing = 2201,
  kAttrKind = 2202,
  kAttrValue = 2203,
  kAttrUnbound = 2204,
  kAttrRequired = 2205,  // Missing, but not needed to know the node's types (2201 is).
  kTensorDType = 2301,
  kTensorShape = 2302,
  kTensorContent = 2303,
  kTensorValue = 2304,
  kTensorKind = 2305,
  kTensorTooLarge = 2306,  // One Const above max_tensor_bytes; the code TensorFlow gives.
  kShapeMismatch = 2401,
  kShapeRank = 2402,
  kShapeValue = 2403,
  kDeviceName = 2501,
  kDeviceUnknown = 2502,
  kColocation = 2503,
  kNoKernel = 2504,
  kPartition = 2505,
  kUnsupported = 2506,
  // Kernels about their inputs; one for each canonical code that TensorFlow's kernels return.
  kOpShape = 2601,
  kOpShapes = 2602,
  kOpValue = 2603,
  kOpRange = 2604,
  kOpUnimplemented = 2605,
  kOpPrecondition = 2606,
  kOpBroken = 2607,
  kOpTooLarge = 2608,
  kOpNotFound = 2609,
  kOpAttr = 2610,
  kOpDataLoss = 2611,
  // Control flow and functions.
  kCycle = 3001,
  kFrame = 3002,
  kFrameMixed = 3003,
  kFrameParent = 3004,
  kFrameName = 3005,
  kLoopCond = 3006,
  kNextIteration = 3007,
  kMerge = 3008,
  kParallelIterations = 3009,
  kFunctionUnknown = 3101,
  kFunctionDuplicate = 3102,
  kFunctionRecursion = 3103,
  kFunctionSignature = 3104,
  kFunctionRet = 3105,
  kFunctionArity = 3106,
  kFunctionBody = 3107,
  kFunctionGradient = 3108,
  kBranchMismatch = 3109,
  kFunctionExists = 3110,
  kFunctionMissing = 3111,  // Of If, Case, While; 3101 is for calls.
  // Running.
  kFeedUnknown = 4001,
  kFeedTwice = 4002,
  kFeedType = 4003,
  kFeedShape = 4004,
  kFeedMissing = 4005,
  kFetchUnknown = 4006,
  kFetchSlot = 4007,
  kFetchNoOutput = 4008,
  kFetchDead = 4009,
  kFetchInFrame = 4010,
  kFedAndFetched = 4011,
  kTargetUnknown = 4012,
  kNothingToRun = 4013,
  kCannotRun = 4014,
  kValueSyntax = 4015,
  kFeedSlot = 4016,
  kKeySyntax = 4101,
  kReceiveCancelled = 4102,
  kRunCancelled = 4201,
  kDeadline = 4202,
  kSessionClosed = 4203,
  kOutputMissing = 4204,
  kOutputType = 4205,
  kFacilityMissing = 4206,
  kMergeTwice = 4207,
  kKernelException = 4208,
  kAssertFailed = 4209,
  kInputDead = 4210,
  kRefExpected = 4211,
  kAborted = 4212,
  kPartialRun = 4213,
  kTensorHandle = 4214,
  kStalled = 4215,
  kHostKernel = 4216,
  // Resources and checkpoints.
  kCheckpointMissing = 5001,
  kCheckpointDamaged = 5002,
  kCheckpointShort = 5003,
  kCheckpointEntry = 5004,
  kCheckpointSlice = 5005,
  kPathEscape = 5006,
  kCheckpointName = 5007,
  kUninitialized = 5101,
  kResourceMissing = 5102,
  kResourceType = 5103,
  kResourceExists = 5104,
  kStackEmpty = 5105,
  kTensorArray = 5106,
  kTensorArrayIndex = 5107,
  kResourceClosed = 5108,
  // Limits.
  kLimitFileSize = 7001,
  kLimitDepth = 7002,
  kLimitNodes = 7003,
  kLimitName = 7004,
  kLimitAttrs = 7005,
  kLimitInputs = 7006,
  kLimitCallDepth = 7007,
  kLimitFrames = 7008,
  kLimitTensorBytes = 7009,
  kLimitRank = 7010,
  kOutOfMemory = 7011,
  kLimitAttrBytes = 7012,
  kLimitRuns = 7013,
  // The tape: wrong steps of a define-by-run program.
  kTapeUndefined = 8001,     // A variable without a value.
  kTapeForeign = 8002,       // A variable of another tape.
  kTapeNeedsNoGrad = 8003,   // A variable that requires no gradient, where one is needed.
  kTapeRoot = 8004,          // A root whose gradient must be given, or gradients that do not match the roots.
  kTapeUnused = 8005,        // An input of Grad that the roots do not depend on.
  kTapeFreed = 8006,         // A second pass through a node whose saved values the first one freed.
  kTapeModified = 8007,      // A saved value that an assignment has changed since.
  kTapeLeafAssigned = 8008,  // A leaf that requires a gradient, assigned to while ops are recorded.
  kTapeHook = 8009,          // A missing hook, or one that returned an unsuitable gradient.
  kTapeFunction = 8010,      // A custom function that breaks its contract.
  kTapeNoDerivative = 8011,  // An op without a gradient between a root and an input.
  // Ours.
  kInternal = 9001,
  kWrongUse = 9002,
  kForeign = 9003,  // A status not made by Sluice, with facts added. Keeps its canonical code.
};

// One row of the table. Static text, lives for ever.
struct ErrorCodeRow {
  ErrorCode code;
  absl::StatusCode canonical;
  absl::string_view title;    // A short sentence.
  absl::string_view cause;    // What leads to it, for new readers.
  absl::string_view example;  // A first line as it may be printed, or the input that causes it.
  absl::string_view fix;      // What to do.
};

// All rows, by ascending code.
absl::Span<const ErrorCodeRow> AllErrorCodes();

// The row of `code`, or null for a number that is not in the table.
const ErrorCodeRow* FindErrorCode(int32_t code);

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_CODE_H_
