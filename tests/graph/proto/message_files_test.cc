// Every message beside the graph's: texts as TensorFlow programs write them are read under their field names.

#include <string>

#include "google/protobuf/text_format.h"
#include "graph/proto/checkpoint.pb.h"
#include "graph/proto/config.pb.h"
#include "graph/proto/device.pb.h"
#include "graph/proto/run.pb.h"
#include "graph/proto/saved_model.pb.h"
#include "graph/proto/step_stats.pb.h"
#include "gtest/gtest.h"

namespace sluice {
namespace {

// Reads `text`, writes it as bytes and reads those: the same text again.
template <typename Message>
Message RoundTrip(const std::string& text) {
  Message message, again;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  EXPECT_TRUE(again.ParseFromString(message.SerializeAsString()));
  EXPECT_EQ(message.DebugString(), again.DebugString());
  return again;
}

TEST(MessageFilesTest, SavedModels) {
  const auto model = RoundTrip<proto::SavedModel>(R"(
    saved_model_schema_version: 1
    meta_graphs {
      meta_info_def { stripped_op_list { op { name: "Relu" } } tags: "serve" stripped_default_attrs: true
                      function_aliases { key: "f_1" value: "f" } }
      graph_def { versions { producer: 1987 } }
      saver_def { filename_tensor_name: "save/Const:0" version: V2 keep_checkpoint_every_n_hours: 10000 }
      collection_def { key: "trainable_variables" value { bytes_list { value: "\n\001x" } } }
      signature_def { key: "serving_default" value {
        inputs { key: "x" value { name: "x:0" dtype: DT_FLOAT tensor_shape { dim { size: -1 } } } }
        outputs { key: "s" value { coo_sparse { values_tensor_name: "v:0" } } }
        method_name: "tensorflow/serving/predict" } }
      asset_file_def { tensor_info { name: "a:0" } filename: "words.txt" }
      object_graph_def {
        nodes { children { node_id: 1 local_name: "v" } user_object { identifier: "_generic_user_object" version {} } }
        nodes { variable { dtype: DT_FLOAT shape {} trainable: true name: "v" } }
        concrete_functions { key: "f" value { bound_inputs: 1 output_signature { tensor_spec_value { name: "y" } } } } }
    })");
  EXPECT_EQ(model.meta_graphs(0).saver_def().version(), proto::SaverDef::V2);
}

TEST(MessageFilesTest, Checkpoints) {
  const auto entry = RoundTrip<proto::BundleEntryProto>(
      "dtype: DT_HALF shape { dim { size: 4 } } shard_id: 1 offset: 64 size: 8 crc32c: 4294967295 "
      "slices { extent { start: 0 length: 2 } } slices { extent {} }");
  EXPECT_EQ(entry.crc32c(), 4294967295u);
  EXPECT_EQ(entry.slices(1).extent(0).has_length_case(), proto::TensorSliceProto::Extent::HAS_LENGTH_NOT_SET);
  RoundTrip<proto::BundleHeaderProto>("num_shards: 2 endianness: BIG version { producer: 1 }");
  RoundTrip<proto::CheckpointState>("model_checkpoint_path: \"model-5\" all_model_checkpoint_paths: \"model-1\"");
  RoundTrip<proto::SavedTensorSlices>("meta { tensor { name: \"w\" type: DT_FLOAT slice { extent { start: 1 } } } }");
}

TEST(MessageFilesTest, RunsAndTheirStatistics) {
  RoundTrip<proto::RunOptions>("trace_level: FULL_TRACE timeout_in_ms: 500 inter_op_thread_pool: -1");
  const auto metadata = RoundTrip<proto::RunMetadata>(R"(
    step_stats { dev_stats { device: "/cpu:0" thread_names { key: 1 value: "main" }
      node_stats { node_name: "a" all_start_nanos: 5 memory { allocator_name: "cpu" allocation_records { alloc_bytes: -4 } }
                   output { slot: 0 tensor_description { dtype: DT_FLOAT allocation_description { ptr: 7 } } }
                   memory_stats { temp_memory_size: 3 } timeline_label: "B(c) as a" thread_id: 1 } } }
    cost_graph { node { name: "a" compute_cost: 3 output_info { alias_input_port: -1 } } }
    function_graphs { partition_graphs { node { name: "a" } } })");
  EXPECT_EQ(metadata.step_stats().dev_stats(0).node_stats(0).all_start_nanos(), 5);
}

TEST(MessageFilesTest, SessionsAndDevices) {
  const auto config = RoundTrip<proto::ConfigProto>(R"(
    device_count { key: "CPU" value: 1 } intra_op_parallelism_threads: 2 inter_op_parallelism_threads: 3
    allow_soft_placement: true log_device_placement: true session_inter_op_thread_pool { num_threads: 1 }
    gpu_options { per_process_gpu_memory_fraction: 0.5 allow_growth: true
                  experimental { virtual_devices { memory_limit_mb: 10 } } }
    graph_options { optimizer_options { opt_level: L0 global_jit_level: ON_1 } build_cost_model: 1
      rewrite_options { constant_folding: OFF disable_meta_optimizer: true custom_optimizers { name: "o" } } }
    operation_timeout_in_ms: 9 isolate_session_state: true
    cluster_def { job { name: "w" tasks { key: 0 value: "host:1" } } }
    experimental { executor_type: "x" coordination_config { service_type: "s" } })");
  EXPECT_EQ(config.graph_options().optimizer_options().opt_level(), proto::OptimizerOptions::L0);
  RoundTrip<proto::DeviceAttributes>(
      "name: \"/device:CPU:0\" device_type: \"CPU\" memory_limit: 5 incarnation: 7 locality { links { link { type: "
      "\"x\" } } }");
}

}  // namespace
}  // namespace sluice
