"""Text of PDF files with the standard library alone; pypdf is used instead when it can be imported.

Objects are found by looking for them, not by the cross-reference table, so damaged files read too.
What is read: Flate and ASCII85 streams, object streams, simple fonts, ToUnicode maps. Scanned pages
have no text, and encrypted files are refused.
"""

import re
import zlib

from pdfparse import Name, Operator, Parser, Ref, parse

MAX_OBJECTS = 200_000
MAX_STREAM = 64 << 20
MAX_TEXT = 64 << 20
MAX_PAGES = 20_000
OBJECT = re.compile(rb"(?<![0-9])(\d{1,9})\s+(\d{1,5})\s+obj\b")
LENGTH_END = re.compile(rb"\r?\nendstream|endstream")


class PdfError(ValueError):
    """The file is not a PDF, or not one that can be read here."""

    __module__ = "builtins"


def extract(data):
    """(text, number of pages); pages are parted by form feeds."""
    if b"%PDF-" not in data[:1024]:
        raise PdfError("not a PDF file")
    reader = pypdf()
    if reader is not None:
        return by_pypdf(reader, data)
    file = File(data)
    pages = [text_of_page(file, page) for page in file.pages()]
    text = "\f".join(pages)
    if not text.strip():
        raise PdfError("no text was found: the pages may be scanned images, or use fonts that need "
                       "a full reader such as pypdf")
    return text, len(pages)


def pypdf():
    try:
        from pypdf import PdfReader

        return PdfReader
    except Exception:
        return None


def by_pypdf(reader, data):
    from io import BytesIO

    pages = [page.extract_text() or "" for page in reader(BytesIO(data)).pages]
    return "\f".join(pages), len(pages)


