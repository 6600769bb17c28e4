"""Reads BUILD files without Bazel: their language is a part of Python, so that they are run with recorders for rules.

A lint that is itself a test cannot ask Bazel, which is busy with running it.
"""

import ast
import builtins
import os

# Attributes that name files or other targets.
_LABEL_LISTS = ("srcs", "hdrs", "textual_hdrs", "deps", "data", "tools", "programs", "implementation_deps")


class Target:
    """A rule of a BUILD file: kind, label, line and attributes."""

    def __init__(self, kind, package, path, line, attributes):
        self.kind = kind
        self.package = package
        self.path = path
        self.line = line
        self.attributes = attributes

    def labels(self):
        """What the target needs, as full labels."""
        values = [value for key in _LABEL_LISTS for value in flatten(self.attributes.get(key))]
        values += flatten(self.attributes.get("src")) + flatten(self.attributes.get("actual"))
        return [resolve(value, self.package) for value in values]


class Selected:
    """A select(): all of its branches count."""

    def __init__(self, branches):
        self.values = [value for branch in branches.values() for value in flatten(branch)]

    def __add__(self, other):
        return self.values + flatten(other)

    def __radd__(self, other):
        return flatten(other) + self.values


class _Native:
    """The module `native` of macros, and each rule that a BUILD file calls: its calls are recorded for a package."""

    def __init__(self, workspace, package):
        self._workspace = workspace
        self._package = package

    def package_name(self):
        return self._package

    def __getattr__(self, kind):
        return lambda *_, **attributes: self._workspace.record(kind, self._package, attributes)


class _Unused:
    """What only implementations of rules use: `provider`, `attr` and the like."""

    def __getattr__(self, _):
        return self

    def __call__(self, *_, **__):
        return self


class Workspace:
    """The targets of all BUILD files of a tree, and of the file that describes the system's libraries."""

    def __init__(self, tree):
        self.targets = {}  # label -> Target
        self._tree = tree
        self._line = 0
        self._modules = {}
        for path in tree.select("BUILD.bazel"):
            if path.startswith("tools/bazel/") and path != "tools/bazel/BUILD.bazel":
                continue  # Repositories of their own.
            self._run_build_file(path, os.path.dirname(path))
        if "tools/bazel/sys.BUILD" in tree.files:
            self._run_build_file("tools/bazel/sys.BUILD", "@sys")

    def record(self, kind, package, attributes):
        if "name" in attributes:
            path = "tools/bazel/sys.BUILD" if package == "@sys" else os.path.join(package, "BUILD.bazel")
            target = Target(kind, package, path, self._line, attributes)
            for name in [":" + attributes["name"], *flatten(attributes.get("outs"))]:
                self.targets[resolve(name, package)] = target

    def _run_build_file(self, path, package):
        """Runs a BUILD file, in which every unknown name is a rule."""
        module = ast.parse(self._tree.read(path), path)
        native = _Native(self, package)
        space = {"select": Selected, "glob": lambda patterns, **_: [], "native": native,
                 "load": lambda label, *names: space.update(self._load(label, package, names))}
        for name in names_of(module) - set(space):
            space[name] = getattr(native, name)
        for statement in module.body:
            self._line = statement.lineno
            exec(compile(ast.Module([statement], []), path, "exec"), space)  # Our own files.

    def _load(self, label, package, names):
        """What a load() binds in a package: {name: macro or rule}."""
        folder, _, name = resolve(label, package).partition(":")
        path = os.path.join(folder[2:], name)
        if path not in self._tree.files:
            return {}
        if (path, package) not in self._modules:
            module = ast.parse(self._tree.read(path), path)
            space = {name: _Unused() for name in names_of(module)}
            space["native"] = native = _Native(self, package)
            space.update(select=Selected, glob=lambda patterns, **_: [], rule=lambda *_, **__: native.rule)
            exec(compile(module, path, "exec"), space)
            self._modules[path, package] = space
        return {name: self._modules[path, package][name] for name in names}

    def closure(self, labels):
        """(targets, files of the tree) that are reached from the labels."""
        targets, files, pending = {}, set(), list(labels)
        while pending:
            label = pending.pop()
            if label in targets:
                continue
            if label in self.targets:
                targets[label] = self.targets[label]
                files.add(self.targets[label].path)
                pending.extend(self.targets[label].labels())
                continue
            folder, _, name = label.partition(":")
            path = os.path.join(folder.lstrip("/"), name)
            if path in self._tree.files:
                files.add(path)
            elif label + "_protos" not in targets and label + "_protos" in self.targets:
                pending.append(label + "_protos")
        return targets, files

    def below(self, folder, kinds=None):
        """The labels of the targets of a directory and of those below it."""
        return [label for label, target in self.targets.items()
                if (target.package + "/").startswith(folder) and (kinds is None or target.kind in kinds)]


def names_of(module):
    """The names of a file that Python does not know."""
    return {node.id for node in ast.walk(module) if isinstance(node, ast.Name) and not hasattr(builtins, node.id)}


def flatten(value):
    """The strings of an attribute."""
    if isinstance(value, Selected):
        return value.values
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, (list, tuple)) else []


def resolve(label, package):
    """The full form of a label that stands in a package: "//a/b:c" or "@sys//:c"."""
    root = "@sys//" if package == "@sys" else "//" + package
    if label.startswith("@") or label.startswith("//"):
        folder, _, name = label.partition(":")
        return f"{folder}:{name or os.path.basename(folder)}"
    return f"{root}:{label.lstrip(':')}"
