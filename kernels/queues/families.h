#ifndef SLUICE_KERNELS_QUEUES_FAMILIES_H_
#define SLUICE_KERNELS_QUEUES_FAMILIES_H_

// The tables of this directory, one for each family.

#include "absl/types/span.h"
#include "kernels/kernel_row.h"

namespace sluice {

class KernelRegistry;

// {FIFO,PaddingFIFO,RandomShuffle,Priority}Queue and
// Queue{Enqueue,EnqueueMany,Dequeue,DequeueMany,DequeueUpTo,Close,Size,IsClosed}, all of them with V2 forms.
absl::Span<const KernelRow> QueueKernels();

// [Resource,Sparse]ConditionalAccumulator and
// [Resource,Sparse]Accumulator{ApplyGradient,TakeGradient,SetGlobalStep,NumAccumulated}.
absl::Span<const KernelRow> AccumulatorKernels();

// Stage, Unstage, StagePeek, StageSize, StageClear.
absl::Span<const KernelRow> StagingKernels();

// Barrier, BarrierInsertMany, BarrierTakeMany, BarrierClose, BarrierReadySize, BarrierIncompleteSize.
absl::Span<const KernelRow> BarrierKernels();

// Adds all of them.
void AddQueueKernels(KernelRegistry& registry);

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_FAMILIES_H_
