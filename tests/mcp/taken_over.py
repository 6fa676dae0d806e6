"""A server that somebody has taken over: calls by its own process, and orders to its launcher."""
import os
import struct
import time

from harness import DEADLINE, McpTest
from intruder import Intruder, link_of

O_RDONLY, O_WRONLY, O_CREAT, O_DIRECTORY, O_PATH = 0, 1, 0o100, 0o200000, 0o10000000
# Words of src/session/launch_wire.h.
MAKE_FORK, DROP, LOAD, NOTE, KEEP, TAKE_UP = 3, 6, 7, 8, 9, 10
FORK_MADE, FILE, TAKEN_UP, DONE, FAILED = 66, 67, 70, 72, 74


class TakenOver(McpTest):
    def ask(self, server, *calls):
        """What its process is answered, for each call."""
        with Intruder(server.process.pid) as intruder:
            return [intruder.call(*one) for one in calls]

    def place(self, server):
        """Its state folder: it holds the lock beside it."""
        folder = f"/proc/{server.process.pid}/fd"
        for fd in os.listdir(folder):
            parent, name = os.path.split(link_of(os.path.join(folder, fd)))
            if os.path.basename(parent) in ("scopes", "passing") and name.endswith(".lock"):
                return os.path.join(parent, name[:-len(".lock")])
        return self.fail("it has no state folder")

    def own(self, server, name):
        """What it keeps itself."""
        return os.path.join(self.place(server), "own", name).encode()

    def beside(self, server, name):
        """Where its launcher works."""
        return os.path.join(self.place(server), name).encode()

    def order(self, intruder, socket, word, texts, number=0, answers=()):
        """What its launcher says to that, of these kinds: the kind, the texts, the descriptors."""
        data = struct.pack("<IIQ", word, 77777, number)
        for text in texts:
            data += struct.pack("<I", len(text)) + text
        self.assertEqual(intruder.send(socket, data), len(data))
        until = time.monotonic() + DEADLINE
        while answers and time.monotonic() < until:
            told = intruder.receive(socket)
            if told and struct.unpack("<II", told[0][:8]) in [(one, 77777) for one in answers]:
                return struct.unpack("<I", told[0][:4])[0], told[0][16:], told[1]
            time.sleep(0.001)
        self.assertEqual(answers, ())
