"""Writes the body of a URL to standard output by requests."""
import sys

import requests

response = requests.get(sys.argv[1], timeout=10)
sys.stdout.buffer.write(response.content)
sys.exit(0 if response.status_code == 200 else 2)
