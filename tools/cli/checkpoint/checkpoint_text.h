#ifndef SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_TEXT_H_
#define SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_TEXT_H_

#include <cstddef>
#include <string>

#include "tools/cli/checkpoint/checkpoint_report.h"
#include "tools/cli/console/console.h"

namespace sluice {

// The report for people: `max_rows` tensors with aligned columns, lines of about `max_line` characters.
std::string RenderCheckpointText(const CheckpointReport& report, size_t max_rows, size_t max_line, const Paint& paint);

// All of it as one JSON document.
std::string RenderCheckpointJson(const CheckpointReport& report);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECKPOINT_CHECKPOINT_TEXT_H_
