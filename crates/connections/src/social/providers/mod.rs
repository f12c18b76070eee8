//! What is known about each provider: one row each, and one driver for all of them (`protocol`). A row says where a
//! provider is asked and how; what it answers is read by a function of `profiles`.

pub mod profiles;
pub mod rows;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a provider said about somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    /// What somebody is known by there for ever.
    pub provider_user_id: String,
    pub email_address: Option<String>,
    /// Whether the provider proved the address; nothing when it did not say and nobody configured it.
    pub email_address_verified: Option<bool>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub username: Option<String>,
    pub image_url: Option<String>,
    pub phone_number: Option<String>,
    /// What somebody agreed to, with spaces between.
    pub approved_scopes: String,
    /// What tells the account from others where it has no address.
    pub label: Option<String>,
}

/// A provider, or the pattern for those of an application's own.
#[derive(Debug)]
pub struct ProviderRow {
    /// Such as `google`.
    pub key: &'static str,
    /// Where people are sent to.
    pub authorize_url: &'static str,
    /// Where tokens are given out.
    pub token_url: &'static str,
    /// Where it says who somebody is.
    pub user: UserSource,
    /// How its ID tokens are checked, if it has some that count.
    pub id_token: Option<IdTokenRules>,
    /// The scopes that signing in needs.
    pub scopes: &'static [&'static str],
    /// What stands between scopes.
    pub scope_separator: char,
    /// How this server proves who it is.
    pub client_auth: ClientAuth,
    /// Whether it takes PKCE (RFC 7636).
    pub has_pkce: bool,
    /// Whether the answer comes as a form, and not in the address.
    pub answers_by_form: bool,
    /// Further parameters of the address people are sent to.
    pub params: &'static [(&'static str, &'static str)],
    /// Further headers of requests about somebody.
    pub headers: &'static [(&'static str, &'static str)],
    /// Whether its tokens can be renewed.
    pub has_refresh: bool,
    /// Reads what it said about somebody.
    pub profile: fn(&ProviderAnswers<'_>) -> Option<Profile>,
}

/// Where a provider says who somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSource {
    /// In the ID token.
    IdToken,
    /// In the answer with the access token.
    TokenAnswer,
    /// At an address, which is shown the access token.
    Get(&'static str),
    /// The same, with the HMAC of the access token as a parameter.
    GetWithProof(&'static str),
    /// At two addresses: the second one is about e-mail addresses.
    GetBoth(&'static str, &'static str),
    /// At an address that takes a POST without a body.
    Post(&'static str),
    /// In the answer to a query.
    GraphQl(&'static str, &'static str),
    /// At an address that ends with the access token.
    TokenInPath(&'static str),
}

/// How ID tokens are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdTokenRules {
    /// Who they must be from. `{tenantid}` is what the claim `tid` says.
    pub issuer: &'static str,
    /// Another way in which the issuer is written.
    pub other_issuer: Option<&'static str>,
    /// Where the keys are.
    pub jwks_url: &'static str,
    /// Whether a token may also be signed with the secret that both sides know (HS256).
    pub by_shared_secret: bool,
}

/// How this server proves who it is when it asks for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// In the header `Authorization`.
    Basic,
    /// The same, and the rest of the request is JSON.
    BasicJson,
    /// In the form.
    Post,
    /// In the form, where the client id is called `client_key`.
    PostKey,
    /// In the form, as a token that is signed with Apple's key.
    AppleJwt,
}

/// What a provider said, all together. What it was not asked for is null.
pub struct ProviderAnswers<'a> {
    /// The answer with the tokens.
    pub token: &'a Value,
    /// The claims of the ID token, once they were checked.
    pub claims: &'a Value,
    /// What it says about the user.
    pub user: &'a Value,
    /// What it says about the user's addresses.
    pub emails: &'a Value,
    /// What came with the browser, and may have been written by anybody: Apple's field `user`.
    pub form: &'a Value,
}
