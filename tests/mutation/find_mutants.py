"""Finds what can be changed in the functions of a source, by clang's view of it."""

import os
import re

import clang.cindex
from clang.cindex import CursorKind, TypeKind

import mutated_source
from mutated_source import Mutant

_FLAGS = ["-x", "c++", "-std=c++17", "-march=x86-64-v2", "-ferror-limit=0", "-w"]

# What stands in the place of an operator; the first is the change of a boundary.
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
    "*": "+", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "|": "&", "&": "|", "<<": ">>", ">>": "<<"}
_ARITHMETIC = {"+", "-", "*", "/", "%", "+=", "-=", "|", "&", "<<", ">>"}
_ASSIGNMENTS = {"+=", "-="}
_NUMBERS = {TypeKind.BOOL, TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT, TypeKind.USHORT,
            TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG, TypeKind.FLOAT,
            TypeKind.DOUBLE, TypeKind.ENUM}
_FUNCTIONS = {CursorKind.FUNCTION_DECL, CursorKind.CXX_METHOD, CursorKind.CONSTRUCTOR, CursorKind.DESTRUCTOR,
              CursorKind.CONVERSION_FUNCTION, CursorKind.FUNCTION_TEMPLATE, CursorKind.LAMBDA_EXPR}

# What must stay constant, or says nothing of what the program does.
_SKIPPED = {CursorKind.STATIC_ASSERT, CursorKind.ENUM_DECL, CursorKind.TYPE_ALIAS_DECL, CursorKind.TYPEDEF_DECL,
            CursorKind.TEMPLATE_TYPE_PARAMETER, CursorKind.TEMPLATE_NON_TYPE_PARAMETER, CursorKind.TYPE_REF}

# Checks of our own invariants: what makes them fail is a bug, so that changes of them are not seen.
_CHECKS = ("SLUICE_CHECK", "SLUICE_DCHECK", "SLUICE_LOG", "static_assert", "constexpr")


def _kind(cursor):
    """What a cursor, or a type, is; None for the few kinds that clang has and its Python module does not know."""
    try:
        return cursor.kind
    except ValueError:
        return None


def _is_expression(cursor):
    kind = _kind(cursor)
    return kind is not None and kind.is_expression()


class Finder:
    """Finds the mutants of files of one directory tree."""

    def __init__(self, root, include_folders):
        self._root = root
        self._index = clang.cindex.Index.create()
        self._flags = [*_FLAGS, *("-I" + folder for folder in [root, *include_folders])]

    def find(self, path):
        """The mutants of one file, in order."""
        full = os.path.join(self._root, path)
        with open(full, "rb") as file:
            source = file.read()
        unit = self._index.parse(full, self._flags)
        visit = _FileVisit(path, full, source)
        visit.walk(unit.cursor, False, None)
        return visit.mutants

    def compilable(self, path, mutants):
        """The mutants of a file without those that clang refuses. One at a time: an error brings others with it."""
        with open(os.path.join(self._root, path), "rb") as file:
            source = file.read()
        known = {message for message, _ in self._errors(path, source.decode())}
        for number, mutant in enumerate(mutants, 1):
            mutant.number = number
        while mutants:
            text = mutated_source.with_prelude(mutated_source.rewrite(source, mutants), path)
            lines = [line for message, line in self._errors(path, text) if message not in known]
            if not lines:
                break
            kept = [m for m in mutants if not m.line <= lines[0] <= m.line + m.original.count("\n")]
            if len(kept) == len(mutants):
                break  # The build will tell.
            mutants = kept
        return mutants

    def _errors(self, path, text):
        """(message, line) of each error. Not the diagnostics: they end with the unit."""
        full = os.path.join(self._root, path)
        unit = self._index.parse(full, self._flags, unsaved_files=[(full, text)])
        return [(diagnostic.spelling, diagnostic.location.line) for diagnostic in unit.diagnostics
                if diagnostic.severity >= clang.cindex.Diagnostic.Error]


