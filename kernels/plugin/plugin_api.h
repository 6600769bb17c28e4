#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_API_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_API_H_

/* The interface of plug-ins: shared libraries that bring ops and kernels. Plain C (C99), this one file.
 *
 * Note [Plug-ins]
 * A plug-in exports one object, `sluice_plugin` (SluicePlugin). LoadPlugin (load_plugin.h) opens the library, compares
 * versions before any function of it is called, and calls SluicePlugin::add, which describes ops and kernels with
 * SluiceApi::add_op, add_kernel and add_gradient. What is described becomes real only when `add` has returned NULL and
 * all of it fits: a plug-in that fails has registered nothing.
 *  1. All that crosses the border is C: numbers, pointers, structs of this file. The plug-in calls Sluice through the
 *     table SluiceApi and uses no symbol of it, so that neither compiler, C++ library nor build options matter.
 *  2. Versions: a plug-in runs where the major number is its own and the minor number is its own or higher. Within a
 *     major number structs and SluiceApi only grow at their ends; structs that the plug-in fills begin with their size.
 *     SLUICE_PLUGIN_LAYOUT finds compilers that lay the structs out otherwise.
 *  3. Errors are SluiceStatus*, NULL for none. A function that takes or returns one hands it over: the receiver frees
 *     it, with delete_status or by handing it on. No function of either side throws; exceptions of a plug-in written in
 *     C++ that leave it all the same become errors of the node.
 *  4. Texts that are passed in are copied, zero-terminated where no size stands beside them. What is handed out lives
 *     as long as its handle: a SluiceNode until `create`, `shapes` or `gradient` returns, a SluiceCall until `compute`
 * returns or `finish` is called.
 *  5. Threads: every function of SluiceApi may be called from any thread, but one handle from one thread at a time.
 *     Kernels are called by many threads at once, with one `kernel` pointer.
 *  6. A library stays loaded until the process ends: kernels, sessions and threads may use it as long as they like. Its
 *     `add` is called once for each catalogue (a pair of an OpRegistry and a KernelRegistry) that it is loaded into,
 *     by one thread at a time; each time it gets the same SluiceApi, which lives as long as the process.
 * Authors of C++ plug-ins use plugin_op.h, which is a thin layer over this file. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_PLUGIN_MAJOR 1
#define SLUICE_PLUGIN_MINOR 1 /* 1: gradients. */
#define SLUICE_PLUGIN_SYMBOL "sluice_plugin"
#define SLUICE_PLUGIN_MAGIC 0x67756c50u

/* ---- Handles: opaque, owned by Sluice ------------------------------------------------------------------------- */

typedef struct SluiceStatus SluiceStatus;             /* An error. */
typedef struct SluiceTensor SluiceTensor;             /* A tensor that is kept; shares its elements with others. */
typedef struct SluiceRegistration SluiceRegistration; /* What one plug-in brings to one catalogue. */
typedef struct SluiceNode SluiceNode;                 /* What is known of a node before it runs. */
typedef struct SluiceShapes SluiceShapes;             /* The shapes around one node, while they are inferred. */
typedef struct SluiceCall SluiceCall;                 /* One call of a kernel. */
typedef struct SluiceGradients SluiceGradients;       /* The gradients around one node, while they are made. */
typedef uint64_t SluiceDone;                          /* A call of an asynchronous kernel that is not over. */
typedef struct SluiceApi SluiceApi;

/* ---- Values ----------------------------------------------------------------------------------------------------
 * Element types have TensorFlow's numbers (DT_FLOAT is 1); codes of errors are those of gRPC and TensorFlow. */

enum {
  SLUICE_FLOAT = 1,
  SLUICE_DOUBLE = 2,
  SLUICE_INT32 = 3,
  SLUICE_UINT8 = 4,
  SLUICE_INT16 = 5,
  SLUICE_INT8 = 6,
  SLUICE_STRING = 7,
  SLUICE_COMPLEX64 = 8,
  SLUICE_INT64 = 9,
  SLUICE_BOOL = 10,
  SLUICE_BFLOAT16 = 14,
  SLUICE_UINT16 = 17,
  SLUICE_COMPLEX128 = 18,
  SLUICE_HALF = 19,
  SLUICE_RESOURCE = 20,
  SLUICE_VARIANT = 21,
  SLUICE_UINT32 = 22,
  SLUICE_UINT64 = 23
};

