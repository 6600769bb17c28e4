#include "graph/ir/message_form.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/check.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/proto/graph.pb.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

// Messages inside messages that protobuf reads.
constexpr size_t kMaxNesting = 100;

struct Form;

struct FieldForm {
  enum class Kind : uint8_t { kOther, kText, kMessage, kVarints, kFixed32, kFixed64 };  // The last three: repeated.
  enum Counter : uint8_t { kNone, kInputs, kAttrs, kNumCounters };                      // Of the fields of all nodes.
  Kind kind = Kind::kOther;
  uint64_t once = 0;  // The bit of a message, or member of a oneof (these share theirs), that is to stand once.
  Counter counter = kNone;
  const Form* message = nullptr;
  const FieldDescriptor* descriptor = nullptr;
};

// The fields of one message type, by number.
struct Form {
  const Descriptor* descriptor = nullptr;
  bool is_attr = false;  // An entry of NodeDef.attr.
  std::vector<FieldForm> fields;
};

// How a repeated number is packed.
FieldForm::Kind PackedKind(const FieldDescriptor* field) {
  switch (field->type()) {
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return FieldForm::Kind::kFixed32;
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return FieldForm::Kind::kFixed64;
    default:
      return field->is_packable() ? FieldForm::Kind::kVarints : FieldForm::Kind::kOther;
  }
}

// The forms of a message type and of all that it can hold. Immutable after construction.
class Forms {
 public:
  explicit Forms(const Descriptor* root) : root_(Add(root)) {}

  const Form& root() const { return *root_; }

 private:
  // Recursive: as deep as types are, not as files are.
  const Form* Add(const Descriptor* descriptor) {
    const auto [entry, is_new] = by_descriptor_.try_emplace(descriptor);
    if (!is_new) return entry->second.get();
    entry->second = std::make_unique<Form>();
    Form* const form = entry->second.get();  // `entry` does not outlive the next Add.
    form->descriptor = descriptor;
    form->is_attr = descriptor->options().map_entry() && descriptor->containing_type() == proto::NodeDef::descriptor();
    int num_singular = 0;
    std::vector<uint64_t> oneof_bits(static_cast<size_t>(descriptor->oneof_decl_count()));
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* const field = descriptor->field(i);
      FieldForm added;
      added.descriptor = field;
      // For other fields that occur twice the last one counts: readers do that themselves, and places in the file stay
      // known.
      const bool is_message = field->type() == FieldDescriptor::TYPE_MESSAGE;
      if (!field->is_repeated() && (is_message || field->containing_oneof() != nullptr)) {
        const google::protobuf::OneofDescriptor* const oneof = field->containing_oneof();
        uint64_t own = 0;
        uint64_t& bit = oneof == nullptr ? own : oneof_bits[static_cast<size_t>(oneof->index())];
        if (bit == 0) {
          SLUICE_CHECK_LT(num_singular, 64);
          bit = uint64_t{1} << num_singular++;
        }
        added.once = bit;
      }
      if (is_message) {
        added.kind = FieldForm::Kind::kMessage;
        added.message = Add(field->message_type());
        added.counter = added.message->is_attr ? FieldForm::kAttrs : FieldForm::kNone;
      } else if (field->type() == FieldDescriptor::TYPE_STRING &&
                 field->file()->syntax() == FileDescriptor::SYNTAX_PROTO3) {
        added.kind = FieldForm::Kind::kText;
        const bool is_input = descriptor == proto::NodeDef::descriptor() && field->is_repeated();
        added.counter = is_input ? FieldForm::kInputs : FieldForm::kNone;
      } else if (field->is_repeated()) {
        added.kind = PackedKind(field);
      }
      const auto number = static_cast<size_t>(field->number());
      if (number >= form->fields.size()) form->fields.resize(number + 1);
      form->fields[number] = added;
    }
    return form;
  }

  HashMap<const Descriptor*, std::unique_ptr<Form>> by_descriptor_;
  const Form* const root_;
};

const Forms& GraphDefForms() {
  static const Forms forms(proto::GraphDef::descriptor());
  return forms;
}

// "NodeDef.device"; "the key of NodeDef.attr" for a part of a map's entry.
std::string FieldName(const FieldDescriptor* field) {
  const Descriptor* const message = field->containing_type();
  if (!message->options().map_entry()) return absl::StrCat(message->name(), ".", field->name());
  const Descriptor* const owner = message->containing_type();
  for (int i = 0; i < owner->field_count(); ++i) {
    if (owner->field(i)->message_type() != message) continue;
    return absl::StrCat("the ", field->name(), " of ", owner->name(), ".", owner->field(i)->name());
  }
  return absl::StrCat(owner->name(), ".", message->name(), ".", field->name());
}

