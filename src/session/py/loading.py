"""Bytes that came by descriptor, as values: text in any encoding, tables, JSON, notebooks, PDF."""

from posix import fstat

from frames import read_all
from jsonio import loads
from pages import read_large, read_stream

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


def read_text(fd, encoding):
    """(text, encoding) of a file. A large one is decoded where it lies, without a copy between."""
    size = size_of(fd)
    if size < MAP_FROM or encoding:
        return decode(read_all(fd, size), encoding)
    from mmap import ACCESS_READ, mmap

    with mmap(fd, size, access=ACCESS_READ) as mapped:
        if not is_marked(mapped[:4]):
            try:
                return str(mapped, "utf-8"), "utf-8"
            except UnicodeDecodeError:
                pass
        return decode(mapped[:], None)


def from_descriptor(fd, kind, request):
    if kind == "bytes" and type(request.get("size")) is int:
        return read_stream(fd, request["size"])
    if kind == "bytes":
        return read_descriptor(fd)
    if kind == "json":
        return loads(read_descriptor(fd))
    if kind == "text":
        return read_text(fd, request.get("encoding"))[0]
    raise CannotLoad("set takes bytes, text or json, not " + str(kind)[:50])


def load(fd, request):
    """(value, facts) of a file by its name's suffix, or as the request says."""
    name = str(request.get("filename", ""))
    wanted = request.get("as", "auto")
    data = read_descriptor(fd)
    facts = {"bytes": len(data), "filename": name.rpartition("/")[2]}
    kind = suffix_of(name)
    if kind in ("gz", "bz2", "xz") and wanted != "bytes":
        data = unpack(data, kind, MAX_UNPACKED)
        kind = suffix_of(name.rpartition(".")[0])
        facts["unpacked"] = len(data)
    if wanted == "bytes":
        value = data
    elif wanted == "text" or kind not in READERS:
        value = as_text(data, request, facts)
    else:
        value = READERS[kind](data, request, facts)
    return value, facts


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


def decode(data, encoding=None):
    """(text, name of the encoding). A byte order mark wins, then UTF-8, then UTF-16 without a mark,
    then Windows' Latin."""
    if encoding:
        return str(data, encoding), encoding
    for mark, name in BOMS:
        if data.startswith(mark):
            return str(data[len(mark):], name, "replace"), name
    try:
        return str(data, "utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    name = utf16_without_mark(data)
    if name:
        return str(data, name, "replace"), name
    try:
        return str(data, "cp1252"), "cp1252"
    except UnicodeDecodeError:
        return str(data, "latin-1"), "latin-1"


def utf16_without_mark(data):
    """Text of which every second byte is mostly zero."""
    sample = data[:4096]
    if len(data) % 2 or len(sample) < 4:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = len(sample) // 2
    name = "utf-16-le" if odd > even else "utf-16-be"
    if max(odd, even) < half * 0.4 or min(odd, even) > half * 0.1:
        return None
    text = str(sample, name, "replace")
    return name if all(c >= " " or c in "\t\n\r\f" for c in text) else None


def as_text(data, request, facts):
    """Text; bytes with a note when it is clearly not text."""
    if not request.get("encoding") and b"\0" in data[:4096] and not is_marked(data):
        name = utf16_without_mark(data)
        if name is None:
            facts["note"] = "not text: loaded as bytes"
            return data
        facts["encoding"] = name
        return str(data, name, "replace")
    text, facts["encoding"] = decode(data, request.get("encoding"))
    facts["chars"] = len(text)
    return text


def is_marked(data):
    return any(data.startswith(mark) for mark, _ in BOMS)


def as_json(data, request, facts):
    text, facts["encoding"] = decode(data, request.get("encoding"))
    try:
        return loads(text)
    except ValueError as error:
        raise CannotLoad("not JSON (%s); load it as text to see it" % error) from None


def as_json_lines(data, request, facts):
    text, facts["encoding"] = decode(data, request.get("encoding"))
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
        text, facts["encoding"] = decode(data, request.get("encoding"))
        if request.get("as") == "dataframe":
            from io import StringIO

            frame = need_pandas("a data frame").read_csv(StringIO(text), sep=delimiter)
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
        frame = pandas.read_parquet(BytesIO(data))
    except ImportError:
        raise CannotLoad("a parquet file needs pyarrow or fastparquet beside pandas, and this environment "
                         "has neither") from None
    facts["rows"] = len(frame)
    return frame


def need_pandas(what):
    try:
        import pandas

        return pandas
    except ImportError:
        raise CannotLoad("%s needs pandas, which this environment does not have" % what) from None


def as_pdf(data, request, facts):
    import pdftext

    text, pages = pdftext.extract(data)
    facts["pages"] = pages
    facts["chars"] = len(text)
    return text


READERS = {
    "json": as_json, "jsonl": as_json_lines, "ndjson": as_json_lines, "csv": as_table(","),
    "tsv": as_table("\t"), "ipynb": as_notebook, "parquet": as_parquet, "pdf": as_pdf,
}
