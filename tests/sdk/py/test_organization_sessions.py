"""The organization that somebody works for: in sessions and in their tokens."""

import base64
import json

import httpx

from support import clerk, new_user, other_clerk, refused, setting, unique, unknown_id

FRONTEND_URL = f"http://{setting('LATCHKEY_FRONTEND_LISTEN')}"


def new_organization():
    return clerk.organizations.create(request={"name": f"Acme {unique()}"}).id


def join(organization_id, user, role="org:member"):
    clerk.organization_memberships.create(organization_id=organization_id, user_id=user.id, role=role)


def claims(session_id):
    part = clerk.sessions.create_token(session_id=session_id).jwt.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def sign_in(ticket):
    answer = httpx.post(f"{FRONTEND_URL}/v1/client/sign_ins?_is_native=1", data={"strategy": "ticket", "ticket": ticket})
    assert answer.status_code == 200, answer.text
    return answer.json()["response"]["created_session_id"]


def test_a_session_begins_with_the_organization_that_is_asked_for_or_that_was_joined_last():
    user = new_user()

    def begun(**params):
        return clerk.sessions.create(request={"user_id": user.id, **params}).last_active_organization_id

    assert begun() is None
    first, second = new_organization(), new_organization()
    join(first, user)
    join(second, user)
    assert begun() == second
    assert begun(active_organization_id=first) == first
    active = [session.last_active_organization_id for session in clerk.sessions.list(user_id=user.id)]
    assert sorted(active, key=str) == sorted([None, first, second], key=str)
    elsewhere = other_clerk.organizations.create(request={"name": "Elsewhere"}).id
    for unknown in (unknown_id("org"), elsewhere):
        with refused(404, "resource_not_found"):
            begun(active_organization_id=unknown)
    with refused(422, "form_resource_not_found", "active_organization_id"):
        begun(active_organization_id=new_organization())


def test_tokens_tell_the_organization_and_the_role_as_they_are_now():
    user = new_user()
    organization_id = new_organization()
    join(organization_id, new_user(), "org:admin")
    join(organization_id, user)
    session = clerk.sessions.create(request={"user_id": user.id})
    told = claims(session.id)["o"]
    assert (told["id"], told["rol"]) == (organization_id, "member")
    path = {"organization_id": organization_id, "user_id": user.id}
    clerk.organization_memberships.update(**path, role="org:admin")
    assert claims(session.id)["o"]["rol"] == "admin"
    clerk.organization_memberships.delete(**path)
    assert "o" not in claims(session.id)
    assert clerk.sessions.get(session_id=session.id).last_active_organization_id is None


def test_a_sign_in_token_leads_into_the_organization_that_it_names():
    user = new_user()
    first, last = new_organization(), new_organization()
    join(first, user)
    join(last, user)
    token = clerk.sign_in_tokens.create(request={"user_id": user.id, "org_id": first})
    session_id = sign_in(token.token)
    assert clerk.sessions.get(session_id=session_id).last_active_organization_id == first
    assert claims(session_id)["o"]["id"] == first
    with refused(404, "resource_not_found"):
        clerk.sign_in_tokens.create(request={"user_id": user.id, "org_id": unknown_id("org")})
    with refused(403, "not_a_member_in_organization"):
        clerk.sign_in_tokens.create(request={"user_id": user.id, "org_id": new_organization()})
