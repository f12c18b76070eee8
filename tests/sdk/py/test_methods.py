"""Guards the others: a method that the SDK has and no test calls is a gap."""

import inspect
import pathlib

import pytest

from support import clerk

# Billing is not there yet.
LATER = {
    "get_billing_subscription",
    "get_billing_credit_balance",
    "adjust_billing_credit_balance",
}

GROUPS = [
    "users",
    "email_addresses",
    "phone_numbers",
    "jwks",
    "jwt_templates",
    "sessions",
    "clients",
    "sign_in_tokens",
    "actor_tokens",
    "testing_tokens",
    "invitations",
    "allowlist_identifiers",
    "blocklist_identifiers",
    "waitlist_entries",
    "organizations",
    "organization_memberships",
    "organization_invitations",
    "organization_domains",
    "organization_roles",
    "organization_permissions",
    "role_sets",
    "admin_portal_link_tokens",
    "redirect_urls",
    "instance_settings",
    "beta_features",
    "domains",
    "proxy_checks",
]

SOURCES = "\n".join(path.read_text() for path in pathlib.Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("group", GROUPS)
def test_every_method_of_the_sdk_is_called_by_a_test(group):
    methods = vars(type(getattr(clerk, group)))
    synchronous = {name for name in methods if inspect.isfunction(methods[name]) and not name.endswith("_async")}
    called = {name for name in synchronous if f"clerk.{group}.{name}(" in SOURCES}
    assert synchronous - called - LATER == set()
