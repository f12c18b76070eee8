//! What somebody shows, examined before the transaction: passwords and imported backup codes are slow.

use std::sync::Arc;
use std::time::Duration;

use latchkey_base::kinds::{InstanceId, UserId};
use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result, Time, rng};
use latchkey_door::gate::next_multiple;
use latchkey_door::site::Site;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::Cx;
use latchkey_kernel::limits::IMPORTED_DIGEST;
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::credentials::{self, StoredPassword};
use latchkey_people::users::factors::{backup_code_fits, comparing_time, needs_upgrade, password_fits};
use latchkey_people::users::model::User;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};

use super::rules::begun;
use crate::strategies::{
    NamedSecondFactor, ProofPurpose, SecondFactorStrategy, SecondFactorVerdict, ShownProof,
};

/// What somebody shows.
pub struct Shown {
    /// For which factor.
    pub strategy: Strategy,
    /// A code, for factors that have one.
    pub code: Option<Secret>,
    pub password: Option<Secret>,
    /// The signature of a wallet.
    pub signature: Option<String>,
}

/// What somebody showed, as far as it can be judged outside of the transaction.
pub enum Evidence {
    Password {
        /// Whether it fits the digest.
        fits: bool,
        /// Whose password it was compared with, and since when they have it; if that is not so any more, this
        /// is worth nothing.
        of: Option<(UserId, Time)>,
        /// The old digest and a new one, if the old one is out of date.
        upgrade: Option<(StoredPassword, String)>,
    },
    /// A backup code: the stored one it fits, if any.
    BackupCode(Option<String>),
    /// A code of an authenticator app.
    Totp(Secret),
    /// A code that was sent.
    Code(Secret),
    /// The signature of a wallet.
    Signature(String),
    /// The verdict of a registered second factor.
    Registered {
        factor: Arc<dyn SecondFactorStrategy>,
        /// The challenge that the verdict is about. If another one stands in its place, the verdict is void.
        examined: Option<Box<Challenge>>,
        verdict: SecondFactorVerdict,
    },
}

/// The evidence that a browser submits for a registered second factor.
pub struct SubmittedEvidence<'a> {
    pub visitor: &'a Visitor,
    /// The user who must have the factor.
    pub user: &'a User,
    /// The second factor under way, whatever its strategy.
    pub challenge: Option<&'a Challenge>,
    /// The code, for strategies that have one.
    pub code: Option<Secret>,
    /// The fields of the request that the server itself does not know.
    pub fields: &'a Map<String, Value>,
}

/// Examines the evidence for a registered second factor, before the transaction.
pub async fn examine_registered(
    cx: &Cx,
    (strategy, factor): NamedSecondFactor,
    submitted: SubmittedEvidence<'_>,
) -> Result<Evidence> {
    let SubmittedEvidence { visitor, user, challenge, code, fields } = submitted;
    let challenge = begun(challenge, strategy, cx.now)?;
    let shown = ShownProof {
        visitor,
        strategy,
        user: Some(user),
        purpose: ProofPurpose::SecondFactor,
        challenge,
        code: code.as_ref().map(Secret::expose),
        fields,
    };
    let verdict = factor.examine(cx, shown).await?;
    Ok(Evidence::Registered { examined: challenge.cloned().map(Box::new), factor, verdict })
}

/// Examines what was shown, before the transaction. Without a user, or for one without such a factor, nothing matches,
/// after the same work: the time of the answer must not tell whether there is an account. The work is done for `owner`:
/// whoever is not signed in is no user yet, or others could take the places of a user by trying their name.
pub async fn examine(cx: &Cx, owner: &WorkOwner, user: Option<&User>, shown: Shown) -> Result<Evidence> {
    let missing = |param: &str| Error::param(Code::FormParamMissing, param);
    match shown.strategy {
        Strategy::Password => {
            password(cx, owner, user, shown.password.ok_or_else(|| missing("password"))?).await
        }
        Strategy::BackupCode => {
            backup_code(cx, owner, user, shown.code.ok_or_else(|| missing("code"))?).await
        }
        Strategy::Totp => Ok(Evidence::Totp(shown.code.ok_or_else(|| missing("code"))?)),
        Strategy::EmailCode
        | Strategy::PhoneCode
        | Strategy::ResetPasswordEmailCode
        | Strategy::ResetPasswordPhoneCode => Ok(Evidence::Code(shown.code.ok_or_else(|| missing("code"))?)),
        strategy if strategy.is_wallet() => {
            let signature = shown.signature.filter(|signature| !signature.is_empty());
            Ok(Evidence::Signature(signature.ok_or_else(|| missing("signature"))?))
        }
        Strategy::Admin | Strategy::EmailLink | Strategy::Registered(_) | Strategy::Ticket => {
            Err(Error::param(Code::VerificationStrategyInvalid, "strategy"))
        }
    }
}

