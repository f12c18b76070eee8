//! Proving a factor, inside the transaction: what was right is used up, what was wrong is counted.

use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_jose::totp::verify_totp;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::challenges::rules as challenges;
use latchkey_people::challenges::rules::AttemptOutcome;
use latchkey_people::identifications::rules as identifications;
use latchkey_people::notices;
use latchkey_people::users::change::save_user;
use latchkey_people::users::credentials::{self, Credentials};
use latchkey_people::users::model::{ContactKind, User, Verification};
use latchkey_people::users::store as users;

use super::evidence::Evidence;
use super::rules;
use crate::strategies::{SecondFactorVerdict, attempt_wallet};

/// What came of it.
pub struct Proof {
    /// The user, saved.
    pub user: User,
    /// The challenge as it stands now, to be saved with the attempt it belongs to.
    pub challenge: Challenge,
    /// Why it was refused, if it was. It counts nevertheless, so the transaction must go through.
    pub refusal: Option<Error>,
}

/// Proves a factor of a user, who must be locked and must have it. `challenge` is the one under way, if any. That they have
/// an address is noted by `verified`.
pub async fn prove(
    tx: &mut Tx,
    act: &Act,
    user: User,
    strategy: Strategy,
    challenge: Option<&Challenge>,
    evidence: Evidence,
) -> Result<Proof> {
    rules::check_open(&user, act.now)?;
    match evidence {
        Evidence::Password { fits, of, upgrade } => {
            let held = user.password.as_ref().map(|password| (user.id.clone(), password.updated_at));
            let is_right = fits && held == of;
            if is_right && user.password.as_ref().is_some_and(|password| password.compromised) {
                // Right, but worth nothing any more, and no failure of whoever typed it.
                let challenge = challenge.cloned().unwrap_or_else(|| Challenge::failed(strategy, 0, act.now));
                let refusal = Some(Error::param(Code::FormPasswordCompromised, "password"));
                return Ok(Proof { user, challenge, refusal });
            }
            if let Some((old, digest)) = upgrade.filter(|_| is_right) {
                credentials::upgrade(tx, &act.instance, &user.id, &old, digest).await?;
            }
            let refusal = (!is_right).then(|| Error::param(Code::FormPasswordIncorrect, "password"));
            judged(tx, act, user, strategy, challenge, refusal).await
        }
        Evidence::BackupCode(found) => {
            let refusal = use_backup_code(tx, act, &user, found).await?;
            let user = match refusal {
                None => without_used_up_codes(tx, act, user).await?,
                Some(_) => user,
            };
            judged(tx, act, user, strategy, challenge, refusal).await
        }
        Evidence::Totp(code) => {
            let refusal = use_totp(tx, act, &user, &code).await?;
            judged(tx, act, user, strategy, challenge, refusal).await
        }
        Evidence::Code(code) => {
            let challenge = rules::sent(challenge, strategy)?;
            let tried = challenges::attempt_code(&act.master, challenge.clone(), &code, act.now)?;
            tried_once(tx, act, user, challenge, tried).await
        }
        Evidence::Signature(signature) => {
            let challenge = rules::sent(challenge, strategy)?;
            let tried = attempt_wallet(act, challenge.clone(), &signature)?;
            tried_once(tx, act, user, challenge, tried).await
        }
        Evidence::Registered { factor, examined, verdict } => {
            if challenge.filter(|challenge| challenge.strategy == strategy) != examined.as_deref() {
                // Another request was faster; what was examined is not what stands there now.
                return Err(Error::new(Code::ClientStateInvalid));
            }
            match verdict {
                SecondFactorVerdict::Proven(proof) => {
                    let user = factor.redeem(tx, act, user, &proof).await?;
                    let expire_at = examined.as_ref().and_then(|begun| begun.expire_at);
                    let proven = rules::proven_challenge(examined.as_deref(), strategy, act.now);
                    Ok(Proof { user, challenge: Challenge { expire_at, ..proven }, refusal: None })
                }
                SecondFactorVerdict::Refused(refusal) => {
                    let (user, refusal) = count(tx, act, user, refusal).await?;
                    let challenge = match examined {
                        // The browser can answer the same challenge again.
                        Some(begun) => Challenge { attempts: begun.attempts + 1, ..*begun },
                        None => rules::failed_challenge(challenge, strategy, act.now),
                    };
                    Ok(Proof { user, challenge, refusal: Some(refusal) })
                }
            }
        }
    }
}

