"""Finds the programs that a Python script starts, and the modules that it imports."""

import ast
import os
import sys

import shell_words

_STARTERS = {"run", "Popen", "call", "check_call", "check_output"}
_LOOKUPS = {"which", "execvp", "execlp", "execv", "execl"}


class PythonCalls:
    """What one script reaches: `programs` and `modules` as (line, name); paths of our own are no names."""

    def __init__(self, text, path):
        self.programs = []
        self.modules = []
        self._assigned = {}  # name -> the values that it is given anywhere in the script
        module = ast.parse(text, path)
        for node in ast.walk(module):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                self._assigned.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                self._add_modules(node, [alias.name for alias in node.names])
            elif isinstance(node, ast.ImportFrom) and node.module:
                self._add_modules(node, [node.module])
            elif isinstance(node, ast.Call):
                self._add_call(node)
        self.programs = sorted(set(self.programs))

    def _add_modules(self, node, names):
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names:
                self.modules.append((node.lineno, top))

    def _add_call(self, node):
        function = node.func
        if not node.args or not isinstance(function, ast.Attribute):
            return
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        if owner == "subprocess" and function.attr in _STARTERS or (
                owner in ("os", "shutil") and function.attr in _LOOKUPS):
            self._add_command(node.args[0], 8)
        elif owner == "os" and function.attr in ("system", "popen"):
            self._add_shell(node.args[0])

    def _add_command(self, value, depth):
        """Adds the program that a command begins with, where the script says so in its own words."""
        if depth == 0:
            return
        if isinstance(value, ast.Name):
            for assigned in self._assigned.get(value.id, []):
                self._add_command(assigned, depth - 1)
        elif isinstance(value, ast.BinOp):
            self._add_command(value.left, depth - 1)
        elif isinstance(value, ast.Starred):
            self._add_command(value.value, depth - 1)
        elif isinstance(value, (ast.List, ast.Tuple)) and value.elts:
            first, texts = value.elts[0], [e.value for e in value.elts if isinstance(e, ast.Constant)]
            if len(texts) == len(value.elts) > 2 and os.path.basename(texts[0]) in ("bash", "sh") and texts[1] == "-c":
                self._add_shell(value.elts[2])
            self._add_command(first, depth - 1)
        elif isinstance(value, ast.Constant) and isinstance(value.value, str):
            if " " in value.value:
                self._add_shell(value)
            else:
                self.programs.append((value.lineno, value.value))

    def _add_shell(self, value):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            self.programs += [(value.lineno, name) for _, name in shell_words.Script(value.value).calls]
