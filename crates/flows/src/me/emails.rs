//! The e-mail addresses of the current user.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_door::person::Person;
use latchkey_door::redirects;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::wire::DeletedView;
use latchkey_kernel::{AppState, limits};
use latchkey_people::identifications::rules::ContactChanges;
use latchkey_people::identifications::view::{EmailAddressView, EmailAddresses};
use latchkey_people::users::model::ContactKind::Email;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use schemars::JsonSchema;
use serde::Deserialize;

use super::contacts::{self, VerificationMethod};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Email addresses");
    api.get("/v1/me/email_addresses", "getEmailAddresses", contacts::list::<EmailAddresses>)
        .summary("List the e-mail addresses of the current user")
        .returns::<Vec<EmailAddressView<'_>>>()
        .only_reads();
    api.post("/v1/me/email_addresses", "createEmailAddresses", create)
        .summary("Add an e-mail address to the current user")
        .returns::<Envelope<'_, EmailAddressView<'_>>>()
        .errors(&[403]);
    api.get("/v1/me/email_addresses/{email_id}", "getEmailAddress", contacts::get::<EmailAddresses>)
        .summary("Get an e-mail address of the current user")
        .returns::<Envelope<'_, EmailAddressView<'_>>>()
        .only_reads();
    api.delete("/v1/me/email_addresses/{email_id}", "DeleteEmailAddress", contacts::delete::<EmailAddresses>)
        .summary("Delete an e-mail address of the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.post("/v1/me/email_addresses/{email_id}/prepare_verification", "sendVerificationEmail", prepare)
        .summary("Send a code or a link to an e-mail address")
        .returns::<Envelope<'_, EmailAddressView<'_>>>()
        .limited(limits::SENDINGS);
    api.post(
        "/v1/me/email_addresses/{email_id}/attempt_verification",
        "verifyEmailAddress",
        contacts::attempt::<EmailAddresses>,
    )
    .summary("Check a code sent to an e-mail address")
    .returns::<Envelope<'_, EmailAddressView<'_>>>()
    .limited(limits::GUESSES);
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

async fn create(cx: Cx, person: Person, Form(input): Form<CreateEmailAddress>) -> Response {
    let outcome = contacts::add(&cx, &person, Email, input.email_address, ContactChanges::default()).await;
    contacts::show::<EmailAddresses>(&cx, &person, outcome.map(|address| (address, None))).await
}

async fn prepare(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<PrepareEmailAddress>,
) -> Response {
    let outcome = match way(&cx, &person, input).await {
        Ok(way) => contacts::prepare(&cx, &person, Email, id, way).await,
        Err(error) => Err(error),
    };
    contacts::show::<EmailAddresses>(&cx, &person, outcome.map(|address| (address, None))).await
}

async fn way(cx: &Cx, person: &Person, input: PrepareEmailAddress) -> Result<VerificationMethod> {
    let site = &person.visitor.site;
    match input.strategy.as_str() {
        "email_code" => Ok(VerificationMethod::Code(Strategy::EmailCode)),
        "email_link" => {
            let page = redirects::allowed(cx, site, input.redirect_url.as_deref()).await?;
            let redirect_url = page.as_str().to_owned();
            Ok(VerificationMethod::Link { redirect_url, base_url: site.base_url.clone() })
        }
        _ => Err(Error::param(Code::FormParamValueInvalid, "strategy")),
    }
}
