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
    AttemptVerification, CreatePhoneNumber, ReplacePhoneNumber, UpdatePhoneNumber,
};
use crate::resources::identifications::rules::Wishes;
use crate::resources::identifications::view::{self, CodeView, PhoneNumberView};
use crate::resources::users::change::Scene;
use crate::resources::users::model::Kind::Phone;
use crate::resources::users::view::{DeletedView, deleted};

type Answer = Result<Response, Failure>;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Phone Numbers");
    api.post("/phone_numbers", "CreatePhoneNumber", create)
        .summary("Create a phone number")
        .body::<CreatePhoneNumber>()
        .returns::<PhoneNumberView>()
        .errors(&[403, 404]);
    api.get("/phone_numbers/{phone_number_id}", "GetPhoneNumber", get)
        .summary("Get a phone number")
        .returns::<PhoneNumberView>()
        .errors(&[403]);
    api.delete("/phone_numbers/{phone_number_id}", "DeletePhoneNumber", delete)
        .summary("Delete a phone number")
        .returns::<DeletedView>()
        .errors(&[403]);
    api.patch("/phone_numbers/{phone_number_id}", "UpdatePhoneNumber", update)
        .summary("Update a phone number")
        .optional_body::<UpdatePhoneNumber>()
        .returns::<PhoneNumberView>()
        .errors(&[403])
        .instead(&[(422, 400)]);
    api.post(
        "/phone_numbers/{phone_number_id}/prepare_verification",
        "PreparePhoneNumberVerification",
        prepare,
    )
    .summary("Send a code to a phone number")
    .returns::<CodeView>()
    .errors(&[403]);
    api.post(
        "/phone_numbers/{phone_number_id}/attempt_verification",
        "AttemptPhoneNumberVerification",
        attempt,
    )
    .summary("Check a code sent to a phone number")
    .body::<AttemptVerification>()
    .returns::<CodeView>()
    .errors(&[403])
    .instead(&[(422, 400)]);
    api.put("/users/{user_id}/phone_number", "ReplaceUserPhoneNumber", replace)
        .summary("Replace all phone numbers of a user by one")
        .body::<ReplacePhoneNumber>()
        .returns::<PhoneNumberView>()
        .errors(&[403]);
}

async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreatePhoneNumber>) -> Answer {
    let wishes = Wishes {
        verified: input.verified,
        primary: input.primary == Some(true),
        second_factor: input.reserved_for_second_factor.filter(|wanted| *wanted),
        ..Wishes::default()
    };
    let new = New { wishes, notify: false, user_id: input.user_id, value: input.phone_number };
    cx.reply(&view::phone_number(
        &handlers::add(&cx, Scene::new(&cx, &key), Phone, new, |_, _| Ok(())).await?,
        cx.now,
    ))
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    cx.reply(&view::phone_number(&handlers::find(&cx, &key, Phone, &id).await?, cx.now))
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    let gone = deleted("phone_number", &id);
    handlers::remove(&cx, &key, Phone, id).await?;
    cx.reply(&gone)
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<UpdatePhoneNumber>,
) -> Answer {
    let wishes = Wishes {
        verified: input.verified,
        primary: input.primary == Some(true),
        second_factor: input.reserved_for_second_factor,
        ..Wishes::default()
    };
    cx.reply(&view::phone_number(&handlers::update(&cx, &key, Phone, id, wishes, false).await?, cx.now))
}

async fn prepare(cx: Cx, key: SecretKey, Path(id): Path<IdentificationId>) -> Answer {
    cx.reply(&view::code(&handlers::prepare(&cx, &key, Phone, id).await?, cx.now))
}

async fn attempt(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<IdentificationId>,
    Input(input): Input<AttemptVerification>,
) -> Answer {
    cx.reply(&view::code(
        &handlers::attempt(&cx, &key, Phone, id, &input.verification_id, input.code).await?,
        cx.now,
    ))
}

async fn replace(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<ReplacePhoneNumber>,
) -> Answer {
    let number =
        handlers::replace(&cx, &key, Phone, id, &input.phone_number, input.identification_status, false)
            .await?;
    cx.reply(&view::phone_number(&number, cx.now))
}
