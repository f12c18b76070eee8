//! What somebody wants to begin with, as far as it can be read from what they sent.

use std::sync::Arc;

use latchkey_base::locale::is_locale;
use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result, text};
use latchkey_kernel::settings::{Settings, SignUpMode};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_presence::sign_ins::model::Named;

use super::input::CreateSignIn;
use super::registered::ExaminedProof;
use super::rules::first_strategy;
use crate::strategies::{FirstFactor, ProofVerdict};

/// What somebody wants to begin with.
pub enum Plan {
    /// Nothing yet.
    Begin,
    /// Saying who they are, and maybe proving it.
    Identify(Identify),
    /// Showing a ticket.
    Ticket(Secret),
    /// Proving it in a way that a group above registered.
    Registered(Box<Challenge>),
    /// Having shown in such a way who they are, at once.
    Shown(Box<ShownAtOnce>),
    /// Going on from an attempt to sign up.
    Transfer,
}

/// What a registered strategy says of what somebody showed.
pub struct ShownAtOnce {
    pub factor: Arc<dyn FirstFactor>,
    pub examined: ExaminedProof,
    pub verdict: ProofVerdict,
}

/// Who somebody says they are.
pub struct Identify {
    /// What, in the form it is stored in.
    pub identifier: String,
    /// What that is.
    pub named_by: Named,
    /// Whether somebody without an account may go on and sign up.
    pub may_sign_up: bool,
    /// How they want to prove it.
    pub way: SignInMethod,
}

/// How somebody wants to prove who they are.
pub enum SignInMethod {
    /// They choose later.
    Later,
    Password(Secret),
    /// With a code or a link.
    Sent {
        /// The way of proof.
        strategy: Strategy,
        /// Where a link leads in the end.
        redirect_url: Option<String>,
    },
}

/// Reads what somebody wants to begin with.
pub fn plan(input: CreateSignIn, settings: &Settings) -> Result<Plan> {
    let missing = |param: &str| Error::param(Code::FormParamMissing, param);
    if input.transfer == Some(true) {
        return Ok(Plan::Transfer);
    }
    let is_ticket = input.strategy.as_deref() == Some(Strategy::Ticket.name());
    match input.ticket {
        Some(ticket) if is_ticket || input.strategy.is_none() => return Ok(Plan::Ticket(ticket)),
        None if is_ticket => return Err(missing("ticket")),
        _ => (),
    }
    let strategy = input.strategy.as_deref().map(first_strategy).transpose()?;
    let is_bare = strategy.is_none() && input.password.is_none();
    let identifier = match input.identifier {
        Patch::Value(identifier) => identifier,
        // Pages that find no wallet send what they got from it, and tell by this code that there is none.
        Patch::Null if is_bare => return Err(Error::param(Code::FormParamNil, "identifier")),
        Patch::Absent if is_bare => return Ok(Plan::Begin),
        Patch::Null | Patch::Absent => return Err(missing("identifier")),
    };
    let (named_by, identifier) = named(&identifier, settings)?;
    let way = match (strategy, input.password) {
        (None | Some(Strategy::Password), Some(password)) => SignInMethod::Password(password),
        (Some(Strategy::Password), None) => return Err(missing("password")),
        (None, None) => SignInMethod::Later,
        (Some(strategy), _) => SignInMethod::Sent { strategy, redirect_url: input.redirect_url },
    };
    let is_wanted = input.sign_up_if_missing == Some(true) && !matches!(way, SignInMethod::Password(_));
    let is_open = settings.sign_up.mode == SignUpMode::Public && named_by.kind().is_some();
    Ok(Plan::Identify(Identify { identifier, named_by, may_sign_up: is_wanted && is_open, way }))
}

/// The language a browser names, if it is one.
pub fn locale(text: Option<&str>) -> Option<String> {
    text.filter(|text| is_locale(text)).map(str::to_owned)
}