/// Notes the outcome of a factor that needs no sending.
async fn judged(
    tx: &mut Tx,
    act: &Act,
    user: User,
    strategy: Strategy,
    challenge: Option<&Challenge>,
    refusal: Option<Error>,
) -> Result<Proof> {
    let now = act.now;
    match refusal {
        None => {
            Ok(Proof { user, challenge: rules::proven_challenge(challenge, strategy, now), refusal: None })
        }
        Some(refusal) => {
            let challenge = rules::failed_challenge(challenge, strategy, now);
            let (user, refusal) = count(tx, act, user, refusal).await?;
            Ok(Proof { user, challenge, refusal: Some(refusal) })
        }
    }
}

/// Notes the outcome of an attempt at a challenge.
async fn tried_once(
    tx: &mut Tx,
    act: &Act,
    user: User,
    challenge: &Challenge,
    attempt: AttemptOutcome,
) -> Result<Proof> {
    // One that is over tells nothing about what was shown, so trying it is no failure.
    let is_counted = attempt.challenge.attempts > challenge.attempts;
    let (user, refusal) = match attempt.refusal {
        None => (user, None),
        Some(refusal) if is_counted => {
            let (user, refusal) = count(tx, act, user, refusal).await?;
            (user, Some(refusal))
        }
        Some(refusal) => (user, Some(refusal)),
    };
    Ok(Proof { user, challenge: attempt.challenge, refusal })
}

/// Whoever read a code sent to an address or number, or signed with a wallet, has it: one that was only reserved is
/// verified now. Where somebody signs in, this waits until everything is proven, or a stranger who made the account, with
/// a second factor of theirs, would have a verified address of whoever cannot get in.
pub async fn verified(tx: &mut Tx, act: &Act, user: User, challenge: &Challenge) -> Result<User> {
    let Some(id) = &challenge.identification else { return Ok(user) };
    let mut kinds = [ContactKind::Phone, ContactKind::Wallet].into_iter();
    let kind = kinds.find(|kind| user.contacts(*kind).find(id).is_some());
    let strategy = match challenge.strategy {
        Strategy::ResetPasswordEmailCode => Strategy::EmailCode,
        Strategy::ResetPasswordPhoneCode => Strategy::PhoneCode,
        strategy => strategy,
    };
    let proof = Verification { strategy, attempts: Some(challenge.attempts), expire_at: challenge.expire_at };
    let kind = kind.unwrap_or(ContactKind::Email);
    let after = identifications::verified(user.clone(), kind, id, proof, act.now);
    save_user(tx, act, &user, after).await
}

async fn use_totp(tx: &mut Tx, act: &Act, user: &User, code: &Secret) -> Result<Option<Error>> {
    let held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    let secret = held.totp_secret.as_deref().unwrap_or_default();
    match verify_totp(secret, code.expose(), act.now.seconds(), held.totp_last_step) {
        Some(step) => {
            save(tx, act, user, Credentials { totp_last_step: Some(step), ..held }).await?;
            Ok(None)
        }
        None => Ok(Some(wrong_code())),
    }
}

async fn use_backup_code(
    tx: &mut Tx,
    act: &Act,
    user: &User,
    found: Option<String>,
) -> Result<Option<Error>> {
    let mut held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    match found.filter(|found| held.backup_codes.contains(found)) {
        Some(used) => {
            held.backup_codes.retain(|stored| *stored != used);
            save(tx, act, user, held).await?;
            Ok(None)
        }
        None => Ok(Some(wrong_code())),
    }
}

async fn without_used_up_codes(tx: &mut Tx, act: &Act, user: User) -> Result<User> {
    let held = credentials::find(tx, &act.instance, &user.id, &act.master).await?;
    let after = User { backup_code_enabled: !held.backup_codes.is_empty(), ..user.clone() };
    save_user(tx, act, &user, after).await
}

async fn save(tx: &mut Tx, act: &Act, user: &User, held: Credentials) -> Result<()> {
    let (sql, params) = credentials::save(&act.instance, &user.id, &held, &act.master)?;
    tx.run(&[sql], &params).await?;
    Ok(())
}

fn wrong_code() -> Error {
    Error::param(Code::FormCodeIncorrect, "code")
}

/// Counts a failure. The one that locks the user says so, to them and to the application.
pub async fn count(tx: &mut Tx, act: &Act, user: User, refusal: Error) -> Result<(User, Error)> {
    let now = act.now;
    let counted = rules::count_failure(user.clone(), &act.settings.lockout, now);
    match counted.is_locked {
        true => {
            let user = save_user(tx, act, &user, counted.user).await?;
            notices::account_locked(tx, act, &user).await?;
            let refusal = rules::locked(&user, now);
            Ok((user, refusal))
        }
        false => {
            users::save(tx, &user, &counted.user).await?;
            Ok((counted.user, refusal))
        }
    }
}
