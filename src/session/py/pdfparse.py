"""The syntax of PDF: numbers, names, strings, arrays, dictionaries, references, operators."""

import re

MAX_DEPTH = 40
SPACE = re.compile(rb"(?:[\x00\t\n\x0c\r ]+|%[^\r\n]*)*")
NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)")
NAME = re.compile(rb"/([^\x00\t\n\x0c\r ()<>\[\]{}/%]*)")
WORD = re.compile(rb"[A-Za-z'\"*0-9]+")
REFERENCE = re.compile(rb"(\d{1,9})\s+(\d{1,5})\s+R(?![A-Za-z])")
ESCAPES = {110: b"\n", 114: b"\r", 116: b"\t", 98: b"\b", 102: b"\f"}


class Name(str):
    """/Name"""


class Operator(str):
    """A word in a content stream."""


class Ref:
    """12 0 R"""

    def __init__(self, number):
        self.number = number


def parse(data, at):
    return Parser(data, at).value()


class Parser:
    def __init__(self, data, at):
        self.data = data
        self.at = at

    def space(self):
        self.at = SPACE.match(self.data, self.at).end()

    def value(self, depth=0):
        """One value at this place; ValueError when there is none."""
        if depth > MAX_DEPTH:
            raise ValueError("nested too deeply")
        self.space()
        data, at = self.data, self.at
        first = data[at:at + 1]
        if first == b"<":
            return self.dictionary(depth) if data[at + 1:at + 2] == b"<" else self.hex_string()
        if first == b"[":
            return self.array(depth)
        if first == b"(":
            return self.string()
        if first == b"/":
            return self.name()
        return self.number_or_word()

    def name(self):
        match = NAME.match(self.data, self.at)
        self.at = match.end()
        text = match.group(1).decode("latin-1")
        return Name(re.sub("#([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), text))

    def number_or_word(self):
        match = REFERENCE.match(self.data, self.at)
        if match:
            self.at = match.end()
            return Ref(int(match.group(1)))
        match = NUMBER.match(self.data, self.at)
        if match:
            self.at = match.end()
            text = match.group()
            return float(text) if b"." in text else int(text[:18])
        match = WORD.match(self.data, self.at)
        if not match:
            raise ValueError("no value here")
        self.at = match.end()
        word = match.group().decode("ascii")
        return {"true": True, "false": False, "null": None}.get(word, Operator(word))

    def array(self, depth):
        self.at += 1
        items = []
        while True:
            self.space()
            if self.data[self.at:self.at + 1] == b"]":
                self.at += 1
                return items
            items.append(self.value(depth + 1))

    def dictionary(self, depth):
        self.at += 2
        found = {}
        while True:
            self.space()
            if self.data[self.at:self.at + 2] == b">>":
                self.at += 2
                return found
            if self.data[self.at:self.at + 1] != b"/":
                raise ValueError("a key is a name")
            key = self.name()
            found[str(key)] = self.value(depth + 1)

    def hex_string(self):
        end = self.data.index(b">", self.at)
        text = re.sub(rb"[^0-9A-Fa-f]", b"", self.data[self.at + 1:end])
        self.at = end + 1
        return bytes.fromhex((text + b"0" * (len(text) % 2)).decode("ascii"))

    def string(self):
        data, at, depth, out = self.data, self.at + 1, 1, bytearray()
        while True:
            byte = data[at]
            at += 1
            if byte == 92:
                at = self.escape(at, out)
                continue
            if byte == 40:
                depth += 1
            elif byte == 41:
                depth -= 1
                if depth == 0:
                    self.at = at
                    return bytes(out)
            out.append(byte)

    def escape(self, at, out):
        data = self.data
        byte = data[at]
        if 48 <= byte <= 55:
            end = at
            while end < at + 3 and 48 <= data[end] <= 55:
                end += 1
            out.append(int(data[at:end], 8) & 0xFF)
            return end
        if byte in (10, 13):
            return at + (2 if data[at:at + 2] == b"\r\n" else 1)
        out += ESCAPES.get(byte, bytes([byte]))
        return at + 1

    def tokens(self):
        """Values and operators until the end; what can't be read is stepped over."""
        size = len(self.data)
        while True:
            self.space()
            if self.at >= size:
                return
            before = self.at
            try:
                yield self.value()
            except (ValueError, IndexError):
                self.at = before + 1
