//! Updating a user.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use latchkey_base::kinds::UserId;
use latchkey_base::patch::Patch;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result};
use latchkey_db::Tx;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_people::images;
use latchkey_people::notices::primary_address_changed;
use latchkey_people::users::change::{UserTarget, save_user, save_user_with_secrets};
use latchkey_people::users::create::{explain, identifiers};
use latchkey_people::users::credentials::{self, CredentialFields, CredentialsChange};
use latchkey_people::users::input::{METADATA_FIELDS, Metadata, UpdateUser};
use latchkey_people::users::metadata::{self, Mode};
use latchkey_people::users::model::User;
use latchkey_people::users::rules::{self, Setting};
use latchkey_people::users::store;
use latchkey_people::users::view::{self, ViewContext};
use latchkey_web::input::{Fields, Path};
use latchkey_web::reply::Failure;
use latchkey_web::shape::Shapes;
use latchkey_web::version::Version;
use serde_json::{Map, Value};

use super::sessions::Sessions;

/// `UpdateUser`
pub async fn update(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    State(shapes): State<Arc<Shapes>>,
    Fields(mut fields, _): Fields<UpdateUser>,
) -> Result<Response, Failure> {
    let metadata = legacy_metadata(cx.version, &mut fields, &shapes)?;
    let input: UpdateUser = shapes.of::<UpdateUser>().read(fields)?;
    let current = store::find(&mut cx.app.db.read().await?, &key.instance, &id).await?;
    let current = current.ok_or_else(|| Error::not_found("user", &id))?;
    let mut problems: Vec<Problem> = only_with_password(&input).into_iter().collect();
    let change = credentials::read(given(&input), &key.settings.attributes, &mut problems);
    let policy = key.settings.password.policy();
    let mut identifiers = identifiers(&current);
    identifiers.extend(input.username.clone().value());
    let change =
        change.hashed(&cx, &WorkOwner::backend(&key.instance), policy, identifiers, problems).await?;
    let act = cx.act(&key);
    let inner = act.clone();
    let written = cx.write(move |tx| Box::pin(write(tx, inner, id, input, metadata, change))).await;
    match written {
        Ok(user) => cx.reply(&view::user(&user, ViewContext::of(&act))),
        Err(error) => Err(explain_update(&cx, error, current).await.into()),
    }
}

/// Before 2026-05-12 this operation also replaced metadata; since then its keys are unknown here.
fn legacy_metadata(version: Version, fields: &mut Map<String, Value>, shapes: &Shapes) -> Result<Metadata> {
    if version >= Version::V2026_05_12 {
        return Ok(Metadata::default());
    }
    let taken = METADATA_FIELDS.iter().filter_map(|&name| Some((name.to_owned(), fields.remove(name)?)));
    shapes.of::<Metadata>().read(taken.collect())
}

fn only_with_password(input: &UpdateUser) -> Option<Problem> {
    let is_alone = input.sign_out_of_other_sessions == Some(true)
        && input.password.is_none()
        && input.password_digest.is_none();
    is_alone.then(|| {
        Problem::of(Code::FormConditionalParamMissing, "sign_out_of_other_sessions")
            .saying("`sign_out_of_other_sessions` needs `password`.")
    })
}

fn given(input: &UpdateUser) -> CredentialFields<'_> {
    let totp_secret: Option<Option<&Secret>> = match &input.totp_secret {
        Patch::Absent => None,
        Patch::Null => Some(None),
        Patch::Value(secret) => Some(Some(secret)),
    };
    CredentialFields {
        password: input.password.as_ref(),
        skip_password_checks: input.skip_password_checks == Some(true),
        password_digest: input.password_digest.as_ref(),
        password_hasher: input.password_hasher.as_deref(),
        totp_secret,
        backup_codes: input.backup_codes.as_deref(),
    }
}

/// Writes what is to be changed of a user.
pub async fn write(
    tx: &mut Tx,
    act: Act,
    id: UserId,
    input: UpdateUser,
    metadata: Metadata,
    change: CredentialsChange,
) -> Result<User> {
    let act = &act;
    let sessions = Sessions::end_if(input.sign_out_of_other_sessions == Some(true));
    let mut settling = sessions.lock(tx, act, &[&id]).await?;
    let before = UserTarget::User(id).lock(tx, act).await?;
    let setting = Setting { instance: &act.instance, settings: &act.settings, now: act.now, rng: &*act.rng };
    let after = rules::update(before.clone(), &input, setting)?;
    let after = metadata::apply(after, metadata, Mode::Replace)?;
    let after = change.mark(after, act.now);
    if let Some(image) = after.image.as_ref().filter(|image| before.image.as_ref() != Some(image))
        && !images::is_of(tx, &act.instance, &before.id, image).await?
    {
        return Err(Error::param(Code::ImageNotFound, "profile_image_id"));
    }
    if input.notify_primary_email_address_changed == Some(true) {
        primary_address_changed(tx, act, &before, &after).await?;
    }
    let after = match change.is_some() && write_credentials(tx, act, &before.id, change).await? {
        true => save_user_with_secrets(tx, act, &before, after).await?,
        false => save_user(tx, act, &before, after).await?,
    };
    settling.settle(tx, act, &after.id).await?;
    Ok(after)
}

/// Applies a change to the credentials, and says whether they are others now.
async fn write_credentials(tx: &mut Tx, act: &Act, id: &UserId, change: CredentialsChange) -> Result<bool> {
    let held = credentials::lock(tx, &act.instance, id, &act.master).await?;
    let next = change.apply(held.clone());
    if next == held {
        return Ok(false);
    }
    let (sql, params) = credentials::save(&act.instance, id, &next, &act.master)?;
    tx.run(&[sql], &params).await?;
    Ok(true)
}

/// Finds out which identifier was taken; only a username or an external id can collide here.
pub async fn explain_update(cx: &Cx, error: Error, current: User) -> Error {
    match latchkey_db::unique_violation(&error) {
        Some(column) if column.starts_with("identifications.") => {
            latchkey_people::identifications::rules::taken_problem("username").into()
        }
        _ => explain(&cx.app.db, error, &current).await,
    }
}
