//! A user who has one of everything, for tests that must reach every operation.

use latchkey_base::kinds::{ExternalAccountId, IdentificationId, InstanceId, TrustedDeviceId, UserId};
use latchkey_base::rng::SeededRng;
use latchkey_base::time::Clock;
use latchkey_base::{Id, Result, Time};
use latchkey_connections::social::protocol::ProviderTokens;
use latchkey_connections::social::tokens;
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::external_accounts::model::ExternalAccount;
use latchkey_people::external_accounts::store as tokens_of_accounts;
use latchkey_people::users::model::{Passkey, TrustedDevice, Verification};
use latchkey_people::users::store;
use serde_json::{Value, json};

use crate::presence::SignedIn;
use crate::server::{Tenant, TestServer};

/// A picture: one pixel, as PNG.
pub const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDATx\xdac\x64\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82";

/// The ids of a user who has one of everything.
pub struct Person {
    pub user: String,
    /// An e-mail address; another one is the primary.
    pub email: String,
    /// A phone number; another one is the primary.
    pub phone: String,
    pub wallet: String,
    pub passkey: String,
    /// A connected account.
    pub external_account: String,
    /// An enrolled device.
    pub trusted_device: String,
    /// A picture.
    pub image: String,
    /// A webhook endpoint of the instance, which is disabled.
    pub webhook_endpoint: String,
    /// An event that was not delivered there.
    pub event: String,
    /// A JWT template of the instance.
    pub jwt_template: String,
    pub jwt_template_name: String,
    /// A redirect URL of the instance.
    pub redirect_url: String,
    /// Where the person is signed in.
    pub presence: SignedIn,
    /// A sign-in token that was not used.
    pub sign_in_token: String,
    /// An actor token that was not used.
    pub actor_token: String,
    pub handshake_nonce: String,
    /// The host of the instance's Frontend API.
    pub frontend_api: String,
    /// A code on its way to `email`.
    pub email_verification: String,
    /// A code on its way to `phone`.
    pub phone_verification: String,
    /// An attempt to sign up under way.
    pub sign_up: String,
    /// An organization the person created, and in which somebody else is an admin too.
    pub organization: String,
    /// An invitation to it.
    pub invitation: String,
    /// An invitation to the application.
    pub application_invitation: String,
    /// An address on the allow-list.
    pub allowlist_identifier: String,
    /// An address on the block-list.
    pub blocklist_identifier: String,
    /// Somebody on the waitlist.
    pub waitlist_entry: String,
    /// A domain of it.
    pub organization_domain: String,
    /// A satellite of the instance; all people of it share it.
    pub satellite: String,
    /// The other admin of it.
    pub colleague: String,
    /// Somebody who is in no organization.
    pub newcomer: String,
    /// A role that nobody has; all people of an instance share it.
    pub role: String,
    /// A permission that the role holds.
    pub permission: String,
    /// A permission that it does not hold.
    pub other_permission: String,
    /// A role set that no organization has; all people of an instance share it.
    pub role_set: String,
    /// A link token of an admin portal.
    pub portal_link_token: String,
    pub password: String,
    /// The secret of the authenticator app.
    pub totp_secret: Vec<u8>,
    /// An unused backup code, one of two.
    pub backup_code: String,
}

impl TestServer {
    /// A template that can be reverted, and a variant of it.
    async fn change_templates(&self, tenant: &Tenant) {
        let path = "/v1/templates/email/verification_code";
        let name = json!({"name": "Code"});
        self.call(Some(tenant), "PUT", path, Some(name)).await.ok();
        let body = json!({"subject": "{{otp_code}} ist Ihr Code", "body": "<p>{{otp_code}}</p>"});
        self.call(Some(tenant), "PUT", &format!("{path}/locales/de"), Some(body)).await.ok();
    }

    /// The satellite of the instance, made unless it is there.
    async fn satellite(&self, tenant: &Tenant) -> String {
        let list = self.call(Some(tenant), "GET", "/v1/domains", None).await.ok();
        let known =
            list["data"].as_array().unwrap().iter().find(|domain| domain["is_satellite"] == true).cloned();
        match known {
            Some(domain) => text(&domain["id"]),
            None => {
                // Each instance has a registrable domain of its own.
                let name = format!("{}.example", tenant.id).to_lowercase().replace('_', "-");
                let body = json!({"name": name, "is_satellite": true});
                text(&self.call(Some(tenant), "POST", "/v1/domains", Some(body)).await.ok()["id"])
            }
        }
    }

