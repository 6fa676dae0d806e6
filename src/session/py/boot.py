"""Loads the session's modules from memory or from this folder, and starts what it is asked for.

The modules are not in sys.modules and run with a copy of the builtins that was made before any
user code: a cell that replaces `len`, `open` or `__import__` changes its own world, not this one.
"""

import sys

SOURCES = {}  # name -> source text; filled in by bundle.py when the program is embedded
COMPILED = ("", "")  # the version of bytecode that bundle.py made of them, and {name: code} as text


def read_folder():
    """The sources beside this file, when nothing was embedded."""
    folder = __file__.rpartition("/")[0] or "."
    from posix import listdir

    for entry in listdir(folder):
        if entry.endswith(".py") and entry not in ("boot.py", "bundle.py"):
            with open(folder + "/" + entry, encoding="utf-8") as file:
                SOURCES[entry[:-3]] = file.read()


def unpack_compiled(version, text):
    """{name: code}, when this Python's bytecode is the one that they were compiled to: to compile them
    here is a tenth of the time to a first answer. Empty otherwise."""
    from _frozen_importlib_external import MAGIC_NUMBER

    if version != MAGIC_NUMBER.hex():
        return {}
    try:
        from binascii import a2b_base64
        from zlib import decompress
    except ImportError:
        return {}
    from marshal import loads

    return loads(decompress(a2b_base64(text)))


def make_loader(sources, compiled=()):
    """A function that gives a module by name, and the private builtins they all share."""
    import builtins

    private = dict(vars(builtins))
    real_import = private["__import__"]
    module_type = type(sys)
    table = {}

    def load(name):
        module = table.get(name)
        if module is None:
            module = module_type("caisson." + name)
            module.__dict__["__builtins__"] = private
            module.__dict__["__file__"] = file = "<caisson>/" + name + ".py"
            table[name] = module
            code = compiled[name] if name in compiled else compile(sources[name], file, "exec", 0, True, 2)
            exec(code, module.__dict__)
        return module

    def private_import(name, globals=None, locals=None, fromlist=(), level=0):
        if name in sources:
            return load(name)
        return real_import(name, globals, locals, fromlist, level)

    private["__import__"] = private_import
    return load


def main(argv):
    """boot.py keeper FD | boot.py zygote FD [MODULE...]"""
    if sys.version_info < (3, 9):  # before any module that an older one can't even import
        sys.stderr.write("caisson: Python %d.%d is too old for a session\n"
                         "hint: --python names one of 3.9 or later\n" % sys.version_info[:2])
        sys.exit(1)
    if not SOURCES:
        read_folder()
    load = make_loader(SOURCES, unpack_compiled(*COMPILED))
    load("forks")  # whose hook has to be the first
    what, descriptor = argv[1], int(argv[2])
    if what == "keeper":
        load("zygote").become_keeper(descriptor)
    elif what == "zygote":
        for name in SOURCES:
            load(name)
        load("zygote").serve(descriptor, argv[3:])
    else:
        raise SystemExit("boot: keeper or zygote is wanted, not " + what)


if __name__ == "__main__":
    main(sys.argv)
