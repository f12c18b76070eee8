//! The ways to prove who one is. Settings name them, people are verified by them, and attempts go through them.

use latchkey_base::Result;
use serde::{Deserialize, Serialize};

/// A way to prove who one is, or that an identification is one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Strategy {
    /// The application said so.
    Admin,
    /// A one-time code kept for when nothing else is at hand.
    BackupCode,
    /// A code sent by e-mail.
    EmailCode,
    /// A link sent by e-mail.
    EmailLink,
    Password,
    /// A code sent to the phone.
    PhoneCode,
    /// A code sent by e-mail, to choose a new password.
    ResetPasswordEmailCode,
    /// A code sent to the phone, to choose a new password.
    ResetPasswordPhoneCode,
    /// A ticket the application gave out.
    Ticket,
    /// A code from an authenticator app.
    Totp,
    /// One that a group above the sign-in machine brings along.
    Registered(Name),
}

impl Strategy {
    /// A passkey.
    pub const PASSKEY: Strategy = Strategy::Registered(Name::known("passkey"));
    /// A key that a device keeps for a native app.
    pub const TRUSTED_DEVICE: Strategy = Strategy::Registered(Name::known("trusted_device"));
    /// A token that a page got from Google by itself.
    pub const ONE_TAP: Strategy = Strategy::Registered(Name::known("google_one_tap"));

    /// A signature by an Ethereum account in MetaMask.
    pub const METAMASK: Strategy = Strategy::Registered(Name::known("web3_metamask_signature"));
    /// A signature by an Ethereum account at Base.
    pub const BASE: Strategy = Strategy::Registered(Name::known("web3_base_signature"));
    /// A signature by an Ethereum account in a Coinbase wallet.
    pub const COINBASE: Strategy = Strategy::Registered(Name::known("web3_coinbase_wallet_signature"));
    /// A signature by an Ethereum account in an OKX wallet.
    pub const OKX: Strategy = Strategy::Registered(Name::known("web3_okx_wallet_signature"));
    /// A signature by a Solana account, in whichever wallet.
    pub const SOLANA: Strategy = Strategy::Registered(Name::known("web3_solana_signature"));

    /// The ways to prove a wallet.
    pub const WALLETS: [Strategy; 5] =
        [Strategy::METAMASK, Strategy::BASE, Strategy::COINBASE, Strategy::OKX, Strategy::SOLANA];

    /// What names of strategies by an account at another provider begin with; the key of the provider follows.
    const BY_ACCOUNT: &str = "oauth_";
    /// What stands before the name of such a strategy in one by which an address of the account counts as proven.
    const FROM: &str = "from_";

    /// Those the server has by itself.
    const OWN: [Strategy; 10] = [
        Strategy::Admin,
        Strategy::BackupCode,
        Strategy::EmailCode,
        Strategy::EmailLink,
        Strategy::Password,
        Strategy::PhoneCode,
        Strategy::ResetPasswordEmailCode,
        Strategy::ResetPasswordPhoneCode,
        Strategy::Ticket,
        Strategy::Totp,
    ];

    /// The strategy of this name, if it can be one.
    pub fn named(name: &str) -> Option<Strategy> {
        let own = Strategy::OWN.into_iter().find(|strategy| strategy.name() == name);
        own.or_else(|| Name::new(name).map(Strategy::Registered))
    }

    /// The name on the wire.
    pub fn name(&self) -> &str {
        match self {
            Strategy::Admin => "admin",
            Strategy::BackupCode => "backup_code",
            Strategy::EmailCode => "email_code",
            Strategy::EmailLink => "email_link",
            Strategy::Password => "password",
            Strategy::PhoneCode => "phone_code",
            Strategy::ResetPasswordEmailCode => "reset_password_email_code",
            Strategy::ResetPasswordPhoneCode => "reset_password_phone_code",
            Strategy::Ticket => "ticket",
            Strategy::Totp => "totp",
            Strategy::Registered(name) => name.as_str(),
        }
    }

    /// An account at the provider with this key, such as `oauth_google`.
    pub fn by_account(key: &str) -> Option<Strategy> {
        Name::new(&[Strategy::BY_ACCOUNT, key].concat()).map(Strategy::Registered)
    }

    /// The word of somebody's account at another provider that an address is theirs, such as `from_oauth_google`.
    /// `account` is the name of the strategy by that account.
    pub fn from_account(account: &str) -> Option<Strategy> {
        Name::new(&[Strategy::FROM, account].concat()).map(Strategy::Registered)
    }

