//! What else belongs to a user: wallets, passkeys, connected accounts, devices, access tokens.

use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const PASSKEY: &str = "idn_00000000000000000000000000p";
const ACCOUNT: &str = "eac_000000000000000000000000000";
const ACCOUNT_IDENTIFICATION: &str = "idn_00000000000000000000000000a";
const DEVICE: &str = "tdv_000000000000000000000000000";
const NOBODY: &str = "user_000000000000000000000000000";

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

/// A user with what only a browser could have added.
async fn equipped(t: &TestServer) -> Value {
    let user = t
        .user(json!({
            "email_address": ["ada@example.com"],
            "web3_wallet": ["0x0000000000000000000000000000000000000001", "0x0000000000000000000000000000000000000002"]
        }))
        .await;
    t.edit_document(id(&user), |document| {
        document["passkeys"] = json!([{"id": PASSKEY, "name": "Laptop", "last_used_at": 1000, "rp_id": "localhost",
            "verification": {"strategy": "passkey"}, "created_at": 1, "updated_at": 1}]);
        document["external_accounts"] = json!([{
            "id": ACCOUNT, "identification": ACCOUNT_IDENTIFICATION, "provider": "oauth_google", "provider_user_id": "42",
            "approved_scopes": "email profile", "email_address": "ada@example.com", "first_name": "Ada", "last_name": "",
            "verified_at": 1000, "created_at": 1000, "updated_at": 2000
        }]);
        document["email_addresses"]["all"][0]["linked_to"] = json!([{"kind": "oauth_google", "id": ACCOUNT_IDENTIFICATION}]);
        document["trusted_devices"] = json!([
            {"id": DEVICE, "platform": "ios", "app_identifier": "com.example", "name": "Phone", "created_at": 1, "updated_at": 2},
            {"id": "tdv_000000000000000000000000001", "platform": "ios", "app_identifier": "com.example", "created_at": 1,
             "updated_at": 2, "revoked_at": 3}
        ]);
    })
    .await;
    let params = vec![(&t.tenant.id).into(), ACCOUNT_IDENTIFICATION.into(), id(&user).into()];
    let sql = "INSERT INTO identifications (instance_id, id, user_id, kind, value_folded, claim) VALUES ($1, $2, $3, 'oauth_google', '42', '')";
    t.run_sql(sql, params).await;
    t.shown(id(&user)).await
}

#[tokio::test]
async fn a_deleted_wallet_is_free_and_another_becomes_primary() {
    let t = TestServer::start().await;
    let user = equipped(&t).await;
    let (first, second) = (&user["web3_wallets"][0], &user["web3_wallets"][1]);
    let path = |wallet: &str| format!("/v1/users/{}/web3_wallets/{wallet}", id(&user));
    let deleted = t.delete(&path(id(first))).await.ok();
    assert_eq!(deleted, json!({"object": "web3_wallet", "id": id(first), "deleted": true}));
    let shown = t.shown(id(&user)).await;
    assert_eq!((&shown["web3_wallets"], &shown["primary_web3_wallet_id"]), (&json!([second]), &second["id"]));
    t.user(json!({"web3_wallet": ["0x0000000000000000000000000000000000000001"]})).await;
    for unknown in [id(first), "nonsense", id(&user["email_addresses"][0])] {
        t.delete(&path(unknown)).await.is_error(404, "resource_not_found");
    }
    t.delete(&format!("/v1/users/{NOBODY}/web3_wallets/{}", id(second)))
        .await
        .is_error(404, "resource_not_found");
}

#[tokio::test]
async fn the_last_identification_stays_though_it_is_a_wallet() {
    let t = TestServer::start().await;
    let user = t.user(json!({"web3_wallet": ["0x0000000000000000000000000000000000000001"]})).await;
    let path = format!("/v1/users/{}/web3_wallets/{}", id(&user), id(&user["web3_wallets"][0]));
    t.delete(&path).await.is_error(400, "identification_deletion_failed");
}

