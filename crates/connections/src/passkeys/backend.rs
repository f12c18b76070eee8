//! Routes and handlers of the Backend API.

use axum::response::Response;
use latchkey_base::kinds::UserId;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_kernel::AppState;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_people::users::change::UserTarget;
use latchkey_web::api::Api;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;

use super::removal;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Users");
    api.delete("/users/{user_id}/passkeys/{passkey_identification_id}", "UserPasskeyDelete", delete)
        .summary("Remove a passkey")
        .returns::<DeletedView>();
}

async fn delete(
    cx: Cx,
    key: SecretKey,
    Path((user, passkey)): Path<(UserId, String)>,
) -> Result<Response, Failure> {
    let passkey = Id::parse(&passkey).ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    let gone = deleted("passkey", &passkey);
    let (act, target) = (cx.act(&key), UserTarget::User(user));
    // The application may lock somebody out: it can let them in again.
    let work = cx.write(move |tx| {
        Box::pin(async move { removal::remove(tx, &act, &target, &passkey, |_, _, _| Ok(())).await })
    });
    work.await?;
    cx.reply(&gone)
}
