//! The phone numbers of the current user, which can also be second factors.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::attempt::{self, AttemptCode, Updated};
use super::contacts::{self, Way};
use super::rules::{self, PhoneWishes};
use super::{DeletedAnswer, backup_codes, settle, target};
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::person::Person;
use crate::frontend::reply::Envelope;
use crate::resources::identifications::handlers::picked;
use crate::resources::identifications::rules::Wishes;
use crate::resources::identifications::view::{self, PhoneNumberView};
use crate::resources::users::change::with_secrets;
use crate::resources::users::credentials::Credentials;
use crate::resources::users::model::Kind::Phone;
use crate::resources::users::model::{Strategy, User};
use crate::resources::users::view::deleted;

type Wrapped<'a> = Envelope<'a, PhoneNumberView<'a>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Phone numbers");
    api.get("/v1/me/phone_numbers", "getPhoneNumbers", list)
        .summary("List the phone numbers of the current user")
        .returns::<Vec<PhoneNumberView<'_>>>();
    api.post("/v1/me/phone_numbers", "postPhoneNumbers", create)
        .summary("Add a phone number to the current user")
        .form::<CreatePhoneNumber>()
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.get("/v1/me/phone_numbers/{phone_number_id}", "ReadPhoneNumber", get)
        .summary("Get a phone number of the current user")
        .returns::<Wrapped<'_>>();
    api.patch("/v1/me/phone_numbers/{phone_number_id}", "UpdatePhoneNumber", update)
        .summary("Use a phone number as second factor, or stop doing so")
        .form::<UpdatePhoneNumber>()
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.delete("/v1/me/phone_numbers/{phone_number_id}", "DeletePhoneNumber", delete)
        .summary("Delete a phone number of the current user")
        .returns::<DeletedAnswer<'_>>()
        .errors(&[403]);
    api.post("/v1/me/phone_numbers/{phone_number_id}/prepare_verification", "sendVerificationSMS", prepare)
        .summary("Send a code to a phone number")
        .form::<PreparePhoneNumber>()
        .returns::<Wrapped<'_>>();
    api.post("/v1/me/phone_numbers/{phone_number_id}/attempt_verification", "verifyPhoneNumber", attempt)
        .summary("Check a code sent to a phone number")
        .form::<AttemptCode>()
        .returns::<Wrapped<'_>>();
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
    /// `phone_code`.
    strategy: Option<String>,
}

async fn list(cx: Cx, person: Person) -> Result<Response, Failure> {
    let numbers = person.user.phone_numbers.all.iter();
    cx.bare(&numbers.map(|number| view::phone_number(number, cx.now)).collect::<Vec<_>>())
}

async fn create(cx: Cx, person: Person, Form(input): Form<CreatePhoneNumber>) -> Response {
    let wishes =
        Wishes { factor_once_proven: input.reserved_for_second_factor == Some(true), ..Wishes::default() };
    let outcome = match rules::check_factor(wishes.factor_once_proven, &person.visitor.site.settings) {
        Ok(()) => contacts::add_as(&cx, &person, Phone, input.phone_number, wishes).await,
        Err(refusal) => Err(refusal),
    };
    show(&cx, &person, outcome.map(|number| (number, None))).await
}

async fn get(cx: Cx, person: Person, Path(id): Path<IdentificationId>) -> Response {
    let outcome = contacts::find(&person, Phone, &id);
    show(&cx, &person, outcome.map(|number| (number, None))).await
}

async fn update(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<UpdatePhoneNumber>,
) -> Response {
    let wishes =
        PhoneWishes { reserved: input.reserved_for_second_factor, default: input.default_second_factor };
    let outcome = updated(&cx, &person, id, wishes).await;
    show(&cx, &person, outcome).await
}

async fn updated(cx: &Cx, person: &Person, id: IdentificationId, wishes: PhoneWishes) -> Result<Updated> {
    if rules::changes_factors(&contacts::find(person, Phone, &id)?, wishes) {
        person.check_reverified(cx.now)?;
    }
    let (act, target) = (person.visitor.act(cx), target(person));
    let fresh = backup_codes::fresh(&*cx.app.rng);
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let rule = |user: User, held: Credentials| {
                let had_any = user.has_second_factor();
                let (user, held) = rules::update_phone(user, held, &id, wishes, &act.settings, act.now)?;
                let (user, held, codes) = match had_any {
                    true => (user, held, None),
                    false => rules::with_first_codes(user, held, fresh, &act.settings),
                };
                Ok((user, held, (had_any, codes)))
            };
            let (user, (had_any, codes)) = with_secrets(tx, &act, &target, rule).await?;
            settle::settle(tx, &act, &user).await?;
            settle::tell_of_first_factor(tx, &act, had_any, &user).await?;
            Ok((picked(&user, Phone, &id)?, codes))
        })
    });
    written.await
}

async fn delete(cx: Cx, person: Person, Path(id): Path<IdentificationId>) -> Response {
    let gone = deleted("phone_number", &id);
    let outcome = contacts::remove(&cx, &person, Phone, id).await;
    cx.answer(&person.visitor, outcome.map(|()| gone)).await
}

async fn prepare(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<PreparePhoneNumber>,
) -> Response {
    let outcome = match input.strategy.as_deref() {
        None | Some("phone_code") => {
            contacts::prepare(&cx, &person, Phone, id, Way::Code(Strategy::PhoneCode)).await
        }
        Some(_) => Err(Error::param(Code::FormParamValueInvalid, "strategy")),
    };
    show(&cx, &person, outcome.map(|number| (number, None))).await
}

async fn attempt(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<AttemptCode>,
) -> Response {
    let outcome = attempt::attempt(&cx, &person, Phone, id, input.code).await;
    show(&cx, &person, outcome).await
}

async fn show(cx: &Cx, person: &Person, outcome: Result<Updated>) -> Response {
    match outcome {
        Ok((number, codes)) => {
            let view = view::phone_number_with_codes(&number, codes, cx.now);
            cx.answer(&person.visitor, Ok(view)).await
        }
        Err(error) => cx.answer::<()>(&person.visitor, Err(error)).await,
    }
}
