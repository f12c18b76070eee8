//! What people do with their own addresses and numbers; the two only differ in their input and their look.

use axum::response::Response;
use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::ATTEMPT_MS;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_kernel::wire::deleted;
use latchkey_messaging::messages::model::Asker;
use latchkey_messaging::messages::rules::Purpose;
use latchkey_messaging::messages::{rules as messages, sending as outgoing};
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::identifications::handlers::{self, New, picked};
use latchkey_people::identifications::rules as identifications;
use latchkey_people::identifications::rules::{ContactChanges, attribute};
use latchkey_people::identifications::view::ContactResource;
use latchkey_people::recipients::recipient;
use latchkey_people::restrictions::check::alias_problem;
use latchkey_people::users::change::{UserTarget, save_user};
use latchkey_people::users::model::{Contact, ContactKind, User, Verification};
use latchkey_people::users::store as users;
use latchkey_web::form::Form;
use latchkey_web::input::Path;
use latchkey_web::reply::Failure;

use super::attempt::{self, AttemptCode, UpdatedContact};
use super::{change, rules, target};
use crate::sign_up::rules::claim;

pub async fn list<K: ContactResource>(cx: Cx, person: Person) -> Result<Response, Failure> {
    let all = person.user.contacts(K::KIND).all.iter();
    cx.reply_unversioned(&all.map(|contact| K::view(contact, None, cx.now)).collect::<Vec<_>>())
}

pub async fn get<K: ContactResource>(cx: Cx, person: Person, Path(id): Path<IdentificationId>) -> Response {
    let outcome = picked(&person.user, K::KIND, &id);
    show::<K>(&cx, &person, outcome.map(|contact| (contact, None))).await
}

pub async fn delete<K: ContactResource>(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
) -> Response {
    let gone = deleted(K::KIND.name(), &id);
    let outcome = remove(&cx, &person, K::KIND, id).await;
    person.visitor.answer(&cx, outcome.map(|()| gone)).await
}

pub async fn attempt<K: ContactResource>(
    cx: Cx,
    person: Person,
    Path(id): Path<IdentificationId>,
    Form(input): Form<AttemptCode>,
) -> Response {
    let outcome = attempt::attempt(&cx, &person, K::KIND, id, input.code).await;
    show::<K>(&cx, &person, outcome).await
}

