//! Who asks: the client behind a request of a browser or device, if it has one yet.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use latchkey_base::kinds::{ClientId, InstanceId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;

use super::site::{At, Site};
use super::{cookies, redirects};
use crate::cx::{Act, Cx, Place};
use crate::keyring::Reading;
use crate::resources::clients::model::Client;
use crate::resources::clients::{store, token};
use crate::resources::sessions::model::Session;
use crate::resources::sessions::present::Present;
use crate::resources::users::model::User;
use crate::{App, AppState};

/// Where browsers tell whether a page asks its own origin.
const FETCH_SITE: &str = "sec-fetch-site";
/// How many cookies of one name are tried. A browser shows two when the domain of the cookie has changed between
/// two sign-ins; other hosts of the domain can plant more.
const PROOFS_AT_MOST: usize = 4;

/// A browser or device, and the instance it asks.
pub struct Visitor {
    /// The instance.
    pub site: Arc<Site>,
    /// The client, as it was when the request came.
    pub client: Option<Client>,
    /// The origin of the page that asks.
    pub origin: Option<String>,
    /// Whether it is an app on a device, which keeps its token itself instead of in a cookie.
    pub is_native: bool,
    /// The digest of the token of a developer's browser.
    pub dev_browser: Option<[u8; 32]>,
    /// That token itself, if it was shown and is linked to the client.
    pub shown_dev_browser: Option<String>,
    /// A secret the client was given in this request; it goes out with the answer.
    pub fresh: Option<(ClientId, Secret)>,
    /// Who is signed in on the client, if that was read when the request came.
    pub live: Option<Vec<(Session, User)>>,
}

/// What of a visitor a transaction needs.
#[derive(Clone)]
pub struct Hold {
    instance: InstanceId,
    client: Option<ClientId>,
    dev_browser: Option<[u8; 32]>,
}

/// The client of a request, locked; and its secret, if it was made just now.
pub struct Held {
    /// The client.
    pub client: Client,
    /// The secret of a new client.
    pub secret: Option<Secret>,
}

impl Visitor {
    /// Somebody of whom nothing is known.
    fn at(site: Arc<Site>) -> Visitor {
        Visitor {
            site,
            client: None,
            origin: None,
            is_native: false,
            dev_browser: None,
            shown_dev_browser: None,
            fresh: None,
            live: None,
        }
    }

    /// Somebody else at the same instance.
    pub fn alone(&self) -> Visitor {
        Visitor::at(self.site.clone())
    }

    /// The browser behind a request, by its cookies alone.
    pub async fn by_cookies(parts: &mut Parts, state: &AppState) -> Result<Visitor, Failure> {
        let At(site) = At::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let mut visitor = Visitor::at(site);
        visitor.enter_by_cookies(app, &mut app.db.read().await?, parts, None).await?;
        Ok(visitor)
    }

    /// The browser behind a request that shows nothing but the cookie of a client, and that cookie. Nobody has
    /// checked it yet: what is asked most often does so with what the gate has read.
    pub fn unproven<'a>(parts: &'a Parts, site: &Arc<Site>) -> Result<Option<(Visitor, &'a str)>> {
        let asked = Asked::read(parts.uri.query().unwrap_or_default())?;
        if parts.headers.contains_key(AUTHORIZATION) || asked.dev_browser.is_some() {
            return Ok(None);
        }
        let Some(token) = cookies::read(&parts.headers, cookies::CLIENT) else { return Ok(None) };
        let origin = one(parts, ORIGIN.as_str(), Code::MultipleOriginHeaderValuesForbidden)?;
        let origin = origin.or_else(|| own_origin(parts, site));
        let visitor = Visitor { origin, is_native: asked.is_native, ..Visitor::at(site.clone()) };
        Ok(Some((visitor, token)))
    }

    /// What a transaction of this request needs to know.
    pub fn act(&self, cx: &Cx) -> Act {
        let place = Place {
            instance: &self.site.instance,
            settings: &self.site.settings,
            test_mode: self.site.test_mode(),
            url: self.site.base_url.as_str().into(),
        };
        cx.act_in(place)
    }

    /// What of it a transaction needs.
    pub fn hold(&self) -> Hold {
        Hold {
            instance: self.site.instance.clone(),
            client: self.client.as_ref().map(|client| client.id.clone()),
            dev_browser: self.dev_browser,
        }
    }

    /// Notes what a transaction made of the client: it is shown with the answer, and a new secret is
    /// handed out.
    pub fn becomes(&mut self, client: Client, secret: Option<Secret>) {
        if let Some(secret) = secret {
            self.fresh = Some((client.id.clone(), secret));
        }
        self.client = Some(client);
        self.live = None;
    }

    /// The client, or the refusal of those who have none.
    pub fn known(&self) -> Result<&Client> {
        self.client.as_ref().ok_or_else(|| Error::new(Code::SignedOut))
    }
}

