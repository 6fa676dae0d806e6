"""Who is who in the world of these tests: addresses, names, ports. Documentation ranges only."""

NEAR = "203.0.113.1"        # where caisson runs; its own address
FAR = "203.0.113.10"        # where the servers are
OTHER = "203.0.113.20"      # the same servers under another address
DNS = "203.0.113.53"
EMPTY = "203.0.113.99"      # nobody
NEAR6, FAR6 = "2001:db8:63::1", "2001:db8:63::10"
METADATA = "169.254.169.254"  # really there, and really reachable from near
LINK_LOCAL = "169.254.7.7"
FAR_ADDRESSES = (FAR, OTHER, DNS, METADATA, LINK_LOCAL)

ZONES = ("harbor.test", "quay.test", "evilharbor.test")  # every name below them is FAR's
CERTIFIED = ("harbor.test", "*.harbor.test", "*.deep.harbor.test", "*.quay.test")

# The far side.
HTTP, HTTPS, HTTP_ALT, HTTPS_ALT = 80, 443, 8080, 8443
SSH, POSTGRES, REDIS = 22, 5432, 6379
GRPC, GRPC_CLEAR = 50051, 50052
ECHO = 7007                 # gives back what it gets
WEBSOCKET, WEBSOCKET_TLS = 7008, 7443
SPEAKS_FIRST = 7009         # says a line, then gives back
DIES = 7010                 # promises a megabyte, sends a thousand bytes, resets
SILENT = 7011               # takes the connection and never answers
RECORDER, RECORDER_TLS = 7013, 7014  # writes down what it was sent, and tells it
CHUNKED, CHUNKED_TLS = 7015, 7016  # a response in odd chunks
PROXY = 3129                # the host's own proxy
FAR_PORTS = (HTTP, HTTPS, HTTP_ALT, HTTPS_ALT, SSH, POSTGRES, REDIS, GRPC, GRPC_CLEAR, ECHO,
             WEBSOCKET, WEBSOCKET_TLS, SPEAKS_FIRST, DIES, SILENT, RECORDER, RECORDER_TLS, CHUNKED,
             CHUNKED_TLS, PROXY)

# The near side: what a cell must not find unless it is forwarded.
CANARIES = (80, 443, 7001)
