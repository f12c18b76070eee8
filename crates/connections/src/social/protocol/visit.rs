//! One visit of somebody at a provider: what is kept of it, where the provider is asked, and for how long.

use latchkey_base::Result;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::settings::social::TokenAuth;
use serde::{Deserialize, Serialize};

use super::http::Caller;
use super::{Connection, Profile, ProviderTokens};

/// What a provider gave.
#[derive(Clone, Debug)]
pub struct Granted {
    pub profile: Profile,
    pub tokens: ProviderTokens,
}

/// Somebody who was sent to a provider and has not come back: what is kept meanwhile, to check that it is them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PendingVisit {
    /// The configuration by which it began.
    pub version: String,
    /// Where the provider is asked, as it was found when it began.
    pub(super) endpoints: Endpoints,
    /// What proves that whoever began is who ends (RFC 7636).
    pub(super) verifier: Option<String>,
    /// What the ID token must repeat.
    pub(super) nonce: Option<String>,
    /// What people were asked to agree to.
    pub scopes: Vec<String>,
    /// The SHA-256 of the state, in hexadecimal digits.
    pub(super) state_digest: String,
}

/// Where a provider is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::social) struct Endpoints {
    pub(super) authorize: String,
    pub(super) token: String,
    /// How this server proves who it is there; nothing where the row says so.
    #[serde(default)]
    pub(super) token_auth: Option<TokenAuth>,
    /// Where it says who somebody is, if there is such a place.
    pub(super) user: Option<String>,
    /// Where it says which addresses somebody has.
    pub(super) emails: Option<String>,
    /// Where the keys of its ID tokens are.
    pub(super) jwks: Option<String>,
    /// Who its ID tokens must be from.
    pub(super) issuer: Option<String>,
    /// The origin people are sent to, for providers that do not say who they are.
    pub(super) origin: String,
}

/// What sends requests to the provider.
pub(super) fn caller<'a>(cx: &'a Cx, connection: &Connection) -> Caller<'a> {
    Caller { client: &cx.app.outbound, reach: connection.reach }
}

/// Time is over for everything that has to do with one visit of somebody.
pub(super) const DEADLINE: std::time::Duration = std::time::Duration::from_secs(10);

/// Whether a provider that calls itself so is the one that was asked.
pub(super) fn is_issuer(expected: &str, said: &str, tenant: Option<&str>) -> bool {
    let Some((before, after)) = expected.split_once("{tenantid}") else { return expected == said };
    let middle = said.strip_prefix(before).and_then(|rest| rest.strip_suffix(after)).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !middle.is_empty() && middle.bytes().all(is_plain) && tenant.is_none_or(|tenant| tenant == middle)
}

/// The result of work that must be done in time; `late` is what is said otherwise.
pub(super) async fn in_time<T>(
    work: impl Future<Output = Result<T>>,
    late: impl FnOnce() -> latchkey_base::Error,
) -> Result<T> {
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(done) => done,
        Err(_) => Err(late()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_compared_as_a_whole() {
        let google = "https://accounts.google.com";
        assert!(is_issuer(google, google, None));
        for other in
            ["https://accounts.google.com/", "https://accounts.google.com.evil.example", "", "https://x"]
        {
            assert!(!is_issuer(google, other, None), "{other}");
        }
    }

    #[test]
    fn the_issuer_of_microsoft_names_the_tenant() {
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0";
        let said = "https://login.microsoftonline.com/11111111-2222/v2.0";
        assert!(is_issuer(template, said, Some("11111111-2222")));
        assert!(is_issuer(template, said, None));
        assert!(!is_issuer(template, said, Some("33333333-4444")));
        for other in [
            "https://login.microsoftonline.com//v2.0",
            "https://login.microsoftonline.com/a/b/v2.0",
            "https://login.microsoftonline.com/evil.example/v2.0?/v2.0",
            "https://evil.example/11111111-2222/v2.0",
            template,
        ] {
            assert!(!is_issuer(template, other, None), "{other}");
        }
    }
}
