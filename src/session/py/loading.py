"""Bytes that came by descriptor, as values: text in any encoding, tables, JSON, notebooks, PDF."""

from posix import fstat

from errors import message_of
from frames import read_all
from jsonio import loads
from pages import read_large, read_stream
from texts import type_name

MAX_UNPACKED = 1 << 30
MAP_FROM = 1 << 20
BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


class CannotLoad(ValueError):
    """What the file is, and why it can't become a value."""

    __module__ = "builtins"


def read_descriptor(fd):
    """The bytes of a regular file or memfd, from its start."""
    return read_large(fd, size_of(fd))


def size_of(fd):
    status = fstat(fd)
    if (status.st_mode & 0o170000) != 0o100000:
        raise CannotLoad("the descriptor is not a regular file")
    return status.st_size


def with_bytes(fd, use):
    """What `use` makes of the bytes of a file: it may keep none of them. A hole that is looked at where it lies
    becomes memory, and this cell's: a file with holes is read."""
    size = size_of(fd)
    if size < MAP_FROM or fstat(fd).st_blocks * 512 < size:
        return use(read_large(fd, size))
    from mmap import ACCESS_READ, mmap

    with mmap(fd, size, access=ACCESS_READ) as mapped:
        return use(mapped)


def from_descriptor(fd, kind, request, facts):
    if kind == "bytes" and type(request.get("size")) is int:
        return read_stream(fd, request["size"])
    if kind == "bytes":
        return read_descriptor(fd)
    if kind == "json":
        return loads(read_descriptor(fd))
    if kind == "text":
        return with_bytes(fd, lambda data: text_of(data, request, facts))
    raise CannotLoad("set takes bytes, text or json, not " + str(kind)[:50])


def load(fd, request):
    """(value, facts) of a file by its name's suffix, or as the request says."""
    name = str(request.get("filename", ""))
    wanted = request.get("as", "auto")
    facts = {"bytes": size_of(fd), "filename": name.rpartition("/")[2]}
    kind = suffix_of(name)
    if kind in PACKED and wanted != "bytes":
        data = unpack(read_descriptor(fd), kind, MAX_UNPACKED)
        kind = suffix_of(name.rpartition(".")[0])
        facts["unpacked"] = len(data)
        return reader_of(kind, wanted)(data, request, facts), facts
    if wanted == "bytes" or kind in READ_AS_BYTES and wanted != "text":
        return reader_of(kind, wanted)(read_descriptor(fd), request, facts), facts
    reader = reader_of(kind, wanted)
    return with_bytes(fd, lambda data: reader(data, request, facts)), facts


def reader_of(kind, wanted):
    if wanted == "bytes":
        return as_bytes
    return as_text if wanted == "text" else READERS.get(kind, as_text)


def suffix_of(name):
    base = name.rpartition("/")[2].lower()
    return base.rpartition(".")[2] if "." in base else ""


def unpack(data, kind, bound):
    """Decompressed bytes; a small file that becomes a huge one is refused."""
    if kind == "gz":
        import zlib

        return unpack_gzip(data, zlib, bound)
    module = __import__("bz2" if kind == "bz2" else "lzma")
    machine = module.BZ2Decompressor() if kind == "bz2" else module.LZMADecompressor()
    out = machine.decompress(data, bound)
    if not machine.eof:
        raise CannotLoad("it unpacks to more than %d bytes, or is cut short" % bound)
    return out


def unpack_gzip(data, zlib, bound):
    parts, size = [], 0
    while data:
        machine = zlib.decompressobj(31)
        try:
            part = machine.decompress(data, bound - size + 1)
        except zlib.error as error:
            raise CannotLoad("not a gzip file: %s" % error) from None
        size += len(part)
        if size > bound:
            raise CannotLoad("it unpacks to more than %d bytes" % bound)
        if not machine.eof:
            raise CannotLoad("the gzip file is cut short")
        parts.append(part)
        data = machine.unused_data.lstrip(b"\0")
    return b"".join(parts)


def text_of(data, request, facts):
    """The text, and in the facts what was taken for its encoding: the one that was asked for, that of the
    byte order mark, UTF-8, UTF-16 or 32 without a mark, or what it looks like."""
    encoding = request.get("encoding")
    if encoding:
        facts["encoding"] = encoding
        return as_told(data, str(encoding)[:100])
    name, skip = marked(data)
    name = name or without_mark(data)  # ASCII letters in UTF-16 would do as UTF-8
    if not name:
        text = as_utf8(data)
        if text is not None:
            facts["encoding"] = "utf-8"
            return in_escapes(data, text, facts) if text.isascii() else text
    if not name:
        name = judged(data)
        facts["encoding_guessed"] = True
    facts["encoding"] = name
    return told_if_lost(str(memoryview(data)[skip:], name, "replace"), facts)


def as_told(data, encoding):
    try:
        return str(data, encoding)
    except LookupError:
        raise CannotLoad("no encoding of text is called %r in this Python" % encoding) from None
    except ValueError as error:
        raise CannotLoad("not in %s: %s" % (encoding, getattr(error, "reason", error))) from None


def as_utf8(data):
    """None for what is none. The error has a copy of all bytes in it: of a large one the first are looked at
    by themselves."""
    if len(data) >= MAP_FROM:
        from codecs import utf_8_decode

        try:
            utf_8_decode(data[:MAP_FROM], "strict", False)
        except UnicodeDecodeError:
            return None
    try:
        return str(data, "utf-8")
    except UnicodeDecodeError:
        return None


def judged(data):
    import charsets

    return charsets.guess(data) or "latin-1"


