//! A client as the browser sees it: everybody signed in on it, each with a token at most seconds old, and the
//! attempts under way. Nearly every answer carries it, because the script in the page keeps no state of its own.

use std::collections::HashSet;
use std::sync::Arc;

use latchkey_base::kinds::{ClientId, SessionId};
use latchkey_base::{Code, Error, Result, Time};
use latchkey_kernel::cx::Cx;
use latchkey_kernel::keyring::Signer;
use latchkey_kernel::limits::{CROWDED_CLIENT_WAIT, MEMBERSHIPS_SHOWN};
use latchkey_kernel::recent_answers::GoodUntil;
use latchkey_kernel::recent_tokens::FRESH_MS;
use latchkey_kernel::slow::{LanePlace, WorkOwner};
use latchkey_organizations::memberships::store as memberships_store;
use latchkey_people::users::view::ViewContext;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::store;
use latchkey_presence::clients::view::ClientObject;
use latchkey_presence::sessions::own_memberships::OwnMemberships;
use latchkey_presence::sessions::present::PresentSession;
use latchkey_presence::sessions::tokens::{self, Minting};
use latchkey_presence::sessions::view::FrontendSessionView;
use latchkey_presence::sessions::{custom_claims, store as session_store, view as sessions};
use latchkey_presence::sign_ins::view::SignInView;
use latchkey_presence::sign_ups::view::FrontendSignUpView;
use latchkey_presence::{sign_ins, sign_ups};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::site::Site;
use super::visitor::{EarlierProof, Visitor};

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Client")]
pub struct ClientView<'a> {
    object: ClientObject,
    id: &'a ClientId,
    sessions: Vec<FrontendSessionView<'a>>,
    #[schemars(with = "Option<SignInView>")]
    sign_in: Option<&'a RawValue>,
    #[schemars(with = "Option<FrontendSignUpView<'_>>")]
    sign_up: Option<&'a RawValue>,
    last_active_session_id: Option<&'a SessionId>,
    last_authentication_strategy: Option<&'a str>,
    /// Only browsers that shorten cookies would need it.
    cookie_expires_at: Option<Time>,
    captcha_bypass: bool,
    created_at: Time,
    updated_at: Time,
}

/// What a refusal tells of the client.
#[derive(Serialize)]
pub struct ClientMeta<'a> {
    pub client: ClientView<'a>,
}

/// A client and all that is shown with it.
pub struct ShownClient {
    client: Client,
    sessions: Vec<(PresentSession, Arc<str>)>,
    memberships: OwnMemberships,
    sign_in: Option<Box<RawValue>>,
    sign_up: Option<Box<RawValue>>,
    /// Until when it may be shown again: its tokens are handed out for that long. Of one for which more was read than the rows
    /// that the gate has read, none is known.
    pub good_until: Option<GoodUntil>,
    /// Its place, if many people are signed in on it, or people in many organizations.
    _place: Option<LanePlace>,
}

/// Most clients have no more people. Each comes with up to a hundred organizations, a megabyte with their metadata.
const FEW_PEOPLE: usize = 4;
/// Nor do the people of a client, if it has several, have more organizations together.
const FEW_MEMBERSHIPS: i64 = MEMBERSHIPS_SHOWN;

/// Loads what is shown of a visitor's client, with a token for each session.
pub async fn load(cx: &Cx, visitor: &Visitor) -> Result<Option<ShownClient>> {
    let Some(client) = &visitor.client else { return load_earlier(cx, visitor).await };
    let instance = &visitor.site.instance;
    let mut tx = cx.app.db.read().await?;
    let found = store::find_with_digest(&mut tx, instance, &client.id).await?;
    let Some((client, _)) = found.filter(|(_, digest)| visitor.is_of(digest)) else { return Ok(None) };
    let live =
        session_store::live_of_client(&mut tx, instance, &client.id, &visitor.site.settings, cx.now).await?;
    drop(tx);
    let shown_client = shown_client(cx, visitor, client, live).await?;
    Ok(Some(ShownClient { good_until: None, ..shown_client }))
}

