//! Routes and handlers of the Frontend API: the passkeys of the current user.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Id, Result, Time, rng};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_people::challenges::model::State;
use latchkey_people::notices;
use latchkey_people::users::change::{UserTarget, changed, save_user};
use latchkey_people::users::model::{Passkey, User};
use latchkey_people::users::passkeys::{self as view, FrontendPasskeyView, UnfinishedPasskey};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;

use super::ceremony::{self, FIELD, Owner, RelyingParty};
use super::input::{AttemptPasskey, PasskeyStrategy, UpdatePasskey};
use super::model::{PasskeyRegistration, StoredPasskey};
use super::{origins, removal, rules, store};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Passkeys");
    api.post("/v1/me/passkeys", "postPasskey", create)
        .summary("Begin to register a passkey")
        .returns::<Envelope<'_, FrontendPasskeyView<'_>>>()
        .errors(&[403]);
    api.get("/v1/me/passkeys/{passkey_id}", "readPasskey", get)
        .summary("Get a passkey of the current user")
        .returns::<Envelope<'_, FrontendPasskeyView<'_>>>()
        .only_reads();
    api.patch("/v1/me/passkeys/{passkey_id}", "patchPasskey", update)
        .summary("Rename a passkey of the current user")
        .returns::<Envelope<'_, FrontendPasskeyView<'_>>>();
    api.delete("/v1/me/passkeys/{passkey_id}", "deletePasskey", delete)
        .summary("Delete a passkey of the current user")
        .returns::<Envelope<'_, DeletedView>>()
        .errors(&[403]);
    api.post("/v1/me/passkeys/{passkey_id}/attempt_verification", "attemptPasskeyVerification", attempt)
        .summary("Finish the registration of a passkey")
        .returns::<Envelope<'_, FrontendPasskeyView<'_>>>()
        .errors(&[403])
        .limited(limits::GUESSES);
}

/// A passkey of somebody, or one that they are about to register.
enum OwnPasskey {
    Finished(Passkey),
    Unfinished(PasskeyRegistration),
}

async fn create(cx: Cx, person: Person) -> Response {
    let outcome = begin(&cx, &person).await.map(OwnPasskey::Unfinished);
    show(&cx, &person, outcome).await
}

async fn begin(cx: &Cx, person: &Person) -> Result<PasskeyRegistration> {
    let (site, user) = (&person.visitor.site, &person.user);
    rules::check_enabled(&site.settings)?;
    person.check_reverified(cx.now)?;
    rules::check_quota(user)?;
    let rp_id = site.relying_party.clone();
    let mut tx = cx.app.db.read().await?;
    let held = store::list(&mut tx, &site.instance, &user.id, &rp_id).await?;
    drop(tx);
    let party = RelyingParty { id: &rp_id, name: site.settings.display.name() };
    let display_name = rules::display_name(user);
    let owner = Owner {
        handle: user.id.as_str().as_bytes(),
        name: rules::account_name(user),
        display_name: &display_name,
    };
    let excluded = held.into_iter().map(|passkey| passkey.credential_id).collect();
    let options = ceremony::creation_options(&party, &owner, excluded, rng::bytes(&*cx.app.rng))?;
    let act = person.visitor.act(cx);
    let registration = PasskeyRegistration {
        instance: site.instance.clone(),
        id: IdentificationId::new(cx.now, &*cx.app.rng),
        attempts: 0,
        user: user.id.clone(),
        client: person.session.client.clone(),
        rp_id,
        name: rules::default_name(&act.user_agent),
        options,
        created_at: cx.now,
        expire_at: cx.now.plus_ms(limits::DEVICE_CHALLENGE_MS),
    };
    let begun = registration.clone();
    let target = target(person);
    let work = cx.write(move |tx| {
        Box::pin(async move {
            rules::check_quota(&target.lock(tx, &act).await?)?;
            store::begin_registration(tx, &begun).await
        })
    });
    work.await?;
    Ok(registration)
}

async fn get(cx: Cx, person: Person, Path(id): Path<String>) -> Response {
    let outcome = find(&cx, &person, &id).await;
    show(&cx, &person, outcome).await
}

