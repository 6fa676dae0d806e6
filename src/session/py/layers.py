"""The files of a session: frozen with a named checkpoint, put back with it, copied for a branch.

Copies, made in here by the keeper: the mounts of a cell can't change once it is confined, and two
lanes of one cell see the same mounts (docs/decisions/0024). A copy is of data, modes, times, links
and folders; sockets, FIFOs and extended attributes are left alone. Names are looked up one at a time
below a descriptor and no link is followed, for user code may change the tree meanwhile.
"""

from errno import EINVAL, ENXIO
from posix import (
    O_CLOEXEC,
    O_CREAT,
    O_DIRECTORY,
    O_NOFOLLOW,
    O_NONBLOCK,
    O_RDONLY,
    O_WRONLY,
    SEEK_DATA,
    SEEK_HOLE,
    close,
    copy_file_range,
    fchmod,
    fstat,
    ftruncate,
    lseek,
    mkdir,
    open as open_file,
    pread,
    pwrite,
    readlink,
    rmdir,
    scandir,
    stat,
    symlink,
    unlink,
    utime,
)

HOME, STORE = "/workspace", "/branches"
FROZEN = STORE + "/.frozen"
MAX_ENTRIES, MAX_BYTES, MAX_DEPTH = 100_000, 1 << 30, 64
MAX_STORED = 4 << 30  # of all layers of a session together
SMALL, PIECE = 65536, 8 << 20
FOLDER = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
KIND, DIR, FILE, LINK = 0o170000, 0o040000, 0o100000, 0o120000


class NotCopied(Exception):
    """The files could not be copied whole; the text says why."""


class Tally:
    """What one copy may take, and what it took."""

    def __init__(self, bytes_left):
        self.bytes_left = bytes_left
        self.files = self.bytes = self.left_out = self.entries = 0

    def count(self):
        self.entries += 1
        if self.entries > MAX_ENTRIES:
            raise NotCopied("the workspace has more than %d entries" % MAX_ENTRIES)

    def take(self, size):
        self.bytes += size
        if self.bytes > self.bytes_left:
            raise NotCopied("the workspace has more than %d MiB of files" % (self.bytes_left >> 20))

    def facts(self):
        return {"files": self.files, "bytes": self.bytes, "left_out": self.left_out}


class Layer:
    def __init__(self, path, tally):
        self.path = path
        self.tally = tally


class Layers:
    """All layers of one session, by the name of their checkpoint."""

    def __init__(self):
        self.named = {}
        self.branches = {}  # path -> bytes when it was made
        self.numbers = 0
        mkdir_if_absent(FROZEN)

    def room(self):
        stored = sum(layer.tally.bytes for layer in self.named.values())
        return max(0, min(MAX_BYTES, MAX_STORED - stored - sum(self.branches.values())))

    def freeze(self, name, workspace):
        self.numbers += 1
        path = "%s/%d" % (FROZEN, self.numbers)
        tally = copy_tree(workspace, path, self.room())
        self.named[name] = Layer(path, tally)
        return tally.facts()

    def put_back(self, name, workspace):
        """The files as they were. What is there already keeps its identity, so that a file which the
        woken interpreter has open, or a folder that it is in, is the one that it finds by name."""
        layer = self.named.get(name)
        if layer is None:
            return {"error": "the files of that checkpoint are gone"}
        tally = Tally(MAX_BYTES)
        try:
            source, target = open_file(layer.path, FOLDER), open_file(workspace, FOLDER)
            try:
                make_alike(source, target, tally, 0)
            finally:
                close(source)
                close(target)
        except (OSError, NotCopied) as error:
            return {"error": "the files could not all be put back: %s" % error}
        return tally.facts()

    def branch(self, name, workspace, lane):
        """A folder for a new lane: the files of a checkpoint, or those of a lane as they are."""
        layer = self.named.get(name) if name else None
        path = "%s/%s" % (STORE, lane)
        tally = copy_tree(layer.path if layer else workspace, path, self.room())
        self.branches[path] = tally.bytes
        return path, tally.facts()

    def end_branch(self, path):
        if self.branches.pop(path, None) is not None:
            remove_at(path)

    def drop(self, name):
        layer = self.named.pop(name, None)
        if layer is not None:
            remove_at(layer.path)

    def keep_only(self, names):
        """Checkpoints end by themselves, too: killed by the cell, or for want of memory."""
        for name in [one for one in self.named if one not in names]:
            self.drop(name)


def make_layers():
    """None where the session has no room of its own for them."""
    try:
        return Layers()
    except OSError:
        return None


def mkdir_if_absent(path):
    try:
        mkdir(path, 0o700)
    except FileExistsError:
        if stat(path, follow_symlinks=False).st_mode & KIND != DIR:
            raise


def copy_tree(source_path, path, room):
    """A new folder with what is in another one; none at all when it could not be whole."""
    tally = Tally(room)
    try:
        mkdir(path, 0o700)
    except OSError as error:
        raise NotCopied("make a folder for the files: %s" % error.strerror) from None
    try:
        source, target = open_file(source_path, FOLDER), open_file(path, FOLDER)
        try:
            make_alike(source, target, tally, 0)
        finally:
            close(source)
            close(target)
    except OSError as error:
        remove_at(path)
        raise NotCopied("copy the files of the workspace: %s" % error) from None
    except NotCopied:
        remove_at(path)
        raise
    return tally


def entries_of(fd):
    found = {}
    with scandir(fd) as entries:
        for entry in entries:
            if len(found) >= MAX_ENTRIES:
                raise NotCopied("the workspace has more than %d entries" % MAX_ENTRIES)
            found[entry.name] = entry.stat(follow_symlinks=False)
    return found


