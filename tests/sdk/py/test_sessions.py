import base64
import json

import pytest
from clerk_backend_api import models

from support import assert_has, clerk, new_user, other_clerk, refused, unique, unknown_id


def open_session():
    user = new_user()
    return user, clerk.sessions.create(request={"user_id": user.id})


def claims_of(jwt):
    part = jwt.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_a_session_is_made_found_listed_and_revoked():
    user, session = open_session()
    assert_has(session, user_id=user.id, status=models.Status.ACTIVE, object=models.SessionObject.SESSION)
    assert clerk.sessions.get(session_id=session.id) == session
    listed = clerk.sessions.list(user_id=user.id, status=models.QueryParamStatus.ACTIVE)
    assert [found.id for found in listed] == [session.id]
    assert clerk.sessions.revoke(session_id=session.id).status == models.Status.REVOKED
    with refused(404, "resource_not_found"):
        clerk.sessions.create_token(session_id=session.id)


def test_sessions_are_not_made_on_production_instances():
    user = other_clerk.users.create(email_address=[f"{unique()}@example.com"])
    with refused(400, "request_invalid_for_environment"):
        other_clerk.sessions.create(request={"user_id": user.id})


def test_tokens_of_a_session():
    user, session = open_session()
    token = clerk.sessions.create_token(session_id=session.id, expires_in_seconds=90)
    claims = claims_of(token.jwt)
    assert (claims["sub"], claims["sid"], claims["exp"] - claims["iat"]) == (user.id, session.id, 90)
    name = f"template-{unique()}"
    clerk.jwt_templates.create(request={"name": name, "claims": {}})
    token = clerk.sessions.create_token_from_template(session_id=session.id, template_name=name)
    assert (claims_of(token.jwt)["sub"], "sid" in claims_of(token.jwt)) == (user.id, False)


def test_a_token_that_is_none_is_not_renewed():
    _, session = open_session()
    with refused(401, "expired_session_token_invalid"):
        clerk.sessions.refresh(
            session_id=session.id, expired_token="x", refresh_token="y", request_origin="http://localhost:3000"
        )


def test_clients_are_listed_and_found():
    _, session = open_session()
    client = clerk.clients.get(client_id=session.client_id)
    assert_has(client, id=session.client_id, session_ids=[session.id], last_active_session_id=session.id)
    assert client.id in [found.id for found in clerk.clients.list(limit=500)]
    with refused(400, "cookie_invalid"):
        clerk.clients.verify(request={"token": "nothing"})


def test_sign_in_tokens_are_made_and_revoked():
    user = new_user()
    token = clerk.sign_in_tokens.create(request={"user_id": user.id})
    assert_has(token, user_id=user.id, status=models.SignInTokenStatus.PENDING)
    assert token.url.endswith(token.token)
    assert clerk.sign_in_tokens.revoke(sign_in_token_id=token.id).status == models.SignInTokenStatus.REVOKED
    with refused(400, "sign_in_token_cannot_be_revoked_code"):
        clerk.sign_in_tokens.revoke(sign_in_token_id=token.id)
    with refused(404, "resource_not_found"):
        clerk.sign_in_tokens.create(request={"user_id": unknown_id("user")})


def test_actor_tokens_are_made_and_revoked():
    user = new_user()
    token = clerk.actor_tokens.create(request={"user_id": user.id, "actor": {"sub": "admin"}})
    assert_has(token, user_id=user.id, status=models.ActorTokenStatus.PENDING)
    assert clerk.actor_tokens.revoke(actor_token_id=token.id).status == models.ActorTokenStatus.REVOKED
    with refused(422, "form_resource_not_found"):
        clerk.actor_tokens.create(request={"user_id": unknown_id("user"), "actor": {"sub": "admin"}})


def test_testing_tokens_tell_when_they_end_in_seconds():
    token = clerk.testing_tokens.create()
    assert int(token.token.split("-")[0]) + 3600 == token.expires_at


@pytest.mark.parametrize("field", ["publishable_key", "frontend_api_query_parameter1"])
def test_the_interstitial_needs_to_know_the_instance(field):
    with pytest.raises(models.SDKError):
        clerk.miscellaneous.get_public_interstitial(**{field: "nothing"})
