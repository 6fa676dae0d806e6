"""Writes the body of a URL to standard output by urllib."""
import sys
import urllib.request

with urllib.request.urlopen(sys.argv[1], timeout=10) as response:
    sys.stdout.buffer.write(response.read())
