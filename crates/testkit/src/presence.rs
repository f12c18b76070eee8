//! Somebody who is signed in, with all the secrets that browsers and backends keep of it.

use std::sync::Arc;

use latchkey_base::kinds::{SessionId, UserId};
use latchkey_base::rng::Rng;
use latchkey_base::time::Clock;
use latchkey_base::{Id, Result, Time};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::hosts::url_of;
use latchkey_kernel::instances::{rules as instance_rules, store as instances};
use latchkey_kernel::keyring::Signer;
use latchkey_kernel::limits::HANDSHAKE_MS;
use latchkey_kernel::settings::Settings;
use latchkey_people::users::model::Entitlements;
use latchkey_people::users::store as users;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::{store as clients, token};
use latchkey_presence::handshakes::{self, StoredHandshake};
use latchkey_presence::sessions::model::Session;
use latchkey_presence::sessions::rules::{self, Entry};
use latchkey_presence::sessions::tokens::{self, Minting};
use latchkey_presence::sessions::{activity, renewals, store};
use latchkey_web::network::Network;
use latchkey_web::version::Version;
use serde_json::Map;

use crate::server::{Tenant, TestServer};

/// The app whose page the person is on.
pub const APP_ORIGIN: &str = "http://localhost:3000";

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub client: String,
    /// What the client keeps in its cookie.
    pub client_token: String,
    pub session: String,
    /// A token of the session for the app at [`APP_ORIGIN`], good for a minute.
    pub session_token: String,
    /// What lets a backend renew tokens of the session.
    pub refresh_token: String,
}

impl TestServer {
    /// Signs a user in on a client of their own, as the Frontend API would have.
    pub async fn signed_in(&self, tenant: &Tenant, user: &str) -> SignedIn {
        let (instance, id): (_, UserId) = (tenant.id.clone(), Id::parse(user).unwrap());
        let (now, rng) = (self.clock.now(), self.rng());
        let client = Client::new(&instance, now, &*rng).knows(&id);
        let secret = token::secret(&*rng);
        let digest = token::digest(&secret);
        let opened = self.db().write(move |tx| {
            Box::pin(async move { open_session(tx, client, &digest, &id, now, &*rng).await })
        });
        let (client, session) = opened.await.unwrap();
        let refresh_token = renewals::secret(&self.master, &session, APP_ORIGIN).expose().to_owned();
        SignedIn {
            client: client.id.to_string(),
            client_token: token::write(&self.signer(tenant).await, &client.id, &secret).unwrap(),
            session_token: self.session_token(tenant, session.id.as_str()).await,
            session: session.id.to_string(),
            refresh_token,
        }
    }

    /// A token of a session for the app at [`APP_ORIGIN`], good for a minute.
    pub async fn session_token(&self, tenant: &Tenant, session: &str) -> String {
        let id: SessionId = Id::parse(session).unwrap();
        let found =
            store::find(&mut self.db().read().await.unwrap(), &tenant.id, &id, &Settings::default()).await;
        let minting = Minting {
            now: self.clock.now(),
            issuer: &url_of(&tenant.frontend_api),
            origin: Some(APP_ORIGIN),
            lifetime_seconds: 60,
            version: Version::NEWEST,
            custom: Map::new(),
            entitlements: &Entitlements::default(),
            active: None,
        };
        tokens::mint(&found.unwrap().unwrap(), &minting, &self.signer(tenant).await, &*self.rng()).unwrap()
    }

    /// What transactions of a request to an instance know, for tests that call what is behind operations.
    pub fn act(&self, tenant: &Tenant) -> Act {
        Act {
            instance: tenant.id.clone(),
            key: None,
            now: self.clock.now(),
            rng: self.rng(),
            master: self.master.clone(),
            client_ip: "192.0.2.1".to_owned(),
            network: Network::UNKNOWN,
            user_agent: "test".to_owned(),
            languages: String::new(),
            test_mode: false,
            settings: Arc::default(),
            url: "http://latchkey.test".into(),
            api_url: "http://latchkey.test".into(),
            registry: Arc::default(),
        }
    }

    /// The key an instance signs with.
    pub async fn signer(&self, tenant: &Tenant) -> Signer {
        let mut tx = self.db().read().await.unwrap();
        let found = instances::signing_key(&mut tx, &tenant.id, self.clock.now()).await.unwrap();
        let (kid, sealed) = found.unwrap();
        let key = instance_rules::open_key(&self.master, &kid, &sealed).unwrap();
        Signer { kid: kid.into(), key: key.into() }
    }

    /// What a handshake left for a backend; returns the nonce.
    pub async fn handshake(&self, tenant: &Tenant, directives: &[&str]) -> String {
        let (now, rng) = (self.clock.now(), self.rng());
        let nonce = hex(&latchkey_base::rng::bytes::<12>(&*rng));
        let directives: Vec<String> = directives.iter().map(|&line| line.to_owned()).collect();
        let (instance, master, kept) = (tenant.id.clone(), self.master.clone(), nonce.clone());
        let expire_at = now.plus_ms(HANDSHAKE_MS);
        let work = self.db().write(move |tx| {
            Box::pin(async move {
                let handshake =
                    StoredHandshake { nonce: &kept, directives: &directives, is_good_once: true, expire_at };
                handshakes::insert(tx, &instance, &handshake, &master).await
            })
        });
        work.await.unwrap();
        nonce
    }
}

async fn open_session(
    tx: &mut Tx,
    mut client: Client,
    digest: &[u8],
    user: &UserId,
    now: Time,
    rng: &dyn Rng,
) -> Result<(Client, Session)> {
    let user = users::find(tx, &client.instance, user).await?.unwrap();
    clients::insert(tx, &client, digest).await?;
    let entry = Entry { first_factor: true, ..Entry::default() };
    let seen = activity::seen("Mozilla/5.0 (Macintosh) Firefox/140.0", "192.0.2.1", now, rng);
    let session = rules::begin(&user, &client.id, entry, seen, &Settings::default(), now, rng);
    store::insert(tx, &session).await?;
    client.last_active_session = Some(session.id.clone());
    clients::save(tx, &client, now).await?;
    Ok((client, session))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
