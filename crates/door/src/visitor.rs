//! Who asks: the client behind a request of a browser or device, if it has one yet.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::request::Parts;
use latchkey_base::kinds::{ClientId, SessionId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::digest::sha256;
use latchkey_kernel::cx::{Act, Cx, InstanceContext};
use latchkey_kernel::signing::Reading;
use latchkey_kernel::{App, AppState, origins};
use latchkey_people::factors::audience::FactorAudience;
use latchkey_presence::clients::earlier::EarlierClient;
use latchkey_presence::clients::model::Client;
use latchkey_presence::clients::token::ClientProof;
use latchkey_presence::clients::{store, token};
use latchkey_presence::sessions::present::{ClientWithSessions, PresentSession};
use latchkey_web::api::{Credential, Operation};
use latchkey_web::input::Path;
use latchkey_web::query::pairs;
use latchkey_web::reply::Failure;
use latchkey_web::signature::Argument;

use super::client_handle::{ClientHandle, is_same};
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
///
/// A visitor whose token is from before the last sign-in has no client, so code that does not know of earlier tokens
/// handles an anonymous request. What such a token is still good for asks by session: `require_client_of` and
/// `ClientHandle::lock_of`.
pub struct Visitor {
    /// The instance.
    pub site: Arc<Site>,
    pub(super) client: Option<Client>,
    /// The digest of the client's secret as it was then. A client that has another one since is no longer this
    /// visitor's: somebody signed in on it, and whoever knew the old secret, or led to it, is out.
    pub(super) token_digest: Option<Vec<u8>>,
    /// What the token of the request shows, if it is from before the last sign-in on the client.
    pub(super) earlier: Option<EarlierProof>,
    /// The origin of the page that asks.
    pub origin: Option<String>,
    /// Whether it is an app on a device, which keeps its token itself instead of in a cookie.
    pub is_native: bool,
    /// Whether clerk-js sends the request, in a browser or in a native app.
    pub is_clerk_js: bool,
    /// The digest of the token of a developer's browser.
    pub dev_browser: Option<[u8; 32]>,
    /// Whether that token was shown in a cookie, and not in the URL.
    pub is_dev_browser_in_cookie: bool,
    /// That token itself, if it was shown and proves the client.
    pub shown_dev_browser: Option<String>,
    /// What proves the client from this request on; it goes out with the answer.
    pub fresh: Option<(ClientId, ClientProof)>,
    /// Who is signed in on the client, if that was read when the request came.
    pub live: Option<Vec<PresentSession>>,
}

/// A client that the request proves with an earlier token.
pub(super) struct EarlierProof {
    pub(super) client: EarlierClient,
    /// The digest of the secret in the token.
    pub(super) digest: Vec<u8>,
}

/// What a secret proves.
enum Proof {
    /// The client: it is the secret that the client has now.
    Newest(Client, Vec<u8>),
    /// The sessions that the client had before another sign-in.
    Earlier(EarlierProof),
}

impl Visitor {
    /// A visitor without a client, of whom nothing else is known either.
    fn at(site: Arc<Site>) -> Visitor {
        Visitor {
            site,
            client: None,
            token_digest: None,
            earlier: None,
            origin: None,
            is_native: false,
            is_clerk_js: false,
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
            client: self.client_id(),
            token_digest: self.token_digest.clone(),
            earlier: self
                .earlier
                .as_ref()
                .map(|proof| (proof.client.client().id.clone(), proof.digest.clone())),
            dev_browser: self.dev_browser,
        }
    }

    /// Notes what a transaction made of the client: it is shown with the answer, and a new secret is
    /// handed out.
    pub fn becomes(&mut self, client: Client, proof: Option<ClientProof>) {
        if let Some(proof) = proof {
            // What this request itself made of the client needs no further look.
            self.token_digest = None;
            self.earlier = None;
            self.fresh = Some((client.id.clone(), proof));
        }
        // An earlier token shows no more of the client than before.
        if self.earlier.is_none() {
            self.client = Some(client);
        }
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

    /// The client as the token of the request shows it, be it the newest token or an earlier one.
    pub(super) fn shown_client(&self) -> Option<&Client> {
        self.client.as_ref().or(self.earlier.as_ref().map(|proof| proof.client.client()))
    }

    /// Returns whether the token of the request shows a session of its client.
    pub(super) fn shows(&self, session: &SessionId) -> bool {
        self.earlier.as_ref().is_none_or(|proof| proof.client.shows(session))
    }

    /// Returns the client of the request for one of its sessions: the client itself, or what an earlier token shows of
    /// it, if it shows the session. The caller compares the client of the session with it.
    pub fn require_client_of(&self, session: &SessionId) -> Result<&Client> {
        let client = self.shown_client().ok_or_else(|| Error::new(Code::SignedOut))?;
        if !self.shows(session) {
            return Err(Error::not_found("session", session));
        }
        Ok(client)
    }

    /// The id of the client and the digest of the secret that the request showed or created: what a further token of the
    /// same browser may prove. A secret that another request has replaced since proves no more by that.
    pub fn client_proof(&self) -> Option<(ClientId, Vec<u8>)> {
        let fresh = self.fresh.as_ref().map(|(_, proof)| token::digest(&proof.secret).to_vec());
        self.client_id().zip(fresh.or_else(|| self.token_digest.clone()))
    }

    /// Returns whether the request proves a client at all, be it by the newest token or by an earlier one.
    pub fn has_client(&self) -> bool {
        self.shown_client().is_some()
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
        let is_clerk_js = query.is_clerk_js;
        let mut visitor = Visitor { origin, is_native, is_clerk_js, ..Visitor::at(site) };
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
    /// A developer's browser shows its token in the URL; the token must be known. If it does not prove the client, it may
    /// be from before a sign-in in another tab, and the cookie of the client from after it. So the cookie comes first then.
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
        let proof = self.proof_of(tx, browser).await?;
        if !matches!(proof, Some(Proof::Newest(..))) && !self.is_native {
            self.enter_by_client_cookie(app, tx, parts, None).await?;
        }
        self.use_dev_browser(token, digest, proof);
        Ok(())
    }

    /// Takes a developer's browser that was looked up. Its client becomes that of the request, unless a cookie
    /// showed another one.
    fn use_dev_browser(&mut self, token: &str, digest: [u8; 32], proof: Option<Proof>) {
        self.dev_browser = Some(digest);
        let proves = proof.as_ref().map(Proof::client_id).cloned();
        let is_newest = matches!(proof, Some(Proof::Newest(..)));
        if let Some(proof) = proof {
            self.take(proof);
        }
        let shown = self.client.as_ref().map(|client| &client.id);
        let is_proof = match &self.client {
            Some(_) => is_newest && shown == proves.as_ref(),
            None => self.shown_client().map(|client| &client.id) == proves.as_ref(),
        };
        self.shown_dev_browser = is_proof.then(|| token.to_owned());
    }

    /// What a developer's browser proves.
    async fn proof_of(&self, tx: &mut Tx, browser: store::DevBrowser) -> Result<Option<Proof>> {
        let Some((id, shown)) = browser.client else { return Ok(None) };
        let found = store::find_with_digest(tx, &self.site.instance, &id).await?;
        Ok(found.and_then(|(client, digest)| {
            if digest == shown {
                return Some(Proof::Newest(client, digest));
            }
            Proof::earlier(&client, shown)
        }))
    }

    /// A token nobody knows is ignored.
    async fn enter_by_token(&mut self, app: &App, tx: &mut Tx, token: &str) -> Result<()> {
        if let Some(proof) = proof_in(app, tx, &self.site, token).await? {
            self.take(proof);
        }
        Ok(())
    }

    /// Takes what a token proves. The newest token of a client counts more than an earlier one, and else the first.
    fn take(&mut self, proof: Proof) {
        match proof {
            Proof::Newest(client, digest) if self.client.is_none() => {
                (self.client, self.token_digest, self.earlier) = (Some(client), Some(digest), None);
            }
            Proof::Earlier(earlier) if self.client.is_none() && self.earlier.is_none() => {
                self.earlier = Some(earlier);
            }
            Proof::Newest(..) | Proof::Earlier(_) => {}
        }
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
        let proof = self.proof_of(tx, browser).await?;
        self.use_dev_browser(token, digest, proof);
        Ok(())
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
                    self.earlier = None;
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

impl Proof {
    fn earlier(client: &Client, digest: Vec<u8>) -> Option<Proof> {
        let client = client.as_shown_before(&digest)?;
        Some(Proof::Earlier(EarlierProof { client, digest }))
    }

    fn client_id(&self) -> &ClientId {
        match self {
            Proof::Newest(client, _) => &client.id,
            Proof::Earlier(earlier) => &earlier.client.client().id,
        }
    }
}

/// What a token proves: it was signed here, and its secret is the one that the client has now, or one that it had. At
/// satellites only the newest one is good: the browser gets it from the primary domain.
async fn proof_in(app: &App, tx: &mut Tx, site: &Site, token: &str) -> Result<Option<Proof>> {
    let Some((id, secret)) = token::read(token) else { return Ok(None) };
    let found = store::find_with_digest(tx, &site.instance, &id).await?;
    let proof = found.and_then(|(client, digest)| {
        if site.is_proof(&id, &digest, &secret) {
            return Some(Proof::Newest(client, digest));
        }
        let is_primary = site.satellite.is_none();
        is_primary.then(|| Proof::earlier(&client, token::digest(&secret).to_vec())).flatten()
    });
    let is_signed = app.is_signed(Reading::In(tx), &site.instance, token).await?;
    Ok(proof.filter(|_| is_signed))
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
    is_clerk_js: bool,
}

impl VisitorQuery {
    fn read(query: &str) -> Result<VisitorQuery> {
        let mut found = VisitorQuery::default();
        for (key, value) in pairs(query)? {
            match key.as_str() {
                cookies::DEV_BROWSER | "__dev_session" if !value.is_empty() => {
                    found.dev_browser = Some(value);
                }
                "_clerk_js_version" => found.is_clerk_js = true,
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