// The last field `number` of the message in `bytes`.
absl::string_view LastBytes(absl::string_view bytes, uint32_t number) {
  absl::string_view last;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(number, WireType::kBytes)) last = reader.bytes();
  }
  return last;
}

template <typename Word>
Word Load(const char* p) {
  Word word;
  std::memcpy(&word, p, sizeof(word));
  return word;
}

// Names, nearly all: in words that overlap, no byte for itself.
bool IsAscii(absl::string_view text) {
  const char* const p = text.data();
  const size_t size = text.size();
  uint64_t bits = 0;
  if (size >= 8) {
    for (size_t i = 0; i + 8 < size; i += 8) bits |= Load<uint64_t>(p + i);
    bits |= Load<uint64_t>(p + size - 8);
  } else if (size >= 4) {
    bits = Load<uint32_t>(p) | Load<uint32_t>(p + size - 4);
  } else {
    for (const char c : text) bits |= static_cast<unsigned char>(c);
  }
  return (bits & 0x8080808080808080) == 0;
}

// The bytes of short messages in which nothing was wrong. The attrs of most nodes repeat those of others, byte for
// byte. Borrows the bytes.
class KnownEntries {
 public:
  // Whether `bytes` were kept. REQUIRES: IsShort(bytes), as for Keep.
  bool Contains(absl::string_view bytes) const {
    const absl::string_view known = slots_[SlotOf(bytes)];
    return known.size() == bytes.size() && std::memcmp(known.data(), bytes.data(), bytes.size()) == 0;
  }
  void Keep(absl::string_view bytes) { slots_[SlotOf(bytes)] = bytes; }

  // Too short to nest too deeply, wherever they stand.
  static bool IsShort(absl::string_view bytes) { return bytes.size() >= 4 && bytes.size() <= kMaxNesting; }

 private:
  static constexpr size_t kNumSlots = 64;

  static size_t SlotOf(absl::string_view bytes) {
    const char* const p = bytes.data();
    const size_t n = bytes.size();
    // An attr's name begins at its third byte; values differ at their end.
    const uint64_t parts = n >= 10 ? Load<uint64_t>(p + 2) ^ Load<uint64_t>(p + n - 8) << 1
                                   : Load<uint32_t>(p) ^ uint64_t { Load<uint32_t>(p + n - 4) } << 32;
    return static_cast<size_t>(((parts ^ n) * 0x9e3779b97f4a7c15) >> 58);
  }

  std::array<absl::string_view, kNumSlots> slots_;
};

absl::Status CheckPacked(FieldForm::Kind kind, const WireReader& field) {
  switch (kind) {
    case FieldForm::Kind::kFixed32:
      return ForEachFixed32(field, [](uint32_t) {});
    case FieldForm::Kind::kFixed64:
      return ForEachFixed64(field, [](uint64_t) {});
    default:
      return ForEachVarint(field, [](uint64_t) {});
  }
}

// One look through one message and all in it. A stack of its own: files nest as deep as they like.
class FormCheck {
 public:
  FormCheck(const Form& form, absl::string_view bytes, size_t base_offset) {
    levels_.reserve(kMaxNesting + 1);
    levels_.push_back({&form, WireReader(bytes, base_offset), bytes});
  }

  // False at text that is not UTF-8: then fault() says where.
  bool Run() {
    while (!levels_.empty()) {
      switch (RunLevel()) {
        case Stop::kMessage:
          break;
        case Stop::kText:
          for (; !levels_.empty(); levels_.pop_back()) NameFault(levels_.back());
          return false;
        case Stop::kEnd:
          KeepIfGood(levels_.back());
          levels_.pop_back();
      }
    }
    report_.num_inputs = counts_[FieldForm::kInputs];
    report_.num_attrs = counts_[FieldForm::kAttrs];
    return true;
  }

  const MessageFormReport& report() const { return report_; }
  const absl::Status& fault() const { return fault_; }

 private:
  // A message that is being read.
  struct Level {
    const Form* form;
    WireReader reader;
    absl::string_view bytes;
    uint64_t seen = 0;  // Of its fields' bits.
  };
  // At a message, which has become the innermost level; at text that is not UTF-8; at the end of the level.
  enum class Stop : uint8_t { kMessage, kText, kEnd };