enum {
  SLUICE_CANCELLED = 1,
  SLUICE_UNKNOWN = 2,
  SLUICE_INVALID_ARGUMENT = 3,
  SLUICE_DEADLINE_EXCEEDED = 4,
  SLUICE_NOT_FOUND = 5,
  SLUICE_ALREADY_EXISTS = 6,
  SLUICE_RESOURCE_EXHAUSTED = 8,
  SLUICE_FAILED_PRECONDITION = 9,
  SLUICE_ABORTED = 10,
  SLUICE_OUT_OF_RANGE = 11,
  SLUICE_UNIMPLEMENTED = 12,
  SLUICE_INTERNAL = 13,
  SLUICE_UNAVAILABLE = 14
};

typedef struct SluiceString {
  const char* data;
  size_t size;
} SluiceString;

/* A shape of which parts may be unknown: rank -1, or sizes -1. */
typedef struct SluiceShape {
  int64_t rank;
  const int64_t* dims;
} SluiceShape;

/* A look at a tensor. Elements are in row-major order, aligned as their type needs; `data` may be NULL where there are
 * none. Those of strings are opaque and 24 bytes each: string_at and set_string read and write them. */
typedef struct SluiceView {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
  int64_t num_elements;
  uint64_t num_bytes;
  const void* data;
  void* mutable_data; /* NULL where the elements may not be written. */
} SluiceView;

/* Kinds of attrs. A list of kind k is k + SLUICE_ATTR_LIST. */
enum {
  SLUICE_ATTR_STRING = 1,  /* SluiceString */
  SLUICE_ATTR_INT = 2,     /* int64_t */
  SLUICE_ATTR_FLOAT = 3,   /* float */
  SLUICE_ATTR_BOOL = 4,    /* uint8_t */
  SLUICE_ATTR_TYPE = 5,    /* int32_t */
  SLUICE_ATTR_SHAPE = 6,   /* SluiceShape */
  SLUICE_ATTR_TENSOR = 7,  /* SluiceTensor*, for keep_tensor and view_tensor */
  SLUICE_ATTR_FUNCTION = 8 /* SluiceString: the function's name */
};
#define SLUICE_ATTR_LIST 16

/* The value of an attr: an array of what stands beside its kind; of one element where it is not a list. */
typedef struct SluiceAttr {
  const void* values;
  int64_t count;
} SluiceAttr;

/* An element of a value that is followed before the run and is not known. */
#define SLUICE_UNKNOWN_VALUE INT64_MIN

/* ---- What a plug-in describes ---------------------------------------------------------------------------------- */

/* Flags of ops. */
enum {
  SLUICE_OP_STATEFUL = 1,
  SLUICE_OP_COMMUTATIVE = 2,
  SLUICE_OP_AGGREGATE = 4,
  SLUICE_OP_ALLOWS_UNINITIALIZED_INPUT = 8
};

/* An op. Specs are as TensorFlow programs write them: "x: T", "values: N * T", "T: {float, int32} = DT_FLOAT". */
typedef struct SluiceOpDef {
  size_t struct_size;
  const char* name;
  const char* const* inputs; /* Of each list num_... specs; NULL where there are none. */
  const char* const* outputs;
  const char* const* attrs;
  int32_t num_inputs, num_outputs, num_attrs;
  uint32_t flags;
  /* Says what is known of the shapes of the outputs; NULL: nothing is. An error is for what every run of the node
   * refuses. */
  SluiceStatus* (*shapes)(void* data, SluiceNode* node, SluiceShapes* shapes);
  void* data; /* For `shapes`; lives as long as the library. */
  int32_t deprecated_at;
  const char* deprecation; /* May be NULL. */
} SluiceOpDef;

/* An attr of kind type or list(type), and the dtypes of nodes that the kernel is for. */
typedef struct SluiceTypes {
  const char* attr;
  const int32_t* dtypes;
  int32_t num_dtypes;
} SluiceTypes;

enum { SLUICE_COST_BY_BYTES = 0, SLUICE_COST_CHEAP = 1, SLUICE_COST_HEAVY = 2 };
enum {
  SLUICE_SHARE_BY_SCHEMA = 0, /* Equal nodes have one kernel, unless the op is stateful. */
  SLUICE_SHARE_EQUAL_NODES = 1,
  SLUICE_SHARE_NEVER = 2
};

