//! Addresses that somebody gave and never proved, and whoever comes by a provider that vouches for them. An account of which
//! anything else is proven stays with whoever proved that.

use latchkey_testkit::{TestServer, TestWallet};
use serde_json::{Value, json};

use super::{ADA, BACK, DONE, begin, client, start, through, with_mock};
use crate::me::support::{Me, sign_in};
use crate::passkeys::authenticator::Authenticator;
use crate::sign_ins::{EMAIL, PASSWORD, server};

const OTHER: &str = "owner@example.com";
/// What else somebody has who reserves an address.
const PROOFS: [&str; 6] =
    ["email_address", "phone_number", "web3_wallet", "totp", "external_account", "passkey"];

async fn provider_server() -> TestServer {
    server(|settings| {
        with_mock(settings);
        settings.attributes.passkey.enabled = true;
        settings.attributes.web3_wallet.enabled = true;
    })
    .await
}

/// Somebody signed in who has an address that they have not proven, and has proven something else.
async fn owner<'a>(t: &'a TestServer, proof: &str) -> Me<'a> {
    let mut fields = json!({"email_address": [EMAIL], "password": PASSWORD, "username": "owner",
        "email_address_identification_status": ["reserved"]});
    match proof {
        "email_address" => {
            fields["email_address"] = json!([OTHER, EMAIL]);
            fields["email_address_identification_status"] = json!(["verified", "reserved"]);
        }
        "phone_number" => fields["phone_number"] = json!(["+442071838750"]),
        "web3_wallet" => fields["web3_wallet"] = json!([TestWallet::ethereum(1).address]),
        "totp" => fields["totp_secret"] = json!("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"),
        _ => (),
    }
    let user = t.user(fields).await;
    let mut owner = sign_in(t, user["id"].as_str().unwrap()).await;
    match proof {
        "passkey" => {
            owner.register(&mut Authenticator::new()).await;
        }
        "external_account" => {
            let fields = json!({"strategy": "oauth_mock", "redirect_url": BACK});
            let own = owner.post("/v1/me/external_accounts", fields).await.ok()["response"].take();
            through(&mut owner.browser, &own, "id=666").await;
        }
        _ => (),
    }
    owner
}

async fn user(t: &TestServer, id: &str) -> Value {
    t.get(&format!("/v1/users/{id}")).await.ok()
}

/// What a user has, but for addresses.
fn rest(user: &Value) -> Vec<Value> {
    let names =
        ["phone_numbers", "passkeys", "external_accounts", "totp_enabled", "password_enabled", "username"];
    names.iter().map(|name| user[*name].clone()).collect()
}

