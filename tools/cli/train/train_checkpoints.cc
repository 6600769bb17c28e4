#include "tools/cli/train/train_checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/base/status_macros.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/checkpoint/checkpoint_state.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// Removes the files of one checkpoint, its index first, so that no index lacks its data.
void RemoveCheckpoint(const std::string& prefix) {
  std::error_code ignored;
  fs::remove(BundleIndexFile(prefix), ignored);
  fs::remove(prefix + ".meta", ignored);
  const std::string data = fs::path(prefix).filename().string() + ".data-";
  for (fs::directory_iterator it(fs::path(prefix).parent_path(), ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    if (absl::StartsWith(it->path().filename().string(), data)) fs::remove(it->path(), ignored);
  }
}

}  // namespace

absl::StatusOr<TrainCheckpoints> TrainCheckpoints::Open(const std::string& directory, int64_t keep,
                                                        std::string meta_graph) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed) {
    return Error(ErrorCode::kFileWrite)
        .Text(absl::StrCat("cannot make the directory '", PrintableName(directory, 1000), "': ", failed.message()));
  }
  fs::path path = fs::path(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "out/" is "out".
  TrainCheckpoints checkpoints(path.string(), keep, std::move(meta_graph));
  const absl::StatusOr<CheckpointState> state = ReadCheckpointState(path.string());
  if (!state.ok() && !absl::IsNotFound(state.status())) return state.status();
  if (state.ok()) {
    checkpoints.newest_ = state->newest;
    checkpoints.all_ = state->all;
  }
  return checkpoints;
}

absl::Status TrainCheckpoints::Save(int64_t step, const NamedTensors& tensors) {
  std::string prefix = (fs::path(directory_) / absl::StrCat("model.ckpt-", step)).string();
  // Never overwrite the newest one, the only one until this is complete.
  if (prefix == newest_) prefix = (fs::path(directory_) / absl::StrCat("model.again.ckpt-", step)).string();
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (const auto& [name, tensor] : tensors) SLUICE_RETURN_IF_ERROR(writer->Add(name, tensor));
  SLUICE_RETURN_IF_ERROR(WriteFile(prefix + ".meta", meta_graph_));
  SLUICE_RETURN_IF_ERROR(writer->Finish());
  all_.erase(std::remove(all_.begin(), all_.end(), prefix), all_.end());
  all_.push_back(prefix);
  newest_ = prefix;
  std::vector<std::string> dropped;
  while (all_.size() > keep_) {
    dropped.push_back(all_.front());
    all_.erase(all_.begin());
  }
  SLUICE_RETURN_IF_ERROR(WriteCheckpointState(directory_, {newest_, all_}));
  for (const std::string& old : dropped) RemoveCheckpoint(old);
  return absl::OkStatus();
}

absl::StatusOr<NamedTensors> ReadCheckpoint(const std::string& prefix) {
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, BundleIndex::Open(prefix));
  NamedTensors tensors;
  tensors.reserve(index.entries().size());  // The reader writes to where they stand.
  const Workers workers(nullptr);
  BundleReader reader(index, workers);
  for (const auto& [name, entry] : index.entries()) {
    if (entry.is_sliced) continue;
    tensors.emplace_back(name, Tensor());
    Tensor* const to = &tensors.back().second;
    const auto allocate = [&entry = entry, to](const Shape& shape) -> absl::StatusOr<Tensor*> {
      SLUICE_ASSIGN_OR_RETURN(*to, Tensor::Make(entry.dtype, shape));
      return to;
    };
    SLUICE_RETURN_IF_ERROR(reader.AddWhole(name, entry, allocate));
  }
  SLUICE_RETURN_IF_ERROR(reader.Run());
  return tensors;
}

}  // namespace sluice