    /// Makes a user who has one of everything. `number` tells them from others of the same instance.
    pub async fn person(&self, tenant: &Tenant, number: u32) -> Person {
        let (password, backup_code) = (format!("correct horse {number}"), format!("backup-{number:04}"));
        let totp_secret = format!("authenticator {number:06}").into_bytes();
        let body = json!({
            "email_address": [format!("person{number}@example.com"), format!("person{number}.b@example.com")],
            "phone_number": [format!("+49151{number:08}"), format!("+49152{number:08}")],
            "web3_wallet": [format!("0x{number:040x}")],
            "username": format!("person-{number}"),
            "external_id": format!("external-{number}"),
            // Cheap to make; what hashing costs is tested elsewhere.
            "password_digest": hex(&sha256(password.as_bytes())),
            "password_hasher": "sha256",
            "totp_secret": latchkey_jose::totp::base32_encode(&totp_secret),
            "backup_codes": [backup_code, format!("spare-{number:04}")],
        });
        let made = self.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok();
        let user = text(&made["id"]);
        let (email, phone) = (text(&made["email_addresses"][1]["id"]), text(&made["phone_numbers"][1]["id"]));
        let extras = self.add_what_no_operation_adds(tenant, &user, number).await;
        let pictured = self.upload(tenant, &format!("/v1/users/{user}/profile_image"), PICTURE).await.ok();
        let image = text(&pictured["image_url"]).rsplit('/').next().unwrap().to_owned();
        let email_verification = self.prepare(tenant, &format!("/v1/email_addresses/{email}")).await;
        let phone_verification = self.prepare(tenant, &format!("/v1/phone_numbers/{phone}")).await;
        let template_name = format!("template-{number}");
        let template = json!({"name": template_name, "claims": {"role": "user"}});
        let template = self.call(Some(tenant), "POST", "/v1/jwt_templates", Some(template)).await.ok();
        let listed = json!({"url": format!("https://person{number}.example.com/callback")});
        let redirect_url = self.call(Some(tenant), "POST", "/v1/redirect_urls", Some(listed)).await.ok();
        let (webhook_endpoint, event) = self.failed_delivery(tenant, &user).await;
        self.change_templates(tenant).await;
        let sign_up = self.begin_sign_up(tenant).await;
        let wallet = text(&made["web3_wallets"][0]["id"]);
        let token = json!({"user_id": user});
        let sign_in_token = self.call(Some(tenant), "POST", "/v1/sign_in_tokens", Some(token)).await.ok();
        let token = json!({"user_id": user, "actor": {"sub": "admin"}});
        let actor_token = self.call(Some(tenant), "POST", "/v1/actor_tokens", Some(token)).await.ok();
        let presence = self.signed_in(tenant, &user).await;
        let handshake_nonce = self.handshake(tenant, &["__session=x; Path=/"]).await;
        let [organization, colleague, newcomer] = self.organization(tenant, &user, number).await;
        let [role, permission, other_permission, role_set] = self.access(tenant).await;
        let path = "/v1/admin_portal_link_tokens";
        let portal_link = self.call(Some(tenant), "POST", path, Some(json!({}))).await;
        let invitation = self.invitation(tenant, &organization, number).await;
        let [application_invitation, allowlist_identifier, blocklist_identifier, waitlist_entry] =
            self.entrance(tenant, number).await;
        let body = json!({"name": format!("organization{number}.test")});
        let path = format!("/v1/organizations/{organization}/domains");
        let domain = self.call(Some(tenant), "POST", &path, Some(body)).await.ok();
        let satellite = self.satellite(tenant).await;
        let (passkey, external_account, trusted_device) = extras;
        Person {
            user,
            email,
            phone,
            wallet,
            passkey,
            external_account,
            trusted_device,
            image,
            webhook_endpoint,
            event,
            jwt_template: text(&template["id"]),
            jwt_template_name: template_name,
            redirect_url: text(&redirect_url["id"]),
            presence,
            sign_in_token: text(&sign_in_token["id"]),
            actor_token: text(&actor_token["id"]),
            handshake_nonce,
            frontend_api: tenant.frontend_api.clone(),
            email_verification,
            phone_verification,
            sign_up,
            organization,
            invitation,
            application_invitation,
            allowlist_identifier,
            blocklist_identifier,
            waitlist_entry,
            organization_domain: text(&domain["id"]),
            satellite,
            colleague,
            newcomer,
            role,
            permission,
            other_permission,
            role_set,
            portal_link_token: text(&portal_link.json["id"]),
            password,
            totp_secret,
            backup_code,
        }
    }

    /// An organization of a user with another admin, and somebody who is not in it.
    async fn organization(&self, tenant: &Tenant, user: &str, number: u32) -> [String; 3] {
        let body = json!({"name": format!("Organization {number}"), "slug": format!("organization-{number}"),
            "created_by": user, "max_allowed_memberships": 0});
        let made = self.call(Some(tenant), "POST", "/v1/organizations", Some(body)).await.ok();
        let organization = text(&made["id"]);
        let colleague = self.somebody(tenant, &format!("colleague-{number}")).await;
        let newcomer = self.somebody(tenant, &format!("newcomer-{number}")).await;
        let path = format!("/v1/organizations/{organization}/memberships");
        let body = json!({"user_id": colleague, "role": "org:admin"});
        self.call(Some(tenant), "POST", &path, Some(body)).await.ok();
        [organization, colleague, newcomer]
    }

