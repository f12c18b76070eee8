//! How an attempt to sign up looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{SessionId, SignUpId, UserId};
use latchkey_kernel::object;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::State;
use latchkey_people::challenges::view::{ChallengeView, verification};
use latchkey_people::identifications::rules::attribute;
use latchkey_people::users::model::ContactKind;
use latchkey_people::users::view::ViewContext;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::fields::{self, SignUpProgress};
use super::model::{Claimed, SignUp, SignUpStatus};

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
    #[schemars(with = "Map<String, Value>")]
    unsafe_metadata: &'a RawValue,
    /// That of the invitation that let the person in.
    #[schemars(with = "Map<String, Value>")]
    public_metadata: &'a RawValue,
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

object!(SignUpObject, "sign_up_attempt");

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
    external_account: Option<ChallengeView>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignUpVerification")]
struct SignUpVerificationView {
    #[serde(flatten)]
    verification: ChallengeView,
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

pub fn frontend<'a>(sign_up: &'a SignUp, context: ViewContext<'_>) -> FrontendSignUpView<'a> {
    FrontendSignUpView { shared: self::sign_up(sign_up, context), has_password: sign_up.password.is_some() }
}

pub fn sign_up<'a>(sign_up: &'a SignUp, context: ViewContext<'_>) -> SignUpView<'a> {
    let SignUpProgress { required, optional, missing, unverified } =
        fields::progress(sign_up, context.settings);
    let value = |kind: ContactKind| sign_up.claimed(kind).map(|claimed| claimed.value.as_str());
    let shown = |kind: ContactKind| sign_up.claimed(kind).and_then(|claimed| proof(claimed, kind, context));
    SignUpView {
        object: SignUpObject::It,
        id: &sign_up.id,
        status: match sign_up.status(context.now) {
            SignUpStatus::MissingRequirements => StatusView::MissingRequirements,
            SignUpStatus::Complete => StatusView::Complete,
            SignUpStatus::Abandoned => StatusView::Abandoned,
        },
        required_fields: required,
        optional_fields: optional,
        missing_fields: missing,
        unverified_fields: unverified,
        verifications: VerificationsView {
            email_address: shown(ContactKind::Email),
            phone_number: shown(ContactKind::Phone),
            web3_wallet: shown(ContactKind::Wallet),
            external_account: sign_up.external_account.as_ref().map(|asked| verification(asked, context.now)),
        },
        username: sign_up.username.as_deref(),
        email_address: value(ContactKind::Email),
        phone_number: value(ContactKind::Phone),
        web3_wallet: value(ContactKind::Wallet),
        password_enabled: sign_up.password.is_some(),
        first_name: sign_up.first_name.as_deref(),
        last_name: sign_up.last_name.as_deref(),
        unsafe_metadata: &sign_up.unsafe_metadata,
        public_metadata: &sign_up.public_metadata,
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
fn proof(claimed: &Claimed, kind: ContactKind, context: ViewContext<'_>) -> Option<SignUpVerificationView> {
    let challenge = claimed.verification.as_ref()?;
    Some(SignUpVerificationView {
        verification: verification(challenge, context.now),
        next_action: match challenge.state(context.now) {
            State::Unverified => NextAction::NeedsAttempt,
            State::Verified | State::Transferable => NextAction::Nothing,
            State::Failed | State::Expired => NextAction::NeedsPrepare,
        },
        supported_strategies: attribute(kind, context.settings).verifications.clone(),
    })
}
