//! How an attempt to sign up looks on the wire.
#![expect(missing_docs, reason = "wire fields, documented by the published description")]

use latchkey_base::Time;
use latchkey_base::kinds::{SessionId, SignUpId, UserId};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::fields::{self, Progress};
use super::model::{Claimed, SignUp, Status};
use crate::resources::challenges::model::State;
use crate::resources::challenges::view::{VerificationView, verification};
use crate::resources::identifications::rules::attribute;
use crate::resources::users::model::{Kind, Strategy};
use crate::resources::users::view::Lens;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignUp")]
pub struct SignUpView<'a> {
    object: SignUpObject,
    id: &'a SignUpId,
    status: StatusView,
    required_fields: Vec<&'static str>,
    optional_fields: Vec<&'static str>,
    missing_fields: Vec<&'static str>,
    unverified_fields: Vec<&'static str>,
    verifications: VerificationsView,
    username: Option<&'a str>,
    email_address: Option<&'a str>,
    phone_number: Option<&'a str>,
    web3_wallet: Option<&'a str>,
    password_enabled: bool,
    first_name: Option<&'a str>,
    last_name: Option<&'a str>,
    unsafe_metadata: &'a Map<String, Value>,
    /// Only invitations can carry some.
    public_metadata: Map<String, Value>,
    custom_action: bool,
    external_id: Option<&'a str>,
    created_session_id: Option<&'a SessionId>,
    created_user_id: Option<&'a UserId>,
    abandon_at: Time,
    legal_accepted_at: Option<Time>,
    locale: Option<&'a str>,
}

/// The same for browsers, whose script reads one more name.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "FrontendSignUp")]
pub struct FrontendSignUpView<'a> {
    #[serde(flatten)]
    shared: SignUpView<'a>,
    has_password: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
enum SignUpObject {
    #[serde(rename = "sign_up_attempt")]
    It,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum StatusView {
    MissingRequirements,
    Complete,
    Abandoned,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignUpVerifications")]
struct VerificationsView {
    email_address: Option<SignUpVerificationView>,
    phone_number: Option<SignUpVerificationView>,
    web3_wallet: Option<SignUpVerificationView>,
    /// Always null until connections exist.
    external_account: Option<Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignUpVerification")]
struct SignUpVerificationView {
    #[serde(flatten)]
    verification: VerificationView,
    next_action: NextAction,
    supported_strategies: Vec<Strategy>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum NextAction {
    NeedsPrepare,
    NeedsAttempt,
    #[serde(rename = "")]
    Nothing,
}

pub fn frontend<'a>(sign_up: &'a SignUp, lens: Lens<'_>) -> FrontendSignUpView<'a> {
    FrontendSignUpView { shared: self::sign_up(sign_up, lens), has_password: sign_up.password.is_some() }
}

pub fn sign_up<'a>(sign_up: &'a SignUp, lens: Lens<'_>) -> SignUpView<'a> {
    let Progress { required, optional, missing, unverified } = fields::progress(sign_up, lens.settings);
    let value = |kind: Kind| sign_up.claimed(kind).map(|claimed| claimed.value.as_str());
    let shown = |kind: Kind| sign_up.claimed(kind).and_then(|claimed| proof(claimed, kind, lens));
    SignUpView {
        object: SignUpObject::It,
        id: &sign_up.id,
        status: match sign_up.status(lens.now) {
            Status::MissingRequirements => StatusView::MissingRequirements,
            Status::Complete => StatusView::Complete,
            Status::Abandoned => StatusView::Abandoned,
        },
        required_fields: required,
        optional_fields: optional,
        missing_fields: missing,
        unverified_fields: unverified,
        verifications: VerificationsView {
            email_address: shown(Kind::Email),
            phone_number: shown(Kind::Phone),
            web3_wallet: shown(Kind::Wallet),
            external_account: None,
        },
        username: sign_up.username.as_deref(),
        email_address: value(Kind::Email),
        phone_number: value(Kind::Phone),
        web3_wallet: value(Kind::Wallet),
        password_enabled: sign_up.password.is_some(),
        first_name: sign_up.first_name.as_deref(),
        last_name: sign_up.last_name.as_deref(),
        unsafe_metadata: &sign_up.unsafe_metadata,
        public_metadata: Map::new(),
        custom_action: sign_up.custom_action,
        external_id: sign_up.external_id.as_deref(),
        created_session_id: sign_up.created.as_ref().map(|created| &created.session),
        created_user_id: sign_up.created.as_ref().map(|created| &created.user),
        abandon_at: sign_up.abandon_at,
        legal_accepted_at: sign_up.legal_accepted_at,
        locale: sign_up.locale.as_deref(),
    }
}

/// Nothing until a proof was asked for.
fn proof(claimed: &Claimed, kind: Kind, lens: Lens<'_>) -> Option<SignUpVerificationView> {
    let challenge = claimed.verification.as_ref()?;
    Some(SignUpVerificationView {
        verification: verification(challenge, lens.now),
        next_action: match challenge.state(lens.now) {
            State::Unverified => NextAction::NeedsAttempt,
            State::Verified | State::Transferable => NextAction::Nothing,
            State::Failed | State::Expired => NextAction::NeedsPrepare,
        },
        supported_strategies: attribute(kind, lens.settings).verifications.clone(),
    })
}
