import base64

from support import INSTANCE_ID, assert_has, clerk, other_clerk


def test_the_key_set_has_the_rsa_2048_key_of_the_instance():
    (key,) = clerk.jwks.get_jwks().keys
    assert_has(key, use="sig", kty="RSA", alg="RS256", kid=INSTANCE_ID, e="AQAB")
    assert len(base64.urlsafe_b64decode(key.n + "==")) == 256


def test_the_key_set_stays_the_same_and_differs_between_instances():
    assert clerk.jwks.get_jwks() == clerk.jwks.get_jwks()
    assert clerk.jwks.get_jwks().keys[0].n != other_clerk.jwks.get_jwks().keys[0].n
