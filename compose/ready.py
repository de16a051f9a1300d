"""Whether the service in this container serves: for Docker's health check. Standard library only, for it runs often."""

import http.client
import sys

connection = http.client.HTTPConnection("127.0.0.1", 9090, timeout=4)
try:
    connection.request("GET", "/ready")
    answer = connection.getresponse()
    print(answer.read().decode())
    sys.exit(answer.status != 200)
except OSError as problem:
    sys.exit(f"no answer: {problem}")
