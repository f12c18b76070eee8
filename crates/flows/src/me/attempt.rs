//! Checking the code that was sent to an address or number. A number may become a second factor by it.

use latchkey_base::kinds::{IdentificationId, SessionId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::identifications::handlers::{claimed, explain, picked};
use latchkey_people::identifications::rules as identifications;
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::model::{Contact, ContactKind, SecondFactor, User};
use latchkey_people::users::store as users;
use schemars::JsonSchema;
use serde::Deserialize;

use super::contacts::{asked, proof, proven};
use super::{backup_codes, rules, settle, target};

/// Body of the operations that check a code.
#[derive(Deserialize, JsonSchema)]
pub struct AttemptCode {
    /// The code.
    pub code: Secret,
}

/// An address or number, and the backup codes that were made for it.
pub type UpdatedContact = (Contact, Option<Vec<String>>);

/// Tries a code. A wrong one counts, so it is saved although the answer is a refusal.
pub async fn attempt(
    cx: &Cx,
    person: &Person,
    kind: ContactKind,
    id: IdentificationId,
    code: Secret,
) -> Result<UpdatedContact> {
    let attempt = CodeAttempt {
        act: person.visitor.act(cx),
        target: target(person),
        session: person.session.id.clone(),
        kind,
        id,
        code,
        fresh: backup_codes::fresh(&*cx.app.rng),
    };
    let tried = cx.write(move |tx| Box::pin(attempt.attempted(tx)));
    tried.await.map_err(|error| explain(error, claimed(kind)))?
}

/// A code that is being tried.
struct CodeAttempt {
    act: Act,
    target: UserTarget,
    session: SessionId,
    kind: ContactKind,
    id: IdentificationId,
    code: Secret,
    /// Backup codes, in case they are due.
    fresh: Vec<String>,
}

impl CodeAttempt {
    async fn attempted(self, tx: &mut Tx) -> Result<Result<UpdatedContact>> {
        let (act, kind, id) = (&self.act, self.kind, &self.id);
        let before = self.target.lock(tx, act).await?;
        let contact = picked(&before, kind, id)?;
        let challenge = pending(&contact)?.answered_by(Strategy::EmailCode);
        if challenge.strategy == Strategy::EmailLink {
            return Err(Error::new(Code::VerificationStrategyInvalid));
        }
        let tried = challenges::attempt_code(&act.master, challenge, &self.code, act.now)?;
        match tried.refusal {
            Some(refusal) => {
                let after = asked(before.clone(), kind, id, tried.challenge);
                users::save(tx, &before, &after).await?;
                Ok(Err(refusal))
            }
            None if contact.second_factor == SecondFactor::Wanted
                && act.settings.attributes.phone_number.is_second_factor() =>
            {
                Ok(Ok(self.becomes_factor(tx, &tried.challenge).await?))
            }
            None => Ok(Ok((proven(tx, act, before, kind, id, tried.challenge).await?, None))),
        }
    }

    /// Takes a number as proven that was added to be a second factor. Needs no proof of its own: only who added
    /// it, with one, has the number.
    async fn becomes_factor(self, tx: &mut Tx, met: &Challenge) -> Result<UpdatedContact> {
        let CodeAttempt { act, target, session, kind, id, fresh, .. } = self;
        let rule = |user: User, held: Credentials| {
            let had_any = rules::has_second_factor(&user, &act.settings);
            let user = identifications::verified_factor(user, &id, proof(met), act.now);
            Ok(rules::with_first_codes(user, held, (!had_any).then_some(fresh), &act.settings))
        };
        let (user, codes) = settle::change_factors(tx, &act, &target, rule).await?;
        let contact = picked(&user, kind, &id)?;
        if contact.is_second_factor() {
            // The code was as good a proof as any later one.
            settle::second_factor_proven(tx, &act, &session).await?;
        }
        Ok((contact, codes))
    }
}

/// The proof that somebody was asked for.
fn pending(contact: &Contact) -> Result<Challenge> {
    match (&contact.verification, &contact.challenge) {
        (Some(_), _) => Err(Error::new(Code::VerificationAlreadyVerified)),
        (None, Some(challenge)) => Ok(challenge.clone()),
        (None, None) => Err(Error::new(Code::VerificationNotSent)),
    }
}
