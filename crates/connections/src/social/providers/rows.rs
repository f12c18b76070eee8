//! The rows: endpoints, scopes and manners of every provider that can be used.

use super::profiles as read;
use super::{ClientAuth, IdTokenRules, ProviderRow, UserSource};

/// The row of a provider, by its key.
pub fn find(key: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.key == key)
}

/// What most providers do; a row says what is special about one.
const USUAL: ProviderRow = ProviderRow {
    key: "",
    authorize_url: "",
    token_url: "",
    user: UserSource::IdToken,
    id_token: None,
    scopes: &[],
    scope_separator: ' ',
    client_auth: ClientAuth::Post,
    has_pkce: false,
    answers_by_form: false,
    params: &[],
    headers: &[],
    has_refresh: false,
    profile: read::openid,
};

/// The pattern for a provider of an application's own; its addresses are in the settings.
pub const CUSTOM: ProviderRow = ProviderRow { key: "custom", has_refresh: true, ..USUAL };

/// The one that asks people who they want to be; it is spoken to inside of the server.
pub const MOCK: ProviderRow = ProviderRow { key: "mock", ..USUAL };

const fn id_token(issuer: &'static str, jwks_url: &'static str) -> Option<IdTokenRules> {
    Some(IdTokenRules { issuer, other_issuer: None, jwks_url, by_shared_secret: false })
}

const OPENID: &[&str] = &["openid", "profile", "email"];

