//! The e-mail addresses of the current user.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

use super::DeletedAnswer;
use super::attempt::{self, AttemptCode};
use super::contacts::{self, Way};
use crate::AppState;
use crate::cx::Cx;
use crate::frontend::person::Person;
use crate::frontend::redirects;
use crate::frontend::reply::Envelope;
use crate::resources::identifications::view::{self, EmailAddressView};
use crate::resources::users::model::Kind::Email;
use crate::resources::users::model::{Contact, Strategy};
use crate::resources::users::view::deleted;

type Wrapped<'a> = Envelope<'a, EmailAddressView<'a>>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Email addresses");
    api.get("/v1/me/email_addresses", "getEmailAddresses", list)
        .summary("List the e-mail addresses of the current user")
        .returns::<Vec<EmailAddressView<'_>>>();
    api.post("/v1/me/email_addresses", "createEmailAddresses", create)
        .summary("Add an e-mail address to the current user")
        .form::<CreateEmailAddress>()
        .returns::<Wrapped<'_>>()
        .errors(&[403]);
    api.get("/v1/me/email_addresses/{email_id}", "getEmailAddress", get)
        .summary("Get an e-mail address of the current user")
        .returns::<Wrapped<'_>>();
    api.delete("/v1/me/email_addresses/{email_id}", "DeleteEmailAddress", delete)
        .summary("Delete an e-mail address of the current user")
        .returns::<DeletedAnswer<'_>>()
        .errors(&[403]);
    api.post("/v1/me/email_addresses/{email_id}/prepare_verification", "sendVerificationEmail", prepare)
        .summary("Send a code or a link to an e-mail address")
        .form::<PrepareEmailAddress>()
        .returns::<Wrapped<'_>>();
    api.post("/v1/me/email_addresses/{email_id}/attempt_verification", "verifyEmailAddress", attempt)
        .summary("Check a code sent to an e-mail address")
        .form::<AttemptCode>()
        .returns::<Wrapped<'_>>();
}

/// Body of `createEmailAddresses`.
#[derive(Deserialize, JsonSchema)]
struct CreateEmailAddress {
    /// The address.
    email_address: String,
}

/// Body of `sendVerificationEmail`.
#[derive(Deserialize, JsonSchema)]
struct PrepareEmailAddress {
    /// `email_code` or `email_link`.
    strategy: String,
    /// Where a link leads in the end.
    redirect_url: Option<String>,
}

async fn list(cx: Cx, person: Person) -> Result<Response, Failure> {
    let addresses = person.user.email_addresses.all.iter();
    cx.bare(&addresses.map(|address| view::email_address(address, cx.now)).collect::<Vec<_>>())
}

async fn create(cx: Cx, person: Person, Form(input): Form<CreateEmailAddress>) -> Response {
    let outcome = contacts::add(&cx, &person, Email, input.email_address).await;
    show(&cx, &person, outcome).await
}

async fn get(cx: Cx, person: Person, Path(id): Path<IdentificationId>) -> Response {
    let outcome = contacts::find(&person, Email, &id);
    show(&cx, &person, outcome).await
}

async fn delete(cx: Cx, person: Person, Path(id): Path<IdentificationId>) -> Response {
    let gone = deleted("email_address", &id);
    let outcome = contacts::remove(&cx, &person, Email, id).await;
    cx.answer(&person.visitor, outcome.map(|()| gone)).await
}

async fn prepare(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<PrepareEmailAddress>,
) -> Response {
    let outcome = match way(&person, input) {
        Ok(way) => contacts::prepare(&cx, &person, Email, id, way).await,
        Err(error) => Err(error),
    };
    show(&cx, &person, outcome).await
}

fn way(person: &Person, input: PrepareEmailAddress) -> Result<Way> {
    let site = &person.visitor.site;
    match input.strategy.as_str() {
        "email_code" => Ok(Way::Code(Strategy::EmailCode)),
        "email_link" => {
            let redirect_url = redirects::checked(site, input.redirect_url.as_deref())?.as_str().to_owned();
            Ok(Way::Link { redirect_url, base_url: site.base_url.clone() })
        }
        _ => Err(Error::param(Code::FormParamValueInvalid, "strategy")),
    }
}

async fn attempt(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<AttemptCode>,
) -> Response {
    let outcome = attempt::attempt(&cx, &person, Email, id, input.code).await.map(|(address, _)| address);
    show(&cx, &person, outcome).await
}

async fn show(cx: &Cx, person: &Person, outcome: Result<Contact>) -> Response {
    match outcome {
        Ok(address) => cx.answer(&person.visitor, Ok(view::email_address(&address, cx.now))).await,
        Err(error) => cx.answer::<()>(&person.visitor, Err(error)).await,
    }
}
