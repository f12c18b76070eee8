#!/usr/bin/env python3
"""Kills the server with SIGKILL under write load and checks that every acknowledged write survived.

    crash.py sqlite
    scripts/with-postgres.sh tests/crash/crash.py postgres

The binary is LATCHKEY_BIN, by default the debug build. On postgres the database is TEST_POSTGRES_URL,
which must be empty. CRASH_ROUNDS (5) says how often.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
from free_ports import free_ports  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("LATCHKEY_BIN", str(ROOT / "target/debug/latchkey"))
ROUNDS = int(os.environ.get("CRASH_ROUNDS", "5"))
WRITERS = 8
READY_WITHIN_S = 30


class Server:
    """The server on one port and one database, started and killed again and again."""

    def __init__(self, engine, directory):
        database = f"sqlite:{directory}/data/latchkey.db" if engine == "sqlite" else os.environ["TEST_POSTGRES_URL"]
        self.port, frontend_port = free_ports(2)
        self.log_path = directory / "log"
        self.environment = {
            **os.environ,
            "LATCHKEY_LISTEN": f"127.0.0.1:{self.port}",
            "LATCHKEY_FRONTEND_LISTEN": f"127.0.0.1:{frontend_port}",
            "LATCHKEY_DATA_DIR": f"{directory}/data",
            "LATCHKEY_DATABASE": database,
            "LATCHKEY_RATE_LIMITS": "off",
        }
        self.process = None
        self.secret_key = None

    def start(self):
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen([BINARY, "serve"], env=self.environment, stdout=log, stderr=log)
        deadline = time.monotonic() + READY_WITHIN_S
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("The server did not become ready.")
            time.sleep(0.02)
        if self.secret_key is None:
            create = [BINARY, "keys", "create", "--json"]
            keys = subprocess.run(create, env=self.environment, check=True, capture_output=True)
            self.secret_key = json.loads(keys.stdout)["secret_key"]

    def is_ready(self):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()

    def connect(self):
        return Client(self.port, self.secret_key)


class Client:
    """One connection, used for one request after the other."""

    def __init__(self, port, secret_key):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.headers = {"Authorization": f"Bearer {secret_key}", "Content-Type": "application/json"}

    def request(self, method, path, body=None):
        self.connection.request(method, f"/v1{path}", json.dumps(body) if body else None, self.headers)
        response = self.connection.getresponse()
        return response.status, json.loads(response.read())


class Written:
    """What one user must look like: the last acknowledged number, or the one under way when the server died."""

    def __init__(self, user_id, email):
        self.user_id = user_id
        self.email = email
        self.acknowledged = 0
        self.under_way = 0

    def is_intact(self, client):
        status, user = client.request("GET", f"/users/{self.user_id}")
        return (
            status == 200
            and user["email_addresses"][0]["email_address"] == self.email
            and user["public_metadata"]["number"] in (self.acknowledged, self.under_way)
        )


class Writer(threading.Thread):
    """Creates users and counts a number in their metadata up, until the server is gone."""

    def __init__(self, server, name):
        super().__init__(name=name, daemon=True)
        self.client = server.connect()
        self.written = []
        self.updates = 0
        self.creation_under_way = False
        self.failure = None

    def run(self):
        try:
            while self.failure is None:
                self.create()
                for _ in range(3):
                    self.update(random.choice(self.written))
        except (OSError, http.client.HTTPException, ValueError):
            pass  # The server was killed, perhaps in the middle of an answer.

    def create(self):
        email = f"{self.name}.{len(self.written)}@example.com"
        self.creation_under_way = True
        user = self.send("POST", "/users", {"email_address": [email], "public_metadata": {"number": 0}})
        self.creation_under_way = False
        self.written.append(Written(user["id"], email))

    def update(self, written):
        written.under_way = written.acknowledged + 1
        path = f"/users/{written.user_id}/metadata"
        self.send("PATCH", path, {"public_metadata": {"number": written.under_way}})
        written.acknowledged = written.under_way
        self.updates += 1

    def send(self, method, path, body):
        status, answer = self.client.request(method, path, body)
        if status != 200:
            self.failure = f"{method} {path} was answered with {status}: {answer}"
            raise ValueError(self.failure)
        return answer


def count_lost(server, written):
    """How many of these writes are gone or have another value, read over several connections."""

    def check(part):
        client = server.connect()
        return sum(not item.is_intact(client) for item in part)

    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        return sum(pool.map(check, (written[start::WRITERS] for start in range(WRITERS))))


def run(server):
    everything = []
    unacknowledged_creations = 0
    lost_in_all = 0
    failures = []
    server.start()
    print("round  creates  updates  lost", flush=True)
    for number in range(1, ROUNDS + 1):
        writers = [Writer(server, f"round{number}.writer{writer}") for writer in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(random.uniform(0.5, 2.0))  # The load.
        server.kill()
        for writer in writers:
            writer.join()
        server.start()

        written = [item for writer in writers for item in writer.written]
        updates = sum(writer.updates for writer in writers)
        failures += [writer.failure for writer in writers if writer.failure]
        unacknowledged_creations += sum(writer.creation_under_way for writer in writers)
        lost = count_lost(server, written)
        lost_in_all += lost
        everything += written
        print(f"{number:5}  {len(written):7}  {updates:7}  {lost:4}", flush=True)
        if not written:
            failures.append(f"round {number} wrote nothing")

    lost_at_the_end = count_lost(server, everything)
    print(f"  end  {len(everything):7}           {lost_at_the_end:4}")
    _, count = server.connect().request("GET", "/users/count")
    surplus = count["total_count"] - len(everything)
    if not 0 <= surplus <= unacknowledged_creations:
        failures.append(f"{count['total_count']} users for {len(everything)} acknowledged creations")
    server.stop()
    if server.process.returncode != 0:
        failures.append(f"the last stop, with SIGTERM, ended with {server.process.returncode}")
    for failure in failures:
        print(failure)
    return lost_in_all == lost_at_the_end == 0 and not failures


def main():
    if sys.argv[1:] not in (["sqlite"], ["postgres"]):
        raise SystemExit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    (ROOT / ".test").mkdir(exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="crash.", dir=ROOT / ".test"))
    server = Server(sys.argv[1], directory)
    succeeded = False
    try:
        succeeded = run(server)
    finally:
        server.stop()
        if not succeeded and server.log_path.exists():
            lines = server.log_path.read_text(errors="replace").splitlines()
            print("--- the end of the server's log", *lines[-100:], "---", sep="\n")
        shutil.rmtree(directory)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
