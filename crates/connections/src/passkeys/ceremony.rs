//! WebAuthn, level 3: the options browsers get, and what comes back from them. Pure: what is checked here depends on
//! nothing but its arguments.
//!
//! The library checks signatures and flags. What it leaves to the caller is checked here before it is asked: the origin
//! (also that no page of another origin frames the one that asks), that an answer is about the credential it names, and
//! the owner. Challenges are made from the server's own randomness.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::limits::DEVICE_CHALLENGE_MS;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::proto::{
    AttestationFormat, AuthenticationState, Credential, ParsedAttestation, RegistrationState,
};
use webauthn_rs_proto::{
    AttestationConveyancePreference, PublicKeyCredential, RegisterPublicKeyCredential, UserVerificationPolicy,
};

/// The field of the requests that carry an answer.
pub const FIELD: &str = "public_key_credential";
/// Largest answer: with a key and a signature they have some two kilobytes, with certificates some eight.
const ANSWER_BYTES: usize = 32 * 1024;
/// Longest id of a credential, as WebAuthn says.
const CREDENTIAL_ID_BYTES: usize = 1023;

/// Whose passkeys they are.
pub struct RelyingParty<'a> {
    /// The domain.
    pub id: &'a str,
    /// The name of the application.
    pub name: &'a str,
}

/// Whose passkey it will be.
pub struct Owner<'a> {
    /// What authenticators know the user by; it never changes.
    pub handle: &'a [u8],
    /// By which people tell their accounts apart.
    pub name: &'a str,
    pub display_name: &'a str,
}

/// What is known of a passkey after it proved something.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PasskeyUse {
    pub counter: i64,
    pub backup_eligible: bool,
    pub backed_up: bool,
}

/// The options of a registration, as JSON.
pub fn creation_options(
    party: &RelyingParty<'_>,
    owner: &Owner<'_>,
    excluded: Vec<Vec<u8>>,
    challenge: [u8; 32],
) -> Result<String> {
    let (mut options, _) = registration(party, owner, excluded)?;
    options.public_key.challenge = challenge.to_vec();
    serde_json::to_string(&options.public_key).map_err(Error::internal)
}

/// The options of a proof, as JSON. Without a list of passkeys everybody who has one for the domain may answer.
pub fn request_options(
    party: &RelyingParty<'_>,
    allowed: Vec<Credential>,
    challenge: [u8; 32],
) -> Result<String> {
    let core = core(party, Vec::new());
    let builder = core.new_challenge_authenticate_builder(allowed, Some(UserVerificationPolicy::Required));
    let (mut options, _) =
        core.generate_challenge_authenticate(builder.map_err(internal)?).map_err(internal)?;
    options.public_key.challenge = challenge.to_vec();
    serde_json::to_string(&options.public_key).map_err(Error::internal)
}

/// Checks what a browser answered to the options of a registration: the passkey, unless it is none.
pub fn register(
    options: &str,
    answer: &RegisterPublicKeyCredential,
    is_expected: impl Fn(&str) -> bool,
) -> Result<Credential> {
    let failed = || Error::new(Code::PasskeyRegistrationFailure);
    let options: IssuedCreation = serde_json::from_str(options).map_err(Error::internal)?;
    let party = RelyingParty { id: &options.rp.id, name: &options.rp.name };
    let origin = checked_origin(&answer.response.client_data_json, &options.challenge, is_expected, failed)?;
    let owner = Owner { handle: b"owner", name: "owner", display_name: "owner" };
    let (_, state) = registration(&party, &owner, Vec::new())?;
    let state: RegistrationState = with_challenge(&state, &options.challenge)?;
    let found = core(&party, vec![origin]).register_credential(answer, &state, None);
    let credential = found.map_err(|error| refused(&error, failed))?;
    let is_named = credential.cred_id.as_slice() == answer.raw_id.as_slice();
    let is_fit = !answer.raw_id.is_empty() && answer.raw_id.len() <= CREDENTIAL_ID_BYTES;
    match is_named && is_fit {
        // Who made the authenticator is not asked, so it is not kept either.
        true => Ok(Credential {
            attestation: ParsedAttestation::default(),
            attestation_format: AttestationFormat::None,
            ..credential
        }),
        false => Err(failed()),
    }
}

/// Checks what a browser answered to the options of a proof, with the passkey that it names.
pub fn authenticate(
    options: &str,
    answer: &PublicKeyCredential,
    passkey: Credential,
    is_expected: impl Fn(&str) -> bool,
) -> Result<PasskeyUse> {
    let failed = || Error::new(Code::PasskeyAuthenticationFailure);
    let options: IssuedRequest = serde_json::from_str(options).map_err(Error::internal)?;
    let party = RelyingParty { id: &options.rp_id, name: "" };
    let origin = checked_origin(&answer.response.client_data_json, &options.challenge, is_expected, failed)?;
    let core = core(&party, vec![origin]);
    let builder = core.new_challenge_authenticate_builder(Vec::new(), Some(UserVerificationPolicy::Required));
    // Password managers began to copy passkeys that they first kept on one device.
    let builder = builder.map_err(internal)?.allow_backup_eligible_upgrade(true);
    let (_, state) = core.generate_challenge_authenticate(builder).map_err(internal)?;
    let state: AuthenticationState = with_challenge(&state, &options.challenge)?;
    let proven = core.authenticate_single_credential(answer, &state, &passkey);
    let proven = proven.map_err(|error| refused(&error, failed))?;
    Ok(PasskeyUse {
        counter: i64::from(proven.counter()),
        backup_eligible: proven.backup_eligible(),
        backed_up: proven.backup_state(),
    })
}

