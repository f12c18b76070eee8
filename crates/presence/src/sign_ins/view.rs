//! How an attempt to sign in looks on the wire.

use latchkey_base::Time;
use latchkey_base::kinds::{SessionId, SignInId};
use latchkey_kernel::object;
use latchkey_kernel::settings::Settings;
use latchkey_people::challenges::view::{ChallengeView, verification};
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::factors::model::Factor;
use latchkey_people::factors::rules as factors;
use latchkey_people::factors::view::{FactorView, factor};
use latchkey_people::users::model::User;
use latchkey_people::users::view::{ViewContext, image_url};
use schemars::JsonSchema;
use serde::Serialize;

use super::model::{ClaimedIdentity, SignIn, SignInStep};
use super::rules;

object!(SignInObject, "sign_in_attempt");

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignIn")]
pub struct SignInView {
    object: SignInObject,
    id: SignInId,
    status: SignInStatus,
    supported_identifiers: Vec<Identifier>,
    supported_first_factors: Option<Vec<FactorView>>,
    supported_second_factors: Option<Vec<FactorView>>,
    first_factor_verification: Option<ChallengeView>,
    second_factor_verification: Option<ChallengeView>,
    identifier: Option<String>,
    user_data: Option<UserDataView>,
    created_session_id: Option<SessionId>,
    abandon_at: Time,
    /// The language of the browser, if it told one.
    locale: Option<String>,
    client_trust_state: TrustState,
}

/// The step, as it is called on the wire.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum SignInStatus {
    NeedsIdentifier,
    NeedsFirstFactor,
    NeedsSecondFactor,
    NeedsClientTrust,
    NeedsNewPassword,
    Complete,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Identifier {
    EmailAddress,
    PhoneNumber,
    Username,
    #[serde(rename = "web3_wallet")]
    Wallet,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum TrustState {
    Pending,
    New,
    Known,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SignInUserData")]
pub struct UserDataView {
    first_name: Option<String>,
    last_name: Option<String>,
    image_url: String,
    has_image: bool,
    profile_image_url: String,
}

/// `user` is whoever the attempt is about, if there is such a user.
pub fn sign_in(
    sign_in: &SignIn,
    user: Option<&User>,
    context: ViewContext<'_>,
    audience: FactorAudience,
) -> SignInView {
    let challenge = |challenge: Option<&_>| challenge.map(|challenge| verification(challenge, context.now));
    let (first, second) = shown_factors(sign_in, user, context, audience);
    SignInView {
        object: SignInObject::It,
        id: sign_in.id.clone(),
        status: status(sign_in.step),
        supported_identifiers: identifiers(context.settings),
        supported_first_factors: first.map(|all| all.iter().map(factor).collect()),
        supported_second_factors: second.map(|all| all.iter().map(factor).collect()),
        first_factor_verification: challenge(sign_in.first_factor.as_ref()),
        second_factor_verification: challenge(sign_in.second_factor.as_ref()),
        identifier: sign_in.claim.as_ref().map(|claim| claim.identifier.clone()),
        user_data: user
            .filter(|_| !is_hidden(sign_in, context.settings))
            .map(|user| user_data(user, context)),
        created_session_id: sign_in.created_session.clone(),
        abandon_at: sign_in.abandon_at,
        locale: sign_in.locale.clone(),
        client_trust_state: match &sign_in.claim {
            None => TrustState::Pending,
            Some(ClaimedIdentity { is_known: true, .. }) => TrustState::Known,
            Some(_) => TrustState::New,
        },
    }
}

fn status(step: SignInStep) -> SignInStatus {
    match step {
        SignInStep::NeedsIdentifier => SignInStatus::NeedsIdentifier,
        SignInStep::NeedsFirstFactor => SignInStatus::NeedsFirstFactor,
        SignInStep::NeedsSecondFactor => SignInStatus::NeedsSecondFactor,
        SignInStep::NeedsClientTrust => SignInStatus::NeedsClientTrust,
        SignInStep::NeedsNewPassword => SignInStatus::NeedsNewPassword,
        SignInStep::Complete => SignInStatus::Complete,
    }
}

/// What people may be named by, in the order of the alphabet, as scripts know it.
fn identifiers(settings: &Settings) -> Vec<Identifier> {
    let attributes = &settings.attributes;
    let all = [
        (&attributes.email_address, Identifier::EmailAddress),
        (&attributes.phone_number, Identifier::PhoneNumber),
        (&attributes.username, Identifier::Username),
        (&attributes.web3_wallet, Identifier::Wallet),
    ];
    all.into_iter().filter(|(attribute, _)| attribute.is_first_factor()).map(|(_, name)| name).collect()
}

type Factors = Option<Vec<Factor>>;

/// The first and second factors to choose from.
fn shown_factors(
    sign_in: &SignIn,
    user: Option<&User>,
    context: ViewContext<'_>,
    audience: FactorAudience,
) -> (Factors, Factors) {
    let settings = context.settings;
    let Some(claim) = sign_in.claim.as_ref().filter(|_| sign_in.step != SignInStep::Complete) else {
        return (None, None);
    };
    let is_guarded = settings.attack_protection.enumeration_protection;
    let first = match user {
        Some(user) if !is_guarded || sign_in.step != SignInStep::NeedsFirstFactor => {
            let all = factors::first(user, sign_in.typed(), settings);
            factors::usable_at(all, user, context.relying_party)
        }
        _ => factors::generic(claim.named_by.kind(), &claim.identifier, settings),
    };
    let second = match (sign_in.step, user) {
        (SignInStep::NeedsSecondFactor | SignInStep::NeedsClientTrust, Some(user)) => {
            let all = rules::second_factors(sign_in, user, settings, audience);
            Some(factors::usable_at(all, user, context.relying_party))
        }
        _ => None,
    };
    (Some(first), second)
}

/// Whether name and picture stay hidden: always, or from whoever has proven nothing yet.
fn is_hidden(sign_in: &SignIn, settings: &Settings) -> bool {
    let protection = &settings.attack_protection;
    let is_proven = !matches!(sign_in.step, SignInStep::NeedsIdentifier | SignInStep::NeedsFirstFactor);
    protection.pii || (protection.enumeration_protection && !is_proven)
}

fn user_data(user: &User, context: ViewContext<'_>) -> UserDataView {
    let image_url = image_url(user, context.api_url);
    UserDataView {
        first_name: user.first_name.clone(),
        last_name: user.last_name.clone(),
        profile_image_url: image_url.clone(),
        image_url,
        has_image: user.image.is_some(),
    }
}
