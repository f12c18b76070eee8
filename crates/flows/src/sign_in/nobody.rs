//! An attempt that is about nobody, because nobody has the identifier and answers must not tell, or because
//! signing up can go on from it. It looks like every other; nothing that is tried is right, but for a code
//! or a signature that proves an address or a wallet to sign up with.

use latchkey_base::secret::Secret;
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::rules as challenges;
use latchkey_presence::sign_ins::model::{ClaimedIdentity, SignIn};

use super::attempt::{SignInAttempt, SignInContext};
use super::rules;
use crate::factors::evidence::Evidence;
use crate::factors::rules as factors;
use crate::strategies::attempt_wallet;

/// Whether a proof of the address leads to signing up.
pub fn may_sign_up(sign_in: &SignIn, strategy: Strategy) -> bool {
    let is_open = sign_in.claim.as_ref().is_some_and(|claim| claim.user.is_none() && claim.may_sign_up);
    is_open && !rules::is_reset(strategy)
}

/// Tries a first factor.
pub fn try_first(
    context: &SignInContext,
    mut attempt: SignInAttempt,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<SignInAttempt> {
    let act = &context.act;
    let previous = attempt.sign_in.first_factor.as_ref();
    let (challenge, refusal) = match evidence {
        Evidence::Password { .. } => {
            (factors::failed_challenge(previous, strategy, act.now), rules::wrong_password())
        }
        Evidence::Code(code) => {
            let sent = factors::sent(previous, strategy)?.clone();
            let is_real = may_sign_up(&attempt.sign_in, strategy);
            let code = if is_real { code } else { Secret::new(String::new()) };
            let mut tried = challenges::attempt_code(&act.master, sent, &code, act.now)?;
            let refusal = tried.refusal.unwrap_or_else(|| {
                tried.challenge.transferable = true;
                Error::new(Code::SignUpIfMissingTransfer)
            });
            (tried.challenge, refusal)
        }
        Evidence::Signature(signature) => {
            let begun = factors::sent(previous, strategy)?.clone();
            let mut tried = attempt_wallet(act, begun, &signature)?;
            let refusal = match (tried.refusal, &attempt.sign_in.claim) {
                (Some(refusal), _) => refusal,
                // Whoever holds the wallet may know that nobody has an account with it, and sign up.
                (None, Some(ClaimedIdentity { user: None, may_sign_up: true, .. })) => {
                    tried.challenge.transferable = true;
                    Error::new(Code::SignUpIfMissingTransfer)
                }
                (None, Some(ClaimedIdentity { user: None, .. })) => {
                    Error::param(Code::FormIdentifierNotFound, "identifier")
                }
                // There is such a user, but they may not sign in now, and nobody is to learn that.
                (None, _) => rules::wrong_signature(),
            };
            tried.challenge.verified_at =
                tried.challenge.verified_at.filter(|_| tried.challenge.transferable);
            (tried.challenge, refusal)
        }
        Evidence::BackupCode(_) | Evidence::Totp(_) | Evidence::Registered { .. } => {
            return Err(Error::new(Code::StrategyForUserInvalid));
        }
    };
    attempt.sign_in.first_factor = Some(challenge);
    attempt.refusal = Some(refusal);
    Ok(attempt)
}
