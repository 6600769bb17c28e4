#include "tests/stress/fault_plan.h"

namespace sluice {

const char* FaultName(Fault fault) {
  switch (fault) {
    case Fault::kNone:
      return "none";
    case Fault::kAllocation:
      return "allocation";
    case Fault::kError:
      return "error";
    case Fault::kThrow:
      return "exception";
    case Fault::kThrowBadAlloc:
      return "bad_alloc";
    case Fault::kThrowOther:
      return "odd exception";
    case Fault::kThrowInShard:
      return "exception in a shard";
    case Fault::kDroppedDone:
      return "dropped callback";
    case Fault::kCancel:
      return "cancellation";
    case Fault::kDeadline:
      return "deadline";
  }
  return "?";
}

}  // namespace sluice