/// Whether a passkey may show this number after that one. One that does not grow was copied; those that are copied by design
/// do not count. Tests give a passkey to one virtual device after the other, which all begin with the same number.
pub fn is_later(counter: i64, last: i64, test_mode: bool) -> bool {
    counter > last || (counter == last && (counter == 0 || test_mode))
}

/// Reads the answer of a browser.
pub fn read<T: Answered + DeserializeOwned>(text: &str) -> Result<T> {
    let invalid = || Error::param(Code::PasskeyInvalidPublicKeyCredential, FIELD);
    let answer: T = Some(text)
        .filter(|text| text.len() <= ANSWER_BYTES)
        .and_then(|text| serde_json::from_str(text).ok())
        .ok_or_else(invalid)?;
    let (kind, id, raw_id) = answer.naming();
    match kind == "public-key" && id == URL_SAFE_NO_PAD.encode(raw_id) {
        true => Ok(answer),
        false => Err(invalid()),
    }
}

/// Either answer of a browser: how it names its kind and its credential.
pub trait Answered {
    /// The type, the id as text, and the id itself.
    fn naming(&self) -> (&str, &str, &[u8]);
}

impl Answered for RegisterPublicKeyCredential {
    fn naming(&self) -> (&str, &str, &[u8]) {
        (&self.type_, &self.id, self.raw_id.as_slice())
    }
}

impl Answered for PublicKeyCredential {
    fn naming(&self) -> (&str, &str, &[u8]) {
        (&self.type_, &self.id, self.raw_id.as_slice())
    }
}

/// What is read back of the options of a registration.
#[derive(Deserialize)]
struct IssuedCreation {
    rp: IssuedParty,
    challenge: String,
}

#[derive(Deserialize)]
struct IssuedParty {
    id: String,
    name: String,
}

/// What is read back of the options of a proof.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuedRequest {
    pub rp_id: String,
    challenge: String,
    #[serde(default)]
    allow_credentials: Vec<Value>,
}

impl IssuedRequest {
    /// Reads the options of a proof.
    pub fn read(options: &str) -> Result<IssuedRequest> {
        serde_json::from_str(options).map_err(Error::internal)
    }

    /// Whether everybody who has a passkey for the domain may answer, so that the answer has to say who it is.
    pub fn is_for_anybody(&self) -> bool {
        self.allow_credentials.is_empty()
    }
}

/// What a browser says about a ceremony. Fields that stand there twice are refused.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClientData {
    challenge: String,
    origin: String,
    #[serde(default)]
    cross_origin: Option<bool>,
    #[serde(default)]
    top_origin: Option<String>,
}

/// The origin of the page that answered, if it may. A page that is framed by one of another origin may not: its visitor
/// cannot see whom they sign in to.
fn checked_origin(
    client_data: &[u8],
    challenge: &str,
    is_expected: impl Fn(&str) -> bool,
    failed: impl Fn() -> Error,
) -> Result<Url> {
    let invalid = || Error::param(Code::PasskeyInvalidPublicKeyCredential, FIELD);
    let said: ClientData = serde_json::from_slice(client_data).map_err(|_| invalid())?;
    if said.challenge != challenge {
        return Err(Error::new(Code::PasskeyInvalidVerification));
    }
    let is_framed = said.cross_origin == Some(true) || said.top_origin.is_some();
    match is_expected(&said.origin) && !is_framed {
        true => Url::parse(&said.origin).map_err(|_| invalid()),
        false => Err(failed()),
    }
}

type CreationOptions = webauthn_rs_proto::CreationChallengeResponse;

/// The options of a registration and what is checked by. Passkeys are found without a name (`residentKey`), and unlocked
/// by their owner (`userVerification`).
fn registration(
    party: &RelyingParty<'_>,
    owner: &Owner<'_>,
    excluded: Vec<Vec<u8>>,
) -> Result<(CreationOptions, RegistrationState)> {
    let core = core(party, Vec::new());
    let builder = core
        .new_challenge_register_builder(owner.handle, owner.name, owner.display_name)
        .map_err(internal)?
        .attestation(AttestationConveyancePreference::None)
        .user_verification_policy(UserVerificationPolicy::Required)
        .require_resident_key(true)
        .exclude_credentials(Some(excluded));
    core.generate_challenge_register(builder).map_err(internal)
}

fn core(party: &RelyingParty<'_>, origins: Vec<Url>) -> WebauthnCore {
    let timeout = Duration::from_millis(DEVICE_CHALLENGE_MS.unsigned_abs());
    WebauthnCore::new_unsafe_experts_only(party.name, party.id, origins, timeout, Some(false), Some(false))
}

/// The state of a ceremony with the challenge that was handed out. The library makes its own, and keeps it to itself.
fn with_challenge<T: Serialize + DeserializeOwned>(state: &T, challenge: &str) -> Result<T> {
    let mut document = serde_json::to_value(state).map_err(Error::internal)?;
    document["challenge"] = json!(challenge);
    serde_json::from_value(document).map_err(Error::internal)
}

/// What somebody is told of a refusal. That the bytes make no sense is told; what is wrong with a proof is not.
fn refused(error: &WebauthnError, failed: impl Fn() -> Error) -> Error {
    match error {
        WebauthnError::ParseBase64Failure(_)
        | WebauthnError::ParseCBORFailure(_)
        | WebauthnError::ParseJSONFailure(_)
        | WebauthnError::ParseNOMFailure
        | WebauthnError::ParseInsufficientBytesAvailable => {
            Error::param(Code::PasskeyInvalidPublicKeyCredential, FIELD)
        }
        WebauthnError::MismatchedChallenge => Error::new(Code::PasskeyInvalidVerification),
        _ => failed(),
    }
}

fn internal(error: WebauthnError) -> Error {
    Error::internal(error)
}
