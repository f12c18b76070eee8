//! The password of the current user.
//!
//! Who knows it may change it, unless there is a second factor, which must have been shown recently too; so may
//! who has recently proven otherwise who they are, and who signed in to do just that.

use axum::response::Response;
use latchkey_base::kinds::{SessionId, UserId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Problem, Result, Time};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::{AppState, limits};
use latchkey_organizations::memberships::view::FrontendMembershipView;
use latchkey_people::notices;
use latchkey_people::users::change::{UserTarget, with_secrets};
use latchkey_people::users::credentials::{Credentials, CredentialsChange};
use latchkey_people::users::factors;
use latchkey_people::users::model::User;
use latchkey_people::users::view::FrontendUserView;
use latchkey_presence::sessions::closing::Clients;
use latchkey_presence::sessions::ending::end_all_of_user;
use latchkey_presence::sessions::model::{SessionStatus, Task};
use latchkey_presence::sessions::store as sessions;
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{rules, settle, show};
use crate::factors::evidence::{Evidence, Shown, examine};
use crate::factors::proof::prove;
use crate::sign_in::password::{self, is_current};

pub fn routes(api: &mut Api<AppState>) {
    api.group("User");
    api.post("/v1/me/change_password", "changePassword", change)
        .summary("Change the password of the current user")
        .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>()
        .errors(&[403])
        .limited(limits::GUESSES);
    api.post("/v1/me/remove_password", "removePassword", remove)
        .wants_body()
        .summary("Remove the password of the current user")
        .returns::<Envelope<'_, FrontendUserView<'_, FrontendMembershipView<'_>>>>()
        .errors(&[403])
        .limited(limits::GUESSES);
}

/// Body of `changePassword`.
#[derive(Deserialize, JsonSchema)]
struct ChangePassword {
    /// The password so far.
    current_password: Option<Secret>,
    /// The password from now on.
    new_password: Secret,
    /// End the user's other sessions.
    sign_out_of_other_sessions: Option<bool>,
}

/// Body of `removePassword`.
#[derive(Deserialize, JsonSchema)]
struct RemovePassword {
    /// The password so far.
    current_password: Option<Secret>,
}

async fn change(cx: Cx, person: Person, Form(input): Form<ChangePassword>) -> Response {
    let outcome = changed(&cx, &person, input).await;
    show(&cx, &person, outcome).await
}

async fn changed(cx: &Cx, person: &Person, input: ChangePassword) -> Result<User> {
    let evidence = authority(cx, person, input.current_password).await?;
    // A wrong password is only counted; nothing is told about the new one.
    let new = match fails(&evidence) {
        true => CredentialsChange::default(),
        false => hashed(cx, person, input.new_password).await?,
    };
    let others = input.sign_out_of_other_sessions == Some(true);
    let keep = others.then(|| person.session.id.clone());
    let change = PasswordChange { keep, ..PasswordChange::of(person, evidence) };
    let rule = move |user: User, held: Credentials, act: &Act| Ok((new.mark(user, act.now), new.apply(held)));
    write(cx, person, change, rule).await
}

async fn remove(cx: Cx, person: Person, Form(input): Form<RemovePassword>) -> Response {
    let outcome = removed(&cx, &person, input).await;
    show(&cx, &person, outcome).await
}

async fn removed(cx: &Cx, person: &Person, input: RemovePassword) -> Result<User> {
    if person.user.password.is_none() {
        return Err(Error::new(Code::NoPasswordSet));
    }
    let evidence = authority(cx, person, input.current_password).await?;
    let rule = |user: User, held: Credentials, act: &Act| {
        rules::check_password_removal(&user, &act.settings)?;
        Ok(factors::without_password(user, held))
    };
    write(cx, person, PasswordChange::of(person, evidence), rule).await
}

/// What lets somebody change their password: the one so far, to be judged in the transaction, or something
/// that was proven before.
async fn authority(cx: &Cx, person: &Person, current: Option<Secret>) -> Result<Option<Evidence>> {
    let has_password = person.user.password.is_some();
    // The task stays with a session until it is used again; the password may have been replaced elsewhere meanwhile.
    let is_compromised = person.user.password.as_ref().is_some_and(|password| password.compromised);
    let signed_in_for_it = is_compromised && person.session.tasks.contains(&Task::ResetPassword);
    if person.has_second_factor() && !signed_in_for_it {
        person.check_reverified(cx.now)?;
    }
    match current.filter(|_| has_password) {
        Some(password) => {
            let (strategy, password) = (Strategy::Password, Some(password));
            let shown = Shown { strategy, code: None, password, signature: None };
            let owner = WorkOwner::user(&person.user.instance, &person.user.id);
            Ok(Some(examine(cx, &owner, Some(&person.user), shown).await?))
        }
        None if signed_in_for_it => Ok(None),
        // Where nothing is ever proven anew, the password is the only proof there is.
        None if has_password && !person.visitor.site.settings.session.reverification => {
            Err(Error::param(Code::FormParamMissing, "current_password"))
        }
        None => person.check_reverified(cx.now).map(|()| None),
    }
}

