from support import assert_has, clerk, new_user, new_wallet, refused, unknown_id


def test_delete_web3_wallet_removes_the_wallet_and_frees_it():
    address = new_wallet()
    user = new_user(web3_wallet=[address])
    wallet = user.web3_wallets[0]
    assert_has(wallet.verification, status="verified", strategy="admin")
    deleted = clerk.users.delete_web3_wallet(user_id=user.id, web3_wallet_identification_id=wallet.id)
    assert_has(deleted, object="web3_wallet", id=wallet.id, deleted=True)
    assert_has(clerk.users.get(user_id=user.id), web3_wallets=[], primary_web3_wallet_id=None)
    with refused(404, "resource_not_found"):
        clerk.users.delete_web3_wallet(user_id=user.id, web3_wallet_identification_id=wallet.id)
    assert new_user(web3_wallet=[address]).web3_wallets[0].web3_wallet == address


def test_a_passkey_that_does_not_exist_is_not_found():
    with refused(404, "passkey_not_registered"):
        clerk.users.delete_passkey(user_id=new_user().id, passkey_identification_id=unknown_id("idn"))


def test_an_external_account_that_does_not_exist_is_not_found():
    with refused(404, "external_account_not_found"):
        clerk.users.delete_external_account(user_id=new_user().id, external_account_id=unknown_id("eac"))


def test_a_user_without_connections_has_no_oauth_access_tokens():
    assert clerk.users.get_o_auth_access_token(user_id=new_user().id, provider="oauth_google") == []
    with refused(404, "resource_not_found"):
        clerk.users.get_o_auth_access_token(user_id=unknown_id("user"), provider="oauth_google")


def test_a_user_has_no_trusted_devices():
    user = new_user()
    assert_has(clerk.users.list_trusted_devices(user_id=user.id), data=[], total_count=0)
    with refused(404, "resource_not_found"):
        clerk.users.revoke_trusted_device(user_id=user.id, trusted_device_id=unknown_id("dev"))
    with refused(404, "resource_not_found"):
        clerk.users.list_trusted_devices(user_id=unknown_id("user"))