class File:
    def __init__(self, data):
        self.data = data
        self.objects = {}  # number -> (value, offset of its stream or None)
        self.cache = {}
        if re.search(rb"/Encrypt\s+\d+\s+\d+\s+R", data):
            raise PdfError("the PDF file is encrypted")
        for match in OBJECT.finditer(data):
            if len(self.objects) > MAX_OBJECTS:
                raise PdfError("the PDF file has too many objects")
            self.read_object(int(match.group(1)), match.end())
        for number in [n for n, (v, _) in self.objects.items() if kind(v) == "ObjStm"]:
            self.read_object_stream(number)

    def read_object(self, number, start):
        try:
            parser = Parser(self.data, start)
            value = parser.value()
        except (ValueError, IndexError):
            return
        stream = None
        parser.space()
        if isinstance(value, dict) and self.data.startswith(b"stream", parser.at):
            stream = parser.at + 6
            stream += 2 if self.data[stream:stream + 2] == b"\r\n" else 1
        self.objects[number] = (value, stream)

    def read_object_stream(self, number):
        body = self.stream(number)
        value = self.objects[number][0]
        first, count = self.get(value.get("First")), self.get(value.get("N"))
        if type(first) is not int or type(count) is not int or count > MAX_OBJECTS:
            return
        numbers = body[:first].split()
        for place in range(min(count, len(numbers) // 2)):
            try:
                inner, offset = int(numbers[2 * place]), int(numbers[2 * place + 1])
                self.objects.setdefault(inner, (parse(body, first + offset), None))
            except (ValueError, IndexError):
                continue

    def get(self, value, depth=0):
        while isinstance(value, Ref) and depth < 16:
            value = self.objects.get(value.number, (None, None))[0]
            depth += 1
        return value

    def stream(self, number):
        if number in self.cache:
            return self.cache[number]
        value, start = self.objects.get(number, (None, None))
        if start is None:
            return b""
        length = self.get(value.get("Length"))
        end = start + length if type(length) is int and length >= 0 else -1
        if end < 0 or not LENGTH_END.match(self.data, end) and not (
                self.data[end:end + 20].lstrip().startswith(b"endstream")):
            found = LENGTH_END.search(self.data, start)
            end = found.start() if found else len(self.data)
        self.cache[number] = body = unfilter(
            self.data[start:end], as_list(self.get(value.get("Filter"))))
        return body

    def pages(self):
        """Pages in the order of the tree; in the order of the file when the tree is broken."""
        roots = [v for v, _ in self.objects.values() if kind(v) == "Catalog"]
        found = []
        for root in roots[-1:]:
            self.walk(self.get(root.get("Pages")), {}, found, 0, set())
        if not found:
            found = [(v, {}) for v, _ in self.objects.values() if kind(v) == "Page"][:MAX_PAGES]
        return found

    def walk(self, node, inherited, found, depth, seen):
        if not isinstance(node, dict) or depth > 64 or id(node) in seen or len(found) >= MAX_PAGES:
            return
        seen.add(id(node))
        if "Resources" in node:
            inherited = {"Resources": node["Resources"]}
        if kind(node) == "Page":
            found.append((node, inherited))
        for child in as_list(self.get(node.get("Kids"))):
            self.walk(self.get(child), inherited, found, depth + 1, seen)


def kind(value):
    found = value.get("Type") if isinstance(value, dict) else None
    return str(found) if isinstance(found, Name) else None


def as_list(value):
    return value if isinstance(value, list) else [] if value is None else [value]


def unfilter(data, filters):
    for name in filters:
        if name == "FlateDecode":
            machine = zlib.decompressobj()
            try:
                data = machine.decompress(data, MAX_STREAM)
            except zlib.error:
                return b""
        elif name == "ASCII85Decode":
            from base64 import a85decode

            data = data.strip()
            try:
                data = a85decode(data[:-2] if data.endswith(b"~>") else data)
            except ValueError:
                return b""
        else:
            return b""
    return data


# --- pages and fonts

def text_of_page(file, page):
    node, inherited = page
    resources = file.get(node.get("Resources", inherited.get("Resources"))) or {}
    fonts = file.get(resources.get("Font")) if isinstance(resources, dict) else None
    maps = {}
    for name, ref in (fonts or {}).items():
        maps[name] = decoder_of(file, file.get(ref))
    contents = node.get("Contents")
    refs = contents if isinstance(contents, list) else [contents]
    inner = file.get(contents)
    if isinstance(inner, list):
        refs = inner
    body = b"\n".join(file.stream(ref.number) for ref in refs if isinstance(ref, Ref))
    return show(body, maps)


def decoder_of(file, font):
    """A function from the bytes of a string to text."""
    ref = font.get("ToUnicode") if isinstance(font, dict) else None
    if isinstance(ref, Ref):
        table, width = read_cmap(file.stream(ref.number))
        if table:
            return lambda raw: "".join(
                table.get(raw[i:i + width], "") for i in range(0, len(raw), width))
    if isinstance(font, dict) and font.get("Subtype") == "Type0":
        return lambda raw: ""
    return lambda raw: raw.decode("cp1252", "replace")


HEX_PAIR = re.compile(rb"<([0-9A-Fa-f\s]+)>\s*<([0-9A-Fa-f\s]+)>")
HEX_RANGE = re.compile(
    rb"<([0-9A-Fa-f]+)>\s*<([0-9A-Fa-f]+)>\s*(?:<([0-9A-Fa-f]+)>|\[([^\]]*)\])")


def read_cmap(body):
    table, width = {}, 1
    for block in re.findall(rb"beginbfchar(.*?)endbfchar", body, re.S):
        for code, text in HEX_PAIR.findall(block):
            key = unhex(code)
            width = max(width, len(key))
            table[key] = unhex(text).decode("utf-16-be", "replace")
    for block in re.findall(rb"beginbfrange(.*?)endbfrange", body, re.S):
        for low, high, start, several in HEX_RANGE.findall(block):
            width = max(width, len(low) // 2)
            add_range(table, low, high, start, several)
    return table, width


def add_range(table, low, high, start, several):
    first, last, size = int(low, 16), int(high, 16), len(low) // 2
    if last - first > 65535 or size == 0:
        return
    texts = [unhex(t) for t in re.findall(rb"<([0-9A-Fa-f]+)>", several)]
    base = unhex(start)
    for offset in range(last - first + 1):
        if texts:
            raw = texts[offset] if offset < len(texts) else b""
        else:
            raw = (int.from_bytes(base, "big") + offset).to_bytes(len(base) or 1, "big")
        table[(first + offset).to_bytes(size, "big")] = raw.decode("utf-16-be", "replace")


def unhex(text):
    text = re.sub(rb"\s", b"", text)
    return bytes.fromhex((text + b"0" * (len(text) % 2)).decode("ascii"))


def show(body, maps):
    """Runs the text operators of a page."""
    out, stack, size = [], [], 0
    decode = next(iter(maps.values()), lambda raw: raw.decode("cp1252", "replace"))
    for token in Parser(body, 0).tokens():
        if not isinstance(token, Operator):
            stack.append(token)
            del stack[:-64]
            continue
        if token == "Tf" and len(stack) >= 2:
            decode = maps.get(str(stack[-2]), decode)
        piece = piece_of(token, stack, decode)
        if piece:
            out.append(piece)
            size += len(piece)
            if size > MAX_TEXT:
                break
        stack.clear()
    return re.sub(r"[ \t]*\n\s*", "\n", "".join(out)).strip()


def piece_of(operator, stack, decode):
    last = stack[-1] if stack else None
    if operator == "Tj" and isinstance(last, bytes):
        return decode(last)
    if operator in ("'", '"') and isinstance(last, bytes):
        return "\n" + decode(last)
    if operator == "TJ" and isinstance(last, list):
        return "".join(
            decode(item) if isinstance(item, bytes) else
            " " if isinstance(item, (int, float)) and item < -200 else "" for item in last)
    if operator in ("Td", "TD"):
        return "\n" if last else " "
    if operator in ("T*", "ET", "Tm"):
        return "\n"
    return ""
