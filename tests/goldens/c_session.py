"""TensorFlow's C session: takes the bytes of a graph as they are and answers with the runtime's own status code.

Python's importer changes graphs on the way in (defaults, devices), so that errors differ. Development only.
"""

import ctypes
import glob
import os

import tensorflow as tf

CODES = {3: "INVALID_ARGUMENT", 5: "NOT_FOUND", 6: "ALREADY_EXISTS", 8: "RESOURCE_EXHAUSTED", 9: "FAILED_PRECONDITION",
         11: "OUT_OF_RANGE", 12: "UNIMPLEMENTED", 13: "INTERNAL", 15: "DATA_LOSS"}


def _library():
    folder = os.path.dirname(tf.__file__)
    lib = ctypes.CDLL(glob.glob(os.path.join(folder, "libtensorflow_cc.so.*"))[0])
    for name in ("TF_NewStatus", "TF_NewSessionOptions", "TF_NewDeprecatedSession"):
        getattr(lib, name).restype = ctypes.c_void_p
    lib.TF_Message.restype = ctypes.c_char_p
    return lib


class CSession:
    """One session. Methods return (code, message); code is "OK" or a name."""

    def __init__(self):
        self.lib = _library()
        self.status = ctypes.c_void_p(self.lib.TF_NewStatus())
        options = ctypes.c_void_p(self.lib.TF_NewSessionOptions())
        config = tf.compat.v1.ConfigProto(device_count={"CPU": 1})
        config.graph_options.optimizer_options.opt_level = -1  # Constant folding would hide errors at run time.
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        config = config.SerializeToString()
        self.lib.TF_SetConfig(options, config, ctypes.c_size_t(len(config)), self.status)
        self.session = ctypes.c_void_p(self.lib.TF_NewDeprecatedSession(options, self.status))
        self.lib.TF_DeleteSessionOptions(options)

    def _answer(self):
        code = self.lib.TF_GetCode(self.status)
        return CODES.get(code, str(code)) if code else "OK", self.lib.TF_Message(self.status).decode(errors="replace")

    def extend(self, data):
        """Adds the GraphDef in the bytes `data`."""
        self.lib.TF_ExtendGraph(self.session, data, ctypes.c_size_t(len(data)), self.status)
        return self._answer()

    def run(self, fetches, targets):
        """Runs without feeds; the values are thrown away."""
        names = (ctypes.c_char_p * len(fetches))(*[f.encode() for f in fetches])
        tensors = (ctypes.c_void_p * len(fetches))()
        ops = (ctypes.c_char_p * len(targets))(*[t.encode() for t in targets])
        self.lib.TF_Run(self.session, None, None, None, 0, names, tensors, len(fetches), ops, len(targets), None,
                        self.status)
        for tensor in tensors:
            if tensor:
                self.lib.TF_DeleteTensor(ctypes.c_void_p(tensor))
        return self._answer()

    def close(self):
        self.lib.TF_CloseDeprecatedSession(self.session, self.status)
        self.lib.TF_DeleteDeprecatedSession(self.session, self.status)
        self.lib.TF_DeleteStatus(self.status)
