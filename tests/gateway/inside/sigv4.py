"""AWS's Signature Version 4 by hand: a client for a cell, and the other half for the test."""
import hashlib
import hmac
import os
import sys
import urllib.request

TIME = "20261115T120000Z"
SCOPE = f"{TIME[:8]}/eu-west-1/s3/aws4_request"
SIGNED = "host;x-amz-content-sha256;x-amz-date;x-amz-security-token"


def signature(key, method, path, headers, payload):
    """`headers` by lower-case name; `payload` is the hash that is signed."""
    lines = "".join(f"{name}:{headers[name]}\n" for name in SIGNED.split(";"))
    canonical = f"{method}\n{path}\n\n{lines}\n{SIGNED}\n{payload}"
    text = (f"AWS4-HMAC-SHA256\n{TIME}\n{SCOPE}\n"
            f"{hashlib.sha256(canonical.encode()).hexdigest()}")
    derived = b"AWS4" + key.encode()
    for part in SCOPE.split("/"):
        derived = hmac.new(derived, part.encode(), hashlib.sha256).digest()
    return hmac.new(derived, text.encode(), hashlib.sha256).hexdigest()


def main(url, body):
    host, path = url.split("/", 3)[2], "/" + url.split("/", 3)[3]
    payload = hashlib.sha256(body.encode()).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": payload, "x-amz-date": TIME,
               "x-amz-security-token": os.environ["AWS_SESSION_TOKEN"]}
    made = signature(os.environ["AWS_SECRET_ACCESS_KEY"], "PUT", path, headers, payload)
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{SCOPE}, "
        f"SignedHeaders={SIGNED}, Signature={made}")
    request = urllib.request.Request(url, body.encode(), headers, method="PUT")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            print(answer.status)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())


if __name__ == "__main__":
    main(*sys.argv[1:])
