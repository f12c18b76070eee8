//! The codes that the page gives: profiles, sealed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Code, Error, Result, Time};
use latchkey_jose::digest::{hex, sha256};
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::cx::Cx;
use latchkey_people::external_accounts::tokens::ProviderTokens;
use serde::{Deserialize, Serialize};

use crate::social::providers::{Profile, profiles};

/// Where the page is.
pub const PATH: &str = "/oauth-mock";
/// Where people are sent back to, below the base of the Frontend API.
pub const CALLBACK: &str = concat!("/v1/", "oauth_callback");
const CODE_MS: i64 = 5 * 60 * 1000;

/// What a code holds.
#[derive(Serialize, Deserialize)]
struct MockCode {
    profile: Profile,
    until: Time,
}

/// The address of the page for a sign-in.
pub(in crate::social) fn url(redirect_uri: &str, state: &str, login_hint: Option<&str>) -> Result<String> {
    let base = redirect_uri.strip_suffix(CALLBACK);
    let base = base.ok_or_else(|| Error::new(Code::MisconfiguredOauthProvider))?;
    let mut url = url::Url::parse(&format!("{base}{PATH}"))
        .map_err(|_| Error::new(Code::MisconfiguredOauthProvider))?;
    url.query_pairs_mut().append_pair("state", state);
    if let Some(hint) = login_hint {
        url.query_pairs_mut().append_pair("login_hint", hint);
    }
    Ok(url.into())
}

/// A code for a profile, good for one state.
pub(super) fn code(master: &MasterKey, state: &str, profile: Profile, now: Time) -> Result<String> {
    let code = MockCode { profile, until: now.plus_ms(CODE_MS) };
    let plain = serde_json::to_vec(&code).map_err(Error::internal)?;
    let context = context(&hex(&sha256(state.as_bytes())));
    let sealed = master.seal(&context, &plain).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(sealed))
}

/// The profile in a code, and tokens that stand for those of a provider.
pub(in crate::social) fn granted(
    cx: &Cx,
    state_digest: &str,
    scopes: &[String],
    code: &str,
) -> Result<(Profile, ProviderTokens)> {
    let profile = opened(&cx.app.master, state_digest, code, cx.now);
    let mut profile = profile.ok_or_else(|| Error::new(Code::OauthTokenExchangeError))?;
    profile.approved_scopes = scopes.join(" ");
    let tokens = ProviderTokens {
        access_token: Some(format!("mock_{}", hex(&sha256(code.as_bytes())[..16]))),
        ..ProviderTokens::default()
    };
    Ok((profile, tokens))
}

fn opened(master: &MasterKey, state_digest: &str, code: &str, now: Time) -> Option<Profile> {
    let sealed = URL_SAFE_NO_PAD.decode(code).ok()?;
    let plain = master.open(&context(state_digest), &sealed).ok()?;
    let code: MockCode = serde_json::from_slice(&plain).ok()?;
    (now.ms() <= code.until.ms()).then_some(code.profile).and_then(profiles::cleaned)
}

/// A state is hard to guess and belongs to one instance, so a code that is bound to it does too.
fn context(state_digest: &str) -> String {
    format!("oauth_mock:{state_digest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_for_one_state_and_five_minutes() {
        let master = MasterKey::from_bytes([5; 32]);
        let now = Time::from_ms(1_767_225_600_000);
        let profile = Profile { provider_user_id: "7".into(), ..Profile::default() };
        let code = code(&master, "state", profile.clone(), now).unwrap();
        let digest = |state: &str| hex(&sha256(state.as_bytes()));
        assert_eq!(opened(&master, &digest("state"), &code, now.plus_ms(CODE_MS)), Some(profile));
        assert_eq!(opened(&master, &digest("state"), &code, now.plus_ms(CODE_MS + 1)), None);
        assert_eq!(opened(&master, &digest("other"), &code, now), None);
        assert_eq!(opened(&MasterKey::from_bytes([6; 32]), &digest("state"), &code, now), None);
        for garbage in ["", "AQ", "not base64!", &code[1..]] {
            assert_eq!(opened(&master, &digest("state"), garbage, now), None);
        }
    }
}
