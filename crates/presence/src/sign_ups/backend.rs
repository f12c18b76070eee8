//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::kinds::{InstanceId, SignUpId};
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_people::identifications::rules::taken_problem;
use latchkey_people::users::store as users;
use latchkey_people::users::view::ViewContext;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Failure;

use super::input::UpdateSignUp;
use super::model::SignUp;
use super::view::{self, SignUpView};
use super::{rules, store};
use crate::clients::store as clients;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ups");
    api.get("/sign_ups/{id}", "GetSignUp", get).summary("Get a sign-up").returns::<SignUpView<'_>>();
    api.patch("/sign_ups/{id}", "UpdateSignUp", update)
        .summary("Update a sign-up")
        .returns::<SignUpView<'_>>()
        .errors(&[403]);
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<SignUpId>) -> Result<Response, Failure> {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &id).await?;
    let sign_up = found.ok_or_else(|| Error::not_found("sign-up", &id))?;
    cx.reply(&view::sign_up(&sign_up, ViewContext::of(&cx.act(&key))))
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SignUpId>,
    Input(input): Input<UpdateSignUp>,
) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let changed = cx.write(move |tx| Box::pin(async move { update_in(tx, &act, &id, &input).await })).await?;
    cx.reply(&view::sign_up(&changed, ViewContext::of(&cx.act(&key))))
}

async fn update_in(tx: &mut Tx, act: &Act, id: &SignUpId, input: &UpdateSignUp) -> Result<SignUp> {
    let not_found = || Error::not_found("sign-up", id);
    let found = store::find(tx, &act.instance, id).await?.ok_or_else(not_found)?;
    // The person changes it while holding the client, so it takes the client to come between.
    clients::lock(tx, &act.instance, &found.client).await?;
    let before = store::lock(tx, &act.instance, id).await?.ok_or_else(not_found)?;
    let had = before.external_id.clone();
    let after = rules::update(before, input, act.now)?;
    if let Some(id) = after.external_id.as_deref().filter(|id| had.as_deref() != Some(*id)) {
        check_free(tx, &act.instance, id).await?;
    }
    store::save(tx, &after).await?;
    Ok(after)
}

/// Refuses the id of somebody else here, where the application can still choose another: the person could do
/// nothing about it in the end.
async fn check_free(tx: &mut Tx, instance: &InstanceId, external_id: &str) -> Result<()> {
    match users::is_external_id_taken(tx, instance, external_id).await? {
        true => Err(taken_problem("external_id").into()),
        false => Ok(()),
    }
}
