//! A client as the browser sees it: everybody signed in on it, each with a fresh token, and the attempts
//! under way. Nearly every answer carries it, because the script in the page keeps no state of its own.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use latchkey_base::kinds::{ClientId, SessionId};
use latchkey_base::{Result, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::site::Site;
use super::visitor::Visitor;
use crate::cx::Cx;
use crate::keyring::Signer;
use crate::resources::clients::model::Client;
use crate::resources::clients::store;
use crate::resources::sessions::model::Session;
use crate::resources::sessions::tokens::{self, Minting};
use crate::resources::sessions::view::{self as sessions, FrontendSessionView};
use crate::resources::sessions::{custom_claims, store as session_store};
use crate::resources::users::model::User;
use crate::resources::users::view::Lens;
use crate::resources::{sign_ins, sign_ups};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Client")]
pub struct ClientView<'a> {
    object: &'static str,
    id: &'a ClientId,
    sessions: Vec<FrontendSessionView<'a>>,
    sign_in: Option<Value>,
    sign_up: Option<Value>,
    last_active_session_id: Option<&'a SessionId>,
    last_authentication_strategy: Option<&'a str>,
    /// Only browsers that shorten cookies would need it.
    cookie_expires_at: Option<Time>,
    captcha_bypass: bool,
    created_at: Time,
    updated_at: Time,
}

/// A client and all that is shown with it.
pub struct Scenery {
    client: Client,
    sessions: Vec<(Session, User, String)>,
    sign_in: Option<Value>,
    sign_up: Option<Value>,
}

/// Loads what is shown of a visitor's client, and mints a token for each session.
pub async fn load(cx: &Cx, visitor: &Visitor) -> Result<Option<Scenery>> {
    let Some(client) = &visitor.client else { return Ok(None) };
    let instance = &visitor.site.instance;
    let mut tx = cx.app.db.read().await?;
    let Some(client) = store::find(&mut tx, instance, &client.id).await? else { return Ok(None) };
    let live = session_store::live_of_client(&mut tx, instance, &client.id, cx.now).await?;
    drop(tx);
    Ok(Some(dress(cx, visitor, client, live).await?))
}

/// The same for a visitor whose client nobody has changed since the request came.
pub async fn load_unchanged(cx: &Cx, visitor: &mut Visitor) -> Result<Option<Scenery>> {
    let Some((client, mut live)) = visitor.client.clone().zip(visitor.live.take()) else {
        return load(cx, visitor).await;
    };
    live.retain(|(session, _)| session.is_live(cx.now));
    Ok(Some(dress(cx, visitor, client, live).await?))
}

async fn dress(cx: &Cx, visitor: &Visitor, client: Client, live: Vec<(Session, User)>) -> Result<Scenery> {
    let site = &*visitor.site;
    let (mut sign_in, mut sign_up) = (None, None);
    if client.sign_in.is_some() || client.sign_up.is_some() {
        let (mut tx, lens) = (cx.app.db.read().await?, lens(site, cx.now));
        sign_in = sign_ins::shown(&mut tx, site, lens, &client).await?;
        sign_up = sign_ups::shown(&mut tx, site, lens, &client).await?;
    }
    // Signing is slow compared to reading; nobody should wait for a connection meanwhile.
    let signer = match live.is_empty() {
        true => None,
        false => Some(cx.app.signer_at(site, cx.now).await?),
    };
    let mut sessions = Vec::with_capacity(live.len());
    for (session, user) in live {
        let token = match &signer {
            Some(signer) => mint(cx, visitor, &session, &user, signer)?,
            None => String::new(),
        };
        sessions.push((session, user, token));
    }
    Ok(Scenery { client, sessions, sign_in, sign_up })
}

/// Mints a token of a session for the page that asks.
pub fn mint(cx: &Cx, visitor: &Visitor, session: &Session, user: &User, signer: &Signer) -> Result<String> {
    let site = &*visitor.site;
    let minting = Minting {
        now: cx.now,
        issuer: &site.issuer,
        origin: visitor.origin.as_deref(),
        lifetime_seconds: site.settings.session.token_lifetime_seconds,
        version: cx.version,
        custom: custom_claims(&site.settings, session, user, &site.base_url)?,
    };
    tokens::mint(session, &minting, signer, &*cx.app.rng)
}

/// How users of an instance are shown.
pub fn lens(site: &Site, now: Time) -> Lens<'_> {
    Lens { now, settings: &site.settings, api_url: &site.base_url }
}

impl Scenery {
    /// Whether anybody is signed in.
    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// The client itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The sessions, each with its user and a token.
    pub fn sessions(&self) -> &[(Session, User, String)] {
        &self.sessions
    }

    /// How it looks.
    pub fn view<'a>(&'a self, lens: Lens<'a>) -> ClientView<'a> {
        let shown = self.sessions.iter();
        let is_listed = |id: &&SessionId| self.sessions.iter().any(|(session, _, _)| session.id == **id);
        ClientView {
            object: "client",
            id: &self.client.id,
            sessions: shown
                .map(|(session, user, token)| sessions::frontend(session, user, Some(token), lens))
                .collect(),
            sign_in: self.sign_in.clone(),
            sign_up: self.sign_up.clone(),
            last_active_session_id: self.client.last_active_session.as_ref().filter(is_listed),
            last_authentication_strategy: self.client.last_authentication_strategy.as_deref(),
            cookie_expires_at: None,
            captcha_bypass: false,
            created_at: self.client.created_at,
            updated_at: self.client.updated_at,
        }
    }
}