/// All of them, in the order of the alphabet.
pub const ROWS: &[ProviderRow] = &[
    ProviderRow {
        key: "apple",
        authorize_url: "https://appleid.apple.com/auth/authorize",
        token_url: "https://appleid.apple.com/auth/token",
        id_token: id_token("https://appleid.apple.com", "https://appleid.apple.com/auth/keys"),
        scopes: &["name", "email"],
        client_auth: ClientAuth::AppleJwt,
        answers_by_form: true,
        has_refresh: true,
        profile: read::apple,
        ..USUAL
    },
    ProviderRow {
        key: "atlassian",
        authorize_url: "https://auth.atlassian.com/authorize",
        token_url: "https://auth.atlassian.com/oauth/token",
        user: UserSource::Get("https://api.atlassian.com/me"),
        scopes: &["read:me", "offline_access"],
        has_pkce: true,
        params: &[("audience", "api.atlassian.com"), ("prompt", "consent")],
        has_refresh: true,
        profile: read::atlassian,
        ..USUAL
    },
    // Scopes are those of the registered consumer: asking for one that it does not have is an error.
    ProviderRow {
        key: "bitbucket",
        authorize_url: "https://bitbucket.org/site/oauth2/authorize",
        token_url: "https://bitbucket.org/site/oauth2/access_token",
        user: UserSource::GetBoth(
            "https://api.bitbucket.org/2.0/user",
            "https://api.bitbucket.org/2.0/user/emails",
        ),
        client_auth: ClientAuth::Basic,
        has_refresh: true,
        profile: read::bitbucket,
        ..USUAL
    },
    // Scopes are those of the registered application.
    ProviderRow {
        key: "box",
        authorize_url: "https://account.box.com/api/oauth2/authorize",
        token_url: "https://api.box.com/oauth2/token",
        user: UserSource::Get("https://api.box.com/2.0/users/me"),
        has_refresh: true,
        profile: read::box_com,
        ..USUAL
    },
    ProviderRow {
        key: "coinbase",
        authorize_url: "https://login.coinbase.com/oauth2/auth",
        token_url: "https://login.coinbase.com/oauth2/token",
        user: UserSource::Get("https://api.coinbase.com/v2/user"),
        scopes: &["wallet:user:read", "wallet:user:email"],
        headers: &[("cb-version", "2024-02-07")],
        has_refresh: true,
        profile: read::coinbase,
        ..USUAL
    },
    ProviderRow {
        key: "discord",
        authorize_url: "https://discord.com/api/oauth2/authorize",
        token_url: "https://discord.com/api/oauth2/token",
        user: UserSource::Get("https://discord.com/api/users/@me"),
        scopes: &["identify", "email"],
        has_pkce: true,
        has_refresh: true,
        profile: read::discord,
        ..USUAL
    },
    ProviderRow {
        key: "dropbox",
        authorize_url: "https://www.dropbox.com/oauth2/authorize",
        token_url: "https://api.dropboxapi.com/oauth2/token",
        user: UserSource::Post("https://api.dropboxapi.com/2/users/get_current_account"),
        scopes: &["account_info.read"],
        has_pkce: true,
        params: &[("token_access_type", "offline")],
        has_refresh: true,
        profile: read::dropbox,
        ..USUAL
    },
    ProviderRow {
        key: "facebook",
        authorize_url: "https://www.facebook.com/v24.0/dialog/oauth",
        token_url: "https://graph.facebook.com/v24.0/oauth/access_token",
        user: UserSource::GetWithProof(
            "https://graph.facebook.com/v24.0/me?fields=id,name,first_name,last_name,email,picture",
        ),
        scopes: &["email", "public_profile"],
        scope_separator: ',',
        profile: read::facebook,
        ..USUAL
    },
    ProviderRow {
        key: "github",
        authorize_url: "https://github.com/login/oauth/authorize",
        token_url: "https://github.com/login/oauth/access_token",
        user: UserSource::GetBoth(
            "https://api.github.com/user",
            "https://api.github.com/user/emails?per_page=100",
        ),
        scopes: &["read:user", "user:email"],
        has_pkce: true,
        // Tokens of OAuth apps do not expire; those of GitHub apps may, and are renewed.
        has_refresh: true,
        profile: read::github,
        ..USUAL
    },
    ProviderRow {
        key: "gitlab",
        authorize_url: "https://gitlab.com/oauth/authorize",
        token_url: "https://gitlab.com/oauth/token",
        user: UserSource::Get("https://gitlab.com/api/v4/user"),
        scopes: &["read_user"],
        has_pkce: true,
        has_refresh: true,
        profile: read::gitlab,
        ..USUAL
    },
    ProviderRow {
        key: "google",
        authorize_url: "https://accounts.google.com/o/oauth2/v2/auth",
        token_url: "https://oauth2.googleapis.com/token",
        id_token: Some(IdTokenRules {
            issuer: "https://accounts.google.com",
            other_issuer: Some("accounts.google.com"),
            jwks_url: "https://www.googleapis.com/oauth2/v3/certs",
            by_shared_secret: false,
        }),
        scopes: &["openid", "email", "profile"],
        has_pkce: true,
        params: &[("access_type", "offline"), ("include_granted_scopes", "true")],
        has_refresh: true,
        ..USUAL
    },
    ProviderRow {
        key: "hubspot",
        authorize_url: "https://app.hubspot.com/oauth/authorize",
        token_url: "https://api.hubapi.com/oauth/v1/token",
        user: UserSource::TokenInPath("https://api.hubapi.com/oauth/v1/access-tokens/"),
        scopes: &["oauth"],
        has_refresh: true,
        profile: read::hubspot,
        ..USUAL
    },
    ProviderRow {
        key: "huggingface",
        authorize_url: "https://huggingface.co/oauth/authorize",
        token_url: "https://huggingface.co/oauth/token",
        user: UserSource::Get("https://huggingface.co/oauth/userinfo"),
        scopes: OPENID,
        client_auth: ClientAuth::Basic,
        has_pkce: true,
        has_refresh: true,
        profile: read::openid_user,
        ..USUAL
    },
    ProviderRow {
        key: "line",
        authorize_url: "https://access.line.me/oauth2/v2.1/authorize",
        token_url: "https://api.line.me/oauth2/v2.1/token",
        id_token: Some(IdTokenRules {
            issuer: "https://access.line.me",
            other_issuer: None,
            jwks_url: "https://api.line.me/oauth2/v2.1/certs",
            by_shared_secret: true,
        }),
        scopes: OPENID,
        has_pkce: true,
        has_refresh: true,
        profile: read::line,
        ..USUAL
    },
    ProviderRow {
        key: "linear",
        authorize_url: "https://linear.app/oauth/authorize",
        token_url: "https://api.linear.app/oauth/token",
        user: UserSource::GraphQl(
            "https://api.linear.app/graphql",
            "{ viewer { id name displayName email avatarUrl } }",
        ),
        scopes: &["read"],
        scope_separator: ',',
        has_pkce: true,
        has_refresh: true,
        profile: read::linear,
        ..USUAL
    },
    ProviderRow {
        key: "linkedin",
        authorize_url: "https://www.linkedin.com/oauth/v2/authorization",
        token_url: "https://www.linkedin.com/oauth/v2/accessToken",
        user: UserSource::GetBoth(
            "https://api.linkedin.com/v2/me",
            "https://api.linkedin.com/v2/emailAddress?q=members&projection=(elements*(handle~))",
        ),
        scopes: &["r_liteprofile", "r_emailaddress"],
        has_refresh: true,
        profile: read::linkedin,
        ..USUAL
    },
    ProviderRow {
        key: "linkedin_oidc",
        authorize_url: "https://www.linkedin.com/oauth/v2/authorization",
        token_url: "https://www.linkedin.com/oauth/v2/accessToken",
        user: UserSource::Get("https://api.linkedin.com/v2/userinfo"),
        scopes: OPENID,
        has_refresh: true,
        profile: read::openid_user,
        ..USUAL
    },
    ProviderRow {
        key: "microsoft",
        authorize_url: "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        token_url: "https://login.microsoftonline.com/common/oauth2/v2.0/token",
        id_token: id_token(
            "https://login.microsoftonline.com/{tenantid}/v2.0",
            "https://login.microsoftonline.com/common/discovery/v2.0/keys",
        ),
        scopes: &["openid", "profile", "email", "offline_access"],
        has_pkce: true,
        has_refresh: true,
        profile: read::microsoft,
        ..USUAL
    },
    ProviderRow {
        key: "notion",
        authorize_url: "https://api.notion.com/v1/oauth/authorize",
        token_url: "https://api.notion.com/v1/oauth/token",
        user: UserSource::TokenAnswer,
        client_auth: ClientAuth::BasicJson,
        params: &[("owner", "user")],
        headers: &[("notion-version", "2022-06-28")],
        has_refresh: true,
        profile: read::notion,
        ..USUAL
    },
    ProviderRow {
        key: "slack",
        authorize_url: "https://slack.com/openid/connect/authorize",
        token_url: "https://slack.com/api/openid.connect.token",
        user: UserSource::Get("https://slack.com/api/openid.connect.userInfo"),
        id_token: id_token("https://slack.com", "https://slack.com/openid/connect/keys"),
        scopes: OPENID,
        has_refresh: true,
        ..USUAL
    },
    ProviderRow {
        key: "spotify",
        authorize_url: "https://accounts.spotify.com/authorize",
        token_url: "https://accounts.spotify.com/api/token",
        user: UserSource::Get("https://api.spotify.com/v1/me"),
        scopes: &["user-read-email"],
        client_auth: ClientAuth::Basic,
        has_pkce: true,
        has_refresh: true,
        profile: read::spotify,
        ..USUAL
    },
    ProviderRow {
        key: "tiktok",
        authorize_url: "https://www.tiktok.com/v2/auth/authorize/",
        token_url: "https://open.tiktokapis.com/v2/oauth/token/",
        user: UserSource::Get(
            "https://open.tiktokapis.com/v2/user/info/?fields=open_id,union_id,avatar_url,display_name",
        ),
        scopes: &["user.info.basic"],
        scope_separator: ',',
        client_auth: ClientAuth::PostKey,
        has_refresh: true,
        profile: read::tiktok,
        ..USUAL
    },
    // The address is in the ID token only, and only if it is asked for by name.
    ProviderRow {
        key: "twitch",
        authorize_url: "https://id.twitch.tv/oauth2/authorize",
        token_url: "https://id.twitch.tv/oauth2/token",
        id_token: id_token("https://id.twitch.tv/oauth2", "https://id.twitch.tv/oauth2/keys"),
        scopes: &["openid", "user:read:email"],
        params: &[(
            "claims",
            r#"{"id_token":{"email":null,"email_verified":null,"picture":null,"preferred_username":null}}"#,
        )],
        has_refresh: true,
        ..USUAL
    },
    ProviderRow {
        key: "vercel",
        authorize_url: "https://vercel.com/oauth/authorize",
        token_url: "https://api.vercel.com/login/oauth/token",
        user: UserSource::Get("https://api.vercel.com/login/oauth/userinfo"),
        scopes: OPENID,
        has_pkce: true,
        has_refresh: true,
        profile: read::openid_user,
        ..USUAL
    },
    ProviderRow {
        key: "x",
        authorize_url: "https://x.com/i/oauth2/authorize",
        token_url: "https://api.x.com/2/oauth2/token",
        user: UserSource::Get("https://api.x.com/2/users/me?user.fields=confirmed_email,profile_image_url"),
        scopes: &["users.read", "tweet.read", "offline.access"],
        client_auth: ClientAuth::Basic,
        has_pkce: true,
        has_refresh: true,
        profile: read::x,
        ..USUAL
    },
    ProviderRow {
        key: "xero",
        authorize_url: "https://login.xero.com/identity/connect/authorize",
        token_url: "https://identity.xero.com/connect/token",
        user: UserSource::Get("https://identity.xero.com/connect/userinfo"),
        scopes: OPENID,
        client_auth: ClientAuth::Basic,
        has_pkce: true,
        has_refresh: true,
        profile: read::unproven_openid_user,
        ..USUAL
    },
];

