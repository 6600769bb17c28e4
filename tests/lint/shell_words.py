"""Finds the programs that a piece of bash calls. Reads what our scripts are written in, not all that bash knows."""

import re

_KEYWORDS = {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "time"}
_CLOSERS = {"case", "fi", "done", "}", "esac", "[[", "((", "for", "in", "function", "select"}
_BUILTINS = set("""
    . : [ alias bg bind break caller cd compgen complete continue declare dirs disown echo enable eval exit export
    false fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
    return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait""".split())

# They run the command that their arguments end with.
_RUNNERS = {"builtin", "command", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "timeout",
            "xargs"}
_SHELL_RUNNERS = {"builtin", "command", "exec"}
_SHELLS = {"bash", "sh"}
_RUNNERS_OWN = re.compile(r"^(-.*|[\d.]+[smh]?|\w+=.*|\{\})$")
_ASSIGNMENT = re.compile(r"^\w+(\[[^]]*\])?\+?=")
_HEREDOC = re.compile(r"(?<!<)<<-?\s*(['\"]?)(\w+)\1")


def without_heredocs(text):
    """The text with the lines of here-documents left empty."""
    lines, end = [], None
    for line in text.split("\n"):
        if end is not None:
            end = None if line.strip() == end else end
            line = ""
        elif not line.lstrip().startswith("#") and _HEREDOC.search(line):
            end = _HEREDOC.search(line).group(2)
        lines.append(line)
    return "\n".join(lines)


class _Tokens:
    """Cuts a text into (line, word or operator); what stands in $( ) is cut apart from the rest, as `nested`."""

    def __init__(self, text, line):
        self.tokens = []
        self.nested = []  # (line, text)
        self._text = text
        self._first = line
        self._at = 0
        while self._at < len(text):
            self._next()

    def _line(self):
        return self._first + self._text.count("\n", 0, self._at)

    def _next(self):
        text, at = self._text, self._at
        if text[at] in " \t" or text.startswith("\\\n", at):
            self._at += 1 if text[at] in " \t" else 2
        elif text[at] == "#":
            self._at = (text + "\n").index("\n", at)
        elif text.startswith(("<(", ">("), at):
            self._nest(at + 2)
        elif text.startswith("((", at):
            self._at = text.find("))", at) % (len(text) + 1) + 2
            self.tokens.append((self._line(), "(("))
        elif text[at] in "\n;&|()<>":
            operator = re.compile(r";;|&&|\|\||[<>]+&?|[\n;&|()]").match(text, at).group()
            self.tokens.append((self._line(), operator))
            self._at += len(operator)
        else:
            line = self._line()
            self.tokens.append((line, self._word()))

    def _word(self):
        begin = self._at
        while self._at < len(self._text) and self._text[self._at] not in " \t\n;&|()<>":
            self._part()
        return self._text[begin:self._at]

    def _part(self):
        """Passes one character, quoted text or expansion of a word."""
        text, at = self._text, self._at
        if text[at] == "\\":
            self._at += 2
        elif text[at] == "'":
            self._at = text.find("'", at + 1) % (len(text) + 1) + 1
        elif text[at] == '"':
            self._at += 1
            while self._at < len(text) and text[self._at] != '"':
                self._part_of_quote()
            self._at += 1
        else:
            self._expansion()

    def _part_of_quote(self):
        if self._text[self._at] == "\\":
            self._at += 2
        else:
            self._expansion()

    def _expansion(self):
        text, at = self._text, self._at
        if text.startswith("$((", at):
            self._at = text.find("))", at) % (len(text) + 1) + 2
        elif text.startswith("$(", at):
            self._nest(at + 2)
        elif text.startswith("${", at):
            self._at = text.find("}", at) % (len(text) + 1) + 1
        else:
            self._at += 1

    def _nest(self, begin):
        """Takes the text up to the closing parenthesis as a script of its own."""
        inner, self._at, depth = self._line(), begin, 1
        while self._at < len(self._text) and depth:
            char = self._text[self._at]
            depth += (char == "(") - (char == ")")
            if char in "'\"\\":
                self._part()
            else:
                self._at += 1
        self.nested.append((inner, self._text[begin:self._at - 1]))


class Script:
    """The calls of a script, as (line, program), and the functions that it defines."""

    def __init__(self, text, line=1):
        self.calls = []
        self.functions = set()
        self._arrays = {}  # name -> tokens of an array of words
        self._run_arrays = set()  # Those that stand where a command is expected.
        pending = [(line, without_heredocs(text))]
        while pending:
            first, part = pending.pop()
            tokens = _Tokens(part, first)
            pending.extend(tokens.nested)
            self._read(self._without_arrays(tokens.tokens), pending)
        for name in sorted(self._run_arrays & set(self._arrays)):
            self._read(self._arrays[name], [])
        self.calls = sorted({call for call in self.calls if call[1] not in self.functions})

    def _without_arrays(self, tokens):
        """The tokens without the words of arrays, which may be commands kept for later."""
        kept, array = [], None
        for index, (line, token) in enumerate(tokens):
            after = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            if array is not None:
                if token == ")":
                    array = None
                elif token != "(":
                    array.append((line, token))
                continue
            kept.append((line, token))
            if after == "(" and re.match(r"\w+\+?=$", token):
                array = self._arrays.setdefault(token.rstrip("+="), [])
        return kept

    def _read(self, tokens, pending):
        """Walks over the tokens of one script, and adds the scripts that are given to `bash -c`."""
        command, runner, patterns, cases = True, "", False, 0
        for index, (line, token) in enumerate(tokens):
            before = tokens[index - 1][1] if index else ""
            after = tokens[index + 1][1] if index + 1 < len(tokens) else ""
            if token == "in" and index > 1 and tokens[index - 2][1] == "case":
                patterns, cases = True, cases + 1
            elif patterns:
                patterns = token not in (")", "esac")
                cases -= token == "esac"
                command, runner = True, ""
            elif token == ";;":
                patterns = cases > 0
            elif token[0] in "\n;&|()" or token in _KEYWORDS and command:
                command, runner = True, ""
            elif token[0] in "<>" or before[:1] in ("<", ">") or token.isdigit() and after[:1] in ("<", ">"):
                continue
            elif token == "[[" and command:
                command = False
            elif after == "(" and not _ASSIGNMENT.match(token):
                self.functions.add(token)
            elif command and not _ASSIGNMENT.match(token):
                command, runner = self._call(line, token, runner)
            elif before == "-c" and runner in _SHELLS:
                pending.append((line, unquoted(token)))

    def _call(self, line, word, runner):
        """Notes the word where a command is expected: (whether the next word is one too, the program)."""
        if runner and _RUNNERS_OWN.match(word):
            return True, runner
        if word in _CLOSERS:
            return False, word
        name = unquoted(word)
        if re.match(r"\$\{(\w+)\[@\]\}$", name):
            self._run_arrays.add(name[2:-4])
            words = [word for _, word in self._arrays.get(name[2:-4], []) if "$" not in word]
            return all(word in _RUNNERS or _RUNNERS_OWN.match(word) for word in words), name
        if name not in _BUILTINS and name not in _SHELL_RUNNERS and re.match(r"^[\w/][\w.+/-]*$", name):
            self.calls.append((line, name))
        return name in _RUNNERS, name


def unquoted(word):
    return word[1:-1] if len(word) > 1 and word[0] in "'\"" and word[-1] == word[0] else word