def make_alike(source, target, tally, depth):
    """Makes one folder hold what another one does."""
    if depth > MAX_DEPTH:
        raise NotCopied("the workspace has more than %d levels" % MAX_DEPTH)
    wanted, there = entries_of(source), entries_of(target)
    for name, info in there.items():
        other = wanted.get(name)
        if info.st_mode & KIND in (DIR, FILE, LINK) and (
                other is None or other.st_mode & KIND != info.st_mode & KIND):
            remove(target, name, info.st_mode & KIND)
    for name, info in wanted.items():
        tally.count()
        kind = info.st_mode & KIND
        if kind == FILE:
            copy_file(source, target, name, tally)
        elif kind == DIR:
            copy_folder(source, target, name, info, tally, depth)
        elif kind == LINK:
            copy_link(source, target, name)
        else:
            tally.left_out += 1  # a socket or a FIFO: an end of something that runs


def copy_folder(source, target, name, info, tally, depth):
    try:
        mkdir(name, 0o700, dir_fd=target)
    except FileExistsError:
        pass  # and no link: the next line follows none
    inner = open_file(name, FOLDER, dir_fd=source)
    try:
        copy = open_file(name, FOLDER, dir_fd=target)
        try:
            fchmod(copy, 0o700)
            make_alike(inner, copy, tally, depth + 1)
            fchmod(copy, info.st_mode & 0o777 | 0o700)  # one that we can't enter can't be put back
            utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
        finally:
            close(copy)
    finally:
        close(inner)


def copy_link(source, target, name):
    text = readlink(name, dir_fd=source)
    try:
        if readlink(name, dir_fd=target) == text:
            return
        unlink(name, dir_fd=target)
    except FileNotFoundError:
        pass
    symlink(text, name, dir_fd=target)


def copy_file(source, target, name, tally):
    # O_NONBLOCK: a FIFO that has taken the file's place would hold us for ever.
    fd = open_file(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=source)
    try:
        info = fstat(fd)
        if info.st_mode & KIND != FILE:
            tally.left_out += 1
            return
        copy = open_for_writing(target, name)
        try:
            # Not to nothing first, if it can be helped: ext4 takes that for a file that is being
            # replaced, and writes it to the disk when it is closed (auto_da_alloc).
            if info.st_size > SMALL and info.st_blocks * 512 < info.st_size:
                ftruncate(copy, 0)  # its holes have to be holes in the copy
            copy_data(fd, copy, info.st_size, tally)
            fchmod(copy, info.st_mode & 0o777)
            utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
        finally:
            close(copy)
        tally.files += 1
    finally:
        close(fd)


def open_for_writing(folder, name):
    """The file that is there, if it is one by this name alone and may be written; else a new one."""
    try:
        fd = open_file(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, dir_fd=folder)
        info = fstat(fd)
        if info.st_mode & KIND == FILE and info.st_nlink == 1:
            return fd
        close(fd)
        unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except OSError:
        unlink(name, dir_fd=folder)  # a program that runs, or a file without the right to write
    return open_file(name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600, dir_fd=folder)


def copy_data(source, target, size, tally):
    if size <= SMALL:
        data = pread(source, SMALL + 1, 0)
        tally.take(len(data))
        at = 0
        while at < len(data):
            at += pwrite(target, data[at:], at)
        ftruncate(target, len(data))
        return
    at = 0
    while at < size:  # holes stay holes: a file of a terabyte may hold nothing
        try:
            start = lseek(source, at, SEEK_DATA)
            end = min(lseek(source, start, SEEK_HOLE), size)
        except OSError as error:
            if error.errno == ENXIO:
                break
            if error.errno != EINVAL:
                raise
            start, end = at, size
        tally.take(max(0, end - start))
        copy_range(source, target, start, end)
        at = max(end, at + 1)
    ftruncate(target, size)


def copy_range(source, target, at, end):
    """By the kernel, which shares the blocks where the filesystem can."""
    while at < end:
        piece = min(PIECE, end - at)
        try:
            done = copy_file_range(source, target, piece, at, at)
        except OSError:
            done = pwrite(target, pread(source, piece, at), at)
        if not done:
            return  # it has become shorter
        at += done


# --- removal


def remove(folder, name, kind):
    if kind != DIR:
        unlink(name, dir_fd=folder)
        return
    fd = open_file(name, FOLDER, dir_fd=folder)
    try:
        empty(fd, 0)
    finally:
        close(fd)
    rmdir(name, dir_fd=folder)


def empty(fd, depth):
    if depth > MAX_DEPTH + 2:
        raise NotCopied("the workspace has more than %d levels" % MAX_DEPTH)
    fchmod(fd, 0o700)
    for name, info in entries_of(fd).items():
        if info.st_mode & KIND == DIR:
            inner = open_file(name, FOLDER, dir_fd=fd)
            try:
                empty(inner, depth + 1)
            finally:
                close(inner)
            rmdir(name, dir_fd=fd)
        else:
            unlink(name, dir_fd=fd)


def remove_at(path):
    """As far as it can be had: the host takes away all of it in the end."""
    try:
        remove(None, path, stat(path, follow_symlinks=False).st_mode & KIND)
    except (OSError, NotCopied):
        pass


# --- in what wakes


def path_below(path):
    """The part below the workspace of whatever lane; None when it is elsewhere."""
    if path == HOME or path.startswith(HOME + "/"):
        return path[len(HOME):]
    if path.startswith(STORE + "/"):
        lane, slash, rest = path[len(STORE) + 1:].partition("/")
        return slash + rest if lane and not lane.startswith(".") else None
    return None