    async fn somebody(&self, tenant: &Tenant, username: &str) -> String {
        let body =
            json!({"username": username, "skip_user_requirement": true, "skip_password_requirement": true});
        text(&self.call(Some(tenant), "POST", "/v1/users", Some(body)).await.ok()["id"])
    }

    /// A role, what it allows and what it does not, and a role set.
    async fn access(&self, tenant: &Tenant) -> [String; 4] {
        let path = "/v1/organization_permissions";
        let held = self.shared(tenant, path, "org:shared:one", json!({"name": "One"})).await;
        let other = self.shared(tenant, path, "org:shared:two", json!({"name": "Two"})).await;
        let body = json!({"name": "Shared", "permissions": [held]});
        let role = self.shared(tenant, "/v1/organization_roles", "org:shared", body).await;
        let body = json!({"name": "Shared", "roles": ["org:admin", "org:member"],
            "default_role_key": "org:member", "creator_role_key": "org:admin"});
        let role_set = self.shared(tenant, "/v1/role_sets", "role_set:shared", body).await;
        [role, held, other, role_set]
    }

    /// The id of what has a key, which is made if it is not there.
    async fn shared(&self, tenant: &Tenant, path: &str, key: &str, mut body: Value) -> String {
        let list = self.call(Some(tenant), "GET", &format!("{path}?query={key}"), None).await.ok();
        let found = list["data"].as_array().unwrap().iter().find(|it| it["key"] == key);
        if let Some(found) = found {
            return text(&found["id"]);
        }
        body["key"] = json!(key);
        text(&self.call(Some(tenant), "POST", path, Some(body)).await.ok()["id"])
    }

    /// An invitation of somebody who has no account.
    async fn invitation(&self, tenant: &Tenant, organization: &str, number: u32) -> String {
        let path = format!("/v1/organizations/{organization}/invitations");
        let body = json!({"email_address": format!("invited{number}@example.com"), "role": "org:member"});
        text(&self.call(Some(tenant), "POST", &path, Some(body)).await.ok()["id"])
    }

    /// An invitation to the application, an address on either list, and one on the waitlist.
    async fn entrance(&self, tenant: &Tenant, number: u32) -> [String; 4] {
        let make = async |path: &str, body: Value| {
            text(&self.call(Some(tenant), "POST", path, Some(body)).await.ok()["id"])
        };
        let guest = json!({"email_address": format!("guest{number}@example.com")});
        let listed = json!({"identifier": format!("listed{number}@example.com")});
        [
            make("/v1/invitations", guest).await,
            make("/v1/allowlist_identifiers", listed.clone()).await,
            make("/v1/blocklist_identifiers", listed).await,
            make("/v1/waitlist_entries", json!({"email_address": format!("waiting{number}@example.com")}))
                .await,
        ]
    }

    /// An event about a user that failed at an endpoint, which all people of an instance share.
    async fn failed_delivery(&self, tenant: &Tenant, user: &str) -> (String, String) {
        // It may be there already.
        self.call(Some(tenant), "POST", "/v1/webhooks/svix", None).await;
        let list = self.call(Some(tenant), "GET", "/v1/webhooks/endpoints", None).await.ok();
        let endpoint = match list["data"][0]["id"].as_str() {
            Some(id) => id.to_owned(),
            None => {
                let address =
                    if tenant.id == self.tenant.id { "http://127.0.0.1:9/" } else { "https://example.com/" };
                let body = json!({ "url": address, "disabled": true });
                text(&self.call(Some(tenant), "POST", "/v1/webhooks/endpoints", Some(body)).await.ok()["id"])
            }
        };
        let sql = "SELECT id FROM events WHERE instance_id = $1 AND subject_id = $2 ORDER BY seq LIMIT 1";
        let params = [(&tenant.id).into(), user.into()];
        let mut tx = self.db().read().await.unwrap();
        let event = tx.maybe(&[sql], &params, |row| row.text(0)).await.unwrap().unwrap();
        drop(tx);
        self.run_sql(
            "INSERT INTO webhook_deliveries (instance_id, endpoint_id, seq, event_id, kind, subject_id, status, \
             attempts, next_at, log, created_at, updated_at) \
             SELECT instance_id, $2, seq, id, kind, subject_id, 'failed', 1, NULL, '[]', created_at, created_at \
             FROM events WHERE instance_id = $1 AND id = $3",
            vec![(&tenant.id).into(), endpoint.as_str().into(), event.as_str().into()],
        )
        .await;
        (endpoint, event)
    }

