//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::Result;
use latchkey_base::kinds::{IdentificationId, UserId};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Failure;

use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::resources::identifications::handlers::{self, New};
use crate::resources::identifications::input::{
    AttemptVerification, CreateEmailAddress, ReplaceEmailAddress, UpdateEmailAddress,
};
use crate::resources::identifications::rules::Wishes;
use crate::resources::identifications::view::{self, CodeView, EmailAddressView};
use crate::resources::users::change::Scene;
use crate::resources::users::model::Kind::Email;
use crate::resources::users::view::{DeletedView, deleted};

type Answer = Result<Response, Failure>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Email Addresses");
    api.post("/email_addresses", "CreateEmailAddress", create)
        .summary("Create an e-mail address")
        .body::<CreateEmailAddress>()
        .returns::<EmailAddressView>()
        .errors(&[403, 404, 409]);
    api.get("/email_addresses/{email_address_id}", "GetEmailAddress", get)
        .summary("Get an e-mail address")
        .returns::<EmailAddressView>()
        .errors(&[403]);
    api.delete("/email_addresses/{email_address_id}", "DeleteEmailAddress", delete)
        .summary("Delete an e-mail address")
        .returns::<DeletedView>()
        .errors(&[403, 409]);
    api.patch("/email_addresses/{email_address_id}", "UpdateEmailAddress", update)
        .summary("Update an e-mail address")
        .optional_body::<UpdateEmailAddress>()
        .returns::<EmailAddressView>()
        .errors(&[403, 409])
        .instead(&[(422, 400)]);
    api.post(
        "/email_addresses/{email_address_id}/prepare_verification",
        "PrepareEmailAddressVerification",
        prepare,
    )
    .summary("Send a code to an e-mail address")
    .returns::<CodeView>()
    .errors(&[403]);
    api.post(
        "/email_addresses/{email_address_id}/attempt_verification",
        "AttemptEmailAddressVerification",
        attempt,
    )
    .summary("Check a code sent to an e-mail address")
    .body::<AttemptVerification>()
    .returns::<CodeView>()
    .errors(&[403])
    .instead(&[(422, 400)]);
    api.put("/users/{user_id}/email_address", "ReplaceUserEmailAddress", replace)
        .summary("Replace all e-mail addresses of a user by one")
        .body::<ReplaceEmailAddress>()
        .returns::<EmailAddressView>()
        .errors(&[403]);
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateEmailAddress>) -> Answer {
    let new = New {
        wishes: Wishes {
            verified: input.verified,
            primary: input.primary == Some(true),
            ..Wishes::default()
        },
        notify: input.notify_primary_email_address_changed == Some(true),
        user_id: input.user_id,
        value: input.email_address,
    };
    cx.reply(&view::email_address(
        &handlers::add(&cx, Scene::new(&cx, &key), Email, new, |_, _| Ok(())).await?,
        cx.now,
    ))
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    cx.reply(&view::email_address(&handlers::find(&cx, &key, Email, &id).await?, cx.now))
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    let gone = deleted("email_address", &id);
    handlers::remove(&cx, &key, Email, id).await?;
    cx.reply(&gone)
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<UpdateEmailAddress>,
) -> Answer {
    let wishes =
        Wishes { verified: input.verified, primary: input.primary == Some(true), ..Wishes::default() };
    let notify = input.notify_primary_email_address_changed == Some(true);
    cx.reply(&view::email_address(&handlers::update(&cx, &key, Email, id, wishes, notify).await?, cx.now))
}

async fn prepare(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    cx.reply(&view::code(&handlers::prepare(&cx, &key, Email, id).await?, cx.now))
}

async fn attempt(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<AttemptVerification>,
) -> Answer {
    cx.reply(&view::code(
        &handlers::attempt(&cx, &key, Email, id, &input.verification_id, input.code).await?,
        cx.now,
    ))
}

async fn replace(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<ReplaceEmailAddress>,
) -> Answer {
    let notify = input.notify_primary_email_address_changed == Some(true);
    let address =
        handlers::replace(&cx, &key, Email, id, &input.email_address, input.identification_status, notify)
            .await?;
    cx.reply(&view::email_address(&address, cx.now))
}
