//! Who asks: the client behind a request of a browser or device, if it has one yet.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use latchkey_base::kinds::{ClientId, DevBrowserId, InstanceId, SessionId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::{Act, Cx, InstanceContext};
use latchkey_kernel::signing::Reading;
use latchkey_kernel::{App, AppState, origins};
use latchkey_people::factors::audience::FactorAudience;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::clients::{store, token};
use latchkey_presence::sessions::present::{ClientWithSessions, PresentSession};
use latchkey_web::api::{Credential, Operation};
use latchkey_web::input::Path;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::site::{RequestSite, Site};
use super::{cookies, counting};

/// Where browsers tell whether a page asks its own origin.
const FETCH_SITE: &str = "sec-fetch-site";
/// How many cookies of one name are tried. A browser shows two when the domain of the cookie has changed between
/// two sign-ins; other hosts of the domain can plant more.
const PROOFS_AT_MOST: usize = 4;

/// The browser or device that sent a request, and the instance the request is for.
///
/// Its client is reached in two ways and no other. Outside a transaction, `client` and `require_client` show it
/// as it was when the request came. To change it, or to decide by it, take `client_handle` into the transaction
/// and lock the row there: `ClientHandle::lock`, or `lock_or_create` where a browser without a client gets one.
/// What the transaction made of it is given back with `becomes`, so that the answer shows it.
pub struct Visitor {
    /// The instance.
    pub site: Arc<Site>,
    pub(super) client: Option<Client>,
    /// The digest of the client's secret as it was then. A client that has another one since is no longer this
    /// visitor's: somebody signed in on it, and whoever knew the old secret, or led to it, is out.
    pub(super) token_digest: Option<Vec<u8>>,
    /// The origin of the page that asks.
    pub origin: Option<String>,
    /// Whether it is an app on a device, which keeps its token itself instead of in a cookie.
    pub is_native: bool,
    /// The digest of the token of a developer's browser.
    pub dev_browser: Option<[u8; 32]>,
    /// Whether that token was shown in a cookie, and not in the URL.
    pub is_dev_browser_in_cookie: bool,
    /// That token itself, if it was shown and is linked to the client.
    pub shown_dev_browser: Option<String>,
    /// What proves the client from this request on; it goes out with the answer.
    pub fresh: Option<(ClientId, ClientProof)>,
    /// Who is signed in on the client, if that was read when the request came.
    pub live: Option<Vec<PresentSession>>,
}

/// The way from a transaction to the client of the request: its id, and the developer's browser that is linked to
/// it. It owns its parts, so that it can move into the transaction.
#[derive(Clone)]
pub struct ClientHandle {
    instance: InstanceId,
    is_development: bool,
    client: Option<ClientId>,
    token_digest: Option<Vec<u8>>,
    dev_browser: Option<[u8; 32]>,
}

/// The client of a request, locked in the transaction; and its secret, if the client was created there.
pub struct LockedClient {
    pub client: Client,
    /// What proves a new client.
    pub secret: Option<ClientProof>,
}

impl Visitor {
    /// A visitor without a client, of whom nothing else is known either.
    fn at(site: Arc<Site>) -> Visitor {
        Visitor {
            site,
            client: None,
            token_digest: None,
            origin: None,
            is_native: false,
            dev_browser: None,
            is_dev_browser_in_cookie: false,
            shown_dev_browser: None,
            fresh: None,
            live: None,
        }
    }

    /// A visitor without a client at the same instance.
    pub fn alone(&self) -> Visitor {
        Visitor::at(self.site.clone())
    }

    /// The browser behind a request, by its cookies alone.
    pub async fn by_cookies(parts: &mut Parts, state: &AppState) -> Result<Visitor, Failure> {
        let RequestSite(site) = RequestSite::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let mut visitor = Visitor::at(site);
        visitor.enter_by_cookies(app, &mut app.db.read().await?, parts, None).await?;
        Ok(visitor)
    }

