#include "graph/load/model_bytes.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "graph/base/status_macros.h"
#include "graph/load/text_model.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

using TagSet = std::vector<std::string>;

// One meta graph of a SavedModel.
struct MetaGraphBytes {
  absl::string_view bytes;
  int64_t offset = 0;
  TagSet tags;
};

// meta_info_def.tags of an encoded MetaGraphDef. Damage is found later, when the message is read in full.
TagSet ReadTags(absl::string_view meta_graph) {
  TagSet tags;
  WireReader reader(meta_graph);
  while (reader.Next()) {
    if (reader.tag() != WireTag(1, WireType::kBytes)) continue;
    WireReader info = reader.Message();
    while (info.Next()) {
      if (info.tag() == WireTag(4, WireType::kBytes)) tags.emplace_back(info.bytes());
    }
  }
  return tags;
}

TagSet Sorted(TagSet tags) {
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

std::string TagText(const TagSet& tags) { return PrintableName(absl::StrCat("{", absl::StrJoin(tags, ", "), "}")); }

// "did you mean 'serve'?" for a tag that no graph has.
std::string TagHelp(const TagSet& wanted, const std::vector<MetaGraphBytes>& graphs) {
  std::vector<absl::string_view> known;
  for (const MetaGraphBytes& graph : graphs) known.insert(known.end(), graph.tags.begin(), graph.tags.end());
  for (const std::string& tag : wanted) {
    if (std::find(known.begin(), known.end(), tag) != known.end()) continue;
    const std::vector<std::string> near = NearestNames(tag, known, 1);
    if (!near.empty()) return absl::StrCat("did you mean '", near[0], "'?");
  }
  return "ask for one of the tag sets that there are, all of its tags";
}

absl::Status NoSuchTags(const TagSet& wanted, const std::vector<MetaGraphBytes>& graphs) {
  const std::string found =
      graphs.empty() ? "no graph at all" : absl::StrJoin(graphs, " and ", [](std::string* out, const auto& graph) {
        absl::StrAppend(out, TagText(graph.tags));
      });
  return Error(ErrorCode::kSavedModelTags)
      .Text(absl::StrCat("no graph has the tags ", TagText(wanted)))
      .Found(found)
      .Expected(TagText(wanted))
      .Help(TagHelp(wanted, graphs));
}

// Which of `graphs` is meant; see LoadOptions::tags.
absl::StatusOr<size_t> SelectGraph(const std::vector<MetaGraphBytes>& graphs, const std::optional<TagSet>& tags) {
  if (!tags.has_value() && graphs.size() == 1) return 0;
  const TagSet wanted = tags.has_value() ? Sorted(*tags) : TagSet{"serve"};
  for (size_t i = 0; i < graphs.size(); ++i) {
    if (Sorted(graphs[i].tags) == wanted) return i;
  }
  return NoSuchTags(wanted, graphs);
}

absl::StatusOr<std::vector<MetaGraphBytes>> ListMetaGraphs(absl::string_view bytes) {
  std::vector<MetaGraphBytes> graphs;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() != WireTag(2, WireType::kBytes)) continue;
    graphs.push_back({reader.bytes(), static_cast<int64_t>(reader.payload_offset()), ReadTags(reader.bytes())});
  }
  if (!reader.ok()) return reader.status();
  return graphs;
}

// Fills in graph_def, offset and meta from one MetaGraphDef.
absl::Status TakeMetaGraph(absl::string_view bytes, int64_t offset, ModelBytes* model) {
  SLUICE_ASSIGN_OR_RETURN(MetaGraphParts parts, ReadMetaGraph(bytes, offset));
  model->meta = std::move(parts.info);
  model->graph_def = parts.graph_def;
  model->offset = parts.graph_offset;
  model->objects = {parts.object_graph, model->owner};
  if (parts.num_graph_defs > 1) {
    auto joined = std::make_shared<const std::string>(std::move(parts.joined_graph_def));
    model->graph_def = *joined;
    model->owner = std::move(joined);
    model->offset = SourceFile::kNotInFile;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ModelBytes> FindGraphDef(absl::string_view bytes, std::shared_ptr<const void> owner, GraphFormat format,
                                        const std::optional<TagSet>& tags, const LoadLimits& limits) {
  ModelBytes model;
  model.owner = std::move(owner);
  std::vector<GraphPlaces> places;
  if (IsText(format)) {
    SLUICE_ASSIGN_OR_RETURN(TextModel text, ParseTextModel(bytes, format, limits));
    auto binary = std::make_shared<const std::string>(std::move(text.binary));
    bytes = *binary;
    model.owner = std::move(binary);
    places = std::move(text.graphs);
  }
  size_t index = 0;
  if (IsSavedModel(format)) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<MetaGraphBytes> graphs, ListMetaGraphs(bytes));
    for (const MetaGraphBytes& graph : graphs) model.tag_sets.push_back(graph.tags);
    SLUICE_ASSIGN_OR_RETURN(index, SelectGraph(graphs, tags));
    SLUICE_RETURN_IF_ERROR(TakeMetaGraph(graphs[index].bytes, graphs[index].offset, &model));
  } else if (IsMetaGraph(format)) {
    SLUICE_RETURN_IF_ERROR(TakeMetaGraph(bytes, 0, &model));
  } else {
    model.graph_def = bytes;
  }
  if (IsText(format)) {
    model.offset = SourceFile::kNotInFile;
    if (index < places.size()) model.lines = MarkLines(model.graph_def, places[index]);
  }
  return model;
}

}  // namespace sluice
