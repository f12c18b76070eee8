"""Webhooks: the library of receivers believes what the server sends, and nothing else."""

import datetime
import http.server
import json
import queue
import threading

import httpx
import pytest
from svix.webhooks import Webhook, WebhookVerificationError

from support import SECRET_KEY, URL, is_id, new_user

ANOTHER_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def request(method, path, body=None):
    headers = {"authorization": f"Bearer {SECRET_KEY}"}
    answer = httpx.request(method, f"{URL}/v1/webhooks/endpoints{path}", headers=headers, json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def receiver():
    """Where to send to, and the queue of what arrives: headers and the body as it came."""
    arrivals = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            arrivals.put((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/webhooks", arrivals
    server.shutdown()
    server.server_close()


def test_the_library_believes_what_arrives_and_refuses_what_was_changed(receiver):
    url, arrivals = receiver
    endpoint = request("POST", "", {"url": url, "event_types": ["user.created"]})
    try:
        secret = request("GET", f"/{endpoint['id']}/secret")["secret"]
        user = new_user(first_name="Zoë")
        headers, body = arrivals.get(timeout=30)
    finally:
        request("DELETE", f"/{endpoint['id']}")
    assert is_id("msg", headers["svix-id"])
    webhook = Webhook(secret)
    webhook.verify(body, headers)
    event = json.loads(body)
    assert (event["type"], event["data"]["id"], event["data"]["first_name"]) == ("user.created", user.id, "Zoë")

    def is_refused(data, *, by=webhook, **changed):
        names = {f"svix-{name}": value for name, value in changed.items()}
        with pytest.raises(WebhookVerificationError):
            by.verify(data, {**headers, **names})

    is_refused(body + b" ")
    is_refused(body.replace(user.id.encode(), b"user_other"))
    is_refused(body, id="msg_000000000000000000000000000")
    is_refused(body, timestamp=str(int(headers["svix-timestamp"]) + 1))
    is_refused(body, signature="v1,AAAA")
    is_refused(body, by=Webhook(ANOTHER_SECRET))
    old = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=6)
    signature = webhook.sign(headers["svix-id"], old, body.decode())
    is_refused(body, timestamp=str(int(old.timestamp())), signature=signature)