fn fails(evidence: &Option<Evidence>) -> bool {
    matches!(evidence, Some(Evidence::Password { fits: false, .. }))
}

/// The new password, checked and hashed.
async fn hashed(cx: &Cx, person: &Person, password: Secret) -> Result<CredentialsChange> {
    if is_current(cx, &person.user, &password).await? {
        return Err(Error::param(Code::FormNewPasswordMatchesCurrent, "new_password"));
    }
    password::hashed(cx, &person.visitor, &person.user, &password).await.map_err(about_new)
}

/// The same problems, about the field they are known by here.
fn about_new(error: Error) -> Error {
    let is_about = |problem: &Problem| problem.meta.get("param_name").is_some_and(|name| name == "password");
    if !error.problems().iter().any(is_about) {
        return error;
    }
    let rename = |problem: &Problem| match is_about(problem) {
        true => problem.clone().with("param_name", "new_password"),
        false => problem.clone(),
    };
    Error::collect(error.problems().iter().map(rename).collect()).err().unwrap_or(error)
}

/// What is to be done, and by what right.
struct PasswordChange {
    user: UserId,
    session: SessionId,
    evidence: Option<Evidence>,
    /// When the password was set that the user had when they asked.
    password_set_at: Option<Time>,
    /// The session that stays, if the others end.
    keep: Option<SessionId>,
}

impl PasswordChange {
    fn of(person: &Person, evidence: Option<Evidence>) -> PasswordChange {
        PasswordChange {
            user: person.user.id.clone(),
            session: person.session.id.clone(),
            evidence,
            password_set_at: password_set_at(&person.user),
            keep: None,
        }
    }
}

fn password_set_at(user: &User) -> Option<Time> {
    user.password.as_ref().map(|password| password.updated_at)
}

/// Hashing takes its time. Whoever does not show the password so far must still be signed in once that is done, and the
/// password must be the one it was: its owner may have replaced it and ended all sessions meanwhile.
async fn check_unchanged(tx: &mut Tx, act: &Act, user: &User, change: &PasswordChange) -> Result<()> {
    let session = sessions::find(tx, &act.instance, &change.session, &act.settings).await?;
    if !session.is_some_and(|session| session.is_live(act.now)) {
        return Err(Error::new(Code::SignedOut));
    }
    match password_set_at(user) == change.password_set_at {
        true => Ok(()),
        false => Err(Error::new(Code::ClientStateInvalid)),
    }
}

async fn write<R>(cx: &Cx, person: &Person, change: PasswordChange, rule: R) -> Result<User>
where
    R: FnOnce(User, Credentials, &Act) -> Result<(User, Credentials)> + Send + 'static,
{
    let act = person.visitor.act(cx);
    cx.write(move |tx| Box::pin(async move { written(tx, &act, change, rule).await })).await?
}

/// A wrong password counts, so the transaction goes through although the answer is a refusal.
async fn written<R>(tx: &mut Tx, act: &Act, mut change: PasswordChange, rule: R) -> Result<Result<User>>
where
    R: FnOnce(User, Credentials, &Act) -> Result<(User, Credentials)> + Send,
{
    let mut clients = match &change.keep {
        Some(_) => Clients::lock_of_users(tx, act, &[&change.user], None).await?,
        None => Clients::default(),
    };
    let target = UserTarget::User(change.user.clone());
    let user = target.lock(tx, act).await?;
    match change.evidence.take() {
        None => check_unchanged(tx, act, &user, &change).await?,
        Some(evidence) => {
            let proof = prove(tx, act, user, Strategy::Password, None, evidence).await?;
            if let Some(refusal) = proof.refusal {
                return Ok(Err(about_current(refusal)));
            }
        }
    }
    let rule = |user: User, held| {
        let had_password = user.password.is_some();
        rule(user, held, act).map(|(user, held)| (user, held, had_password))
    };
    let (user, had_password) = with_secrets(tx, act, &target, rule).await?;
    match (had_password, user.password.is_some()) {
        (true, true) => notices::password_changed(tx, act, &user).await?,
        (true, false) => notices::password_removed(tx, act, &user).await?,
        (false, _) => (),
    }
    if let Some(keep) = &change.keep {
        end_all_of_user(tx, act, &mut clients, &user.id, Some(keep), SessionStatus::Revoked).await?;
    }
    settle::settle(tx, act, &user).await?;
    Ok(Ok(user))
}

fn about_current(refusal: Error) -> Error {
    match refusal.code() {
        Code::FormPasswordIncorrect => Error::param(Code::FormPasswordValidationFailed, "current_password"),
        _ => refusal,
    }
}
