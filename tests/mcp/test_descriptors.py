"""Descriptors that code in a session hands to the server, which has one loop and a filter that lets it
start nothing but a thread of its own."""
import os
import time

import harness
from harness import McpTest

# A socket whose last close takes a minute and a half, in the queue of another one. It is sent between
# two calls, when the server doesn't read, and closed here: then the last close is the server's.
ATTACK = """
import os, socket, struct, sys, threading, time
frame = sys._getframe()
while not (frame.f_code.co_name == 'serve' and 'nonce' in frame.f_locals): frame = frame.f_back
def give(to, fd): to.sendmsg([b'x' * 14], [(1, 1, struct.pack('i', fd))])
def later(to):
    time.sleep(.3)
    server = socket.create_server(('127.0.0.1', 0))
    one = socket.create_connection(server.getsockname())
    peers.append(server.accept()[0])
    one.setblocking(False)
    try:
        while True: one.send(b'x' * 65536)
    except BlockingIOError: pass
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 90))
    a, b = socket.socketpair()
    give(a, one.fileno()); one.close()
    give(to, b.fileno()); a.close(); b.close()
    open('/workspace/sent', 'w').close()
peers = []
threading.Thread(target=later, args=(frame.f_locals['self'].sock,)).start()
"""


class Descriptors(McpTest):
    def test_a_socket_that_lingers_holds_nobody(self):
        server = self.server()
        self.assertEqual(server.text("rlm_exec", code="1 + 1", session="good"), "2")
        server.call("rlm_exec", code=ATTACK, session="bad")
        self.wait_for_file("sent")
        attack = server.start_call("rlm_exec", code="1", session="bad", timeout=2)
        self.assertEqual(server.text("rlm_exec", code="2 + 2", session="good"), "4")
        server.answer(attack)
        self.assertEqual(server.text("rlm_exec", code="3 + 3", session="good"), "6")

    def wait_for_file(self, name):
        until = time.monotonic() + harness.DEADLINE
        while not any(name in files for _, _, files in os.walk(self.state)):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