    /// The browser behind a request that shows nothing but the cookie of a client, and that cookie. Nobody has
    /// checked it yet: what is asked most often does so with what the gate has read.
    pub fn unproven<'a>(parts: &'a Parts, site: &Arc<Site>) -> Result<Option<(Visitor, &'a str)>> {
        let query = VisitorQuery::read(parts.uri.query().unwrap_or_default())?;
        if parts.headers.contains_key(AUTHORIZATION) || query.dev_browser.is_some() {
            return Ok(None);
        }
        let Some(token) = cookies::read(&parts.headers, cookies::CLIENT) else { return Ok(None) };
        let origin = one(parts, ORIGIN.as_str(), Code::MultipleOriginHeaderValuesForbidden)?;
        let origin = origin.or_else(|| own_origin(parts, site));
        let visitor = Visitor { origin, ..Visitor::at(site.clone()) };
        Ok(Some((visitor, token)))
    }

    /// What a transaction of this request needs to know.
    pub fn act(&self, cx: &Cx) -> Act {
        cx.act_in(InstanceContext {
            instance: &self.site.instance,
            settings: &self.site.settings,
            test_mode: self.site.test_mode(),
            url: self.site.base_url.as_str().into(),
        })
    }

    /// The origin of the page that asks, or of this server for those who have none that a browser would show.
    pub fn page(&self) -> String {
        let of_page = self.origin.as_deref().filter(|page| origins::origin(page) == Some(*page));
        let of_server = || origins::origin(&self.site.base_url).unwrap_or(&self.site.base_url);
        of_page.unwrap_or_else(of_server).to_owned()
    }

    /// Returns the client of the request, as factors are offered to it.
    pub fn factor_audience(&self, cx: &Cx) -> FactorAudience {
        FactorAudience { version: cx.version, is_native: self.is_native }
    }

    /// What a transaction needs to lock the client.
    pub fn client_handle(&self) -> ClientHandle {
        ClientHandle {
            instance: self.site.instance.clone(),
            is_development: self.site.is_development(),
            client: self.client_id(),
            token_digest: self.token_digest.clone(),
            dev_browser: self.dev_browser,
        }
    }

    /// Notes what a transaction made of the client: it is shown with the answer, and a new secret is
    /// handed out.
    pub fn becomes(&mut self, client: Client, proof: Option<ClientProof>) {
        if let Some(proof) = proof {
            // What this request itself made of the client needs no further look.
            self.token_digest = None;
            self.fresh = Some((client.id.clone(), proof));
        }
        self.client = Some(client);
        self.live = None;
    }

    /// The client as it was when the request came.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_ref()
    }

    /// Whether a client that was read anew, with the digest of its secret, is still this visitor's.
    pub(super) fn is_of(&self, token_digest: &[u8]) -> bool {
        is_same(self.token_digest.as_deref(), token_digest)
    }

    /// The token the developer's browser got in this request, if it got a new one.
    pub fn new_dev_browser(&self) -> Option<&str> {
        let (_, proof) = self.fresh.as_ref()?;
        proof.dev_browser.as_ref().map(Secret::expose)
    }

    /// The id of the client.
    pub fn client_id(&self) -> Option<ClientId> {
        self.client.as_ref().map(|client| client.id.clone())
    }

    /// The client as it was when the request came. A request without one is refused as signed out.
    pub fn require_client(&self) -> Result<&Client> {
        self.client.as_ref().ok_or_else(|| Error::new(Code::SignedOut))
    }
}

/// Whether a client's secret is the one that the request showed. What came without one was found in another way.
fn is_same(shown: Option<&[u8]>, digest: &[u8]) -> bool {
    shown.is_none_or(|shown| shown == digest)
}

impl ClientHandle {
    /// The id of the client, if the request showed one.
    pub fn id(&self) -> Option<&ClientId> {
        self.client.as_ref()
    }

    /// Locks the client of the request, or creates one. The token of a developer's browser is looked at again: it may
    /// have ended since, and another request may have given it a client.
    pub async fn lock_or_create(&self, tx: &mut Tx, act: &Act) -> Result<LockedClient> {
        if let Some(client) = self.find_locked(tx).await? {
            return Ok(LockedClient { client, secret: None });
        }
        if let Some(digest) = &self.dev_browser {
            let found = store::lock_dev_browser(tx, &self.instance, digest).await?;
            let browser = found.ok_or_else(|| Error::new(Code::DevBrowserUnauthenticated))?;
            let given = browser.client.filter(|id| Some(id) != self.client.as_ref());
            if let Some(id) = given
                && let Some(client) = store::lock(tx, &self.instance, &id).await?
            {
                return Ok(LockedClient { client, secret: None });
            }
        }
        let (client, secret) = (Client::new(&self.instance, act.now, &*act.rng), token::secret(&*act.rng));
        store::insert(tx, &client, &token::digest(&secret)).await?;
        self.link(tx, &client, act).await?;
        Ok(LockedClient { client, secret: Some(secret.into()) })
    }

    /// Locks the client of the request. Without one, or when it was deleted or got another secret since, the request
    /// is refused as signed out.
    pub async fn lock(&self, tx: &mut Tx) -> Result<Client> {
        self.find_locked(tx).await?.ok_or_else(|| Error::new(Code::SignedOut))
    }

    async fn find_locked(&self, tx: &mut Tx) -> Result<Option<Client>> {
        let Some(id) = &self.client else { return Ok(None) };
        let found = store::lock_with_digest(tx, &self.instance, id).await?;
        Ok(found
            .filter(|(_, digest)| is_same(self.token_digest.as_deref(), digest))
            .map(|(client, _)| client))
    }

