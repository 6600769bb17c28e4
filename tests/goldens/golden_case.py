"""Records one conformance case: runs its graph with real TensorFlow and writes what came back.

The format of a case folder is that of the conformance suite (README.md here has a summary). Development only.
"""

import io
import json
import os
import shutil
import zipfile

import numpy as np
import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import c_api_util

from c_session import CSession

tf1 = tf.compat.v1
ROOT = os.path.dirname(os.path.abspath(__file__))
CODES = {tf.errors.InvalidArgumentError: "INVALID_ARGUMENT", tf.errors.NotFoundError: "NOT_FOUND",
         tf.errors.OutOfRangeError: "OUT_OF_RANGE", tf.errors.UnimplementedError: "UNIMPLEMENTED",
         tf.errors.FailedPreconditionError: "FAILED_PRECONDITION", tf.errors.InternalError: "INTERNAL",
         tf.errors.ResourceExhaustedError: "RESOURCE_EXHAUSTED", tf.errors.DataLossError: "DATA_LOSS",
         tf.errors.AlreadyExistsError: "ALREADY_EXISTS"}


# What TensorFlow did not answer as the case says.
problems = []


def import_bytes(graph, data):
    """Imports a binary GraphDef as it is: Python's importer would add defaults and lose what is malformed."""
    with graph._c_graph.get() as c_graph, c_api_util.tf_buffer(data) as buffer:
        options = c_api_util.ScopedTFImportGraphDefOptions()
        c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
    graph._add_new_tf_operations()