/* A kernel of an op of the plug-in, or of one that the catalogue knows. Of several kernels for a node that of a plug-in
 * goes before Sluice's own, then the node's label decides, then the priority. */
typedef struct SluiceKernelDef {
  size_t struct_size;
  const char* op;
  const char* device; /* "CPU", or NULL, which is the same. Others are refused: a GPU's kernels need its streams. */
  const SluiceTypes* types;
  const char* const* host_args; /* Inputs and outputs that are in host memory on devices with memory of their own. */
  int32_t num_types, num_host_args;
  const char* label; /* For nodes with this attr `_kernel`. May be NULL. */
  int32_t priority;  /* -128 to 127. */
  int32_t cost;      /* SLUICE_COST_... */
  int32_t sharing;   /* SLUICE_SHARE_... */
  /* Makes *kernel, which `compute` and `destroy` get. NULL: there is nothing to make. `data` is that below. */
  SluiceStatus* (*create)(void* data, SluiceNode* node, void** kernel);
  /* One of these two, the other NULL. Asynchronous: begins, and has `finish` called once, on any thread. */
  SluiceStatus* (*compute)(void* kernel, SluiceCall* call);
  void (*compute_async)(void* kernel, SluiceCall* call, SluiceDone done);
  void (*destroy)(void* kernel); /* May be NULL. */
  void* data;
} SluiceKernelDef;

/* A value of a graph: of the forward pass, or of the gradient that is being made. Its number, good until `gradient`
 * returns. */
typedef int32_t SluiceValue;

/* The gradient of an op of the plug-in, or of one that the catalogue knows and that has none. */
typedef struct SluiceGradientDef {
  size_t struct_size;
  const char* op;
  /* Adds, with gradient_op and the like, the nodes that compute the gradients of the node's inputs from those of its
   * outputs, and says with set_gradient which values they are; inputs that are not set have none. It is called where
   * some input's gradient is wanted and some output has one. An error says that there is none. */
  SluiceStatus* (*gradient)(void* data, SluiceNode* node, SluiceGradients* gradients);
  void* data; /* For `gradient`; lives as long as the library. */
} SluiceGradientDef;

/* An attr of a node to add: one value, or a list, of the kind. */
typedef struct SluiceNamedAttr {
  const char* name;
  int32_t kind; /* SLUICE_ATTR_..., perhaps plus SLUICE_ATTR_LIST; not lists of tensors or functions. */
  SluiceAttr value;
} SluiceNamedAttr;

/* ---- What a plug-in may call ------------------------------------------------------------------------------------
 * `i` is the flat index of an input or output; one that is out of range is an error. */

struct SluiceApi {
  size_t struct_size;
  uint32_t abi_major, abi_minor;

  /* Errors. `code` is one of SLUICE_...; 0 and numbers without a meaning become SLUICE_UNKNOWN. new_input_status names
   * input `i`; `found` and `expected` may be NULL. */
  SluiceStatus* (*new_status)(int32_t code, const char* text);
  SluiceStatus* (*new_input_status)(int32_t code, int32_t i, const char* text, const char* found, const char* expected);
  int32_t (*status_code)(const SluiceStatus* status); /* 0 for NULL. */
  const char* (*status_text)(const SluiceStatus* status);
  void (*delete_status)(SluiceStatus* status); /* NULL does nothing. */

  /* In SluicePlugin::add. An error that is not returned from there fails the load all the same. */
  SluiceStatus* (*add_op)(SluiceRegistration* registration, const SluiceOpDef* op);
  SluiceStatus* (*add_kernel)(SluiceRegistration* registration, const SluiceKernelDef* kernel);

  /* The node. A kernel whose `create` asks for the name is that node's alone. */
  const char* (*node_op)(SluiceNode* node);
  const char* (*node_name)(SluiceNode* node);
  int32_t (*num_inputs)(const SluiceNode* node);
  int32_t (*num_outputs)(const SluiceNode* node);
  int32_t (*input_type)(const SluiceNode* node, int32_t i); /* 0 where there is none; references plus 100. */
  int32_t (*output_type)(const SluiceNode* node, int32_t i);
  /* The inputs (outputs) of one argument of the op. */
  SluiceStatus* (*input_range)(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count);
  SluiceStatus* (*output_range)(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count);
  int32_t (*has_attr)(const SluiceNode* node, const char* name);
  /* The node's value, or the op's default. */
  SluiceStatus* (*get_attr)(SluiceNode* node, const char* name, int32_t kind, SluiceAttr* value);