    /// Gives a client a new secret, now that somebody signed in on it, and a developer's browser a new token. The
    /// tokens that led to the client no longer do: somebody else may have made one and planted another. They stay known:
    /// other tabs of the browser still show theirs, and a script whose token is unknown would begin anew and overwrite
    /// the new one in the cookie that all tabs share.
    pub async fn rotate(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<ClientProof> {
        let secret = token::secret(&*act.rng);
        store::rotate(tx, client, &token::digest(&secret)).await?;
        if self.is_development {
            store::unlink_dev_browsers(tx, client).await?;
        }
        let dev_browser = match &self.dev_browser {
            Some(old) => {
                store::unlink_dev_browser(tx, &self.instance, old).await?;
                let new = Secret::new(DevBrowserId::new(act.now, &*act.rng).as_str().to_owned());
                let (digest, id) = (sha256(new.expose().as_bytes()), Some(&client.id));
                store::save_dev_browser(tx, &self.instance, &digest, id, act.now).await?;
                Some(new)
            }
            None => None,
        };
        Ok(ClientProof { secret, dev_browser })
    }

    /// Forgets a client: its secret opens nothing any more, and a developer's browser has none.
    pub async fn forget(&self, tx: &mut Tx, client: &Client, act: &Act) -> Result<()> {
        store::rotate(tx, client, &token::digest(&token::secret(&*act.rng))).await?;
        if self.is_development {
            // Also those that other tabs of the browser show.
            store::unlink_dev_browsers(tx, client).await?;
        }
        Ok(())
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
        let visitor = Visitor::read(parts, state).await?;
        if counting::limited_by_person(&state.0, parts).is_some() {
            let named = Path::<SessionId>::from_request_parts(parts, state).await.ok();
            counting::count_visitor(&state.0, parts, &visitor, named.as_ref().map(|Path(id)| id)).await?;
        }
        Ok(visitor)
    }
}

impl Visitor {
    /// The browser or device that sent a request. Nothing is counted: the caller does so when it knows the person.
    pub(super) async fn read(parts: &mut Parts, state: &AppState) -> Result<Visitor, Failure> {
        let RequestSite(site) = RequestSite::from_request_parts(parts, state).await?;
        let AppState(app) = state;
        let origin = one(parts, ORIGIN.as_str(), Code::MultipleOriginHeaderValuesForbidden)?;
        let authorization =
            one(parts, AUTHORIZATION.as_str(), Code::MultipleAuthorizationHeaderValuesForbidden)?;
        if origin.is_some() && authorization.is_some() {
            return Err(Error::new(Code::OriginAuthorizationHeadersConflict).into());
        }
        let query = VisitorQuery::read(parts.uri.query().unwrap_or_default())?;
        let mut tx = app.db.read().await?;
        let is_native = authorization.is_some() || (query.is_native && !shows_cookie(&parts.headers));
        let shown = query.dev_browser.filter(|_| site.is_development());
        let origin = origin.or_else(|| own_origin(parts, &site));
        let mut visitor = Visitor { origin, is_native, ..Visitor::at(site) };
        match (shown, authorization) {
            (Some(token), _) => visitor.enter_as_dev_browser(app, &mut tx, parts, &token).await?,
            (None, Some(token)) => {
                let token = token.strip_prefix("Bearer ").unwrap_or(&token);
                visitor.enter_by_token(app, &mut tx, token).await?;
            }
            (None, None) => {
                let present = parts.extensions.remove::<ClientWithSessions>();
                visitor.enter_by_cookies(app, &mut tx, parts, present).await?;
            }
        }
        Ok(visitor)
    }
}

impl Argument for Visitor {
    fn describe(row: &mut Operation) {
        row.needs(Credential::Client);
    }
}

impl Visitor {
    /// A developer's browser shows its token in the URL; it must be known. One that leads to no client counts as much as
    /// none: it may be from before a sign-in in another tab, and the cookie of the client from after it.
    async fn enter_as_dev_browser(
        &mut self,
        app: &App,
        tx: &mut Tx,
        parts: &Parts,
        token: &str,
    ) -> Result<()> {
        let digest = sha256(token.as_bytes());
        let found = store::find_dev_browser(tx, &self.site.instance, &digest).await?;
        let browser = found.ok_or_else(|| Error::new(Code::DevBrowserUnauthenticated))?;
        if browser.client.is_none() && !self.is_native {
            self.enter_by_client_cookie(app, tx, parts, None).await?;
        }
        self.use_dev_browser(tx, token, digest, browser).await
    }