/// What a text names somebody by, as far as the instance uses that for signing in.
fn named(text: &str, settings: &Settings) -> Result<(Named, String)> {
    let attributes = &settings.attributes;
    let text = text.trim();
    if attributes.email_address.is_first_factor()
        && let Some(address) = text::email(text)
    {
        return Ok((Named::EmailAddress, address));
    }
    if attributes.phone_number.is_first_factor()
        && let Some(number) = text::typed_phone(text)
    {
        return Ok((Named::PhoneNumber, number));
    }
    // Before usernames: nobody is to be found by a name that is the address of somebody else's wallet.
    if attributes.web3_wallet.is_first_factor()
        && let Some(address) = text::wallet(text)
    {
        return Ok((Named::Wallet, address));
    }
    let is_name = !text.is_empty() && text.len() <= 256 && !text.chars().any(char::is_control);
    match attributes.username.is_first_factor() && is_name {
        true => Ok((Named::Username, text.to_owned())),
        false => Err(Problem::of(Code::FormParamFormatInvalid, "identifier")
            .saying("Identifier is invalid.")
            .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(fields: serde_json::Value) -> CreateSignIn {
        serde_json::from_value(fields).unwrap()
    }

    fn refused(fields: serde_json::Value) -> Option<Code> {
        plan(input(fields), &Settings::default()).err().map(|error| error.code())
    }

    fn read(text: &str) -> Option<(Named, String)> {
        named(text, &Settings::default()).ok()
    }

    #[test]
    fn identifiers_are_told_apart() {
        assert_eq!(read(" Ada@Example.com"), Some((Named::EmailAddress, "ada@example.com".into())));
        assert_eq!(read("+44 (20) 7183-8750"), Some((Named::PhoneNumber, "+442071838750".into())));
        assert_eq!(read("ada_l"), Some((Named::Username, "ada_l".into())));
        assert_eq!(read("  "), None);
        assert_eq!(read("a\nb"), None);
    }

    #[test]
    fn an_address_is_a_wallet_where_wallets_sign_in() {
        let address = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A";
        assert_eq!(read(address), Some((Named::Username, address.into())));
        let mut settings = Settings::default();
        settings.attributes.web3_wallet.enabled = true;
        settings.attributes.web3_wallet.used_for_first_factor = true;
        let found = |text: &str| named(text, &settings).ok();
        assert_eq!(found(address), Some((Named::Wallet, address.to_lowercase())));
        let solana = "AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9";
        assert_eq!(found(solana), Some((Named::Wallet, solana.into())));
        assert_eq!(found("ada_l"), Some((Named::Username, "ada_l".into())));
    }

    #[test]
    fn what_is_missing_or_unknown_is_refused() {
        let missing = Some(Code::FormParamMissing);
        assert_eq!(refused(serde_json::json!({"password": "x"})), missing);
        assert_eq!(refused(serde_json::json!({"strategy": "ticket"})), missing);
        assert_eq!(refused(serde_json::json!({"strategy": "password", "identifier": "ada_l"})), missing);
        assert_eq!(refused(serde_json::json!({"strategy": "magic"})), Some(Code::FormParamValueInvalid));
        assert_eq!(refused(serde_json::json!({})), None);
        assert_eq!(refused(serde_json::json!({"identifier": null})), Some(Code::FormParamNil));
    }

    #[test]
    fn only_proofs_of_an_address_lead_to_signing_up() {
        let may = |fields: serde_json::Value, settings: &Settings| {
            matches!(plan(input(fields), settings), Ok(Plan::Identify(Identify { may_sign_up: true, .. })))
        };
        let mut settings = Settings::default();
        let fields = |name: &str| serde_json::json!({"identifier": name, "sign_up_if_missing": true});
        assert!(may(fields("ada@example.com"), &settings));
        assert!(!may(fields("ada_l"), &settings));
        let with_password =
            serde_json::json!({"identifier": "ada@example.com", "password": "x", "sign_up_if_missing": true});
        assert!(!may(with_password, &settings));
        settings.sign_up.mode = SignUpMode::Waitlist;
        assert!(!may(fields("ada@example.com"), &settings));
    }
}