/// The same for somebody who signs in. Where answers must not tell who has an account, and digests of other kinds were
/// imported, comparing a password takes the same time whatever the kind, and for nobody as well.
pub async fn examine_evenly(cx: &Cx, site: &Site, user: Option<&User>, shown: Shown) -> Result<Evidence> {
    let owner = cx.by_network(&site.instance);
    let is_even =
        shown.strategy == Strategy::Password && site.settings.attack_protection.enumeration_protection;
    if !is_even || !credentials::has_imported(&mut cx.app.db.read().await?, &site.instance).await? {
        return examine(cx, &owner, user, shown).await;
    }
    let began = Instant::now();
    look_at_digests(cx, &site.instance).await?;
    let evidence = examine(cx, &owner, user, shown).await;
    sleep_until(next_multiple(began, Instant::now(), even_time(cx, &site.instance))).await;
    evidence
}

/// Learns how slow the digests of an instance are, once. What is imported together is mostly of one kind; one that differs
/// is noted when it is compared.
async fn look_at_digests(cx: &Cx, instance: &InstanceId) -> Result<()> {
    if cx.app.digest_times.slowest(instance).is_none() {
        let some = credentials::some_imported(&mut cx.app.db.read().await?, instance).await?;
        let slowest = some.iter().map(comparing_time).max().unwrap_or_default();
        cx.app.digest_times.found(instance, slowest);
    }
    Ok(())
}

/// How long all attempts at a password take, whatever the digest: twice the time of the slowest, since others use the
/// machine too.
fn even_time(cx: &Cx, instance: &InstanceId) -> Duration {
    let slowest = cx.app.digest_times.slowest(instance).unwrap_or_default();
    let steps = (2 * slowest).as_nanos().div_ceil(IMPORTED_DIGEST.as_nanos()).max(1);
    IMPORTED_DIGEST * u32::try_from(steps).unwrap_or(u32::MAX)
}

async fn password(cx: &Cx, owner: &WorkOwner, user: Option<&User>, password: Secret) -> Result<Evidence> {
    // Without a user an id that nobody has is looked up: the answer must take the same time.
    let nobody = || (InstanceId::unset(), UserId::new(cx.now, &*cx.app.rng));
    let (instance, id) = user.map_or_else(nobody, |user| (user.instance.clone(), user.id.clone()));
    let mut tx = cx.app.db.read().await?;
    let stored = credentials::find(&mut tx, &instance, &id, &cx.app.master).await?.password;
    drop(tx);
    if let Some(stored) = &stored {
        cx.app.digest_times.note(&instance, comparing_time(stored));
    }
    let of = user.and_then(|user| Some((user.id.clone(), user.password.as_ref()?.updated_at)));
    let salt = rng::bytes(&*cx.app.rng);
    let work = move || match stored {
        Some(stored) => {
            let fits = password_fits(&stored, &password);
            let is_old = fits && needs_upgrade(&stored);
            let upgrade = is_old.then(|| (stored, latchkey_passwords::hash(password.expose(), salt)));
            (fits, upgrade)
        }
        None => {
            // The digest goes nowhere; making it is what takes the time.
            let _ = latchkey_passwords::hash(password.expose(), salt);
            (false, None)
        }
    };
    let (fits, upgrade) = cx.app.hashing.run(owner, work).await?;
    Ok(Evidence::Password { fits, of, upgrade })
}

async fn backup_code(cx: &Cx, owner: &WorkOwner, user: Option<&User>, code: Secret) -> Result<Evidence> {
    let Some(user) = user else { return Ok(Evidence::BackupCode(None)) };
    let mut tx = cx.app.db.read().await?;
    let codes = credentials::find(&mut tx, &user.instance, &user.id, &cx.app.master).await?.backup_codes;
    drop(tx);
    let work = move || codes.into_iter().find(|stored| backup_code_fits(stored, code.expose()));
    Ok(Evidence::BackupCode(cx.app.hashing.run(owner, work).await?))
}
