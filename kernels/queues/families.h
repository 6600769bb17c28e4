#ifndef SLUICE_KERNELS_QUEUES_FAMILIES_H_
#define SLUICE_KERNELS_QUEUES_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/at_start.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// {FIFO,PaddingFIFO,RandomShuffle,Priority}Queue and
// Queue{Enqueue,EnqueueMany,Dequeue,DequeueMany,DequeueUpTo,Close,Size,IsClosed}, all of them with V2 forms.
SLUICE_AT_START absl::Span<const KernelRow> QueueKernels();

// [Resource,Sparse]ConditionalAccumulator and
// [Resource,Sparse]Accumulator{ApplyGradient,TakeGradient,SetGlobalStep,NumAccumulated}.
SLUICE_AT_START absl::Span<const KernelRow> AccumulatorKernels();

// Stage, Unstage, StagePeek, StageSize, StageClear.
SLUICE_AT_START absl::Span<const KernelRow> StagingKernels();

// [Ordered]Map{Stage,Peek,Unstage,UnstageNoKey,Size,IncompleteSize,Clear}.
SLUICE_AT_START absl::Span<const KernelRow> MapStagingKernels();

// MutexV2, MutexLock, ConsumeMutexLock.
SLUICE_AT_START absl::Span<const KernelRow> MutexKernels();

// Barrier, BarrierInsertMany, BarrierTakeMany, BarrierClose, BarrierReadySize, BarrierIncompleteSize.
SLUICE_AT_START absl::Span<const KernelRow> BarrierKernels();

// Adds all of them.
SLUICE_AT_START void AddQueueKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_FAMILIES_H_
