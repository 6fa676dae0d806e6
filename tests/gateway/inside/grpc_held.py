"""grpc_held.py TARGET MESSAGE...: one call with $KEY, both ways at once, of a host that gives messages
back with the credential in place of each "{}". [[message, seconds], ...] as JSON."""
import json
import os
import queue
import sys
import time

import grpc

with open(os.environ["SSL_CERT_FILE"], "rb") as pem:
    channel = grpc.secure_channel(sys.argv[1], grpc.ssl_channel_credentials(pem.read()))
messages, told = queue.SimpleQueue(), []
answers = channel.stream_stream("/harbor.Pilot/Tell")(
    iter(messages.get, None), timeout=20, metadata=[("authorization", os.environ["KEY"])])
try:
    for message in ["first", *sys.argv[2:]]:
        began = time.monotonic()
        messages.put(message.encode())
        told.append([next(answers).decode(), time.monotonic() - began])
finally:
    messages.put(None)  # the thread that sends would wait for more, and the end for it
print(json.dumps(told[1:]), flush=True)  # the first made the connection
os._exit(0)  # the library waits for a lock of its own at the end, now and then