    /// What proofs by it are called on the wire.
    pub fn verification(&self) -> &'static str {
        match self {
            Strategy::Admin => "verification_admin",
            Strategy::BackupCode => "verification_backup_code",
            Strategy::EmailLink => "verification_email_link",
            Strategy::Password => "verification_password",
            Strategy::Ticket => "verification_ticket",
            Strategy::Totp => "verification_totp",
            Strategy::EmailCode
            | Strategy::PhoneCode
            | Strategy::ResetPasswordEmailCode
            | Strategy::ResetPasswordPhoneCode => "verification_otp",
            &Strategy::PASSKEY => "verification_passkey",
            &Strategy::TRUSTED_DEVICE => "verification_trusted_device",
            &Strategy::ONE_TAP => "verification_google_one_tap",
            wallet if wallet.is_wallet() => "verification_web3",
            Strategy::Registered(name) => {
                let is_by_account = |name: &str| name.starts_with(Strategy::BY_ACCOUNT);
                match (name.as_str(), name.as_str().strip_prefix(Strategy::FROM)) {
                    (name, _) if is_by_account(name) => "verification_oauth",
                    (_, Some(account)) if is_by_account(account) => "verification_from_oauth",
                    _ => "verification",
                }
            }
        }
    }

    /// Whether it proves anew who somebody signed in is. Links would have to be followed in a browser that may be
    /// another, and a reset proves an address, not a password.
    pub fn reproves(self) -> bool {
        matches!(self, Strategy::Password | Strategy::EmailCode | Strategy::PhoneCode | Strategy::PASSKEY)
    }

    /// Whether it proves a wallet.
    pub fn is_wallet(self) -> bool {
        Strategy::WALLETS.contains(&self)
    }

    /// Whether it can prove the wallet of this address: those of Ethereum begin with `0x`, those of Solana never do. One
    /// address of Ethereum can lie in every program that has its key, so all strategies of Ethereum fit it.
    pub fn fits_wallet(self, address: &str) -> bool {
        self.is_wallet() && (self == Strategy::SOLANA) != address.starts_with("0x")
    }
}

/// Groups above register others, and instances name providers of their own: the contract gives examples.
impl schemars::JsonSchema for Strategy {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Strategy".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "examples": Strategy::OWN })
    }
}

impl From<Strategy> for String {
    fn from(strategy: Strategy) -> String {
        strategy.name().to_owned()
    }
}

impl TryFrom<String> for Strategy {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Strategy, &'static str> {
        Strategy::named(&name).ok_or("this is not the name of a strategy")
    }
}

/// The name of a registered strategy, such as `oauth_google`. It is kept in place, so that strategies stay values
/// that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    bytes: [u8; Name::LONGEST],
    length: u8,
}

impl Name {
    /// The longest there can be.
    pub const LONGEST: usize = 63;

    /// A name: small letters, digits and underscores.
    pub fn new(text: &str) -> Option<Name> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let length = u8::try_from(text.len()).ok().filter(|length| *length > 0)?;
        let mut bytes = [0; Name::LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        text.bytes().all(is_plain).then_some(Name { bytes, length })
    }

    /// A name that is written in the code.
    const fn known(text: &str) -> Name {
        let mut bytes = [0; Name::LONGEST];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        Name { bytes, length: at as u8 }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.length)]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_what_it_was_written_from() {
        let registered = Strategy::Registered(Name::new("oauth_google").unwrap());
        for strategy in Strategy::OWN.into_iter().chain([registered]) {
            let written = serde_json::to_string(&strategy).unwrap();
            assert_eq!(serde_json::from_str::<Strategy>(&written).unwrap(), strategy);
        }
        assert_eq!(registered.name(), "oauth_google");
        assert_eq!(Strategy::PASSKEY, Strategy::Registered(Name::new("passkey").unwrap()));
    }

    #[test]
    fn proofs_are_called_by_what_was_shown() {
        let account = Strategy::by_account("custom_acme").unwrap();
        let address = Strategy::from_account(account.name()).unwrap();
        assert_eq!((account.name(), account.verification()), ("oauth_custom_acme", "verification_oauth"));
        assert_eq!(
            (address.name(), address.verification()),
            ("from_oauth_custom_acme", "verification_from_oauth")
        );
        for (strategy, verification) in [
            (Strategy::PASSKEY, "verification_passkey"),
            (Strategy::TRUSTED_DEVICE, "verification_trusted_device"),
            (Strategy::ONE_TAP, "verification_google_one_tap"),
            (Strategy::SOLANA, "verification_web3"),
            (Strategy::Registered(Name::new("knock").unwrap()), "verification"),
        ] {
            assert_eq!(strategy.verification(), verification);
        }
    }

    #[test]
    fn a_wallet_is_proven_by_the_strategies_of_its_chain() {
        let ethereum = "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a";
        let fit = |address: &str| {
            Strategy::WALLETS.into_iter().filter(|it| it.fits_wallet(address)).collect::<Vec<_>>()
        };
        assert_eq!(fit(ethereum), Strategy::WALLETS[..4]);
        assert_eq!(fit("AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"), [Strategy::SOLANA]);
        assert!(!Strategy::PASSKEY.fits_wallet(ethereum) && !Strategy::Password.is_wallet());
    }

    #[test]
    fn a_name_is_short_and_plain() {
        let longest = "a".repeat(Name::LONGEST);
        assert_eq!(Name::new(&longest).unwrap().as_str(), longest);
        for bad in ["", "Oauth", "a b", "a-b", "é", &"a".repeat(Name::LONGEST + 1), &"a".repeat(300)] {
            assert_eq!(Name::new(bad), None, "{bad}");
        }
    }
}
