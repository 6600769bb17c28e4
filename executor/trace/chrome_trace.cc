#include "executor/trace/chrome_trace.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "graph/base/hash_table.h"

namespace sluice {
namespace {

// `text` as a JSON string. Bytes beyond ASCII are taken as Latin-1, so that any name gives valid JSON.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      absl::StrAppendFormat(&out, "\\u%04x", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Nanoseconds as microseconds with three decimals, exactly.
std::string Micros(int64_t ns) { return absl::StrFormat("%d.%03d", ns / 1000, ns % 1000); }

// Gathers the events of one document.
class TraceWriter {
 public:
  explicit TraceWriter(int64_t origin_ns) : origin_ns_(origin_ns) {}

  void Add(const StepStatsCollector& collector, const NodeRecord& record) {
    const int pid = ProcessOf(collector.DeviceOf(record.node));
    NameThread(pid, record.thread_id);
    std::string outputs;
    for (const OutputRecord& output : record.outputs) {
      absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", DTypeName(output.dtype), " ", output.shape.ToString());
    }
    std::string event = absl::StrCat(
        "{\"ph\":\"X\",\"name\":", Quoted(collector.NameOf(record)), ",\"cat\":", Quoted(collector.OpOf(record)),
        ",\"pid\":", pid, ",\"tid\":", record.thread_id, ",\"ts\":", Micros(record.start_ns - origin_ns_),
        ",\"dur\":", Micros(record.end_ns - record.start_ns), ",\"args\":{\"op\":", Quoted(collector.OpOf(record)),
        ",\"call\":", Quoted(collector.TimelineLabel(record)), ",\"outputs\":", Quoted(outputs),
        ",\"bytes\":", record.output_bytes());
    if (record.frame_id != 0) absl::StrAppend(&event, ",\"iteration\":", record.iteration);
    AddEvent(absl::StrCat(event, "}}"));
  }

  std::string Finish(int64_t dropped) && {
    return absl::StrCat("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped_nodes\":", dropped, "},\"traceEvents\":[",
                        events_, "\n]}\n");
  }

 private:
  int ProcessOf(absl::string_view device) {
    const auto [found, is_new] = processes_.try_emplace(std::string(device), static_cast<int>(processes_.size()) + 1);
    if (is_new) AddName("process_name", found->second, 0, device);
    return found->second;
  }

  void NameThread(int pid, uint32_t thread_id) {
    if (!threads_.insert({pid, thread_id}).second) return;
    AddName("thread_name", pid, thread_id, absl::StrCat("thread ", thread_id));
  }

  void AddName(absl::string_view what, int pid, uint32_t thread_id, absl::string_view name) {
    AddEvent(absl::StrCat("{\"ph\":\"M\",\"name\":\"", what, "\",\"pid\":", pid, ",\"tid\":", thread_id,
                          ",\"args\":{\"name\":", Quoted(name), "}}"));
  }

  void AddEvent(absl::string_view event) { absl::StrAppend(&events_, events_.empty() ? "\n" : ",\n", event); }

  const int64_t origin_ns_;
  std::string events_;
  HashMap<std::string, int> processes_;         // By device.
  std::set<std::pair<int, uint32_t>> threads_;  // Those that have a name.
};

}  // namespace

std::string ChromeTrace(absl::Span<const StepStatsCollector* const> collectors) {
  std::vector<std::pair<const StepStatsCollector*, std::vector<NodeRecord>>> parts;
  int64_t origin_ns = INT64_MAX;
  int64_t dropped = 0;
  for (const StepStatsCollector* const collector : collectors) {
    parts.emplace_back(collector, collector->Records());
    dropped += collector->num_dropped();
    if (!parts.back().second.empty()) origin_ns = std::min(origin_ns, parts.back().second.front().start_ns);
  }
  TraceWriter writer(origin_ns);
  for (const auto& [collector, records] : parts) {
    for (const NodeRecord& record : records) writer.Add(*collector, record);
  }
  return std::move(writer).Finish(dropped);
}

}  // namespace sluice