/// Answers with an address or number as it is now.
pub async fn show<K: ContactResource>(cx: &Cx, person: &Person, outcome: Result<UpdatedContact>) -> Response {
    match outcome {
        Ok((contact, codes)) => person.visitor.answer(cx, Ok(K::view(&contact, codes, cx.now))).await,
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}

/// Adds an address or number, unproven.
pub async fn add(
    cx: &Cx,
    person: &Person,
    kind: ContactKind,
    value: String,
    changes: ContactChanges,
) -> Result<Contact> {
    person.check_reverified(cx.now)?;
    let site = &person.visitor.site;
    let value = claim(kind, &value, &site.settings, site.test_mode())?;
    let new = New {
        user_id: person.user.id.to_string(),
        value,
        changes: ContactChanges { only_if_proven: true, ..changes },
        notify: false,
        may_be_taken: site.settings.attack_protection.enumeration_protection,
    };
    let check = move |user: &User, settings: &Settings| rules::check_add(user, kind, settings);
    handlers::add(cx, person.visitor.act(cx), kind, new, check).await
}

async fn remove(cx: &Cx, person: &Person, kind: ContactKind, id: IdentificationId) -> Result<()> {
    let rule = move |user, held, settings: &Settings| {
        let (user, held) = rules::remove(user, held, kind, &id, settings)?;
        Ok((user, held, ()))
    };
    change(cx, person, rule).await
}

/// How an address or number is to be proven.
pub enum VerificationMethod {
    Code(Strategy),
    Link {
        /// Where it leads in the end; checked already.
        redirect_url: String,
        /// Where browsers reach this server.
        base_url: String,
    },
}

impl VerificationMethod {
    fn strategy(&self) -> Strategy {
        match self {
            VerificationMethod::Code(strategy) => *strategy,
            VerificationMethod::Link { .. } => Strategy::EmailLink,
        }
    }
}

/// Sends a code or a link.
pub async fn prepare(
    cx: &Cx,
    person: &Person,
    kind: ContactKind,
    id: IdentificationId,
    way: VerificationMethod,
) -> Result<Contact> {
    let allowed = &attribute(kind, &person.visitor.site.settings).verifications;
    // A code can be sent wherever addresses are used at all; the settings say what else can.
    if matches!(way, VerificationMethod::Link { .. }) && !allowed.contains(&Strategy::EmailLink) {
        return Err(Error::param(Code::VerificationStrategyInvalid, "strategy"));
    }
    let (act, target) = (person.visitor.act(cx), target(person));
    cx.write(move |tx| Box::pin(async move { prepare_in(tx, &act, &target, kind, &id, way).await })).await
}

async fn prepare_in(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    kind: ContactKind,
    id: &IdentificationId,
    way: VerificationMethod,
) -> Result<Contact> {
    let before = target.lock(tx, act).await?;
    let contact = picked(&before, kind, id)?;
    if contact.is_verified() {
        return Err(Error::new(Code::VerificationAlreadyVerified));
    }
    let challenge = send(tx, act, &before, kind, &contact, way).await?;
    let mut after = asked(before.clone(), kind, id, challenge.clone());
    if let Some(contact) = after.contacts_mut(kind).find_mut(id) {
        contact.links.note(&challenge);
    }
    users::save(tx, &before, &after).await?;
    picked(&after, kind, id)
}

async fn send(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    kind: ContactKind,
    contact: &Contact,
    way: VerificationMethod,
) -> Result<Challenge> {
    let target =
        challenges::ChallengeTarget { kind, value: &contact.value, identification: Some(&contact.id) };
    // What was sent is counted for a day, as long as attempts to sign in stay open.
    let previous = contact
        .challenge
        .as_ref()
        .filter(|last| (0..ATTEMPT_MS).contains(&(act.now.ms() - last.sent_at.ms())));
    let strategy = way.strategy();
    let to = recipient(user, kind, contact);
    outgoing::check_country(act, to.channel, to.to)?;
    let (prepared, message) = match way {
        VerificationMethod::Code(_) => {
            let prepared = challenges::code(act, strategy, &target, previous)?;
            let message = messages::code(act, to, &prepared.secret);
            (prepared, message)
        }
        VerificationMethod::Link { redirect_url, base_url } => {
            let prepared = challenges::link(act, &target, contact.id.as_str(), redirect_url, previous)?;
            let url = format!("{base_url}/v1/verify?token={}", prepared.secret.expose());
            let message = messages::link(act, to, Purpose::Profile, &url);
            (prepared, message)
        }
    };
    if prepared.is_sent {
        // Anybody can add an address that is not theirs, so this is a stranger to it.
        outgoing::send_asked(tx, act, Asker::Stranger, message).await?;
    }
    Ok(prepared.challenge)
}

/// Takes a contact as proven by a challenge that was met. A link is kept: people open them twice.
pub async fn proven(
    tx: &mut Tx,
    act: &Act,
    before: User,
    kind: ContactKind,
    id: &IdentificationId,
    challenge: Challenge,
) -> Result<Contact> {
    if act.settings.attack_protection.enumeration_protection {
        // What was not told when it was added.
        let value = picked(&before, kind, id)?.value;
        if alias_problem(tx, &act.instance, &act.settings, (kind, &value)).await?.is_some() {
            return Err(handlers::claimed(kind));
        }
    }
    let after = identifications::verified(before.clone(), kind, id, proof(&challenge), act.now);
    let after = match challenge.strategy {
        Strategy::EmailLink => asked(after, kind, id, challenge),
        _ => after,
    };
    let user = save_user(tx, act, &before, after).await?;
    picked(&user, kind, id)
}

/// The proof that a challenge is once it is met.
pub fn proof(challenge: &Challenge) -> Verification {
    Verification {
        strategy: challenge.strategy,
        attempts: Some(challenge.attempts),
        expire_at: challenge.expire_at,
    }
}

/// The user with what was asked of a contact.
pub fn asked(mut user: User, kind: ContactKind, id: &IdentificationId, challenge: Challenge) -> User {
    if let Some(contact) = user.contacts_mut(kind).find_mut(id) {
        contact.challenge = Some(challenge);
    }
    user
}