class _FileVisit:
    """One walk over the syntax tree of a file."""

    def __init__(self, path, full, source):
        self.mutants = []
        self._path = path
        self._full = full
        self._source = source
        self._seen = set()

    def _text(self, begin, end):
        return self._source[begin:end].decode(errors="replace")

    def _line_of(self, offset):
        begin = self._source.rfind(b"\n", 0, offset) + 1
        end = self._source.find(b"\n", offset)
        return self._text(begin, end if end >= 0 else len(self._source))

    def _add(self, kind, begin, end, text, is_statement=False):
        original = self._text(begin, end)
        key = (begin, end, kind, text)
        # One more line than this file has is what a macro makes of it; comments cannot be put on one line.
        if key in self._seen or "//" in text or "#" in original or any(c in self._line_of(begin) for c in _CHECKS):
            return
        self._seen.add(key)
        line = self._source.count(b"\n", 0, begin) + 1
        mutant = Mutant(self._path, line, kind, begin, end, text, is_statement)
        mutant.original = original
        self.mutants.append(mutant)

    def walk(self, cursor, in_function, result):
        """Visits what stands below a cursor; `result` is what the function around it returns."""
        for child in cursor.get_children():
            if child.location.file is None or child.location.file.name != self._full or _kind(child) in _SKIPPED:
                continue
            inside, returns = in_function, result
            if _kind(cursor) == CursorKind.VAR_DECL and self._is_part_of_type(cursor, child):
                continue
            if _kind(child) in _FUNCTIONS:
                if self._is_constant(child):
                    continue
                inside, returns = True, None if _kind(child) == CursorKind.LAMBDA_EXPR else child.result_type.spelling
            elif _kind(child) == CursorKind.VAR_DECL and self._is_constant(child):
                continue
            elif _kind(child) == CursorKind.CASE_STMT:
                for part in list(child.get_children())[1:]:
                    self._visit_statement(part)
                    self.walk_one(part, inside, returns)
                continue
            if inside:
                self._visit(child, returns)
            self.walk(child, inside, returns)

    def walk_one(self, cursor, in_function, result):
        self._visit(cursor, result)
        self.walk(cursor, in_function, result)

    def _is_part_of_type(self, variable, part):
        """Whether a part of a variable's declaration stands before its name, or between brackets after it."""
        name_end = variable.location.offset + len(variable.spelling)
        between = self._text(name_end, part.extent.start.offset)
        return part.extent.start.offset < name_end or between.startswith("[") and "]" not in between

    def _is_constant(self, cursor):
        """Whether the compiler computes it: constexpr, or a static that must start as a constant."""
        for token in cursor.get_tokens():
            if token.spelling in ("constexpr", "consteval"):
                return True
            if token.spelling in ("{", "(", "="):
                return False
        return False

    def _visit(self, cursor, result):
        kind = _kind(cursor)
        if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
            self._binary(cursor)
        elif kind == CursorKind.CALL_EXPR and cursor.spelling in ("operator==", "operator!=", "operator<", "operator>"):
            self._binary(cursor)
        elif kind == CursorKind.IF_STMT:
            self._condition(cursor, ("true", "false"))
        elif kind in (CursorKind.WHILE_STMT, CursorKind.CONDITIONAL_OPERATOR):
            self._condition(cursor, ("false",) if kind == CursorKind.WHILE_STMT else ("true", "false"))
        elif kind == CursorKind.INTEGER_LITERAL:
            self._literal(cursor)
        elif kind == CursorKind.CXX_BOOL_LITERAL_EXPR:
            begin, end = self._range(cursor)
            if self._text(begin, end) in ("true", "false"):
                self._add("flag", begin, end, "false" if self._text(begin, end) == "true" else "true")
        elif kind == CursorKind.UNARY_OPERATOR:
            self._unary(cursor)
        elif kind == CursorKind.RETURN_STMT:
            self._return(cursor, result)
        elif kind == CursorKind.COMPOUND_STMT:
            for child in cursor.get_children():
                self._visit_statement(child)

    @staticmethod
    def _range(cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def _binary(self, cursor):
        """Another operator; clang tells where its sides are, and the text between them must be the operator."""
        sides = list(cursor.get_children())
        if len(sides) < 2:
            return
        left, right = self._range(sides[0]), self._range(sides[-1])
        operator = self._text(left[1], right[0]).strip()
        begin, end = self._range(cursor)
        if operator not in _OPERATORS or (left[0], right[1]) != (begin, end):
            return
        if operator in _ARITHMETIC and not self._are_numbers(cursor, sides):
            return
        text = f"{self._text(*left)} {_OPERATORS[operator]} {self._text(*right)}"
        self._add("operator", begin, end, text)

    @staticmethod
    def _are_numbers(cursor, sides):
        return all(_kind(part.type.get_canonical()) in _NUMBERS for part in (cursor, sides[0], sides[-1]))

    def _condition(self, cursor, values):
        children = list(cursor.get_children())
        condition = children[0]
        if _kind(condition) == CursorKind.DECL_STMT:
            between = self._text(condition.extent.end.offset - 1, children[1].extent.start.offset)
            if len(children) < 3 or ";" not in between or not _is_expression(children[1]):
                return
            condition = children[1]
        begin, end = self._range(condition)
        if not _is_expression(condition) or begin >= end or re.match(r"[A-Z_]+\(", self._text(begin, end)):
            return  # The last: a condition in a macro.
        for value in values:
            self._add(f"condition {value}", begin, end, value)

    def _literal(self, cursor):
        begin, end = self._range(cursor)
        text = self._text(begin, end)
        around = self._text(begin - 1, begin) + self._text(end, end + 1)
        if text.isdigit() and "<" not in around and ">" not in around:  # A template's argument is a constant.
            self._add("number", begin, end, str(int(text) + 1))
            if int(text) > 0:
                self._add("number", begin, end, str(int(text) - 1))

    def _unary(self, cursor):
        begin, end = self._range(cursor)
        text = self._text(begin, end)
        if text.startswith("!"):
            self._add("negation", begin, end, f"static_cast<bool>({text[1:]})")
        elif text.startswith("++"):
            self._add("operator", begin, end, "--" + text[2:])
        elif text.startswith("--"):
            self._add("operator", begin, end, "++" + text[2:])

    def _return(self, cursor, result):
        begin, end = self._range(cursor)
        text = self._text(begin, end)
        if result == "absl::Status" and "OkStatus" not in text and self._source[end:end + 1] == b";":
            self._add("error dropped", begin, end + 1, "return absl::OkStatus();", is_statement=True)

    def _visit_statement(self, cursor):
        """Leaves a statement out: a call whose result is not used, or an assignment."""
        if cursor.location.file is None or cursor.location.file.name != self._full:
            return
        begin, end = self._range(cursor)
        if _kind(cursor) == CursorKind.UNEXPOSED_EXPR and list(cursor.get_children()):
            inner = list(cursor.get_children())[0]
            kind = _kind(inner) if self._range(inner) == (begin, end) else _kind(cursor)
        else:
            kind = _kind(cursor)
        plain = kind in (CursorKind.CALL_EXPR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.BINARY_OPERATOR,
                         CursorKind.UNARY_OPERATOR)
        checked = self._text(begin, begin + len("SLUICE_RETURN_IF_ERROR(")) == "SLUICE_RETURN_IF_ERROR("
        if checked:
            end = self._end_of_call(begin)
        if (plain or checked) and end and self._source[end:end + 1] == b";":
            self._add("left out", begin, end + 1, "", is_statement=True)

    def _end_of_call(self, begin):
        """The end of a macro call that begins at an offset, by its parentheses."""
        depth = 0
        for at in range(begin, len(self._source)):
            char = self._source[at:at + 1]
            depth += (char == b"(") - (char == b")")
            if depth == 0 and char == b")":
                return at + 1
        return None