/// Loads what an earlier token shows of the client, as long as it shows a live session.
async fn load_earlier(cx: &Cx, visitor: &Visitor) -> Result<Option<ShownClient>> {
    let Some(EarlierProof { client, digest }) = &visitor.earlier else { return Ok(None) };
    let (site, id) = (&visitor.site, &client.client().id);
    let mut tx = cx.app.db.read().await?;
    let Some(client) = store::find(&mut tx, &site.instance, id).await? else { return Ok(None) };
    let Some(shown) = client.as_shown_before(digest) else { return Ok(None) };
    let mut live = session_store::live_of_client(&mut tx, &site.instance, id, &site.settings, cx.now).await?;
    drop(tx);
    live.retain(|present| shown.shows(&present.session.id));
    if live.is_empty() {
        return Ok(None);
    }
    let shown_client = shown_client(cx, visitor, shown.client().clone(), live).await?;
    Ok(Some(ShownClient { good_until: None, ..shown_client }))
}

/// The same for a visitor whose client nobody has changed since the request came.
pub async fn load_unchanged(cx: &Cx, visitor: &mut Visitor) -> Result<Option<ShownClient>> {
    let Some((client, mut live)) = visitor.client.clone().zip(visitor.live.take()) else {
        return load(cx, visitor).await;
    };
    live.retain(|present| present.session.is_live(cx.now));
    let settings = &visitor.site.settings;
    let has_attempt = client.sign_in.is_some() || client.sign_up.is_some();
    let is_alone =
        !has_attempt && !settings.organizations.enabled && settings.session.token_claims.is_empty();
    let shown_client = shown_client(cx, visitor, client, live).await?;
    let good_until = shown_client.good_until.filter(|_| is_alone);
    Ok(Some(ShownClient { good_until, ..shown_client }))
}

async fn shown_client(
    cx: &Cx,
    visitor: &Visitor,
    client: Client,
    live: Vec<PresentSession>,
) -> Result<ShownClient> {
    let site = &*visitor.site;
    let (mut sign_in, mut sign_up) = (None, None);
    if client.sign_in.is_some() || client.sign_up.is_some() {
        let (mut tx, context) = (cx.app.db.read().await?, view_context(site, cx.now));
        sign_in = sign_ins::shown(&mut tx, context, visitor.factor_audience(cx), &client).await?;
        sign_up = sign_ups::shown(&mut tx, context, &client).await?;
    }
    let place = match is_large(cx, site, &live).await? {
        true => Some(place_in_crowd(cx, site).await?),
        false => None,
    };
    let memberships = match live.is_empty() {
        true => OwnMemberships::default(),
        false => own_memberships(cx, site, &live).await?,
    };
    // Signing is slow compared to reading; nobody should wait for a connection meanwhile.
    let signer = match live.is_empty() {
        true => None,
        false => Some(site.signer(&cx.app, cx.now).await?),
    };
    let (mut sessions, mut oldest) = (Vec::with_capacity(live.len()), cx.now);
    if let Some(signer) = signer {
        for present in live {
            let minting = minting(cx, visitor, &present, Some(&memberships)).await?;
            let changed_at = client.updated_at;
            let minted = tokens::mint_or_reuse(&present.session, changed_at, &minting, &signer, &cx.app)?;
            oldest = oldest.min(minted.signed_at);
            sessions.push((present, minted.token));
        }
    }
    let good_until = Some(GoodUntil(oldest.plus_ms(FRESH_MS)));
    Ok(ShownClient { client, sessions, memberships, sign_in, sign_up, good_until, _place: place })
}

/// Of clients with much to show, the memberships of only a few are in memory at a time, until the answers are written.
/// What happened meanwhile counts: whoever does not read those answers gets no more of them, also of writes.
async fn place_in_crowd(cx: &Cx, site: &Site) -> Result<LanePlace> {
    let owner = WorkOwner::network(&site.instance, cx.network);
    // Whoever waits here keeps nobody waiting for a long read.
    cx.end_long_turn();
    let place = timeout(CROWDED_CLIENT_WAIT, cx.app.crowded_clients.place(&owner)).await;
    let place = place.unwrap_or_else(|_| Err(Error::new(Code::ServiceUnavailable).retry_after(1)))?;
    cx.check_unread()?;
    Ok(place)
}

