"""A scripted stand-in for the Anthropic API, on loopback.

A script is a list of turns; a turn is a list of content blocks. The turn that answers a request is
chosen by how many answers the conversation already holds, so that a client that asks twice or
starts anew gets the same story. Requests that offer no tools of ours (titles, summaries) get one
word back.
"""
import http.server
import json
import threading


def say(text):
    return {"type": "text", "text": text}


def call(tool, **arguments):
    return {"type": "tool_use", "name": tool, "input": arguments}


class FakeApi:
    def __init__(self, tool_prefix="mcp__"):
        self.prefix = tool_prefix
        self.script = []
        self.requests = []  # bodies of the conversation's requests, in order
        self.strangers = []  # paths that nobody scripted
        self.lock = threading.Lock()
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                length = int(self.headers.get("Content-Length", 0))
                api.answer(self, self.rfile.read(length))

            def do_GET(self):
                api.refuse(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # a client that was killed

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def refuse(self, handler):
        with self.lock:
            self.strangers.append(handler.path)
        self.reply(handler, 404, {"type": "error", "error": {
            "type": "not_found_error", "message": "not scripted"}})

    def reply(self, handler, status, body):
        data = json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(data)

    def answer(self, handler, raw):
        path = handler.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.reply(handler, 200, {"input_tokens": 1000})
        if path != "/v1/messages":
            return self.refuse(handler)
        body = json.loads(raw)
        blocks = self.turn(body)
        if body.get("stream"):
            return self.stream(handler, body, blocks)
        return self.reply(handler, 200, {**self.head(body), "content": blocks,
                                         "stop_reason": self.reason(blocks)})

    def turn(self, body):
        names = [tool.get("name", "") for tool in body.get("tools", [])]
        if not any(name.startswith(self.prefix) for name in names):
            return [say("ok")]
        with self.lock:
            self.requests.append(body)
            done = sum(message["role"] == "assistant" for message in body["messages"])
            turn = self.script[done] if done < len(self.script) else [say("the script has ended")]
            return [{**block, "id": f"toolu_{done:04}_{i:02}"} if block["type"] == "tool_use"
                    else block for i, block in enumerate(turn)]

    @staticmethod
    def reason(blocks):
        return "tool_use" if any(one["type"] == "tool_use" for one in blocks) else "end_turn"

    @staticmethod
    def head(body):
        # Claude Code takes two messages with one id for parts of the same message.
        done = sum(message["role"] == "assistant" for message in body["messages"])
        return {"id": f"msg_scripted_{done:04}", "type": "message", "role": "assistant",
                "model": body.get("model", "scripted"), "content": [], "stop_reason": None,
                "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 10}}

    def stream(self, handler, body, blocks):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.close_connection = True

        def event(kind, **fields):
            data = json.dumps({"type": kind, **fields})
            handler.wfile.write(f"event: {kind}\ndata: {data}\n\n".encode())

        event("message_start", message=self.head(body))
        for index, block in enumerate(blocks):
            if block["type"] == "text":
                event("content_block_start", index=index, content_block=say(""))
                event("content_block_delta", index=index,
                      delta={"type": "text_delta", "text": block["text"]})
            else:
                event("content_block_start", index=index, content_block={**block, "input": {}})
                event("content_block_delta", index=index, delta={
                    "type": "input_json_delta", "partial_json": json.dumps(block["input"])})
            event("content_block_stop", index=index)
        event("message_delta", delta={"stop_reason": self.reason(blocks), "stop_sequence": None},
              usage={"output_tokens": 10})
        event("message_stop")
        handler.wfile.flush()

    # What the client told the model.

    def tools(self):
        """The tools of the last request, by name."""
        return {tool["name"]: tool for tool in self.requests[-1]["tools"] if "name" in tool}

    def told(self):
        """Everything of the first request but the tools: the prompt as the model gets it."""
        first = self.requests[0]
        return json.dumps([first.get("system"), first["messages"]], ensure_ascii=False)

    def results(self):
        """{tool_use id: result block} of the longest conversation."""
        longest = max(self.requests, key=lambda body: len(body["messages"]))
        found = {}
        for message in longest["messages"]:
            if message["role"] == "user" and isinstance(message["content"], list):
                for block in message["content"]:
                    if block.get("type") == "tool_result":
                        found[block["tool_use_id"]] = block
        return found


def texts(result):
    """The text of a tool's result."""
    content = result.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content if block["type"] == "text")


def images(result):
    content = result.get("content", "")
    return [] if isinstance(content, str) else [one for one in content if one["type"] == "image"]
