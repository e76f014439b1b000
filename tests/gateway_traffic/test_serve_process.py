"""The ingest server as a process: what stands in its log after a hostile visit."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from gateway_traffic.tokens import Tokens

SECRET = b"a secret of many bytes"
REQUESTS = 200


async def flood(port: int, token: str) -> None:
    """Malformed requests with a token, one after the other."""
    request = f"POST /v1/counter HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\nX: y\r\n\r\n"
    for _ in range(REQUESTS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.encode())
        assert b" 400 " in await reader.read()
        writer.close()


def test_a_flood_with_tokens_leaves_a_short_log_without_them(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    secret.chmod(0o644)
    token = Tokens(SECRET).of("gw-1")
    options = ["--bootstrap", "", "--port", "0", "--secret", str(secret)]
    command = [sys.executable, "-m", "gateway_traffic", "serve", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        port = int(server.stdout.readline().rpartition(":")[2])
        asyncio.run(asyncio.wait_for(flood(port, token), 60))
    finally:
        server.terminate()
        _, log = server.communicate(timeout=30)

    assert server.returncode == 0
    assert f"chmod 600 {secret}" in log, "other users may read the secret"
    assert token not in log and SECRET.decode() not in log and "Traceback" not in log
    assert len(log) < 2000