  /* Shapes. Outputs that are not set stay unknown. */
  SluiceStatus* (*input_shape)(SluiceShapes* shapes, int32_t i, SluiceShape* shape);
  /* 1, and the elements (int64_t) of a small integer scalar or vector, where something is known of them; else 0. */
  int32_t (*input_value)(SluiceShapes* shapes, int32_t i, SluiceAttr* value);
  SluiceStatus* (*set_shape)(SluiceShapes* shapes, int32_t i, const SluiceShape* shape);
  /* Output `out` has the shape that inputs `a` and `b` must both have. */
  SluiceStatus* (*set_same_shape)(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b);
  /* Output `out` has the shape to which inputs `a` and `b` broadcast. */
  SluiceStatus* (*set_broadcast_shape)(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b);

  /* Inputs and outputs of a call. */
  int32_t (*call_num_inputs)(const SluiceCall* call);
  int32_t (*call_num_outputs)(const SluiceCall* call);
  SluiceStatus* (*input)(SluiceCall* call, int32_t i, SluiceView* view);
  /* 1 unless nothing reads the output, which may then be left unset. */
  int32_t (*is_output_used)(const SluiceCall* call, int32_t i);
  /* An output of its declared type, elements uninitialised (strings empty). */
  SluiceStatus* (*allocate_output)(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims, SluiceView* view);
  /* The same in the memory of one of the inputs `candidates` where nothing else needs that: views of it stay valid. */
  SluiceStatus* (*forward_or_allocate)(SluiceCall* call, int32_t i, int32_t rank, const int64_t* dims,
                                       const int32_t* candidates, int32_t num_candidates, SluiceView* view);
  /* Output `i` is this tensor: it shares the elements. */
  SluiceStatus* (*set_output)(SluiceCall* call, int32_t i, const SluiceTensor* tensor);
  SluiceStatus* (*pass_input)(SluiceCall* call, int32_t out, int32_t in);

  /* Tensors that are kept: by a kernel, or during a call. Each is freed with delete_tensor, also after the call.
   * allocate_temp: of the device that the call runs on; `call` NULL: in host memory. wrap_memory: over memory of the
   * plug-in, which is in use, and never written, until `release` (which may be NULL) has run, on any thread; it has run
   * as well where there is an error. */
  SluiceStatus* (*allocate_temp)(SluiceCall* call, int32_t dtype, int32_t rank, const int64_t* dims,
                                 SluiceTensor** tensor);
  SluiceStatus* (*wrap_memory)(int32_t dtype, int32_t rank, const int64_t* dims, void* memory, size_t num_bytes,
                               void (*release)(void* data), void* data, SluiceTensor** tensor);
  SluiceStatus* (*keep_input)(SluiceCall* call, int32_t i, SluiceTensor** tensor);
  SluiceStatus* (*keep_tensor)(const SluiceTensor* tensor, SluiceTensor** kept);
  /* Elements are writable only in what allocate_temp gave, as long as nothing shares them. NULL: a view of dtype 0. */
  void (*view_tensor)(SluiceTensor* tensor, SluiceView* view);
  void (*delete_tensor)(SluiceTensor* tensor);

  /* Elements of string tensors, `element` of view.data or view.mutable_data. */
  SluiceString (*string_at)(const void* data, int64_t element);
  SluiceStatus* (*set_string)(void* mutable_data, int64_t element, const char* text, size_t size);