#[cfg(test)]
mod tests {
    use latchkey_kernel::settings::social::{KNOWN_PROVIDERS, ProviderStanding};

    use super::*;

    #[test]
    fn every_provider_that_settings_know_has_a_row_unless_it_is_closed() {
        let open =
            KNOWN_PROVIDERS.iter().filter(|known| !matches!(known.standing, ProviderStanding::Closed(_)));
        let known: Vec<&str> = open.map(|known| known.key).filter(|key| *key != "mock").collect();
        let rows: Vec<&str> = ROWS.iter().map(|row| row.key).collect();
        assert_eq!(rows, known);
        assert_eq!(KNOWN_PROVIDERS.len(), 29 + 2, "those of the published scripts, expressen and mock");
    }

    #[test]
    fn every_address_is_secure_and_whole() {
        for row in ROWS {
            let mut addresses = vec![row.authorize_url, row.token_url];
            addresses.extend(row.id_token.iter().map(|rules| rules.jwks_url));
            match row.user {
                UserSource::Get(url) | UserSource::GetWithProof(url) | UserSource::Post(url) => {
                    addresses.push(url)
                }
                UserSource::GetBoth(one, other) => addresses.extend([one, other]),
                UserSource::GraphQl(url, _) | UserSource::TokenInPath(url) => addresses.push(url),
                UserSource::IdToken | UserSource::TokenAnswer => (),
            }
            for address in addresses {
                let url = url::Url::parse(address).unwrap();
                assert!(url.scheme() == "https" && url.host_str().is_some(), "{} {address}", row.key);
            }
            assert!(row.user != UserSource::IdToken || row.id_token.is_some(), "{}", row.key);
        }
    }
}
