//! Routes and handlers of the backend API.

use axum::response::Response;
use latchkey_base::kinds::{InstanceId, SignUpId};
use latchkey_base::{Error, Result};
use latchkey_db::Tx;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Failure;

use super::input::UpdateSignUp;
use super::view::SignUpView;
use super::{rules, store, view};
use crate::AppState;
use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::resources::clients::store as clients;
use crate::resources::identifications::rules::taken_problem;
use crate::resources::users::store as users;

/// Adds the operations.
pub fn routes(api: &mut Api<AppState>) {
    api.group("Sign Ups");
    api.get("/sign_ups/{id}", "GetSignUp", get).summary("Get a sign-up").returns::<SignUpView<'_>>();
    api.patch("/sign_ups/{id}", "UpdateSignUp", update)
        .summary("Update a sign-up")
        .optional_body::<UpdateSignUp>()
        .returns::<SignUpView<'_>>()
        .errors(&[403]);
}

async fn get(cx: Cx, key: SecretKey, Path(id): Path<SignUpId>) -> Result<Response, Failure> {
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &key.instance, &id).await?;
    let sign_up = found.ok_or_else(|| Error::not_found("sign-up", &id))?;
    cx.reply(&view::sign_up(&sign_up, cx.act(&key).lens()))
}

async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<SignUpId>,
    Input(input): Input<UpdateSignUp>,
) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let changed = cx.write(move |tx| {
        Box::pin(async move {
            let not_found = || Error::not_found("sign-up", &id);
            let found = store::find(tx, &act.instance, &id).await?.ok_or_else(not_found)?;
            // The person changes it while holding the client, so it takes the client to come between.
            clients::lock(tx, &act.instance, &found.client).await?;
            let before = store::lock(tx, &act.instance, &id).await?.ok_or_else(not_found)?;
            let had = before.external_id.clone();
            let after = rules::update(before, &input, act.now)?;
            if let Some(id) = after.external_id.as_deref().filter(|id| had.as_deref() != Some(*id)) {
                check_free(tx, &act.instance, id).await?;
            }
            store::save(tx, &after).await?;
            Ok(after)
        })
    });
    cx.reply(&view::sign_up(&changed.await?, cx.act(&key).lens()))
}

/// Refuses the id of somebody else here, where the application can still choose another: the person could do
/// nothing about it in the end.
async fn check_free(tx: &mut Tx, instance: &InstanceId, external_id: &str) -> Result<()> {
    match users::is_external_id_taken(tx, instance, external_id).await? {
        true => Err(taken_problem("external_id").into()),
        false => Ok(()),
    }
}
