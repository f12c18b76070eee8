from clerk_backend_api import models

from support import assert_has, connect_to_new_instance, refused


def test_the_settings_of_an_instance_are_shown_and_changed():
    own_clerk = connect_to_new_instance()
    assert_has(own_clerk.instance_settings.get(), object="instance", environment_type="development")
    own_clerk.instance_settings.update(request={"support_email": "help@example.com", "hibp": False})
    with refused(422, "form_param_value_invalid", "support_email"):
        own_clerk.instance_settings.update(request={"support_email": "nobody"})


def test_restrictions_are_changed_and_obeyed():
    own_clerk = connect_to_new_instance()
    changed = own_clerk.instance_settings.update_restrictions(request={"block_email_subaddresses": True})
    assert_has(changed, object="instance_restrictions", allowlist=False, block_email_subaddresses=True)
    with refused(403, "not_allowed_access", "email_address"):
        own_clerk.users.create(email_address=["ada+1@example.com"])


def test_the_sender_of_emails_is_changed():
    own_clerk = connect_to_new_instance()
    changed = own_clerk.beta_features.update_instance_settings(request={"from_email_address": "accounts"})
    assert_has(changed, object="instance_settings", from_email_address="accounts", restricted_to_allowlist=False)
    with refused(422, "form_param_format_invalid", "from_email_address"):
        own_clerk.beta_features.update_instance_settings(request={"from_email_address": "a@b"})


def test_the_settings_of_organizations_are_shown_and_changed():
    own_clerk = connect_to_new_instance()
    changed = own_clerk.instance_settings.update_organization_settings(request={"max_allowed_memberships": 9})
    assert_has(changed, object="organization_settings", enabled=True, max_allowed_memberships=9)
    assert own_clerk.instance_settings.get_organization_settings() == changed
    organization = own_clerk.organizations.create(request={"name": "Nine"})
    assert organization.max_allowed_memberships == 9


def test_countries_without_text_messages_are_shown_and_changed():
    own_clerk = connect_to_new_instance()
    changed = own_clerk.instance_settings.update_communication(request={"blocked_country_codes": ["GB"]})
    assert_has(changed, object="instance_communication", blocked_country_codes=["GB"])
    assert own_clerk.instance_settings.get_communication() == changed


def test_what_the_server_does_not_have_is_off_and_stays_so():
    own_clerk = connect_to_new_instance()
    assert_has(own_clerk.instance_settings.get_instance_protect(), rules_enabled=False, specter_enabled=False)
    with refused(403, "feature_not_implemented", "specter_enabled", kind=models.SDKError):
        own_clerk.instance_settings.update_instance_protect(request={"specter_enabled": True})
    shown = own_clerk.instance_settings.get_o_auth_application_settings()
    assert_has(shown, dynamic_oauth_client_registration=False, oauth_jwt_access_tokens=False)
    with refused(403, "feature_not_implemented", "oauth_jwt_access_tokens", kind=models.SDKError):
        own_clerk.instance_settings.update_o_auth_application_settings(request={"oauth_jwt_access_tokens": True})
