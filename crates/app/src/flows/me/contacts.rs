//! What people do with their own addresses and numbers; the two only differ in their input and their look.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;

use super::{rules, target};
use crate::cx::{Act, Cx};
use crate::flows::sign_up::rules::claim;
use crate::frontend::person::Person;
use crate::limits::ATTEMPT_MS;
use crate::resources::challenges::model::Challenge;
use crate::resources::challenges::rules as challenges;
use crate::resources::identifications::handlers::{self, New, picked};
use crate::resources::identifications::rules as identifications;
use crate::resources::identifications::rules::{Wishes, attribute};
use crate::resources::messages::rules::{self as messages, Purpose};
use crate::resources::messages::sending as outgoing;
use crate::resources::users::change::with_secrets;
use crate::resources::users::credentials::Credentials;
use crate::resources::users::model::{Contact, Kind, Strategy, User, Verification};
use crate::resources::users::store as users;
use crate::settings::Settings;

/// One address or number.
pub fn find(person: &Person, kind: Kind, id: &IdentificationId) -> Result<Contact> {
    picked(&person.user, kind, id)
}

/// Adds an address or number, unproven.
pub async fn add(cx: &Cx, person: &Person, kind: Kind, value: String) -> Result<Contact> {
    add_as(cx, person, kind, value, Wishes::default()).await
}

/// The same, with what else is wanted of it.
pub async fn add_as(cx: &Cx, person: &Person, kind: Kind, value: String, wishes: Wishes) -> Result<Contact> {
    person.check_reverified(cx.now)?;
    let site = &person.visitor.site;
    let value = claim(kind, &value, &site.settings, site.test_mode())?;
    let new = New {
        user_id: person.user.id.to_string(),
        value,
        wishes: Wishes { only_if_proven: true, ..wishes },
        notify: false,
    };
    let check = move |user: &User, settings: &Settings| rules::check_add(user, kind, settings);
    handlers::add(cx, person.visitor.act(cx), kind, new, check).await
}

/// Takes an address or number away.
pub async fn remove(cx: &Cx, person: &Person, kind: Kind, id: IdentificationId) -> Result<()> {
    person.check_reverified(cx.now)?;
    let (act, target) = (person.visitor.act(cx), target(person));
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let rule = |user: User, held: Credentials| {
                let (user, held) = rules::remove(user, held, kind, &id, &act.settings)?;
                Ok((user, held, ()))
            };
            with_secrets(tx, &act, &target, rule).await
        })
    });
    written.await?;
    Ok(())
}

/// How an address or number is to be proven.
pub enum Way {
    /// By a code.
    Code(Strategy),
    /// By a link.
    Link {
        /// Where it leads in the end; checked already.
        redirect_url: String,
        /// Where browsers reach this server.
        base_url: String,
    },
}

impl Way {
    fn strategy(&self) -> Strategy {
        match self {
            Way::Code(strategy) => *strategy,
            Way::Link { .. } => Strategy::EmailLink,
        }
    }
}

/// Sends a code or a link.
pub async fn prepare(
    cx: &Cx,
    person: &Person,
    kind: Kind,
    id: IdentificationId,
    way: Way,
) -> Result<Contact> {
    let allowed = &attribute(kind, &person.visitor.site.settings).verifications;
    // A code can be sent wherever addresses are used at all; the settings say what else can.
    if matches!(way, Way::Link { .. }) && !allowed.contains(&Strategy::EmailLink) {
        return Err(Error::param(Code::VerificationStrategyInvalid, "strategy"));
    }
    let (act, target) = (person.visitor.act(cx), target(person));
    let written = cx.write(move |tx| {
        Box::pin(async move {
            let before = target.lock(tx, &act).await?;
            let contact = picked(&before, kind, &id)?;
            if contact.is_verified() {
                return Err(Error::new(Code::VerificationAlreadyVerified));
            }
            let challenge = send(tx, &act, &before, kind, &contact, way).await?;
            let mut after = asked(before.clone(), kind, &id, challenge.clone());
            if let Some(contact) = after.contacts_mut(kind).find_mut(&id) {
                contact.links.note(&challenge);
            }
            users::save(tx, &before, &after).await?;
            picked(&after, kind, &id)
        })
    });
    written.await
}

async fn send(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    kind: Kind,
    contact: &Contact,
    way: Way,
) -> Result<Challenge> {
    let target = challenges::Target { kind, value: &contact.value, identification: Some(&contact.id) };
    // What was sent is counted for a day, as long as attempts to sign in stay open.
    let previous = contact.challenge.as_ref().filter(|last| act.now.ms_since(last.sent_at) < ATTEMPT_MS);
    let strategy = way.strategy();
    let (to, identification) = (contact.value.as_str(), Some(&contact.id));
    let to = messages::Recipient { user: Some(user), kind, to, identification, locale: None };
    let (prepared, message) = match way {
        Way::Code(_) => {
            let prepared = challenges::code(act, strategy, &target, previous)?;
            let message = messages::code(act, to, &prepared.secret);
            (prepared, message)
        }
        Way::Link { redirect_url, base_url } => {
            let prepared = challenges::link(act, &target, contact.id.as_str(), redirect_url, previous)?;
            let url = format!("{base_url}/v1/verify?token={}", prepared.secret.expose());
            let message = messages::link(act, to, Purpose::Profile, &url);
            (prepared, message)
        }
    };
    if prepared.is_sent {
        outgoing::send_asked(tx, act, message).await?;
    }
    Ok(prepared.challenge)
}

/// Takes a contact as proven by a challenge that was met. A link is kept: people open them twice.
pub async fn proven(
    tx: &mut Tx,
    act: &Act,
    before: User,
    kind: Kind,
    id: &IdentificationId,
    challenge: Challenge,
) -> Result<Contact> {
    let after = identifications::verified(before.clone(), kind, id, proof(&challenge), act.now);
    let after = match challenge.strategy {
        Strategy::EmailLink => asked(after, kind, id, challenge),
        _ => after,
    };
    let user = act.save_user(tx, &before, after).await?;
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
pub fn asked(mut user: User, kind: Kind, id: &IdentificationId, challenge: Challenge) -> User {
    if let Some(contact) = user.contacts_mut(kind).find_mut(id) {
        contact.challenge = Some(challenge);
    }
    user
}