/// Whether so much is shown of the people of a client that few such answers may be in memory at a time. What is shown
/// of one person alone is bounded, so nothing is counted for the clients that most browsers have.
async fn is_large(cx: &Cx, site: &Site, live: &[PresentSession]) -> Result<bool> {
    let people: HashSet<_> = live.iter().map(|present| &present.user.id).collect();
    match people.len() {
        0 | 1 => Ok(false),
        2..=FEW_PEOPLE if site.settings.organizations.enabled => {
            let mut tx = cx.app.db.read().await?;
            memberships_store::are_more(&mut tx, &site.instance, &people, FEW_MEMBERSHIPS).await
        }
        few_or_many => Ok(few_or_many > FEW_PEOPLE),
    }
}

/// The memberships of everybody who is signed in.
async fn own_memberships(cx: &Cx, site: &Site, live: &[PresentSession]) -> Result<OwnMemberships> {
    if !site.settings.organizations.enabled {
        return Ok(OwnMemberships::default());
    }
    let mut tx = cx.app.db.read().await?;
    OwnMemberships::of_sessions(&mut tx, &site.instance, live, cx.now).await
}

/// The memberships that are shown with a client; none without one.
pub fn memberships(shown: Option<&ShownClient>) -> &OwnMemberships {
    static NONE: OwnMemberships = OwnMemberships::none();
    shown.map_or(&NONE, |shown| &shown.memberships)
}

/// Mints a token of a session for the page that asks.
pub async fn mint(cx: &Cx, visitor: &Visitor, present: &PresentSession, signer: &Signer) -> Result<String> {
    tokens::mint(&present.session, &minting(cx, visitor, present, None).await?, signer, &*cx.app.rng)
}

async fn minting<'a>(
    cx: &Cx,
    visitor: &'a Visitor,
    present: &'a PresentSession,
    memberships: Option<&OwnMemberships>,
) -> Result<Minting<'a>> {
    let site = &*visitor.site;
    Ok(Minting {
        now: cx.now,
        issuer: &site.issuer,
        origin: visitor.origin.as_deref(),
        lifetime_seconds: site.settings.session.token_lifetime_seconds,
        version: cx.version,
        custom: custom_claims(&cx.app.db, &site.settings, present, memberships, &site.base_url).await?,
        entitlements: &present.user.entitlements,
        active: present.active.as_ref(),
    })
}

/// How users of an instance are shown.
pub fn view_context(site: &Site, now: Time) -> ViewContext<'_> {
    ViewContext {
        now,
        settings: &site.settings,
        api_url: &site.base_url,
        relying_party: Some(&site.relying_party),
    }
}

impl ShownClient {
    /// Whether anybody is signed in.
    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    /// The client itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The sessions, each with a token.
    pub fn sessions(&self) -> &[(PresentSession, Arc<str>)] {
        &self.sessions
    }

    /// How it looks.
    pub fn view<'a>(&'a self, context: ViewContext<'a>) -> ClientView<'a> {
        let shown = self.sessions.iter();
        let is_listed = |id: &&SessionId| self.sessions.iter().any(|(present, _)| present.session.id == **id);
        ClientView {
            object: ClientObject::It,
            id: &self.client.id,
            sessions: shown
                .map(|(present, token)| {
                    let PresentSession { session, user, .. } = present;
                    sessions::frontend(session, user, Some(token), &self.memberships, context)
                })
                .collect(),
            sign_in: self.sign_in.as_deref(),
            sign_up: self.sign_up.as_deref(),
            last_active_session_id: self.client.last_active_session.as_ref().filter(is_listed),
            last_authentication_strategy: self.client.last_authentication_strategy.as_deref(),
            cookie_expires_at: None,
            captcha_bypass: false,
            created_at: self.client.created_at,
            updated_at: self.client.changed_at(context.now),
        }
    }
}
