#ifndef SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_FILE_H_
#define SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_FILE_H_

// Rows 1xxx of the error table: files, protobuf, NumPy, SavedModel. Only error_code.cc includes this.

#include "absl/status/status.h"
#include "graph/base/error_code.h"

namespace sluice {

inline constexpr ErrorCodeRow kFileRows[] = {
    {ErrorCode::kFileMissing, absl::StatusCode::kNotFound, "The file does not exist.",
     "No file of that name was found where the program looked. Relative names start at the current directory.",
     "sluice show detector.pv", "Check the spelling and the current directory; `ls` the folder that should hold it."},
    {ErrorCode::kFileRead, absl::StatusCode::kFailedPrecondition, "The file cannot be read.",
     "The file is there, but opening or reading it failed: no permission, a directory, a broken disk or pipe.",
     "SLC1002: cannot read 'models/': it is a directory",
     "Look at the reason given after the name; make the file readable or name a file inside the directory."},
    {ErrorCode::kFileNotGraph, absl::StatusCode::kInvalidArgument, "The file is not a graph.",
     "The first bytes are those of another kind of file, such as an image, an archive or a program, or they cannot be "
     "the start of any GraphDef, MetaGraphDef or SavedModel.",
     "SLC1003: this is a gzip archive, not a graph",
     "Unpack it first when it is an archive; otherwise name the file that holds the graph (often *.pb or *.pbtxt)."},
    {ErrorCode::kFileWire, absl::StatusCode::kInvalidArgument, "The protobuf encoding is damaged.",
     "At the byte given, a field has the number 0, an unknown wire type, a varint of more than ten bytes, or a length "
     "that leads out of the message around it.",
     "SLC1004: length 4294967280 leads out of the message at byte 1",
     "The file was damaged, or is not binary protobuf. Fetch or write it again; a text graph should end in .pbtxt."},
    {ErrorCode::kFileTruncated, absl::StatusCode::kInvalidArgument, "The file ends in the middle of a message.",
     "A message announces more bytes than the file still has, as after an interrupted copy or download.",
     "SLC1005: the file ends 212 bytes before the end of node 7 at byte 1024",
     "Copy the file again and compare its size with the source's."},
    {ErrorCode::kFileText, absl::StatusCode::kInvalidArgument, "The text graph has a syntax error.",
     "The text form of a protobuf is wrong at the line and column given: a name that is not a field, a missing brace "
     "or quote, or a value of the wrong kind.",
     "SLC1006: 'opp' is not a field of NodeDef: expected one of name, op, input, device, attr at line 12, column 9",
     "Correct the line. `sluice convert graph.pb graph.pbtxt` shows what a correct text looks like."},
    {ErrorCode::kFileVersion, absl::StatusCode::kInvalidArgument, "The graph needs another version of the reader.",
     "`versions.min_consumer` of the graph is above the version that this program implements, or its producer version "
     "is negative.",
     "SLC1007: the graph needs a newer reader: found min_consumer 99999, expected at most 2129",
     "Use a newer Sluice, or export the graph again with a TensorFlow release of the 2.19 line or before."},
    {ErrorCode::kFileBadVersion, absl::StatusCode::kInvalidArgument, "The graph refuses readers of our version.",
     "`versions.bad_consumers` lists the version that this program implements: its exporter knew of a fault in readers "
     "of that version.",
     "SLC1008: the graph refuses readers of version 2129",
     "Use a newer Sluice. If you know that the fault does not matter here, remove the number from bad_consumers."},
    {ErrorCode::kFileWrite, absl::StatusCode::kFailedPrecondition, "The file cannot be written.",
     "Creating, writing or renaming the output failed: no permission, no space, or no such directory.",
     "SLC1009: cannot write 'out/graph.pb': no such directory",
     "Create the directory, free some space, or choose another place. No partly written file stays."},
    {ErrorCode::kFileEmpty, absl::StatusCode::kInvalidArgument, "The file is empty.",
     "A file of zero bytes was given where a graph with at least one node is needed.",
     "SLC1010: 'graph.pb' has no bytes", "Write the file again; an exporter that failed often leaves an empty one."},
    {ErrorCode::kNumpy, absl::StatusCode::kInvalidArgument, "The NumPy file cannot be read.",
     "The .npy or .npz file has a wrong magic number, a header that is not understood, a dtype that has no "
     "counterpart, or fewer bytes than its shape needs.",
     "SLC1020: 'x.npy': found 12 bytes of data, expected 16 for float32 [4]",
     "Save it again with numpy.save (not pickled, no object arrays)."},
    {ErrorCode::kSavedModelMissing, absl::StatusCode::kNotFound, "The directory holds no SavedModel.",
     "Neither saved_model.pb nor saved_model.pbtxt is in the directory given.",
     "SLC1030: 'export/' holds neither saved_model.pb nor saved_model.pbtxt",
     "Name the directory that holds saved_model.pb; exporters often add a level named by a number."},
    {ErrorCode::kSavedModelTags, absl::StatusCode::kNotFound, "The SavedModel has no graph with these tags.",
     "A SavedModel holds one or more graphs, each under a set of tags, and the set asked for must match exactly.",
     "SLC1031: no graph has the tags {gpu}: found {serve} and {train}, expected {gpu}",
     "Ask for one of the tag sets that the message lists; `sluice show DIR` lists them too."},
    {ErrorCode::kSavedModelSignature, absl::StatusCode::kInvalidArgument, "A signature of the SavedModel is wrong.",
     "A signature names a tensor that the graph does not have, or gives it a dtype or shape that it does not have.",
     "SLC1032: signature 'serving_default', output 'y': no tensor 'out:0' in the graph",
     "Export the model again, or run it with another signature or by the names of tensors."},
    {ErrorCode::kSavedModelKind, absl::StatusCode::kFailedPrecondition, "The model is of another kind than assumed.",
     "A frozen graph was given where a SavedModel is needed, or the reverse, or a conversion would leave out the "
     "values of variables that its result needs.",
     "SLC1033: the graph has 12 variables, but the directory has no variables/ folder",
     "Give the SavedModel directory as a whole, or freeze the variables into constants first."},
    {ErrorCode::kSavedModelSignatureUnknown, absl::StatusCode::kNotFound, "The SavedModel has no such signature.",
     "The signature asked for is not among those of the graph with these tags.",
     "SLC1034: the model has no signature 'serve'",
     "Use one of the signatures that the help line of the message lists; `sluice show` lists them too."},
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_CODE_ROWS_FILE_H_
