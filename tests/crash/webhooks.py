#!/usr/bin/env python3
"""Kills servers and the receiver of their webhooks with SIGKILL under load, and checks what arrived.

    webhooks.py sqlite                                             one server
    scripts/with-postgres.sh tests/crash/webhooks.py postgres      two servers on one database

At the end every committed event (the feed shows them, complete and without gaps) has arrived at least once
with its id and its body, the first arrivals about each user are in the order of the numbers, and nothing
arrived that did not happen.

A delivery that failed twice is tried again after five minutes, which is longer than this test takes. So at
the end those that wait are replayed through the API, as an operator would do; the output says how many.

The binary is LATCHKEY_BIN, by default the debug build. On postgres the database is TEST_POSTGRES_URL,
which must be empty. CRASH_SECONDS (14) says how long things are killed, CRASH_SEED repeats a choice of them.
"""

import collections
import hashlib
import http.client
import http.server
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

import crash
from free_ports import free_ports

SECONDS = float(os.environ.get("CRASH_SECONDS", "14"))
SEED = os.environ.get("CRASH_SEED") or str(random.randrange(10**6))
WRITERS = 4
# Between two requests of a writer, so that what remains at the end is sent in seconds.
PAUSE_S = 0.03
# A server that died keeps its endpoints for nine seconds.
LEASE_S = 10
DRAIN_WITHIN_S = 40


def subject(payload):
    """Whom an event is about: the user, for all events this test causes."""
    return payload["data"].get("user_id") or payload["data"]["id"]


def digest(payload):
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