async fn find(cx: &Cx, person: &Person, id: &str) -> Result<OwnPasskey> {
    let id = read_id(id)?;
    match finished(&person.user, &id) {
        Some(passkey) => Ok(OwnPasskey::Finished(passkey)),
        None => {
            let found = find_registration(cx, person, &id).await?;
            let found = found.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
            Ok(OwnPasskey::Unfinished(found))
        }
    }
}

async fn update(
    cx: Cx,
    person: Person,
    Path(id): Path<String>,
    Form(input): Form<UpdatePasskey>,
) -> Response {
    let outcome = rename(&cx, &person, &id, input.name).await;
    show(&cx, &person, outcome.map(OwnPasskey::Finished)).await
}

async fn rename(cx: &Cx, person: &Person, id: &str, name: Option<String>) -> Result<Passkey> {
    let (id, act, target) = (read_id(id)?, person.visitor.act(cx), target(person));
    let work = cx.write(move |tx| {
        Box::pin(async move {
            let rule = |user, act: &Act| rules::renamed(user, &id, name.as_deref(), act.now);
            let user = changed(tx, &act, &target, rule).await?;
            finished(&user, &id).ok_or_else(|| Error::new(Code::PasskeyNotRegistered))
        })
    });
    work.await
}

async fn delete(cx: Cx, person: Person, Path(id): Path<String>) -> Response {
    let outcome = remove(&cx, &person, &id).await;
    person.visitor.answer(&cx, outcome).await
}

async fn remove(cx: &Cx, person: &Person, id: &str) -> Result<DeletedView> {
    let id = read_id(id)?;
    let gone = deleted("passkey", &id);
    if finished(&person.user, &id).is_none() {
        // Whoever gives a registration up takes nothing away that protects the account.
        return give_up(cx, person, id).await.map(|()| gone);
    }
    person.check_reverified(cx.now)?;
    let (act, target) = (person.visitor.act(cx), target(person));
    let work = cx.write(move |tx| {
        Box::pin(async move {
            let check =
                |before: &User, after: &User, act: &Act| rules::check_removal(before, after, &act.settings);
            removal::remove(tx, &act, &target, &id, check).await
        })
    });
    work.await?;
    Ok(gone)
}

async fn give_up(cx: &Cx, person: &Person, id: IdentificationId) -> Result<()> {
    let not_found = || Error::new(Code::PasskeyNotRegistered);
    let found = find_registration(cx, person, &id).await?.ok_or_else(not_found)?;
    let work = cx
        .write(move |tx| Box::pin(async move { store::delete_registration(tx, &found.instance, &id).await }));
    match work.await? {
        true => Ok(()),
        false => Err(not_found()),
    }
}

async fn attempt(
    cx: Cx,
    person: Person,
    Path(id): Path<String>,
    Form(input): Form<AttemptPasskey>,
) -> Response {
    let outcome = finish(&cx, &person, &id, input).await;
    show(&cx, &person, outcome.map(OwnPasskey::Finished)).await
}

/// Needs no proof of its own: only who began, with one, has the challenge, in the same browser.
async fn finish(cx: &Cx, person: &Person, id: &str, input: AttemptPasskey) -> Result<Passkey> {
    let Some(PasskeyStrategy::Passkey) = input.strategy else {
        return Err(Error::param(Code::FormParamMissing, "strategy"));
    };
    let answer = input.public_key_credential.filter(|text| !text.is_empty());
    let answer = answer.ok_or_else(|| Error::param(Code::FormParamMissing, FIELD))?;
    let site = &person.visitor.site;
    let registration = match find(cx, person, id).await? {
        OwnPasskey::Finished(_) => return Err(Error::new(Code::VerificationAlreadyVerified)),
        OwnPasskey::Unfinished(registration) => registration,
    };
    rules::check_enabled(&site.settings)?;
    check_open(&registration, cx.now)?;
    let judged =
        examine(&registration, &answer, |origin| origins::is_expected(site, &registration.rp_id, origin));
    let (act, target) = (person.visitor.act(cx), target(person));
    let work = cx.write(move |tx| Box::pin(settle(tx, act, target, registration, judged)));
    // A failed attempt counts, so its refusal comes out of the transaction as an outcome.
    work.await?
}

