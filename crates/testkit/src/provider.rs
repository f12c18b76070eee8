//! A provider people have accounts at: an OpenID Connect server on this machine that says what it is told, and lies when
//! it is told to. It can also stand in for every provider the server knows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use latchkey_base::time::{Clock, ManualClock};
use latchkey_jose::custom::{self, Algorithm, CustomKey};
use latchkey_jose::digest::sha256;
use latchkey_jose::jwt;
use latchkey_jose::rsa::SigningKey;
use latchkey_kernel::settings::{SealedSetting, SocialProvider};
use serde_json::{Value, json};
use url::Url;
use url::form_urlencoded;

use crate::receiver::{Arrival, Reaction, Receiver};
use crate::server::{Tenant, TestServer};

/// As whom the server is registered there.
pub const CLIENT_ID: &str = "latchkey-client";
/// What it proves that with.
pub const CLIENT_SECRET: &str = "a-secret-between-the-two: it has 49 characters, no less";

/// A provider. It is gone when it is dropped.
pub struct FakeProvider {
    receiver: Receiver,
    state: Arc<ProviderState>,
}

/// Changes the header and the claims of an ID token before it is signed.
type Tamper = Box<dyn Fn(&mut Value, &mut Value) + Send>;

struct ProviderState {
    base: String,
    clock: Arc<ManualClock>,
    person: Mutex<Value>,
    codes: Mutex<HashMap<String, IssuedCode>>,
    made: Mutex<usize>,
    answers: Mutex<HashMap<String, Reaction>>,
    tamper: Mutex<Option<Tamper>>,
    kid: Mutex<String>,
    is_outdated: Mutex<bool>,
    shared_secret: Mutex<Option<String>>,
    discovery: Mutex<Value>,
    withheld: Mutex<Vec<String>>,
}

#[derive(Clone)]
struct IssuedCode {
    nonce: Option<String>,
    challenge: Option<String>,
    redirect_uri: String,
    scope: String,
}

impl FakeProvider {
    /// Starts one that knows one person, Ada.
    pub async fn start(server: &TestServer) -> FakeProvider {
        let receiver = Receiver::start().await;
        let state = Arc::new(ProviderState {
            base: format!("http://127.0.0.1:{}", receiver.port),
            clock: server.clock.clone(),
            person: Mutex::new(json!({
                "sub": "ada-at-provider",
                "email": "ada@example.com",
                "email_verified": true,
                "given_name": "Ada",
                "family_name": "Lovelace",
                "preferred_username": "ada",
                "picture": "https://provider.example/ada.png",
            })),
            codes: Mutex::default(),
            made: Mutex::default(),
            answers: Mutex::default(),
            tamper: Mutex::default(),
            kid: Mutex::new("key-1".to_owned()),
            is_outdated: Mutex::default(),
            shared_secret: Mutex::default(),
            discovery: Mutex::new(json!({})),
            withheld: Mutex::default(),
        });
        let own = state.clone();
        receiver.react_by(move |arrival| own.react(arrival));
        FakeProvider { receiver, state }
    }

    /// Where it is; also its issuer.
    pub fn url(&self) -> &str {
        &self.state.base
    }

    /// From now on it says this about whoever comes: the claims `sub`, `email`, `email_verified`, `given_name`, ….
    pub fn be(&self, person: Value) {
        *self.state.person.lock().unwrap() = person;
    }

    /// From now on a path is answered so. Stand-ins are asked at the host and path of the provider, such as
    /// `/api.github.com/user`.
    pub fn answer(&self, path: &str, answer: &Value) {
        self.react(path, Reaction::Answer(200, answer.to_string().into_bytes()));
    }

    /// The same with any reaction.
    pub fn react(&self, path: &str, reaction: Reaction) {
        self.state.answers.lock().unwrap().insert(path.to_owned(), reaction);
    }

    /// A path is answered as by default again.
    pub fn behave(&self, path: &str) {
        self.state.answers.lock().unwrap().remove(path);
    }

    /// From now on header and claims of ID tokens are changed so before they are signed. One whose header says the
    /// algorithm `none` gets no signature.
    pub fn tamper(&self, change: impl Fn(&mut Value, &mut Value) + Send + 'static) {
        *self.state.tamper.lock().unwrap() = Some(Box::new(change));
    }

    /// From now on ID tokens are honest.
    pub fn be_honest(&self) {
        *self.state.tamper.lock().unwrap() = None;
    }

    /// It signs with another key from now on, which it publishes under this name.
    pub fn rotate(&self, kid: &str) {
        *self.state.kid.lock().unwrap() = kid.to_owned();
    }

