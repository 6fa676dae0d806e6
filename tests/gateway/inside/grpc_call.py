"""grpc_call.py TARGET tls|clear [AUTHORIZATION]: one call of each kind."""
import os
import sys

import grpc

target, how = sys.argv[1:3]
metadata = [("authorization", sys.argv[3])] if len(sys.argv) > 3 else None
bundle = os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt")
options = [("grpc.enable_http_proxy", 0 if "http_proxy" not in os.environ else 1)]
if how == "tls":
    with open(bundle, "rb") as pem:
        channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(pem.read()), options)
else:
    channel = grpc.insecure_channel(target, options)
with channel:
    called = {"timeout": 5, "metadata": metadata}
    print(channel.unary_unary("/harbor.Pilot/Greet")(b"pilot", **called).decode())
    print(b" ".join(channel.unary_stream("/harbor.Pilot/Count")(b"3", **called)).decode())
    words = iter([b"ebb", b"neap"])
    print(b" ".join(channel.stream_stream("/harbor.Pilot/Reverse")(words, **called)).decode())