#[tokio::test]
async fn passkeys_are_shown_and_deleted() {
    let t = TestServer::start().await;
    let user = equipped(&t).await;
    assert_eq!(
        (&user["passkeys"][0]["object"], &user["passkeys"][0]["name"]),
        (&json!("passkey"), &json!("Laptop"))
    );
    let path = format!("/v1/users/{}/passkeys/{PASSKEY}", id(&user));
    assert_eq!(t.delete(&path).await.ok(), json!({"object": "passkey", "id": PASSKEY, "deleted": true}));
    assert_eq!(t.shown(id(&user)).await["passkeys"], json!([]));
    t.delete(&path).await.is_error(404, "passkey_not_registered");
    let odd = format!("/v1/users/{}/passkeys/idn_x", id(&user));
    t.delete(&odd).await.is_error(404, "passkey_not_registered");
}

#[tokio::test]
async fn connected_accounts_are_deleted_by_either_id_and_unlink_addresses() {
    let t = TestServer::start().await;
    for by in [ACCOUNT, ACCOUNT_IDENTIFICATION] {
        let user = equipped(&t).await;
        assert_eq!(user["external_accounts"][0]["provider_user_id"], "42");
        assert_eq!(
            user["email_addresses"][0]["linked_to"],
            json!([{"type": "oauth_google", "id": ACCOUNT_IDENTIFICATION}])
        );
        let path = format!("/v1/users/{}/external_accounts/{by}", id(&user));
        assert_eq!(
            t.delete(&path).await.ok(),
            json!({"object": "external_account", "id": by, "deleted": true})
        );
        let shown = t.shown(id(&user)).await;
        assert_eq!(
            (&shown["external_accounts"], &shown["email_addresses"][0]["linked_to"]),
            (&json!([]), &json!([]))
        );
        t.delete(&path).await.is_error(404, "external_account_not_found");
        assert_eq!(t.get("/v1/users?provider=oauth_google&provider_user_id=42").await.ok(), json!([]));
        // Now that nothing is linked to it, the address can be replaced.
        let replace = format!("/v1/users/{}/email_address", id(&user));
        t.put(&replace, json!({"email_address": "new@example.com"})).await.ok();
        t.delete(&format!("/v1/users/{}", id(&user))).await.ok();
    }
}

#[tokio::test]
async fn active_devices_are_listed_and_revoked() {
    let t = TestServer::start().await;
    let user = equipped(&t).await;
    let path = format!("/v1/users/{}/trusted_devices", id(&user));
    let device = json!({
        "object": "trusted_device", "id": DEVICE, "platform": "ios", "app_identifier": "com.example", "name": "Phone",
        "algorithm": "ES256", "status": "active", "created_at": 1, "updated_at": 2, "last_used_at": null, "revoked_at": null
    });
    assert_eq!(t.get(&path).await.ok(), json!({"data": [device], "total_count": 1}));
    let revoked = t.delete(&format!("{path}/{DEVICE}")).await.ok();
    let now = latchkey_base::time::Clock::now(&*t.clock).ms();
    let state = ["status", "revoked_at", "updated_at"].map(|key| revoked[key].clone());
    assert_eq!(state, [json!("revoked"), json!(now), json!(now)]);
    assert_eq!(t.get(&path).await.ok(), json!({"data": [], "total_count": 0}));
    t.delete(&format!("{path}/{DEVICE}")).await.is_error(404, "resource_not_found");
    t.delete(&format!("{path}/nonsense")).await.is_error(404, "resource_not_found");
    t.get(&format!("/v1/users/{NOBODY}/trusted_devices")).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn access_tokens_are_an_empty_list_bare_or_paginated() {
    let t = TestServer::start().await;
    let user = t.user(json!({"username": "ada_l"})).await;
    let path = format!("/v1/users/{}/oauth_access_tokens", id(&user));
    for provider in ["oauth_google", "oauth_custom_mine"] {
        assert_eq!(t.get(&format!("{path}/{provider}")).await.ok(), json!([]));
        assert_eq!(t.get(&format!("{path}/{provider}?paginated=false&limit=5")).await.ok(), json!([]));
        let paginated = t.get(&format!("{path}/{provider}?paginated=true")).await.ok();
        assert_eq!(paginated, json!({"data": [], "total_count": 0}));
    }
    t.get(&format!("{path}/google!")).await.is_error(404, "oauth_token_provider_not_enabled");
    t.get(&format!("{path}/oauth_google?limit=0")).await.is_problem(422, "form_param_value_invalid", "limit");
    let nobody = format!("/v1/users/{NOBODY}/oauth_access_tokens/oauth_google");
    t.get(&nobody).await.is_error(404, "resource_not_found");
}