    /// Takes a developer's browser that was looked up. Its client becomes that of the request, unless a cookie
    /// showed another one.
    async fn use_dev_browser(
        &mut self,
        tx: &mut Tx,
        token: &str,
        digest: [u8; 32],
        browser: store::DevBrowser,
    ) -> Result<()> {
        self.dev_browser = Some(digest);
        if let (None, Some(id)) = (&self.client, &browser.client) {
            self.take(store::find_with_digest(tx, &self.site.instance, id).await?);
        }
        let is_same = self.client.as_ref().map(|client| &client.id) == browser.client.as_ref();
        self.shown_dev_browser = is_same.then(|| token.to_owned());
        Ok(())
    }

    /// A token nobody knows, or one from before the last sign-in, is worth as much as none.
    async fn enter_by_token(&mut self, app: &App, tx: &mut Tx, token: &str) -> Result<()> {
        if let Some(proven) = proven_client(app, tx, &self.site, token).await? {
            self.take(Some(proven));
        }
        Ok(())
    }

    /// Takes a client that was read together with the digest of its secret.
    fn take(&mut self, found: Option<(Client, Vec<u8>)>) {
        (self.client, self.token_digest) = found.unzip();
    }

    async fn enter_by_cookies(
        &mut self,
        app: &App,
        tx: &mut Tx,
        parts: &Parts,
        present: Option<ClientWithSessions>,
    ) -> Result<()> {
        self.enter_by_client_cookie(app, tx, parts, present).await?;
        let shown = cookies::read(&parts.headers, cookies::DEV_BROWSER);
        let Some(token) = shown.filter(|_| self.site.is_development()) else { return Ok(()) };
        let digest = sha256(token.as_bytes());
        let Some(browser) = store::find_dev_browser(tx, &self.site.instance, &digest).await? else {
            return Ok(());
        };
        self.is_dev_browser_in_cookie = true;
        self.use_dev_browser(tx, token, digest, browser).await
    }

    async fn enter_by_client_cookie(
        &mut self,
        app: &App,
        tx: &mut Tx,
        parts: &Parts,
        mut present: Option<ClientWithSessions>,
    ) -> Result<()> {
        for token in cookies::read_all(&parts.headers, cookies::CLIENT).take(PROOFS_AT_MOST) {
            match present.take_if(|present| self.site.is_proven(present, token)) {
                Some(present) if app.is_signed(Reading::In(tx), &self.site.instance, token).await? => {
                    self.token_digest = Some(present.token_digest().to_vec());
                    let (client, live) = present.into_parts(&self.site.settings);
                    (self.client, self.live) = (Some(client), Some(live));
                }
                _ => self.enter_by_token(app, tx, token).await?,
            }
            if self.client.is_some() {
                break;
            }
        }
        Ok(())
    }
}

/// The client a token proves: it was signed here, and its secret is the one the client has now.
async fn proven_client(
    app: &App,
    tx: &mut Tx,
    site: &Site,
    token: &str,
) -> Result<Option<(Client, Vec<u8>)>> {
    let Some((id, secret)) = token::read(token) else { return Ok(None) };
    let found = store::find_with_digest(tx, &site.instance, &id).await?;
    let proven = found.filter(|(_, digest)| site.is_proof(&id, digest, &secret));
    match app.is_signed(Reading::In(tx), &site.instance, token).await? {
        true => Ok(proven),
        false => Ok(None),
    }
}

/// Whether a browser shows a cookie by which clients are known. Apps on devices show none, and a script may say in the query
/// what it likes: what proves the client goes into the cookie that no script can read, and never into a header.
fn shows_cookie(headers: &HeaderMap) -> bool {
    [cookies::CLIENT, cookies::DEV_BROWSER].iter().any(|name| cookies::read(headers, name).is_some())
}

/// The id of the client whose cookie comes first, before anything is known about it.
pub(super) fn named_client(headers: &HeaderMap) -> Option<ClientId> {
    cookies::read(headers, cookies::CLIENT).and_then(token::read).map(|(id, _)| id)
}

/// What the query string says about the browser.
#[derive(Default)]
struct VisitorQuery {
    dev_browser: Option<String>,
    is_native: bool,
}

impl VisitorQuery {
    fn read(query: &str) -> Result<VisitorQuery> {
        let mut found = VisitorQuery::default();
        for (key, value) in pairs(query)? {
            match key.as_str() {
                cookies::DEV_BROWSER | "__dev_session" if !value.is_empty() => {
                    found.dev_browser = Some(value);
                }
                "_is_native" => found.is_native = value == "1" || value == "true",
                _ => (),
            }
        }
        Ok(found)
    }
}

/// The origin of a page that shares it with this API: when it only reads, browsers do not name it.
fn own_origin(parts: &Parts, site: &Site) -> Option<String> {
    let is_same = parts.headers.get(FETCH_SITE).is_some_and(|value| value == "same-origin");
    origins::origin(&site.base_url).filter(|_| is_same).map(str::to_owned)
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