  /* Work. Calls `work` for parts of [0, total), on several threads where that pays: `unit_ns` is the time of one unit.
   * Returns when all parts that began have ended: NULL, the first error of a part, or SLUICE_CANCELLED where the run
   * was cancelled or its deadline has passed. After an error no further part begins. */
  SluiceStatus* (*parallel_for)(SluiceCall* call, int64_t total, double unit_ns,
                                SluiceStatus* (*work)(void* data, int64_t begin, int64_t end), void* data);
  /* 1 once the run is cancelled: what the kernel computes is of no use any more. */
  int32_t (*is_cancelled)(const SluiceCall* call);
  /* Has `cancel` called once, on any thread, when the run is cancelled, and gives a token for it. 0, and no call, where
   * that has happened already. */
  int32_t (*on_cancel)(SluiceCall* call, void (*cancel)(void* data), void* data, int64_t* token);
  /* 1: the callback has not run and will not. 0: it has run; where it is running on another thread this waits for it,
   * so call it, and `finish`, with no lock held that the callback takes. `finish` does this for what is left. */
  int32_t (*off_cancel)(SluiceCall* call, int64_t token);
  int64_t (*step_id)(const SluiceCall* call);
  int64_t (*iteration)(const SluiceCall* call); /* Of the loop that the node is in; 0 outside. */

  /* Ends a call of an asynchronous kernel; takes `status`. An error, and nothing else, where it was ended before. */
  SluiceStatus* (*finish)(SluiceDone done, SluiceStatus* status);

  /* From here on: since 1.1. */

  /* In SluicePlugin::add. */
  SluiceStatus* (*add_gradient)(SluiceRegistration* registration, const SluiceGradientDef* gradient);

  /* Gradients. Whether that of input `i` is asked for; whether output `i` has one. */
  int32_t (*wants_gradient)(const SluiceGradients* gradients, int32_t i);
  int32_t (*has_dy)(const SluiceGradients* gradients, int32_t i);
  /* The node's input or output `i`; the gradient of output `i`, zeros where it has none. */
  SluiceStatus* (*input_of)(SluiceGradients* gradients, int32_t i, SluiceValue* value);
  SluiceStatus* (*output_of)(SluiceGradients* gradients, int32_t i, SluiceValue* value);
  SluiceStatus* (*dy_of)(SluiceGradients* gradients, int32_t i, SluiceValue* value);
  /* Adds a node of any op that the graph knows, and gives its output 0. Attrs that follow from the inputs (T, N, lists
   * of types) need not be given. */
  SluiceStatus* (*gradient_op)(SluiceGradients* gradients, const char* op, const SluiceValue* inputs,
                               int32_t num_inputs, const SluiceNamedAttr* attrs, int32_t num_attrs, SluiceValue* value);
  /* Output `i` of the node that `value` is an output of. */
  SluiceStatus* (*sibling_of)(SluiceGradients* gradients, SluiceValue value, int32_t i, SluiceValue* sibling);
  SluiceStatus* (*gradient_constant)(SluiceGradients* gradients, const SluiceTensor* tensor, SluiceValue* value);
  /* A scalar of the type of `like`, a real or complex number. */
  SluiceStatus* (*gradient_number)(SluiceGradients* gradients, SluiceValue like, double number, SluiceValue* value);
  /* The gradient of input `i` is `value`, which has the input's type and shape. */
  SluiceStatus* (*set_gradient)(SluiceGradients* gradients, int32_t i, SluiceValue value);
};

/* ---- What a plug-in exports ------------------------------------------------------------------------------------ */

/* The first five members never change. */
typedef struct SluicePlugin {
  uint32_t magic;     /* SLUICE_PLUGIN_MAGIC */
  uint32_t abi_major; /* SLUICE_PLUGIN_MAJOR */
  uint32_t abi_minor; /* SLUICE_PLUGIN_MINOR, of the header that the plug-in was built with. */
  uint32_t layout;    /* SLUICE_PLUGIN_LAYOUT */
  size_t struct_size; /* sizeof(SluicePlugin) */
  const char* name;   /* For people: "audio ops". */
  const char* version;
  SluiceStatus* (*add)(const SluiceApi* api, SluiceRegistration* registration);
} SluicePlugin;

/* How this compiler lays out what has no size of its own. */
#define SLUICE_PLUGIN_LAYOUT                                                                           \
  ((uint32_t)((sizeof(void*) << 24) ^ (sizeof(SluiceView) << 16) ^ (offsetof(SluiceView, data) << 8) ^ \
              (sizeof(SluiceShape) << 6) ^ (sizeof(SluiceAttr) << 3) ^ sizeof(SluiceTypes)))

#define SLUICE_PLUGIN_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_API_H_