  Stop RunLevel() {
    Level& level = levels_.back();
    WireReader& reader = level.reader;
    const absl::Span<const FieldForm> fields = level.form->fields;
    while (reader.Next()) {
      if (reader.field() >= fields.size()) continue;
      const FieldForm& field = fields[reader.field()];
      if ((level.seen & field.once) != 0) report_.has_repeats = true;
      level.seen |= field.once;
      ++counts_[field.counter];
      if (field.kind == FieldForm::Kind::kOther || reader.type() != WireType::kBytes) continue;
      if (field.kind == FieldForm::Kind::kMessage) {
        const absl::string_view bytes = reader.bytes();
        if (field.message->is_attr && KnownEntries::IsShort(bytes) && good_attrs_.Contains(bytes)) continue;
        if (!Enter(*field.message, reader)) continue;
        return Stop::kMessage;
      }
      if (field.kind != FieldForm::Kind::kText) {
        NoteDamage(CheckPacked(field.kind, reader));
        continue;
      }
      if (IsUtf8(reader.bytes())) continue;
      fault_ = Error(ErrorCode::kFileWire)
                   .AtByte(static_cast<int64_t>(reader.payload_offset()))
                   .Text(absl::StrCat("the text in ", FieldName(field.descriptor), " is not UTF-8"))
                   .Found(absl::StrCat("'", PrintableName(reader.bytes()), "'"));
      return Stop::kText;
    }
    if (!reader.ok()) NoteDamage(reader.status());
    return Stop::kEnd;
  }

  bool Enter(const Form& form, const WireReader& field) {
    if (levels_.size() <= kMaxNesting) {
      levels_.push_back({&form, field.Message(), field.bytes()});
      return true;
    }
    NoteDamage(Error(ErrorCode::kLimitDepth)
                   .AtByte(static_cast<int64_t>(field.offset()))
                   .Text("messages are nested too deeply")
                   .Limit("messages in messages", static_cast<int64_t>(kMaxNesting)));
    return false;
  }

  void KeepIfGood(const Level& level) {
    if (!level.form->is_attr || !KnownEntries::IsShort(level.bytes)) return;
    if (!report_.has_repeats && report_.damage.ok()) good_attrs_.Keep(level.bytes);  // Not even others' faults.
  }

  void NoteDamage(const absl::Status& status) {
    if (report_.damage.ok()) report_.damage = status;
  }

  // Adds what a message around the fault knows.
  void NameFault(const Level& level) {
    if (level.form->descriptor == proto::NodeDef::descriptor()) {
      fault_ = WithNode(fault_, LastBytes(level.bytes, proto::NodeDef::kNameFieldNumber),
                        LastBytes(level.bytes, proto::NodeDef::kOpFieldNumber));
    } else if (level.form->descriptor == proto::FunctionDef::descriptor()) {
      const absl::string_view signature = LastBytes(level.bytes, proto::FunctionDef::kSignatureFieldNumber);
      fault_ = WithFunction(fault_, LastBytes(signature, proto::OpDef::kNameFieldNumber));
    }
  }

  std::vector<Level> levels_;  // The message itself first.
  KnownEntries good_attrs_;
  std::array<int64_t, FieldForm::kNumCounters> counts_ = {};
  MessageFormReport report_;
  absl::Status fault_;
};

// Bytes of the UTF-8 sequence at the start of `text`, which is not ASCII; 0 when it is malformed.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool is_overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool is_surrogate = lead == 0xed && byte(1) >= 0xa0;
  const bool is_too_large = lead == 0xf4 && byte(1) >= 0x90;
  return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  if (IsAscii(text)) return true;
  while (!text.empty()) {
    const size_t length = static_cast<unsigned char>(text[0]) < 0x80 ? 1 : SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

absl::StatusOr<MessageFormReport> CheckGraphDefForm(absl::string_view bytes, size_t base_offset) {
  FormCheck check(GraphDefForms().root(), bytes, base_offset);
  if (!check.Run()) return check.fault();
  return check.report();
}

absl::StatusOr<std::string> MergeRepeats(absl::string_view graph_def) {
  proto::GraphDef graph;
  std::string merged;
  const bool fits = graph_def.size() <= static_cast<size_t>(std::numeric_limits<int>::max());
  if (!fits || !graph.ParseFromArray(graph_def.data(), static_cast<int>(graph_def.size()))) {
    return Error(ErrorCode::kFileWire).Text("the graph cannot be read as one protobuf message");
  }
  google::protobuf::io::StringOutputStream stream(&merged);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  if (!graph.SerializeToCodedStream(&out)) {
    return Error(ErrorCode::kFileWire).Text("the graph cannot be written as one protobuf message");
  }
  out.Trim();
  return merged;
}

}  // namespace sluice