# The receiver: a process of its own, which notes each arrival in a file before it answers.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    lock = threading.Lock()
    notes = None

    def do_POST(self):
        payload = json.loads(self.rfile.read(int(self.headers["content-length"])))
        line = json.dumps([self.headers["svix-id"], subject(payload), digest(payload)])
        with self.lock:
            os.write(self.notes, f"{line}\n".encode())
        # Long enough for somebody to be killed between an arrival and its answer.
        time.sleep(0.02)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Listener(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # Whoever sent was killed.


def receive(port, path):
    Handler.notes = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    Listener(("127.0.0.1", int(port)), Handler).serve_forever()


class Receiver:
    """The receiver on one port, started and killed again and again."""

    def __init__(self, directory):
        (self.port,) = free_ports(1)
        self.path = directory / "arrivals"
        self.process = None

    def start(self):
        self.process = subprocess.Popen([sys.executable, __file__, "receive", str(self.port), str(self.path)])

    def kill(self):
        self.process.kill()
        self.process.wait()

    def arrivals(self):
        text = self.path.read_text() if self.path.exists() else ""
        return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


# The load.


class Writer(threading.Thread):
    """Makes users, changes them, signs them in and deletes them, on whichever server lives."""

    def __init__(self, servers, name, random_source):
        super().__init__(name=name, daemon=True)
        self.servers, self.random = servers, random_source
        self.users, self.made = [], 0
        self.acknowledged = []
        self.failure = None
        self.ends = threading.Event()

    def run(self):
        while not self.ends.is_set() and self.failure is None:
            client = self.random.choice(self.servers).connect()
            try:
                while not self.ends.wait(PAUSE_S):
                    self.step(client)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                self.ends.wait(0.05)  # That server was killed, perhaps in the middle of an answer.

    def step(self, client):
        choice = self.random.random()
        if len(self.users) < 3 or choice < 0.2:
            self.made += 1
            body = {"email_address": [f"{self.name}.{self.made}@example.com"]}
            self.users.append(self.send(client, "POST", "/users", body)["id"])
        elif choice < 0.9:
            path = f"/users/{self.random.choice(self.users)}/metadata"
            self.send(client, "PATCH", path, {"public_metadata": {"number": self.random.random()}})
        elif choice < 0.96:
            self.send(client, "POST", "/sessions", {"user_id": self.random.choice(self.users)})
        else:
            # It is forgotten first: an answer that never comes may have been a deletion.
            self.send(client, "DELETE", f"/users/{self.users.pop()}")

    def send(self, client, method, path, body=None):
        client.connection.request(method, f"/v1{path}", json.dumps(body) if body else None, client.headers)
        response = client.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            self.failure = f"{method} {path} was answered with {response.status}: {answer}"
            self.ends.set()
            raise OSError(self.failure)
        number = response.headers["latchkey-event-seq"]
        if number is None:
            self.failure = f"{method} {path} was answered without the number of its event"
            self.ends.set()
        else:
            self.acknowledged.append((int(number), answer.get("user_id") or answer["id"]))
        return answer


def kill_at_random(servers, receiver, source):
    """Kills one or the other until the time is over. Says how often each."""
    kills = collections.Counter()
    ends_at = time.monotonic() + SECONDS
    victims = []
    while time.monotonic() < ends_at:
        time.sleep(source.uniform(0.5, 2.5))
        # In pairs, so that chance never spares one of them.
        victims = victims or source.sample(["server", "receiver"], 2)
        if victims.pop() == "server":
            server = source.choice(servers)
            server.kill()
            server.start()
            kills["server"] += 1
        else:
            receiver.kill()
            time.sleep(source.uniform(0, 1))
            receiver.start()
            kills["receiver"] += 1
    return kills


# The end.


def whole_feed(client):
    events, after = [], 0
    while True:
        status, page = client.request("GET", f"/events?after={after}&limit=500")
        assert status == 200, page
        events += page["data"]
        after = page["last_seq"]
        if not page["has_more"]:
            return events


def is_sent(event):
    """Whether endpoints receive an event. Those about the configuration are in the feed only."""
    return event["type"].startswith("user.")


def replay_waiting(client, endpoint):
    """Makes all deliveries due now that wait for a later try. Says how many."""
    status, page = client.request("GET", f"/webhooks/endpoints/{endpoint}/deliveries?status=pending&limit=500")
    assert status == 200, page
    # Those behind another one about the same user follow it by themselves.
    tried = [each for each in page["data"] if each["attempts"] > 0]
    for delivery in tried:
        path = f"/webhooks/endpoints/{endpoint}/deliveries/{delivery['event_id']}/replay"
        status, answer = client.request("POST", path)
        assert status == 200, answer
    return len(tried)


def drain(client, endpoint, receiver, events):
    """Waits until every event arrived. Says how many had to be replayed for it, and how long it took."""
    wanted = {event["id"] for event in events if is_sent(event)}
    began, replayed, replay_at = time.monotonic(), 0, time.monotonic() + LEASE_S
    while time.monotonic() - began < DRAIN_WITHIN_S:
        if wanted <= {arrival[0] for arrival in receiver.arrivals()}:
            break
        if time.monotonic() > replay_at:
            replayed += replay_waiting(client, endpoint)
            replay_at = time.monotonic() + 3
        time.sleep(0.2)
    return replayed, time.monotonic() - began


# What the feed shows of an event and endpoints are not sent.
OF_FEED = ("id", "seq", "key_id")


def judge(events, arrivals, acknowledged):
    """What is wrong, in sentences."""
    faults = []
    numbers = [event["seq"] for event in events]
    if numbers != list(range(1, len(events) + 1)):
        faults.append("the feed has gaps, or another order than its numbers")
    by_id = {event["id"]: event for event in events}
    if len(by_id) != len(events):
        faults.append("two events have one id")
    by_number = {event["seq"]: event for event in events}
    strangers = [pair for pair in acknowledged if pair[0] not in by_number or subject(by_number[pair[0]]) != pair[1]]
    if strangers:
        faults.append(f"{len(strangers)} acknowledged changes are not in the feed, such as {strangers[0]}")
    first = {}
    for event_id, about, body in arrivals:
        first.setdefault(event_id, (about, body))
        if event_id not in by_id:
            faults.append(f"{event_id} arrived and never happened")
        elif body != digest({key: value for key, value in by_id[event_id].items() if key not in OF_FEED}):
            faults.append(f"{event_id} arrived with another body than the feed shows")
    lost = [event["id"] for event in events if is_sent(event) and event["id"] not in first]
    if lost:
        faults.append(f"{len(lost)} events never arrived, such as {lost[0]}")
    lines = collections.defaultdict(list)
    for event_id, (about, _) in first.items():
        lines[about].append(by_id[event_id]["seq"] if event_id in by_id else -1)
    disordered = [about for about, line in lines.items() if line != sorted(line)]
    if disordered:
        faults.append(f"the events of {len(disordered)} users arrived in another order, such as {disordered[0]}")
    return faults


def run(servers, receiver):
    source = random.Random(SEED)
    receiver.start()
    for server in servers:
        server.start()
    client = servers[0].connect()
    body = {"url": f"http://127.0.0.1:{receiver.port}/"}
    status, endpoint = client.request("POST", "/webhooks/endpoints", body)
    assert status == 200, endpoint
    writers = [Writer(servers, f"writer{number}", random.Random(f"{SEED}.{number}")) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    kills = kill_at_random(servers, receiver, source)
    for writer in writers:
        writer.ends.set()
    for writer in writers:
        writer.join()
    client = servers[0].connect()
    events = whole_feed(client)
    before = len({arrival[0] for arrival in receiver.arrivals()})
    replayed, took_s = drain(client, endpoint["id"], receiver, events)
    arrivals = receiver.arrivals()
    acknowledged = [pair for writer in writers for pair in writer.acknowledged]
    faults = [writer.failure for writer in writers if writer.failure] + judge(events, arrivals, acknowledged)
    if len(acknowledged) < 50 or not kills["server"] or not kills["receiver"]:
        faults.append("there was too little load, or nothing was killed: this proves nothing")
    different = len({arrival[0] for arrival in arrivals})
    print(f"servers killed       {kills['server']:6}   of {len(servers)} at a time")
    print(f"receiver killed      {kills['receiver']:6}")
    print(f"changes acknowledged {len(acknowledged):6}")
    print(f"events committed     {len(events):6}   about {len({subject(event) for event in events})} users")
    print(f"events arrived       {different:6}   {before} of them before the killing ended")
    print(f"arrivals             {len(arrivals):6}   {len(arrivals) - different} of them repeats")
    print(f"replayed at the end  {replayed:6}   that had failed and would have waited for their next try")
    print(f"the rest took        {took_s:6.1f} s")
    for fault in faults:
        print(fault)
    print("nothing lost, nothing invented, order kept" if not faults else f"FAILED with CRASH_SEED={SEED}")
    return not faults


def main():
    if sys.argv[1:2] == ["receive"]:
        return receive(*sys.argv[2:])
    if sys.argv[1:] not in (["sqlite"], ["postgres"]):
        raise SystemExit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    (crash.ROOT / ".test").mkdir(exist_ok=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="webhooks.", dir=crash.ROOT / ".test"))
    engine = sys.argv[1]
    servers = [crash.Server(engine, directory) for _ in range(2 if engine == "postgres" else 1)]
    receiver = Receiver(directory)
    succeeded = False
    try:
        succeeded = run(servers, receiver)
    finally:
        for server in servers:
            server.stop()
        if receiver.process is not None:
            receiver.kill()
        if not succeeded and servers[0].log_path.exists():
            lines = servers[0].log_path.read_text(errors="replace").splitlines()
            print("--- the end of the servers' log", *lines[-100:], "---", sep="\n")
        shutil.rmtree(directory)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