    /// It signs with a secret that both sides know from now on (HS256).
    pub fn sign_with_secret(&self, secret: &str) {
        *self.state.shared_secret.lock().unwrap() = Some(secret.to_owned());
    }

    /// Until it is told otherwise it publishes, under the same name, another key than it signs with.
    pub fn publish_another_key(&self, is_another: bool) {
        *self.state.is_outdated.lock().unwrap() = is_another;
    }

    /// Its public keys.
    pub fn jwks(&self) -> Value {
        self.state.jwks()
    }

    /// From now on answers with tokens do not have this field.
    pub fn withhold(&self, field: &str) {
        self.state.withheld.lock().unwrap().push(field.to_owned());
    }

    /// Changes fields of the discovery document.
    pub fn discover(&self, changes: Value) {
        *self.state.discovery.lock().unwrap() = changes;
    }

    /// What arrived at it, in the order of arrival.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.receiver.arrivals()
    }

    /// How many requests came to paths that begin so.
    pub fn count(&self, path: &str) -> usize {
        self.arrivals().iter().filter(|arrival| arrival.path.starts_with(path)).count()
    }

    /// A signed ID token with these claims; time and the issuer are added where they are missing.
    pub fn id_token(&self, claims: &Value) -> String {
        self.state.id_token(claims.clone())
    }

    /// Settings for it as a provider of the application's own, found by its discovery document.
    pub fn custom(&self, server: &TestServer, tenant: &Tenant, key: &str) -> SocialProvider {
        SocialProvider {
            name: Some("Fake".to_owned()),
            discovery_url: Some(format!("{}/.well-known/openid-configuration", self.url())),
            ..self.credentials(server, tenant, key)
        }
    }

    /// Settings for it as the stand-in of a provider that the server knows.
    pub fn stand_in(&self, server: &TestServer, tenant: &Tenant, key: &str) -> SocialProvider {
        SocialProvider { stand_in_url: Some(self.url().to_owned()), ..self.credentials(server, tenant, key) }
    }

    fn credentials(&self, server: &TestServer, tenant: &Tenant, key: &str) -> SocialProvider {
        let path = format!("social.{key}.client_secret");
        SocialProvider {
            enabled: true,
            client_id: Some(CLIENT_ID.to_owned()),
            client_secret: Some(
                SealedSetting::seal(&server.master, &tenant.id, &path, CLIENT_SECRET).unwrap(),
            ),
            ..SocialProvider::default()
        }
    }

    /// What a browser does that is sent to it: somebody agrees, and is sent back to this address.
    #[track_caller]
    pub fn visit(&self, url: &str) -> String {
        self.state.agreed(url)
    }

    /// The same by somebody who does not agree.
    #[track_caller]
    pub fn deny(&self, url: &str) -> String {
        let query = query(url);
        let mut back = Url::parse(&query["redirect_uri"]).unwrap();
        back.query_pairs_mut().append_pair("error", "access_denied").append_pair("state", &query["state"]);
        back.into()
    }
}

impl ProviderState {
    fn react(&self, arrival: &Arrival) -> Reaction {
        let path = arrival.path.split('?').next().unwrap_or_default();
        if let Some(reaction) = self.answers.lock().unwrap().get(path) {
            return reaction.clone();
        }
        let json = |status: u16, body: Value| Reaction::Answer(status, body.to_string().into_bytes());
        match path {
            "/.well-known/openid-configuration" => json(200, self.discovery_document()),
            "/jwks" => json(200, self.jwks()),
            "/authorize" => Reaction::Redirect(302, self.agreed(&format!("{}{}", self.base, arrival.path))),
            "/token" => match self.exchange(arrival) {
                Ok(answer) => json(200, answer),
                Err(word) => json(400, json!({ "error": word, "error_description": "Not so." })),
            },
            "/userinfo" if arrival.header("authorization").starts_with("Bearer at-") => {
                json(200, self.person.lock().unwrap().clone())
            }
            "/userinfo" => json(401, json!({"error": "invalid_token"})),
            _ => json(404, json!({})),
        }
    }