def npy(value):
    """`value` as a .npy file, format 1.0."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(value).reshape(np.shape(value)), version=(1, 0))
    return out.getvalue()


class Case:
    """One case. `graph` is a tf.Graph, a GraphDef or bytes; for a SavedModel `saved_model` is a directory.

    Use: construct, call run()/fail() once per step in order, then write(). `optimised`: with TensorFlow's optimiser of
    graphs, as sessions are by themselves.
    """

    def __init__(self, path, about, graph=None, needs=(), rtol=1e-5, atol=1e-6, graph_file="graph.pb", format=None,
                 saved_model=None, signature=None, inspect=None, gradients=None, optimised=True):
        self.path = path
        self.config = tf1.ConfigProto(device_count={"CPU": 1})
        if not optimised:
            self.config.graph_options.optimizer_options.opt_level = -1
            self.config.graph_options.rewrite_options.disable_meta_optimizer = True
        self.spec = {"name": path, "about": about}
        self.files = {}
        self.npys = []
        self.steps = []
        if saved_model:
            self.spec.update(saved_model="saved_model", tags=["serve"], signature=signature)
            self.source_dir = saved_model
        else:
            self.source_dir = None
            self.spec["graph"] = graph_file
            if format:
                self.spec["graph_format"] = format
            if isinstance(graph, tf.Graph):
                graph = graph.as_graph_def()
            self.bytes = graph if isinstance(graph, bytes) else graph.SerializeToString(deterministic=True)
            self.files[graph_file] = self.bytes
        self.spec.update(rtol=rtol, atol=atol, needs=sorted(needs))
        if gradients:
            self.spec["gradients"] = gradients
        if inspect:
            self.spec["inspect"] = inspect
        self.session = None

    # --- Sessions --------------------------------------------------------------------------------------------------
    def set_file(self, name, data):
        """Replaces the recorded graph file by another form of the same graph (text, meta graph)."""
        self.files[name] = data

    def load(self, extend=None):
        """Opens the session; `extend(graph)` may add what the runner builds by itself (gradients)."""
        graph = tf.Graph()
        self.session = tf1.Session(graph=graph, config=self.config)
        if self.source_dir:
            with graph.as_default():
                meta = tf1.saved_model.load(self.session, ["serve"], self.source_dir)
            self.signature = meta.signature_def[self.spec["signature"]]
        else:
            import_bytes(graph, self.bytes)
            if extend:
                with graph.as_default():
                    extend(graph)
        return self

    def _tensor_name(self, name, of):
        if ":" in name:
            return name
        if self.source_dir:
            return getattr(self.signature, of)[name].name
        return name + ":0"

    # --- Steps -----------------------------------------------------------------------------------------------------
    def run(self, fetches=(), feeds=None, targets=(), name=None, repeat=1, compare=True):
        """A step that succeeds: its answers are recorded. Fetches of `compare=False` are only fetched."""
        if self.session is None:
            self.load()
        feed = {self._tensor_name(k, "inputs"): v for k, v in (feeds or {}).items()}
        names = [self._tensor_name(f, "outputs") for f in fetches]
        graph = self.session.graph
        ops = [graph.get_operation_by_name(t) for t in targets]
        for _ in range(repeat):
            values = self.session.run([names, ops], feed)[0]
        dtypes = [graph.get_tensor_by_name(n).dtype for n in names]
        step = self._step(feeds, feed, name, targets)
        if fetches:
            step["fetches"] = [[f, self._store(v, d) if compare else None] for f, v, d in zip(fetches, values, dtypes)]
        if repeat > 1:
            step["repeat"] = repeat
        self.steps.append(step)
        return self

    def fail(self, code, contains=(), fetches=(), feeds=None, targets=(), when=None, ours=False, name=None):
        """A step that fails with `code`. Unless `ours`, TensorFlow must too, and at load if `when` says so."""
        if not ours:
            self._check_failure(code, fetches, feeds, targets, when)
        step = self._step(feeds, {}, name, targets)
        if fetches:
            step["fetches"] = [[f, None] for f in fetches]
        step["error"] = {"code": code, "contains": list(contains)}
        if when:
            step["error"]["when"] = when
        if ours:
            step["oracle"] = "ours"
        self.steps.append(step)
        return self

    def _check_failure(self, code, fetches, feeds, targets, when):
        if self.session is None and not self.source_dir:
            stage, got, message = self._fail_in_c(fetches, targets)
        else:
            stage, got, message = "run", "OK", ""
            try:
                graph = self.session.graph
                names = [graph.get_tensor_by_name(self._tensor_name(f, "outputs")) for f in fetches]
                ops = [graph.get_operation_by_name(t) for t in targets]
                self.session.run([names, ops], {self._tensor_name(k, "inputs"): v for k, v in (feeds or {}).items()})
            except tuple(CODES) as error:
                got, message = CODES[type(error)], str(error)
        if got != code or (when == "load" and stage != "load"):
            problems.append("%s: expected %s at %s, got %s at %s: %s" % (self.path, code, when, got, stage, message))

    def _fail_in_c(self, fetches, targets):
        session = CSession()
        stage = "load"
        got, message = session.extend(self.bytes)
        if got == "OK" and (fetches or targets):
            stage = "run"
            got, message = session.run([self._tensor_name(f, "outputs") for f in fetches], targets)
        session.close()
        return stage, got, message

    def _step(self, feeds, feed, name, targets):
        step = {}
        if name:
            step["name"] = name
        if feeds:
            graph = self.session.graph if self.session else None
            step["feeds"] = {}
            for key, value in feeds.items():
                dtype = graph.get_tensor_by_name(self._tensor_name(key, "inputs")).dtype if graph and feed else None
                step["feeds"][key] = self._store(value, dtype)
        if targets:
            step["targets"] = list(targets)
        return step

    # --- Files -----------------------------------------------------------------------------------------------------
    def _store(self, value, dtype):
        """Keeps one tensor and returns the name that case.json uses for it."""
        value = np.asarray(value)
        number = len(self.npys) + sum(name.startswith("t") and name.endswith(".pb") for name in self.files)
        if value.dtype.kind in "OSU" or (dtype is not None and dtype.base_dtype == tf.bfloat16):
            name = "t%03d.pb" % number
            proto = tf.make_tensor_proto(value, dtype=dtype.base_dtype if dtype else None)
            self.files[name] = proto.SerializeToString(deterministic=True)
        else:
            name = "t%03d.npy" % number
            self.npys.append((name, npy(value)))
        return name

    def write(self):
        folder = os.path.join(ROOT, self.path)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        if len(self.npys) == 1:
            self.files[self.npys[0][0]] = self.npys[0][1]
        elif self.npys:
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
                for name, data in self.npys:
                    archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data)
            self.files["tensors.npz"] = out.getvalue()
        for name, data in self.files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(data)
        if self.source_dir:
            shutil.copytree(self.source_dir, os.path.join(folder, "saved_model"))
        if self.steps:
            self.spec["steps"] = self.steps
        elif self.session is None:
            self.load()  # A case that is only loaded and inspected: TensorFlow must load it too.
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(self.spec, indent=1) + "\n")
        if self.session:
            self.session.close()