def told_if_lost(text, facts):
    lost = text.count("\ufffd")
    if lost:
        facts["undecodable"] = lost
    return text


def in_escapes(data, text, facts):
    """Japanese mail: seven bits, and an escape in front of what is not ASCII."""
    if text.find("\x1b$", 0, MAP_FROM) < 0:
        return text
    try:
        text = str(data, "iso2022_jp_2")
        facts["encoding"] = "iso2022_jp_2"
    except UnicodeDecodeError:
        pass
    return text


def marked(data):
    """(encoding, length of the mark), or (None, 0)."""
    head = bytes(data[:4])
    for mark, name in BOMS:
        if head.startswith(mark):
            return name, len(mark)
    return None, 0


def without_mark(data):
    """Of UTF-16 and UTF-32, where it can be told by where the zeros are."""
    sample = bytes(data[:4096])
    if b"\0" not in sample:
        return None
    for name, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        if len(data) % width == 0 and is_text_in(sample, name):
            return name
    return None


def is_text_in(sample, name):
    """Most of it has to be of the same few scripts: half of all pairs of bytes are some character."""
    try:
        text = str(sample, name)
    except UnicodeDecodeError as error:
        if len(sample) - error.start >= 4:  # else the sample's end cuts a pair
            return False
        text = str(sample[: error.start], name)
    if any(c < " " and c not in "\t\n\r\f\x1b" for c in text):
        return False
    plain = sum(c < "\u0250" for c in text)
    wide = sum("\u3000" <= c < "\u9fa6" or "\uac00" <= c < "\ud7a4" or "\u0370" <= c < "\u0700" for c in text)
    if plain + wide < 0.95 * len(text):
        return False
    if name.startswith("utf-32"):
        return True  # chance makes no such numbers
    return plain > 0 and (plain >= 0.4 * len(text) or wide >= 0.5 * len(text))


def as_bytes(data, request, facts):
    return data


def as_text(data, request, facts):
    """Text; bytes with a note when it is clearly not text."""
    known = request.get("encoding") or marked(data)[0]
    if not known and b"\0" in data[:4096] and without_mark(data) is None:
        facts["note"] = "not text: loaded as bytes"
        return bytes(data)
    text = text_of(data, request, facts)
    facts["chars"] = len(text)
    return text


def as_json(data, request, facts):
    text = text_of(data, request, facts)
    try:
        return loads(text)
    except ValueError as error:
        why = str(error) if str(error).startswith("not JSON") else "not JSON (%s)" % error
        hint = "; load it as text to see it" if text.strip() else ""
        raise CannotLoad(why + hint) from None


def as_json_lines(data, request, facts):
    text = text_of(data, request, facts)
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(loads(line))
            except ValueError as error:
                raise CannotLoad("line %d: %s" % (number, error)) from None
    facts["rows"] = len(rows)
    return rows


def as_table(delimiter):
    def read(data, request, facts):
        """A list of dicts by the first row's names; pandas' frame when it is asked for."""
        text = text_of(data, request, facts)
        if request.get("as") == "dataframe":
            from io import StringIO

            frame = in_library(
                "a table", lambda: need_pandas("a data frame").read_csv(StringIO(text), sep=delimiter))
            facts["rows"] = len(frame)
            return frame
        import csv
        from io import StringIO

        csv.field_size_limit(1 << 28)
        rows = list(csv.DictReader(StringIO(text, newline=""), delimiter=delimiter))
        facts["rows"] = len(rows)
        return rows

    return read


def as_notebook(data, request, facts):
    """The cells as one text, each under a line that says what it is."""
    book = as_json(data, request, facts)
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise CannotLoad("a notebook without cells")
    parts = []
    for cell in cells:
        if isinstance(cell, dict):
            source = cell.get("source", "")
            text = "".join(map(str, source)) if isinstance(source, list) else str(source)
            parts.append("# %%%% [%s]\n%s\n" % (cell.get("cell_type", "?"), text.rstrip("\n")))
    facts["cells"] = len(parts)
    return "\n".join(parts)


def as_parquet(data, request, facts):
    from io import BytesIO

    pandas = need_pandas("a parquet file")
    try:
        frame = in_library("a parquet file", lambda: pandas.read_parquet(BytesIO(data)))
    except ImportError:
        raise CannotLoad("a parquet file needs pyarrow or fastparquet beside pandas, and this environment "
                         "has neither") from None
    facts["rows"] = len(frame)
    return frame


def in_library(what, read, passes=CannotLoad):
    """A file that a library can't read is told in one line: where in the library that was says nothing about it."""
    try:
        return read()
    except (passes, ImportError, MemoryError):
        raise
    except Exception as error:
        why = message_of(error).strip().partition("\n")[0][:300]
        raise CannotLoad("not %s that can be read: %s: %s" % (what, type_name(type(error)), why)) from None


def need_pandas(what):
    try:
        import pandas

        return pandas
    except ImportError:
        raise CannotLoad("%s needs pandas, which this environment does not have" % what) from None


def as_pdf(data, request, facts):
    import pdftext

    text, pages = in_library("a PDF file", lambda: pdftext.extract(data), passes=pdftext.PdfError)
    facts["pages"] = pages
    facts["chars"] = len(text)
    return text


READERS = {
    "json": as_json, "jsonl": as_json_lines, "ndjson": as_json_lines, "csv": as_table(","),
    "tsv": as_table("\t"), "ipynb": as_notebook, "parquet": as_parquet, "pdf": as_pdf,
}
PACKED = ("gz", "bz2", "xz")
READ_AS_BYTES = ("parquet", "pdf")  # what reads them keeps the bytes, or wants all of them