fn addresses(user: &Value) -> Vec<&str> {
    user["email_addresses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["email_address"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn whoever_proves_an_address_gets_the_address_and_not_the_account() {
    for proof in PROOFS {
        let t = provider_server().await;
        let mut owner = owner(&t, proof).await;
        let before = user(&t, &owner.user).await;
        let events = t.events().await.len();
        let mut newcomer = t.browser();
        let attempt = begin(&mut newcomer, "sign_ins").await;
        assert_eq!(through(&mut newcomer, &attempt, ADA).await, BACK, "{proof}");
        let shown = client(&mut newcomer).await;
        assert_eq!(shown["sign_in"]["first_factor_verification"]["status"], "transferable", "{proof}");
        // Nothing has changed for anybody by that.
        let between = user(&t, &owner.user).await;
        assert_eq!((rest(&between), addresses(&between)), (rest(&before), addresses(&before)), "{proof}");
        assert_eq!(t.events().await.len(), events);

        let done = newcomer.post("/v1/client/sign_ups", json!({"transfer": true})).await.ok();
        assert_eq!(done["response"]["status"], "complete", "{proof}");
        let made = done["client"]["sessions"][0]["user"].clone();
        assert_ne!(made["id"], owner.user.as_str());
        assert_eq!(addresses(&made), [EMAIL]);
        let after = user(&t, &owner.user).await;
        assert_eq!(rest(&after), rest(&before), "{proof}");
        let left: &[&str] = if proof == "email_address" { &[OTHER] } else { &[] };
        assert_eq!(addresses(&after), left, "{proof}");
        let events = t.events().await;
        let changed = events.iter().rev().find(|event| event.kind == "user.updated").unwrap();
        assert_eq!(
            (&changed.data["id"], &changed.data["email_addresses"]),
            (&after["id"], &after["email_addresses"])
        );
        // The owner is signed in still, and is who they were.
        assert_eq!(owner.shown().await["id"], owner.user.as_str());
    }
}

#[tokio::test]
async fn whoever_signs_up_with_a_proven_address_takes_it_off_whoever_only_gave_it() {
    for proof in PROOFS {
        let t = provider_server().await;
        let owner = owner(&t, proof).await;
        let before = user(&t, &owner.user).await;
        let mut newcomer = t.browser();
        let attempt = begin(&mut newcomer, "sign_ups").await;
        assert_eq!(through(&mut newcomer, &attempt, ADA).await, DONE, "{proof}");
        let made = client(&mut newcomer).await["sessions"][0]["user"].take();
        assert_ne!(made["id"], owner.user.as_str());
        assert_eq!(addresses(&made), [EMAIL]);
        let after = user(&t, &owner.user).await;
        assert_eq!(rest(&after), rest(&before), "{proof}");
        assert!(!addresses(&after).contains(&EMAIL), "{proof}");
    }
}

/// Whoever says first which address they come with goes on in the same way.
#[tokio::test]
async fn whoever_names_the_address_first_goes_on_too() {
    let t = provider_server().await;
    owner(&t, "phone_number").await;
    let mut newcomer = t.browser();
    let id = crate::sign_ins::identified(&mut newcomer, EMAIL).await;
    let asked = json!({"strategy": "oauth_mock", "redirect_url": BACK});
    let path = format!("/v1/client/sign_ins/{id}/prepare_first_factor");
    let attempt = newcomer.post(&path, asked).await.ok()["response"].take();
    through(&mut newcomer, &attempt, ADA).await;
    let proof = client(&mut newcomer).await["sign_in"]["first_factor_verification"].take();
    assert_eq!(proof["status"], "transferable", "{proof:#}");
}

/// An address that the provider does not vouch for takes nothing off anybody.
#[tokio::test]
async fn what_the_provider_does_not_vouch_for_changes_nothing() {
    let t = provider_server().await;
    let owner = owner(&t, "phone_number").await;
    for what in ["sign_ins", "sign_ups"] {
        let mut stranger = t.browser();
        let attempt = begin(&mut stranger, what).await;
        through(&mut stranger, &attempt, super::UNSURE).await;
        assert_eq!(client(&mut stranger).await["sessions"], json!([]));
        assert_eq!(addresses(&user(&t, &owner.user).await), [EMAIL]);
    }
}

/// Whoever is banned does not become somebody new by proving their address.
#[tokio::test]
async fn whoever_is_banned_stays_so_with_an_address_they_have_not_proven() {
    let t = provider_server().await;
    let owner = owner(&t, "phone_number").await;
    t.post(&format!("/v1/users/{}/ban", owner.user), json!({})).await.ok();
    let mut again = t.browser();
    let attempt = begin(&mut again, "sign_ups").await;
    assert_eq!(through(&mut again, &attempt, ADA).await, BACK);
    let refused = again.post("/v1/client/sign_ins", json!({"transfer": true})).await;
    refused.is_error(403, "user_banned");
    assert_eq!(addresses(&user(&t, &owner.user).await), [EMAIL]);
}

/// Where nothing but the address says whose an account is, it is theirs who prove the address.
#[tokio::test]
async fn an_account_of_which_nothing_is_proven_goes_to_whoever_proves_its_address() {
    let t = start().await;
    let fields = json!({"email_address": [EMAIL], "email_address_identification_status": ["reserved"],
        "username": "imported", "private_metadata": {"plan": 1}});
    let imported = t.user(fields).await;
    let mut browser = t.browser();
    let attempt = begin(&mut browser, "sign_ins").await;
    assert_eq!(through(&mut browser, &attempt, ADA).await, DONE);
    let seen = client(&mut browser).await["sessions"][0]["user"].take();
    assert_eq!(seen["id"], imported["id"]);
    assert_eq!(seen["email_addresses"][0]["verification"]["status"], "verified");
}
