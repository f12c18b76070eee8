from support import (
    assert_has,
    clerk,
    new_email,
    new_password,
    new_phone,
    new_user,
    new_username,
    new_wallet,
    refused,
    unique,
    unknown_id,
)


def test_an_update_changes_what_it_names_and_nothing_else():
    username, external_id = new_username(), unique()
    user = new_user(first_name="Grace", last_name="Murray", public_metadata={"kept": True})
    updated = clerk.users.update(
        user_id=user.id,
        last_name="Hopper",
        username=username,
        external_id=external_id,
        locale="fr-FR",
        delete_self_enabled=False,
        create_organization_enabled=False,
        create_organizations_limit=5,
        bypass_client_trust=True,
        created_at="2019-12-09T00:00:00Z",
        legal_accepted_at="2019-12-10T00:00:00Z",
        skip_legal_checks=True,
    )
    assert_has(
        updated,
        id=user.id,
        first_name="Grace",
        last_name="Hopper",
        username=username,
        external_id=external_id,
        locale="fr-FR",
        delete_self_enabled=False,
        create_organization_enabled=False,
        create_organizations_limit=5,
        bypass_client_trust=True,
        created_at=1575849600000,
        legal_accepted_at=1575936000000,
        public_metadata={"kept": True},
        primary_email_address_id=user.primary_email_address_id,
    )
    assert updated.updated_at >= user.updated_at
    assert clerk.users.get(user_id=user.id) == updated


def test_names_username_and_external_id_can_be_removed():
    user = new_user(first_name="Ada", last_name="Byron", username=new_username(), external_id=unique())
    updated = clerk.users.update(user_id=user.id, first_name=None, last_name=None, username=None, external_id=None)
    assert_has(updated, first_name=None, last_name=None, username=None, external_id=None)


def test_the_primary_identifiers_can_be_chosen():
    email, phone, wallet = new_email(), new_phone(), new_wallet()
    user = new_user(
        email_address=[new_email(), email], phone_number=[new_phone(), phone], web3_wallet=[new_wallet(), wallet]
    )
    chosen = {
        "primary_email_address_id": next(item.id for item in user.email_addresses if item.email_address == email),
        "primary_phone_number_id": next(item.id for item in user.phone_numbers if item.phone_number == phone),
        "primary_web3_wallet_id": next(item.id for item in user.web3_wallets if item.web3_wallet == wallet),
    }
    assert_has(clerk.users.update(user_id=user.id, notify_primary_email_address_changed=True, **chosen), **chosen)


def test_an_unverified_email_address_cannot_become_primary():
    user = new_user()
    unverified = clerk.email_addresses.create(request={"user_id": user.id, "email_address": new_email()})
    with refused(422, param_name="primary_email_address_id"):
        clerk.users.update(user_id=user.id, primary_email_address_id=unverified.id)


def test_a_changed_password_replaces_the_old_one():
    old, password = new_password(), new_password()
    user = new_user(password=old)
    clerk.users.update(user_id=user.id, password=password, sign_out_of_other_sessions=True)
    assert clerk.users.verify_password(user_id=user.id, password=password).verified is True
    clerk.users.update(user_id=user.id, password="password", skip_password_checks=True)
    assert clerk.users.verify_password(user_id=user.id, password="password").verified is True


def test_refused_updates_change_nothing():
    taken = new_username()
    new_user(username=taken)
    user = new_user(first_name="Alan")
    with refused(422, "form_identifier_exists", "username"):
        clerk.users.update(user_id=user.id, first_name="Changed", username=taken)
    with refused(422, "form_password_length_too_short", "password"):
        clerk.users.update(user_id=user.id, first_name="Changed", password="short")
    with refused(422):
        clerk.users.update(user_id=user.id, first_name="Changed", sign_out_of_other_sessions=True)
    assert clerk.users.get(user_id=user.id) == user


def test_an_update_of_an_unknown_user_is_not_found():
    with refused(404, "resource_not_found"):
        clerk.users.update(user_id=unknown_id("user"), first_name="Nobody")


def test_update_metadata_merges_deeply_and_deletes_nulls():
    user = new_user(
        public_metadata={"plan": {"name": "pro", "seats": 5}, "tags": ["a", "b"], "gone": 1},
        private_metadata={"note": "old"},
        unsafe_metadata={"theme": "dark"},
    )
    updated = clerk.users.update_metadata(
        user_id=user.id,
        public_metadata={"plan": {"seats": 6, "name": None}, "tags": ["c"], "gone": None},
        private_metadata={"added": True},
    )
    assert_has(
        updated,
        public_metadata={"plan": {"seats": 6}, "tags": ["c"]},
        private_metadata={"note": "old", "added": True},
        unsafe_metadata={"theme": "dark"},
    )
    assert clerk.users.get(user_id=user.id) == updated


def test_replace_metadata_replaces_the_fields_it_names_and_leaves_the_others():
    user = new_user(public_metadata={"a": 1}, private_metadata={"b": 2}, unsafe_metadata={"c": 3})
    updated = clerk.users.replace_metadata(user_id=user.id, public_metadata={"d": 4}, private_metadata={})
    assert_has(updated, public_metadata={"d": 4}, private_metadata={}, unsafe_metadata={"c": 3})


def test_metadata_over_8_kb_is_refused():
    user = new_user()
    with refused(422, "form_param_exceeds_allowed_size", "public_metadata"):
        clerk.users.update_metadata(user_id=user.id, public_metadata={"blob": "x" * 9 * 1024})
    with refused(422, "form_param_exceeds_allowed_size", "unsafe_metadata"):
        clerk.users.replace_metadata(user_id=user.id, unsafe_metadata={"blob": "x" * 9 * 1024})


def test_metadata_of_an_unknown_user_is_not_found():
    with refused(404, "resource_not_found"):
        clerk.users.update_metadata(user_id=unknown_id("user"), public_metadata={})
    with refused(404, "resource_not_found"):
        clerk.users.replace_metadata(user_id=unknown_id("user"), public_metadata={})
