//! What a user may or must have, and what each of it is good for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::strategy::Strategy;

/// Which attributes are in use, and for what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Attributes {
    /// E-mail addresses.
    pub email_address: Attribute,
    /// Phone numbers.
    pub phone_number: Attribute,
    /// Usernames.
    pub username: Attribute,
    /// Given names.
    pub first_name: Attribute,
    /// Family names.
    pub last_name: Attribute,
    /// Wallets, whose holders prove them by a signature. Backends give them to users whatever this says.
    pub web3_wallet: Attribute,
    /// Passwords.
    pub password: Attribute,
    /// Passkeys. People get them after they have signed up.
    pub passkey: Attribute,
    /// Codes from an authenticator app.
    pub authenticator_app: Attribute,
    /// Backup codes.
    pub backup_code: Attribute,
}

impl Default for Attributes {
    fn default() -> Attributes {
        let optional = || Attribute { enabled: true, ..Attribute::default() };
        let contact = |code: Strategy| Attribute {
            used_for_first_factor: true,
            first_factors: vec![code],
            verifications: vec![code],
            verify_at_sign_up: true,
            ..optional()
        };
        let second_factor = |strategy: Strategy| Attribute {
            used_for_second_factor: true,
            second_factors: vec![strategy],
            ..optional()
        };
        Attributes {
            email_address: Attribute { required_at_sign_up: true, ..contact(Strategy::EmailCode) },
            phone_number: Attribute {
                used_for_second_factor: true,
                second_factors: vec![Strategy::PhoneCode],
                ..contact(Strategy::PhoneCode)
            },
            username: Attribute { used_for_first_factor: true, ..optional() },
            first_name: optional(),
            last_name: optional(),
            web3_wallet: Attribute::default(),
            password: Attribute { required_at_sign_up: true, ..optional() },
            // Off, but with one switch to turn it on.
            passkey: Attribute {
                used_for_first_factor: true,
                first_factors: vec![Strategy::PASSKEY],
                verifications: vec![Strategy::PASSKEY],
                ..Attribute::default()
            },
            authenticator_app: second_factor(Strategy::Totp),
            backup_code: second_factor(Strategy::BackupCode),
        }
    }
}

impl Attributes {
    /// All of them with their names, in the order they are documented in.
    pub fn all(&self) -> [(&'static str, &Attribute); 10] {
        [
            ("email_address", &self.email_address),
            ("phone_number", &self.phone_number),
            ("username", &self.username),
            ("first_name", &self.first_name),
            ("last_name", &self.last_name),
            ("web3_wallet", &self.web3_wallet),
            ("password", &self.password),
            ("passkey", &self.passkey),
            ("authenticator_app", &self.authenticator_app),
            ("backup_code", &self.backup_code),
        ]
    }

    /// Whether users can have a second factor at all; backup codes only stand in for one.
    pub fn has_second_factor(&self) -> bool {
        self.phone_number.is_second_factor() || self.authenticator_app.is_second_factor()
    }

    /// Returns whether a passkey stands in for another second factor.
    pub fn has_second_passkey(&self) -> bool {
        self.passkey.enabled && self.passkey.second_factors.contains(&Strategy::PASSKEY)
    }
}

/// Whether one attribute is in use, whether users must have it, and what it proves. Whatever it says
/// counts only while it is enabled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Attribute {
    /// Users may have it.
    pub enabled: bool,
    /// Users must have it, also those the backend makes.
    pub required: bool,
    /// People who sign up must give it, even though the backend may leave it out.
    pub required_at_sign_up: bool,
    /// It says who signs in.
    pub used_for_first_factor: bool,
    /// How its holder proves it when signing in: `email_code` and `email_link` for e-mail addresses, `phone_code` for
    /// phone numbers; `web3_metamask_signature`, `web3_base_signature`, `web3_coinbase_wallet_signature`,
    /// `web3_okx_wallet_signature` and `web3_solana_signature` for wallets; `passkey` for passkeys.
    pub first_factors: Vec<Strategy>,
    /// It may be asked for after the first factor.
    pub used_for_second_factor: bool,
    /// How its holder proves it as second factor: `phone_code` for phone numbers, `totp` for authenticator apps,
    /// `backup_code` for backup codes. With `passkey` for passkeys, a user who has a second factor can use a passkey
    /// instead of it, whatever `used_for_second_factor` says.
    pub second_factors: Vec<Strategy>,
    /// How it is verified when it is added: as with `first_factors`.
    pub verifications: Vec<Strategy>,
    /// Signing up is complete only when it is verified. Without it whoever signs up may name an address or number of
    /// somebody else, who gets into that account when they sign in with a code; whoever made it keeps their way in.
    pub verify_at_sign_up: bool,
    /// Users cannot change it once they have it: for contacts, usernames and names.
    pub immutable: bool,
}

impl Attribute {
    /// Whether it says who signs in.
    pub fn is_first_factor(&self) -> bool {
        self.enabled && self.used_for_first_factor
    }

    /// Whether it may be asked for after the first factor.
    pub fn is_second_factor(&self) -> bool {
        self.enabled && self.used_for_second_factor
    }

    /// Whether this is a way to verify it.
    pub fn is_verified_by(&self, strategy: Strategy) -> bool {
        self.verifications.contains(&strategy)
    }

    /// Whether people who sign up must give it.
    pub fn is_required_at_sign_up(&self) -> bool {
        self.enabled && (self.required || self.required_at_sign_up)
    }
}