fn check_open(registration: &PasskeyRegistration, now: Time) -> Result<()> {
    match (registration.is_spent(), registration.is_expired(now)) {
        (true, _) => Err(Error::new(Code::VerificationFailed)),
        (_, true) => Err(Error::new(Code::VerificationExpired)),
        _ => Ok(()),
    }
}

/// Checks what the browser answered: the key to keep.
fn examine(
    registration: &PasskeyRegistration,
    answer: &str,
    is_expected: impl Fn(&str) -> bool,
) -> Result<StoredPasskey> {
    let answer = ceremony::read(answer)?;
    let credential = ceremony::register(&registration.options, &answer, is_expected)?;
    Ok(StoredPasskey {
        instance: registration.instance.clone(),
        credential_id: credential.cred_id.to_vec(),
        counter: i64::from(credential.counter),
        backup_eligible: credential.backup_eligible,
        backed_up: credential.backup_state,
        updated_at: registration.created_at,
        id: registration.id.clone(),
        user: registration.user.clone(),
        rp_id: registration.rp_id.clone(),
        credential: serde_json::to_string(&credential).map_err(Error::internal)?,
        created_at: registration.created_at,
    })
}

/// Uses the registration up, or counts a failure.
async fn settle(
    tx: &mut Tx,
    act: Act,
    target: UserTarget,
    examined: PasskeyRegistration,
    judged: Result<StoredPasskey>,
) -> Result<Result<Passkey>> {
    let before = target.lock(tx, &act).await?;
    let found = store::lock_registration(tx, &act.instance, &examined.id).await?;
    let registration = found.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    check_open(&registration, act.now)?;
    let stored = match judged {
        Ok(stored) => StoredPasskey { created_at: act.now, updated_at: act.now, ..stored },
        Err(refusal) => {
            let attempts = registration.attempts + 1;
            store::save_registration(tx, &PasskeyRegistration { attempts, ..registration }).await?;
            return Ok(Err(refusal));
        }
    };
    let after = rules::with_passkey(before.clone(), &registration, act.now)?;
    store::delete_registration(tx, &act.instance, &registration.id).await?;
    if !store::insert(tx, &stored).await? {
        // Whoever has it, of whatever account: an authenticator gives an id once.
        return Err(Error::new(Code::PasskeyRegistrationFailure));
    }
    let user = save_user(tx, &act, &before, after).await?;
    notices::passkey_added(tx, &act, &user, &registration.name).await?;
    let added = finished(&user, &registration.id);
    Ok(Ok(added.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?))
}

async fn find_registration(
    cx: &Cx,
    person: &Person,
    id: &IdentificationId,
) -> Result<Option<PasskeyRegistration>> {
    let mut tx = cx.app.db.read().await?;
    let (instance, client) = (&person.visitor.site.instance, &person.session.client);
    store::find_registration(&mut tx, instance, id, &person.user.id, client).await
}

/// The person whose account is changed.
fn target(person: &Person) -> UserTarget {
    UserTarget::User(person.user.id.clone())
}

/// An id that cannot be one is as unknown as any other.
fn read_id(text: &str) -> Result<IdentificationId> {
    Id::parse(text).ok_or_else(|| Error::new(Code::PasskeyNotRegistered))
}

fn finished(user: &User, id: &IdentificationId) -> Option<Passkey> {
    user.passkeys.iter().find(|passkey| passkey.id == *id).cloned()
}

/// Answers with a passkey as it is now.
async fn show(cx: &Cx, person: &Person, outcome: Result<OwnPasskey>) -> Response {
    let visitor = &person.visitor;
    match outcome {
        Ok(OwnPasskey::Finished(passkey)) => visitor.answer(cx, Ok(view::frontend(&passkey))).await,
        Ok(OwnPasskey::Unfinished(registration)) => {
            let status = match check_open(&registration, cx.now) {
                Ok(()) => State::Unverified,
                Err(_) if registration.is_spent() => State::Failed,
                Err(_) => State::Expired,
            };
            let shown = UnfinishedPasskey {
                id: &registration.id,
                name: &registration.name,
                nonce: &registration.options,
                status,
                attempts: registration.attempts,
                created_at: registration.created_at,
                expire_at: registration.expire_at,
            };
            visitor.answer(cx, Ok(view::unfinished(&shown))).await
        }
        Err(error) => visitor.answer::<()>(cx, Err(error)).await,
    }
}