    fn discovery_document(&self) -> Value {
        let base = &self.base;
        let mut document = json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "userinfo_endpoint": format!("{base}/userinfo"),
            "jwks_uri": format!("{base}/jwks"),
            "authorization_response_iss_parameter_supported": true,
        });
        for (name, value) in self.discovery.lock().unwrap().as_object().unwrap() {
            document[name] = value.clone();
        }
        document
    }

    fn jwks(&self) -> Value {
        let is_outdated = *self.is_outdated.lock().unwrap();
        let key = if is_outdated { other_key() } else { key() };
        json!({ "keys": [key.public_jwk(&self.kid.lock().unwrap())] })
    }

    #[track_caller]
    fn agreed(&self, url: &str) -> String {
        let query = query(url);
        assert_eq!(query["response_type"], "code");
        let code = {
            let mut made = self.made.lock().unwrap();
            *made += 1;
            format!("code-{made}")
        };
        let issued = IssuedCode {
            nonce: query.get("nonce").cloned(),
            challenge: query.get("code_challenge").cloned(),
            redirect_uri: query["redirect_uri"].clone(),
            scope: query.get("scope").cloned().unwrap_or_default(),
        };
        self.codes.lock().unwrap().insert(code.clone(), issued);
        let mut back = Url::parse(&query["redirect_uri"]).unwrap();
        back.query_pairs_mut()
            .append_pair("code", &code)
            .append_pair("state", &query["state"])
            .append_pair("iss", &self.base);
        back.into()
    }

    /// The tokens for a code, or the word of a refusal. A code is good once.
    fn exchange(&self, arrival: &Arrival) -> Result<Value, &'static str> {
        let fields = fields(arrival);
        let field = |name: &str| fields.get(name).map(String::as_str).unwrap_or_default();
        let pair = format!("{}:{}", form(CLIENT_ID), form(CLIENT_SECRET));
        let is_basic = arrival.header("authorization") == format!("Basic {}", STANDARD.encode(pair));
        let is_post = field("client_id") == CLIENT_ID && field("client_secret") == CLIENT_SECRET;
        if !is_basic && !is_post {
            return Err("invalid_client");
        }
        let tokens = |scope: &str, id_token: Option<String>| {
            let mut made = self.made.lock().unwrap();
            *made += 1;
            let mut answer = json!({
                "access_token": format!("at-{made}"), "refresh_token": format!("rt-{made}"), "expires_in": 3600,
                "token_type": "Bearer", "scope": scope, "id_token": id_token,
            });
            for field in &*self.withheld.lock().unwrap() {
                answer.as_object_mut().unwrap().remove(field);
            }
            answer
        };
        if field("grant_type") == "refresh_token" {
            return match field("refresh_token").starts_with("rt-") {
                true => Ok(tokens("openid", None)),
                false => Err("invalid_grant"),
            };
        }
        let issued = self.codes.lock().unwrap().remove(field("code")).ok_or("invalid_grant")?;
        let verifier = URL_SAFE_NO_PAD.encode(sha256(field("code_verifier").as_bytes()));
        let is_proven = issued.challenge.as_ref().is_none_or(|challenge| *challenge == verifier);
        if !is_proven || issued.redirect_uri != field("redirect_uri") {
            return Err("invalid_grant");
        }
        let mut claims = self.person.lock().unwrap().clone();
        claims["nonce"] = json!(issued.nonce);
        Ok(tokens(&issued.scope, Some(self.id_token(claims))))
    }

    fn id_token(&self, mut claims: Value) -> String {
        let now = self.clock.now().seconds();
        for (name, value) in [
            ("iss", json!(self.base)),
            ("aud", json!(CLIENT_ID)),
            ("iat", json!(now)),
            ("exp", json!(now + 300)),
        ] {
            if claims.get(name).is_none() {
                claims[name] = value;
            }
        }
        let mut header = json!({"alg": "RS256", "kid": *self.kid.lock().unwrap(), "typ": "JWT"});
        if let Some(tamper) = &*self.tamper.lock().unwrap() {
            tamper(&mut header, &mut claims);
        }
        if let Some(secret) = &*self.shared_secret.lock().unwrap() {
            header["alg"] = json!("HS256");
            let key = CustomKey::parse(Algorithm::Hs256, secret).unwrap();
            return custom::token(&key, &header, &claims).unwrap();
        }
        let token = jwt::sign(key(), &header, &claims).unwrap();
        match header["alg"].as_str() {
            Some("none") => format!("{}.", token.rsplit_once('.').unwrap().0),
            _ => token,
        }
    }
}

/// One that no provider signs with.
fn other_key() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::generate().unwrap())
}

/// Making an RSA key takes a while; all providers share one.
fn key() -> &'static SigningKey {
    static KEY: OnceLock<SigningKey> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::generate().unwrap())
}

/// A text as it is written in forms.
fn form(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn query(url: &str) -> HashMap<String, String> {
    Url::parse(url).unwrap().query_pairs().into_owned().collect()
}

/// The fields of a request, sent as a form or as JSON.
pub fn fields(arrival: &Arrival) -> HashMap<String, String> {
    match serde_json::from_slice::<HashMap<String, Value>>(&arrival.body) {
        Ok(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
        Err(_) => form_urlencoded::parse(&arrival.body).into_owned().collect(),
    }
}
