"""A gRPC service without generated code: grpc_service.py FOLDER. Bytes in, bytes out."""
import concurrent.futures
import os
import sys

sys.dont_write_bytecode = True

import grpc  # noqa: E402

import names  # noqa: E402


def greet(request, context):
    seen = dict(context.invocation_metadata())
    if "authorization" in seen:
        with open(os.path.join(sys.argv[1], "grpc.log"), "a", encoding="utf-8") as log:
            print(seen["authorization"], file=log)
    return b"hello " + request


def count(request, _context):
    for i in range(int(request)):
        yield b"%d" % i


def reverse(requests, _context):
    for request in requests:
        yield request[::-1]


def tell(requests, context):
    """What was sent, with the caller's credential in place of each {}."""
    credential = dict(context.invocation_metadata())["authorization"].encode()
    for request in requests:
        yield request.replace(b"{}", credential)


class Harbor(grpc.GenericRpcHandler):
    METHODS = {
        "/harbor.Pilot/Greet": grpc.unary_unary_rpc_method_handler(greet),
        "/harbor.Pilot/Count": grpc.unary_stream_rpc_method_handler(count),
        "/harbor.Pilot/Reverse": grpc.stream_stream_rpc_method_handler(reverse),
        "/harbor.Pilot/Tell": grpc.stream_stream_rpc_method_handler(tell),
    }

    def service(self, details):
        return self.METHODS.get(details.method)


def read(name):
    with open(os.path.join(sys.argv[1], name), "rb") as data:
        return data.read()


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((Harbor(),))
    tls = grpc.ssl_server_credentials([(read("server.key"), read("server.pem"))])
    server.add_secure_port(f"[::]:{names.GRPC}", tls)
    server.add_insecure_port(f"[::]:{names.GRPC_CLEAR}")
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
