//! Authenticator apps: a secret is shared, and the first right code shows that it arrived.

use axum::response::Response;
use latchkey_base::kinds::SessionId;
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, rng};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::redirects::escape;
use latchkey_door::reply::Envelope;
use latchkey_jose::totp::{base32_encode, verify_totp};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::credentials::{self, Credentials};
use latchkey_people::users::model::User;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::{self, TotpView};
use super::{backup_codes, change, rules, settle, target};

/// 160 bits, as RFC 4226, section 4, recommends.
const SECRET_BYTES: usize = 20;

pub fn routes(api: &mut Api<AppState>) {
    api.group("TOTP");
    api.post("/v1/me/totp", "postTOTP", create)
        .summary("Begin to set up an authenticator app")
        .returns::<Envelope<'_, TotpView>>()
        .errors(&[403]);
    api.post("/v1/me/totp/attempt_verification", "verifyTOTP", attempt)
        .summary("Finish setting up an authenticator app with a code from it")
        .returns::<Envelope<'_, TotpView>>()
        .errors(&[403, 404])
        .limited(limits::GUESSES);
    api.delete("/v1/me/totp", "deleteTOTP", delete)
        .summary("Remove the authenticator app")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403, 404]);
}

/// Body of `verifyTOTP`.
#[derive(Deserialize, JsonSchema)]
struct AttemptTotp {
    /// What the app shows.
    code: Secret,
}

async fn create(cx: Cx, person: Person) -> Response {
    let outcome = begin(&cx, &person).await.map(|secret| {
        let text = base32_encode(&secret);
        let uri = uri(person.visitor.site.settings.display.name(), &person.user, &text);
        view::pending_totp(&person.user.id, text, uri, cx.now)
    });
    person.visitor.answer(&cx, outcome).await
}

async fn begin(cx: &Cx, person: &Person) -> Result<Vec<u8>> {
    check_enabled(person)?;
    person.check_reverified(cx.now)?;
    let (act, target) = (person.visitor.act(cx), target(person));
    let secret = rng::bytes::<SECRET_BYTES>(&*cx.app.rng).to_vec();
    let shared = secret.clone();
    cx.write(move |tx| Box::pin(async move { keep_pending(tx, &act, &target, secret).await })).await?;
    Ok(shared)
}

/// Nothing about the user changes yet, so nothing is told.
async fn keep_pending(tx: &mut Tx, act: &Act, target: &UserTarget, secret: Vec<u8>) -> Result<()> {
    let user = target.lock(tx, act).await?;
    if user.totp_enabled {
        return Err(Error::new(Code::TotpAlreadyEnabled));
    }
    let held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    let held = Credentials { totp_pending: Some(secret), ..held };
    let (sql, params) = credentials::save(&act.instance, &user.id, &held, &act.master)?;
    tx.run(&[sql], &params).await?;
    Ok(())
}

/// Needs no proof of its own: only who began, with one, knows the secret.
async fn attempt(cx: Cx, person: Person, Form(input): Form<AttemptTotp>) -> Response {
    let outcome = finish(&cx, &person, input.code).await;
    let view = |codes| view::totp(&person.user.id, codes, cx.now);
    person.visitor.answer(&cx, outcome.map(view)).await
}

async fn finish(cx: &Cx, person: &Person, code: Secret) -> Result<Option<Vec<String>>> {
    check_enabled(person)?;
    let (act, target, session) = (person.visitor.act(cx), target(person), person.session.id.clone());
    let fresh = backup_codes::fresh(&*cx.app.rng);
    cx.write(move |tx| Box::pin(async move { finish_in(tx, &act, &target, &session, &code, fresh).await }))
        .await
}

async fn finish_in(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    session: &SessionId,
    code: &Secret,
    fresh: Vec<String>,
) -> Result<Option<Vec<String>>> {
    let now = act.now.seconds();
    let rule = |user: User, held: Credentials| {
        let (user, held) = enrolled(user, held, code, now)?;
        Ok(rules::with_first_codes(user, held, Some(fresh), &act.settings))
    };
    let (_, codes) = settle::change_factors(tx, act, target, rule).await?;
    // The code was as good a proof as any later one, and cannot be given again.
    settle::second_factor_proven(tx, act, session).await?;
    Ok(codes)
}

/// The user with the app that is being set up, if the code is from it.
fn enrolled(user: User, held: Credentials, code: &Secret, unix_seconds: i64) -> Result<(User, Credentials)> {
    if user.totp_enabled {
        return Err(Error::new(Code::TotpAlreadyEnabled));
    }
    let none = || Error::new(Code::ResourceNotFound).saying("No authenticator app is being set up.");
    let secret = held.totp_pending.clone().ok_or_else(none)?;
    let step = verify_totp(&secret, code.expose(), unix_seconds, None);
    let step = step.ok_or_else(|| Error::param(Code::FormCodeIncorrect, "code"))?;
    let held =
        Credentials { totp_secret: Some(secret), totp_last_step: Some(step), totp_pending: None, ..held };
    Ok((User { totp_enabled: true, ..user }, held))
}

async fn delete(cx: Cx, person: Person) -> Response {
    let outcome = remove(&cx, &person).await;
    let gone = deleted("totp", &view::totp_id(&person.user.id));
    person.visitor.answer(&cx, outcome.map(|()| gone)).await
}

async fn remove(cx: &Cx, person: &Person) -> Result<()> {
    let rule = |user, held, settings: &Settings| {
        let (user, held) = rules::without_totp(user, held, settings)?;
        Ok((user, held, ()))
    };
    change(cx, person, rule).await
}

fn check_enabled(person: &Person) -> Result<()> {
    match person.visitor.site.settings.attributes.authenticator_app.is_second_factor() {
        true => Ok(()),
        false => Err(Error::new(Code::FeatureNotEnabled).saying("Authenticator apps are switched off.")),
    }
}

/// What an app reads from a QR code. The label names application and account, so that people with several
/// can tell them apart.
fn uri(application: &str, user: &User, secret: &str) -> String {
    let account = user.identifier().unwrap_or(user.id.as_str());
    let (issuer, account) = (escape(application), escape(account));
    format!(
        "otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}&algorithm=SHA1&digits=6&period=30"
    )
}