impl Hold {
    /// The client of the request, if it shows one.
    pub fn client(&self) -> Option<&ClientId> {
        self.client.as_ref()
    }

    /// Locks the client of the request, or makes one.
    pub async fn lock(&self, tx: &mut Tx, act: &Act) -> Result<Held> {
        if let Some(id) = &self.client
            && let Some(client) = store::lock(tx, &self.instance, id).await?
        {
            return Ok(Held { client, secret: None });
        }
        let (client, secret) = (Client::new(&self.instance, act.now, &*act.rng), token::secret(&*act.rng));
        store::insert(tx, &client, &token::digest(&secret)).await?;
        self.link(tx, &client, act).await?;
        Ok(Held { client, secret: Some(secret) })
    }

    /// Locks the client of the request; one that is gone is signed out.
    pub async fn lock_known(&self, tx: &mut Tx) -> Result<Client> {
        let found = match &self.client {
            Some(id) => store::lock(tx, &self.instance, id).await?,
            None => None,
        };
        found.ok_or_else(|| Error::new(Code::SignedOut))
    }

    /// Gives a client a new secret, now that somebody signed in on it.
    pub async fn rotate(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<Secret> {
        let secret = token::secret(&*act.rng);
        store::rotate(tx, client, &token::digest(&secret)).await?;
        self.link(tx, client, act).await?;
        Ok(secret)
    }

    /// Forgets a client: its secret opens nothing any more, and a developer's browser has none.
    pub async fn forget(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<()> {
        store::rotate(tx, client, &token::digest(&token::secret(&*act.rng))).await?;
        match &self.dev_browser {
            Some(digest) => store::save_dev_browser(tx, &self.instance, digest, None, act.now).await,
            None => Ok(()),
        }
    }

    async fn link(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<()> {
        match &self.dev_browser {
            Some(digest) => {
                store::save_dev_browser(tx, &self.instance, digest, Some(&client.id), act.now).await
            }
            None => Ok(()),
        }
    }
}

impl FromRequestParts<AppState> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Visitor, Failure> {
        let At(site) = At::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let origin = one(parts, ORIGIN.as_str(), Code::MultipleOriginHeaderValuesForbidden)?;
        let authorization =
            one(parts, AUTHORIZATION.as_str(), Code::MultipleAuthorizationHeaderValuesForbidden)?;
        if origin.is_some() && authorization.is_some() {
            return Err(Error::new(Code::OriginAuthorizationHeadersConflict).into());
        }
        let query = Asked::read(parts.uri.query().unwrap_or_default())?;
        let mut tx = app.db.read().await?;
        let is_native = authorization.is_some() || query.is_native;
        let shown = query.dev_browser.filter(|_| site.is_development());
        let origin = origin.or_else(|| own_origin(parts, &site));
        let mut visitor = Visitor { origin, is_native, ..Visitor::at(site) };
        match (shown, authorization) {
            (Some(token), _) => visitor.enter_as_dev_browser(&mut tx, &token).await?,
            (None, Some(token)) => {
                let token = token.strip_prefix("Bearer ").unwrap_or(&token);
                visitor.enter_by_token(app, &mut tx, token).await?;
            }
            (None, None) => {
                let present = parts.extensions.remove::<Present>();
                visitor.enter_by_cookies(app, &mut tx, parts, present).await?;
            }
        }
        Ok(visitor)
    }
}

impl Visitor {
    /// A developer's browser shows its token in the URL; it must be known.
    async fn enter_as_dev_browser(&mut self, tx: &mut Tx, token: &str) -> Result<()> {
        let digest = sha256(token.as_bytes());
        let found = store::find_dev_browser(tx, &self.site.instance, &digest).await?;
        let browser = found.ok_or_else(|| Error::new(Code::DevBrowserUnauthenticated))?;
        self.meet(tx, token, digest, browser).await
    }

    /// A developer's browser that is known. One that shows a client by cookie keeps to that.
    async fn meet(
        &mut self,
        tx: &mut Tx,
        token: &str,
        digest: [u8; 32],
        browser: store::DevBrowser,
    ) -> Result<()> {
        self.dev_browser = Some(digest);
        if let (None, Some(id)) = (&self.client, &browser.client) {
            self.client = store::find(tx, &self.site.instance, id).await?;
        }
        let is_same = self.client.as_ref().map(|client| &client.id) == browser.client.as_ref();
        self.shown_dev_browser = is_same.then(|| token.to_owned());
        Ok(())
    }

    /// A token nobody knows, or one from before the last sign-in, is worth as much as none.
    async fn enter_by_token(&mut self, app: &App, tx: &mut Tx, token: &str) -> Result<()> {
        let Some((id, secret)) = token::read(token) else { return Ok(()) };
        let found = store::find_with_digest(tx, &self.site.instance, &id).await?;
        let proven = found.filter(|(_, digest)| self.site.is_proof(&id, digest, &secret));
        if app.is_signed(Reading::In(tx), &self.site.instance, token).await? {
            self.client = proven.map(|(client, _)| client);
        }
        Ok(())
    }

    async fn enter_by_cookies(
        &mut self,
        app: &App,
        tx: &mut Tx,
        parts: &Parts,
        mut present: Option<Present>,
    ) -> Result<()> {
        for token in cookies::read_all(&parts.headers, cookies::CLIENT).take(PROOFS_AT_MOST) {
            match present.take_if(|present| present.is_proven(&self.site, token)) {
                Some(present) if app.is_signed(Reading::In(tx), &self.site.instance, token).await? => {
                    let (client, live) = present.into_parts();
                    (self.client, self.live) = (Some(client), Some(live));
                }
                _ => self.enter_by_token(app, tx, token).await?,
            }
            if self.client.is_some() {
                break;
            }
        }
        let shown = cookies::read(&parts.headers, cookies::DEV_BROWSER);
        let Some(token) = shown.filter(|_| self.site.is_development()) else { return Ok(()) };
        let digest = sha256(token.as_bytes());
        let Some(browser) = store::find_dev_browser(tx, &self.site.instance, &digest).await? else {
            return Ok(());
        };
        self.meet(tx, token, digest, browser).await
    }
}

/// What the query says about who asks.
#[derive(Default)]
struct Asked {
    dev_browser: Option<String>,
    is_native: bool,
}

impl Asked {
    fn read(query: &str) -> Result<Asked> {
        let mut asked = Asked::default();
        for (key, value) in pairs(query)? {
            match key.as_str() {
                cookies::DEV_BROWSER | "__dev_session" if !value.is_empty() => {
                    asked.dev_browser = Some(value);
                }
                "_is_native" => asked.is_native = value == "1" || value == "true",
                _ => (),
            }
        }
        Ok(asked)
    }
}

/// The origin of a page that shares it with this API: when it only reads, browsers do not name it.
fn own_origin(parts: &Parts, site: &Site) -> Option<String> {
    let is_same = parts.headers.get(FETCH_SITE).is_some_and(|value| value == "same-origin");
    redirects::origin(&site.base_url).filter(|_| is_same).map(str::to_owned)
}

/// A header that may be given once.
fn one(parts: &Parts, name: &str, several: Code) -> Result<Option<String>> {
    let mut values = parts.headers.get_all(name).iter();
    let first = values.next().and_then(|value| value.to_str().ok()).map(str::to_owned);
    match values.next() {
        Some(_) => Err(Error::new(several)),
        None => Ok(first.filter(|value| !value.is_empty())),
    }
}
