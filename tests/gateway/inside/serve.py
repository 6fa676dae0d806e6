"""serve.py PORT: a web server of the cell's own; says when it listens, ends with its input."""
import http.server
import sys
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = int(self.path[1:] or 0)
        body = b"from inside\n" if not size else b"z" * size
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128


server = Server(("127.0.0.1", int(sys.argv[1])), Answer)
print("listening", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
