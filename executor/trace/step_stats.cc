#include "executor/trace/step_stats.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/hash_table.h"

namespace sluice {
namespace {

constexpr int64_t kNanosPerMicro = 1000;

void SetTimes(const NodeRecord& record, proto::NodeExecStats* stats) {
  const int64_t duration_ns = record.end_ns - record.start_ns;
  stats->set_scheduled_nanos(record.scheduled_ns);
  stats->set_scheduled_micros(record.scheduled_ns / kNanosPerMicro);
  stats->set_all_start_nanos(record.start_ns);
  stats->set_all_start_micros(record.start_ns / kNanosPerMicro);
  stats->set_op_start_rel_nanos(0);
  stats->set_op_start_rel_micros(0);
  stats->set_op_end_rel_nanos(duration_ns);
  stats->set_op_end_rel_micros(duration_ns / kNanosPerMicro);
  stats->set_all_end_rel_nanos(duration_ns);
  stats->set_all_end_rel_micros(duration_ns / kNanosPerMicro);
}

void AddOutput(const OutputRecord& output, proto::NodeExecStats* stats) {
  proto::NodeOutput* const result = stats->add_output();
  result->set_slot(output.slot);
  proto::TensorDescription* const description = result->mutable_tensor_description();
  description->set_dtype(static_cast<proto::DataType>(output.dtype));
  for (const int64_t dim : output.shape.dims()) description->mutable_shape()->add_dim()->set_size(dim);
  description->mutable_allocation_description()->set_requested_bytes(output.bytes);
  description->mutable_allocation_description()->set_allocated_bytes(output.bytes);
}

}  // namespace

proto::StepStats ToStepStats(absl::Span<const StepStatsCollector* const> collectors) {
  proto::StepStats step;
  HashMap<std::string, proto::DeviceStepStats*> devices;
  for (const StepStatsCollector* const collector : collectors) {
    for (const NodeRecord& record : collector->Records()) {
      const std::string device(collector->DeviceOf(record.node));
      proto::DeviceStepStats*& of_device = devices[device];
      if (of_device == nullptr) {
        of_device = step.add_dev_stats();
        of_device->set_device(device);
      }
      proto::NodeExecStats* const stats = of_device->add_node_stats();
      stats->set_node_name(std::string(collector->NameOf(record)));
      stats->set_timeline_label(collector->TimelineLabel(record));
      stats->set_thread_id(record.thread_id);
      (*of_device->mutable_thread_names())[record.thread_id] = absl::StrCat("thread ", record.thread_id);
      SetTimes(record, stats);
      for (const OutputRecord& output : record.outputs) AddOutput(output, stats);
    }
  }
  return step;
}

proto::RunMetadata ToRunMetadata(absl::Span<const StepStatsCollector* const> collectors) {
  proto::RunMetadata metadata;
  *metadata.mutable_step_stats() = ToStepStats(collectors);
  return metadata;
}

}  // namespace sluice
