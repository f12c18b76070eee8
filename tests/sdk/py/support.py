"""What the tests share: clients of the server under test, fresh values, and expectations."""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import random
import re
import secrets
import struct
import subprocess
import time
import zlib

import httpx
import pytest
from clerk_backend_api import Clerk, models


def setting(name):
    value = os.environ.get(name)
    assert value, f"{name} is not set: run the tests under scripts/with-server.sh"
    return value


URL = setting("LATCHKEY_URL")
SECRET_KEY = setting("CLERK_SECRET_KEY")
OTHER_SECRET_KEY = setting("LATCHKEY_OTHER_SECRET_KEY")
INSTANCE_ID = setting("LATCHKEY_INSTANCE_ID")


def connect(key):
    # Without retries: a 5xx must fail the test, not be tried again for an hour.
    return Clerk(bearer_auth=key, server_url=URL + "/v1", retry_config=None, timeout_ms=30_000)


clerk = connect(SECRET_KEY)
# A client of another instance of the same server.
other_clerk = connect(OTHER_SECRET_KEY)


def latchkey(*args):
    command = [setting("LATCHKEY_BIN"), *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def connect_to_new_production():
    """A client of a new production instance."""
    host = f"clerk.p{unique()}.example.com"
    line = ["instances", "create", "--environment", "production", "--frontend-api", host, "--json"]
    return connect(json.loads(latchkey(*line))["secret_key"])


def connect_to_new_instance(*settings):
    """A client of an instance that is still empty, for tests that count or order everything, and for those that need
    other settings, each as `path=JSON`."""
    created = json.loads(latchkey("instances", "create", "--environment", "development", "--json"))
    latchkey("settings", "set", "--instance", created["instance_id"], "organizations.enabled=true", *settings)
    return connect(created["secret_key"])


# Fresh values: nothing may be taken twice.


def unique():
    return secrets.token_hex(8)


def new_email():
    return f"{unique()}@example.com"


def new_username():
    return f"user_{unique()}"


def new_password():
    return f"Zq7!{unique()}"


def new_wallet():
    return "0x" + secrets.token_hex(20)


def new_phone():
    return f"+1{random.randint(201, 989)}{random.randint(2_000_000, 9_999_999)}"


def new_test_phone():
    """A number to which nothing is ever sent: its code on a development instance is 424242."""
    return f"+1{random.randint(201, 989)}55501{random.randint(0, 99):02}"


def new_user(**params):
    params.setdefault("email_address", [new_email()])
    return clerk.users.create(**params)


def unknown_id(prefix):
    """An id of the right form that nothing has."""
    return f"{prefix}_{'0' * 27}"


# Expectations.


def is_id(prefix, value):
    return re.fullmatch(rf"{prefix}_[0-9A-Za-z]{{27}}", value) is not None


@contextlib.contextmanager
def refused(status, code=None, param_name=None, kind=models.ClerkErrors):
    """The block must be refused by the server with this status and code.

    The SDK raises ClerkErrors where its description names the status for the operation; where it does
    not, the caller says kind=models.SDKError.
    """
    with pytest.raises(models.ClerkBaseError) as caught:
        yield
    error = caught.value
    body = json.loads(error.body)
    first = body["errors"][0]
    assert (error.status_code, first["code"]) == (status, code or first["code"])
    assert type(error) is kind
    if kind is models.ClerkErrors:
        assert error.data.errors[0].code == first["code"]
    if param_name is not None:
        assert first["meta"]["param_name"] == param_name
    assert first["message"] and first["long_message"]
    assert re.fullmatch(r"[0-9a-f]{32}", body["clerk_trace_id"])


def assert_has(actual, **expected):
    assert {name: getattr(actual, name) for name in expected} == expected


def is_verified(identification):
    return identification.verification is not None and identification.verification.status == "verified"


def newest_message(to):
    """The newest message to an address or number in the development inbox."""
    response = httpx.get(f"{URL}/dev/inbox", params={"to": to}, headers={"Authorization": f"Bearer {SECRET_KEY}"})
    assert response.status_code == 200
    messages = response.json()["data"]
    assert messages, f"no message to {to}"
    return messages[0]


def wrong(code):
    return f"{(int(code) + 1) % 1_000_000:06}"


# Things to send.


def new_totp_secret():
    return base64.b32encode(secrets.token_bytes(20)).decode()


def totp(secret, steps=0):
    """The code of RFC 6238 (SHA-1, 6 digits, 30 s), `steps` periods away from now."""
    counter = struct.pack(">Q", int(time.time()) // 30 + steps)
    mac = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    offset = mac[19] & 15
    number = struct.unpack(">I", mac[offset : offset + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


def wrong_totp(secret):
    """A code that is wrong now and in the periods around it."""
    right = {totp(secret, steps) for steps in range(-3, 4)}
    return next(code for code in (f"{digit}" * 6 for digit in range(10)) if code not in right)


def png(width, height):
    """A grey PNG of this size."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = (b"\0" + b"\x80" * width) * height
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