    async fn begin_sign_up(&self, tenant: &Tenant) -> String {
        let mut browser = self.browser_at(tenant);
        browser.origin = None;
        text(&browser.post("/v1/client/sign_ups", json!({})).await.ok()["response"]["id"])
    }

    async fn prepare(&self, tenant: &Tenant, path: &str) -> String {
        let path = format!("{path}/prepare_verification");
        text(&self.call(Some(tenant), "POST", &path, None).await.ok()["id"])
    }

    /// What a user cannot get without a device or another provider: the ids of a passkey, of a connected account and of
    /// a trusted device. Nobody holds their keys.
    pub async fn add_what_no_operation_adds(
        &self,
        tenant: &Tenant,
        user: &str,
        number: u32,
    ) -> (String, String, String) {
        let (now, rng) = (self.clock.now(), SeededRng::new(1_000_000 + u64::from(number)));
        let passkey = passkey(IdentificationId::new(now, &rng), now);
        let account = account(
            (ExternalAccountId::new(now, &rng), IdentificationId::new(now, &rng)),
            "oauth_google",
            number,
            now,
        );
        let tokens = self.tokens_of(&account);
        let device = device(TrustedDeviceId::new(now, &rng), now);
        let ids = (passkey.id.to_string(), account.id.to_string(), device.id.to_string());
        let (instance, user): (_, UserId) = (tenant.id.clone(), Id::parse(user).unwrap());
        let written = self.db().write(move |tx| {
            Box::pin(async move { give(tx, &instance, &user, passkey, account, &tokens, device).await })
        });
        written.await.unwrap();
        ids
    }

    /// Connects an account at a provider to a user, behind the server's back. Returns its id.
    pub async fn connected_account(
        &self,
        tenant: &Tenant,
        user: &str,
        provider: &str,
        number: u32,
    ) -> String {
        let (now, rng) = (self.clock.now(), SeededRng::new(2_000_000 + u64::from(number)));
        let ids = (ExternalAccountId::new(now, &rng), IdentificationId::new(now, &rng));
        let account = account(ids, provider, number, now);
        let (id, tokens) = (account.id.clone(), self.tokens_of(&account));
        let (instance, user): (_, UserId) = (tenant.id.clone(), Id::parse(user).unwrap());
        let kept = id.clone();
        let written = self.db().write(move |tx| {
            Box::pin(async move {
                let before = store::lock(tx, &instance, &user).await?.unwrap();
                let mut after = before.clone();
                after.external_accounts.push(account);
                store::save(tx, &before, &after).await?;
                tokens_of_accounts::put(tx, &instance, &user, &kept, &tokens).await
            })
        });
        written.await.unwrap();
        id.to_string()
    }

    fn tokens_of(&self, held: &ExternalAccount) -> String {
        let tokens = ProviderTokens { access_token: Some("at-1".into()), ..ProviderTokens::default() };
        tokens::seal(&self.master, &held.account, &tokens).unwrap()
    }
}

async fn give(
    tx: &mut Tx,
    instance: &InstanceId,
    user: &UserId,
    passkey: Passkey,
    account: ExternalAccount,
    tokens: &str,
    device: TrustedDevice,
) -> Result<()> {
    let before = store::lock(tx, instance, user).await?.unwrap();
    let mut after = before.clone();
    after.passkeys.push(passkey);
    after.external_accounts.push(account.clone());
    after.trusted_devices.push(device);
    store::save(tx, &before, &after).await?;
    tokens_of_accounts::put(tx, instance, user, &account.id, tokens).await
}

fn passkey(id: IdentificationId, now: Time) -> Passkey {
    let verification = Verification { strategy: Strategy::PASSKEY, attempts: Some(0), expire_at: Some(now) };
    let (name, rp_id) = ("Phone".into(), "localhost".into());
    Passkey { id, name, rp_id, verification, last_used_at: Some(now), created_at: now, updated_at: now }
}

fn account(
    (id, identification): (ExternalAccountId, IdentificationId),
    provider: &str,
    number: u32,
    now: Time,
) -> ExternalAccount {
    ExternalAccount {
        id,
        identification,
        account: ProvenAccount {
            provider: provider.into(),
            provider_user_id: format!("google-{number}"),
            approved_scopes: "email".into(),
            email_address: Some(format!("person{number}@example.com")),
            ..ProvenAccount::default()
        },
        verified_at: Some(now),
        challenge: None,
        created_at: now,
        updated_at: now,
    }
}

fn device(id: TrustedDeviceId, now: Time) -> TrustedDevice {
    TrustedDevice {
        id,
        platform: "ios".into(),
        app_identifier: "com.example.app".into(),
        name: None,
        created_at: now,
        updated_at: now,
        last_used_at: None,
        revoked_at: None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
