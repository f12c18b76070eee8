//! Where a provider of an application's own is asked: what the settings say, or what it says itself.
//!
//! Whoever can change a discovery document could have codes, secrets and identities sent elsewhere. So the document must
//! be about the issuer that the settings name, and everything in it must be at the issuer's host or at hosts that the
//! settings list.

use latchkey_base::{Code, Error, Result};
use latchkey_kernel::cx::Cx;
use serde_json::Value;
use url::Url;

use super::http::Caller;
use super::{Connection, Endpoints, in_time};

/// Where the provider is asked.
pub(in crate::social) async fn endpoints(cx: &Cx, connection: &Connection) -> Result<Endpoints> {
    let Some(url) = connection.settings.discovery_url.as_deref().filter(|_| connection.is_custom()) else {
        return Ok(connection.fixed_endpoints());
    };
    let late = || unreachable(connection, "it took too long");
    in_time(
        async {
            let caller = Caller { client: &cx.app.outbound, reach: connection.reach };
            let document = caller.get(url, Vec::new()).await;
            let document = document.map_err(|failure| unreachable(connection, &failure.to_string()))?;
            checked(connection, &document)
        },
        late,
    )
    .await
}

fn unreachable(connection: &Connection, why: &str) -> Error {
    tracing::warn!("the discovery document of {} cannot be read: {why}", connection.key);
    Error::new(Code::CustomOauthProviderDiscoveryServerRetrievalError)
}

fn checked(connection: &Connection, document: &Value) -> Result<Endpoints> {
    let settings = &connection.settings;
    let expected = settings.issuer.as_deref().or(settings.implied_issuer()).unwrap_or_default();
    let issuer = document["issuer"].as_str().unwrap_or_default();
    // A slash at the end is written by some and left out by others; nothing else may differ.
    if expected.is_empty() || issuer.trim_end_matches('/') != expected.trim_end_matches('/') {
        return Err(Error::new(Code::CustomOauthProviderDiscoveryIssuerMismatch));
    }
    let place = |name: &str| {
        let url = document[name].as_str().unwrap_or_default();
        match is_allowed(connection, expected, url) {
            true => Ok(url.to_owned()),
            false => Err(Error::new(Code::CustomOauthProviderCannotUseDiscoveryUrl).saying(format!(
                "`{name}` of its discovery document is missing, or at a host that is not allowed."
            ))),
        }
    };
    let optional = |name: &str| match document[name].is_null() {
        true => Ok(None),
        false => place(name).map(Some),
    };
    let authorize = place("authorization_endpoint")?;
    Ok(Endpoints {
        origin: Url::parse(&authorize).map(|url| url.origin().ascii_serialization()).unwrap_or_default(),
        authorize,
        token: place("token_endpoint")?,
        user: optional("userinfo_endpoint")?,
        emails: None,
        jwks: Some(place("jwks_uri")?),
        issuer: Some(issuer.to_owned()),
    })
}

/// At the origin of the issuer; or over https at a host that the settings list.
fn is_allowed(connection: &Connection, issuer: &str, text: &str) -> bool {
    let (Ok(issuer), Ok(url)) = (Url::parse(issuer), Url::parse(text)) else { return false };
    let is_bare = url.username().is_empty() && url.password().is_none();
    let host = url.host_str().unwrap_or_default();
    let is_listed = url.scheme() == "https"
        && url.port().is_none()
        && connection.settings.endpoint_hosts.iter().any(|listed| listed == host);
    is_bare && text.len() <= 1024 && (url.origin() == issuer.origin() || is_listed)
}
