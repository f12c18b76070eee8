//! The phone numbers of the current user, which can also be second factors.

use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::kinds::IdentificationId;
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::wire::DeletedView;
use latchkey_kernel::{AppState, limits};
use latchkey_people::identifications::handlers::picked;
use latchkey_people::identifications::rules::ContactChanges;
use latchkey_people::identifications::view::{PhoneNumberView, PhoneNumbers};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::model::ContactKind::Phone;
use latchkey_people::users::model::User;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::attempt::UpdatedContact;
use super::contacts::{self, VerificationMethod};
use super::rules::{self, PhoneFactorChanges};
use super::{backup_codes, settle, target};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Phone numbers");
    api.get("/v1/me/phone_numbers", "getPhoneNumbers", contacts::list::<PhoneNumbers>)
        .summary("List the phone numbers of the current user")
        .returns::<Vec<PhoneNumberView<'_>>>()
        .only_reads();
    api.post("/v1/me/phone_numbers", "postPhoneNumbers", create)
        .summary("Add a phone number to the current user")
        .returns::<Envelope<'_, PhoneNumberView<'_>>>()
        .errors(&[403]);
    api.get("/v1/me/phone_numbers/{phone_number_id}", "ReadPhoneNumber", contacts::get::<PhoneNumbers>)
        .summary("Get a phone number of the current user")
        .returns::<Envelope<'_, PhoneNumberView<'_>>>()
        .only_reads();
    api.patch("/v1/me/phone_numbers/{phone_number_id}", "UpdatePhoneNumber", update)
        .summary("Use a phone number as second factor, or stop doing so")
        .returns::<Envelope<'_, PhoneNumberView<'_>>>()
        .errors(&[403]);
    api.delete(
        "/v1/me/phone_numbers/{phone_number_id}",
        "DeletePhoneNumber",
        contacts::delete::<PhoneNumbers>,
    )
    .summary("Delete a phone number of the current user")
    .returns::<Envelope<'_, DeletedView>>()
    .errors(&[403]);
    api.post("/v1/me/phone_numbers/{phone_number_id}/prepare_verification", "sendVerificationSMS", prepare)
        .summary("Send a code to a phone number")
        .returns::<Envelope<'_, PhoneNumberView<'_>>>()
        .limited(limits::SENDINGS);
    api.post(
        "/v1/me/phone_numbers/{phone_number_id}/attempt_verification",
        "verifyPhoneNumber",
        contacts::attempt::<PhoneNumbers>,
    )
    .summary("Check a code sent to a phone number")
    .returns::<Envelope<'_, PhoneNumberView<'_>>>()
    .limited(limits::GUESSES);
}

/// Body of `postPhoneNumbers`.
#[derive(Deserialize, JsonSchema)]
struct CreatePhoneNumber {
    /// The number in E.164 format.
    phone_number: String,
    /// Use codes sent to it as second factor, once it is verified.
    reserved_for_second_factor: Option<bool>,
}

/// Body of `UpdatePhoneNumber`.
#[derive(Deserialize, JsonSchema)]
struct UpdatePhoneNumber {
    /// Use codes sent to it as second factor.
    reserved_for_second_factor: Option<bool>,
    /// Ask for it before other second factors.
    default_second_factor: Option<bool>,
}

/// Body of `sendVerificationSMS`.
#[derive(Deserialize, JsonSchema)]
struct PreparePhoneNumber {
    /// How to prove it: by a code sent there.
    strategy: PhoneStrategy,
}

/// The ways to prove a phone number.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum PhoneStrategy {
    PhoneCode,
}

async fn create(cx: Cx, person: Person, Form(input): Form<CreatePhoneNumber>) -> Response {
    let changes = ContactChanges {
        factor_once_proven: input.reserved_for_second_factor == Some(true),
        ..ContactChanges::default()
    };
    let outcome = match rules::check_factor(changes.factor_once_proven, &person.visitor.site.settings) {
        Ok(()) => contacts::add(&cx, &person, Phone, input.phone_number, changes).await,
        Err(refusal) => Err(refusal),
    };
    contacts::show::<PhoneNumbers>(&cx, &person, outcome.map(|number| (number, None))).await
}

async fn update(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<UpdatePhoneNumber>,
) -> Response {
    let changes = PhoneFactorChanges {
        reserved: input.reserved_for_second_factor,
        default: input.default_second_factor,
    };
    let outcome = updated(&cx, &person, id, changes).await;
    contacts::show::<PhoneNumbers>(&cx, &person, outcome).await
}

async fn updated(
    cx: &Cx,
    person: &Person,
    id: IdentificationId,
    changes: PhoneFactorChanges,
) -> Result<UpdatedContact> {
    if rules::changes_factors(&picked(&person.user, Phone, &id)?, changes) {
        person.check_reverified(cx.now)?;
    }
    let (act, target) = (person.visitor.act(cx), target(person));
    let fresh = backup_codes::fresh(&*cx.app.rng);
    cx.write(move |tx| Box::pin(async move { update_in(tx, &act, &target, &id, changes, fresh).await })).await
}

async fn update_in(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    id: &IdentificationId,
    changes: PhoneFactorChanges,
    fresh: Vec<String>,
) -> Result<UpdatedContact> {
    let rule = |user: User, held: Credentials| {
        let had_any = rules::has_second_factor(&user, &act.settings);
        let (user, held) = rules::update_phone(user, held, id, changes, &act.settings, act.now)?;
        Ok(rules::with_first_codes(user, held, (!had_any).then_some(fresh), &act.settings))
    };
    let (user, codes) = settle::change_factors(tx, act, target, rule).await?;
    Ok((picked(&user, Phone, id)?, codes))
}

async fn prepare(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<PreparePhoneNumber>,
) -> Response {
    let PhoneStrategy::PhoneCode = input.strategy;
    let method = VerificationMethod::Code(Strategy::PhoneCode);
    let outcome = contacts::prepare(&cx, &person, Phone, id, method).await;
    contacts::show::<PhoneNumbers>(&cx, &person, outcome.map(|number| (number, None))).await
}
