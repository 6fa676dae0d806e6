"""raw.py HOST PORT [--end] [--slowly]: sends its input as it is, shows all that comes back.

The last line on standard error says how it ended: end, reset, refused, late. --end shuts the
sending side; --slowly sends byte by byte, each in a segment of its own.
"""
import errno
import socket
import sys
import time

host, port, options = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
data = sys.stdin.buffer.read()
ended = "end"
try:
    with socket.create_connection((host, port), timeout=5) as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in ([bytes([b]) for b in data] if "--slowly" in options else [data]):
            peer.sendall(piece)
            if "--slowly" in options:
                time.sleep(0.001)
        if "--end" in options:
            peer.shutdown(socket.SHUT_WR)
        while got := peer.recv(65536):
            sys.stdout.buffer.write(got)
            sys.stdout.flush()
except ConnectionRefusedError:
    ended = "refused"
except (ConnectionResetError, BrokenPipeError):
    ended = "reset"
except socket.gaierror:
    ended = "no name"
except TimeoutError:
    ended = "late"
except OSError as error:  # not connected any more: reset before the end was sent
    ended = "reset" if error.errno == errno.ENOTCONN else str(error)
print(ended, file=sys.stderr)
