//! Creating a user.

use axum::response::Response;
use latchkey_base::{Code, Error, Result};
use latchkey_db::{Db, Numbered, Statement, unique_violation};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::events::Event;
use latchkey_kernel::outbox;
use latchkey_kernel::slow::WorkOwner;
use latchkey_web::input::Input;
use latchkey_web::reply::Failure;

use super::arrivals;
use super::credentials::{self, CredentialFields, Credentials};
use super::input::CreateUser;
use super::model::User;
use super::rules::{self, Setting};
use super::store;
use super::view::{self, ViewContext};
use crate::identifications::rules::taken_problem;
use crate::restrictions::check::check_new_user;

/// `CreateUser`
pub async fn create(cx: Cx, key: SecretKey, Input(input): Input<CreateUser>) -> Result<Response, Failure> {
    let act = cx.act(&key);
    let mut problems = Vec::new();
    let setting =
        Setting { instance: &key.instance, settings: &key.settings, now: cx.now, rng: &*cx.app.rng };
    let user = rules::create(&input, setting, &mut problems)?;
    let change = credentials::read(given(&input), &key.settings.attributes, &mut problems);
    let policy = key.settings.password.policy();
    let change =
        change.hashed(&cx, &WorkOwner::backend(&key.instance), policy, identifiers(&user), problems).await?;
    let is_unrestricted = input.skip_restriction_checks == Some(true);
    if key.settings.has_restrictions() && !is_unrestricted {
        check_new_user(&mut cx.app.db.read().await?, &act, &user).await?;
    }
    let user = change.mark(user, cx.now);
    let user = User { mfa_enabled_at: user.has_second_factor().then_some(cx.now), ..user };
    let held = change.is_some().then(|| change.apply(Credentials::default()));
    let shown = view::user(&user, ViewContext::of(&act));
    let created = outbox::event(&act, Event::UserCreated, user.id.as_str(), &shown)?;
    let statements = statements(&act, &user, held)?;
    let written = match arrivals::is_awaited(&act) {
        true => write_and_tell(&cx, act.clone(), user.clone(), statements, created).await,
        false => cx.write_all(statements, vec![created]).await,
    };
    match written {
        Ok(()) => cx.reply(&shown),
        Err(error) => Err(explain(&cx.app.db, error, &user).await.into()),
    }
}

/// Writes a user at an instance where groups above wait for proven addresses.
async fn write_and_tell(
    cx: &Cx,
    act: Act,
    user: User,
    statements: Vec<Statement>,
    created: Numbered,
) -> Result<()> {
    let written = cx.write(move |tx| {
        Box::pin(async move {
            tx.run_many(statements).await?;
            tx.append(created);
            arrivals::created(tx, &act, &user).await
        })
    });
    written.await
}

fn given(input: &CreateUser) -> CredentialFields<'_> {
    CredentialFields {
        password: input.password.as_ref(),
        skip_password_checks: input.skip_password_checks == Some(true),
        password_digest: input.password_digest.as_ref(),
        password_hasher: input.password_hasher.as_deref(),
        totp_secret: input.totp_secret.as_ref().map(Some),
        backup_codes: (!input.backup_codes.is_empty()).then_some(&input.backup_codes[..]),
    }
}

/// Everything that is written for a new user beside the event, sent together.
pub fn statements(act: &Act, user: &User, held: Option<Credentials>) -> Result<Vec<Statement>> {
    let mut statements = store::insert(user)?;
    if let Some(held) = held {
        statements.push(credentials::save(&act.instance, &user.id, &held, &act.master)?);
    }
    Ok(statements)
}

/// What a password must not be equal to.
pub fn identifiers(user: &User) -> Vec<String> {
    user.claims().into_iter().map(|claim| claim.value_folded).collect()
}

/// Says which identifier was taken, when that is why a user could not be written.
pub async fn explain(db: &Db, error: Error, user: &User) -> Error {
    match unique_violation(&error) {
        Some("users.external_id") => Error::from(taken_problem("external_id")),
        Some(column) if column.starts_with("identifications.") => {
            let found = async { store::taken(&mut db.read().await?, user).await };
            let problems = found.await.unwrap_or_default().iter().map(|kind| taken_problem(kind)).collect();
            // Gone again by the time we look: the caller may try once more.
            Error::collect(problems).err().unwrap_or_else(|| Error::new(Code::FormIdentifierExists))
        }
        _ => error,
    }
}
