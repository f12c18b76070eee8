//! The steps of proving anew, each inside its transaction: the user is locked first, then the session.

use latchkey_base::kinds::{ClientId, SessionId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_kernel::cx::Act;
use latchkey_kernel::strategy::Strategy;
use latchkey_messaging::messages::model::Asker;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::factors::audience::FactorAudience;
use latchkey_people::factors::model::Factor;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use latchkey_presence::sessions::model::{Level, Reverification, ReverificationStatus, Session};
use latchkey_presence::sessions::store;

use super::rules;
use crate::factors::evidence::Evidence;
use crate::factors::proof::{count, prove, verified};
use crate::factors::rules::{check_open, choose, failed_challenge, proven_challenge};
use crate::factors::sending::{Sending, send};
use crate::strategies::{FirstFactor, ProofVerdict};

/// Which session of which client.
#[derive(Clone)]
pub struct SessionOnClient {
    pub session: SessionId,
    /// The client it must be on.
    pub client: ClientId,
    /// That client, as factors are offered to it.
    pub audience: FactorAudience,
}

/// What came of a step.
pub struct ReverificationOutcome {
    /// The session, saved.
    pub session: Session,
    pub user: User,
    /// Why it was refused, although it counts and is saved.
    pub refusal: Option<Error>,
}

/// Which of the two factors a step is about.
#[derive(Clone, Copy)]
pub enum WhichFactor {
    First,
    Second,
}

impl WhichFactor {
    fn status(self) -> ReverificationStatus {
        match self {
            WhichFactor::First => ReverificationStatus::NeedsFirstFactor,
            WhichFactor::Second => ReverificationStatus::NeedsSecondFactor,
        }
    }

    fn factors(
        self,
        under_way: &Reverification,
        user: &User,
        act: &Act,
        target: &SessionOnClient,
    ) -> Vec<Factor> {
        let (settings, audience) = (&act.settings, target.audience);
        match self {
            WhichFactor::First => rules::first_factors(user, settings, audience),
            WhichFactor::Second => rules::second_factors(under_way, user, settings, audience),
        }
    }

    /// The refusal of a factor the user does not have.
    fn missing(self) -> Code {
        match self {
            WhichFactor::First => Code::StrategyForUserInvalid,
            WhichFactor::Second => Code::NoSecondFactors,
        }
    }
}

/// Begins.
pub async fn start(
    tx: &mut Tx,
    act: &Act,
    target: &SessionOnClient,
    level: Level,
) -> Result<ReverificationOutcome> {
    let (session, user) = lock(tx, act, target).await?;
    let session = rules::start(session, level, &user, &act.settings);
    store::save(tx, &session).await?;
    Ok(ReverificationOutcome { session, user, refusal: None })
}

/// Sends the code of a factor.
pub async fn prepare(
    tx: &mut Tx,
    act: &Act,
    target: &SessionOnClient,
    turn: WhichFactor,
    strategy: Option<Strategy>,
    named: Option<String>,
) -> Result<ReverificationOutcome> {
    let (session, user) = lock(tx, act, target).await?;
    let under_way = rules::expected(&session, turn.status())?;
    let offered = turn.factors(under_way, &user, act, target);
    let first_sent =
        || offered.iter().find(|factor| factor.recipient.is_some()).map(|factor| factor.strategy);
    let strategy = strategy.or_else(first_sent).ok_or_else(|| Error::new(turn.missing()))?;
    let is_default =
        |factor: &Factor| factor.recipient.as_ref().is_some_and(|recipient| recipient.is_default);
    let factor = choose(&offered, strategy, named.as_deref(), is_default, turn.missing())?;
    let previous = rules::last_sent(under_way, factor, act.now);
    let sending = Sending {
        factor,
        asker: Asker::Known,
        user: Some(&user),
        locale: None,
        previous,
        link: None,
        page: act.url.as_ref(),
        is_delivered: true,
    };
    let challenge = send(tx, act, sending).await?;
    let session = rules::asked(session, challenge, act.now);
    store::save(tx, &session).await?;
    Ok(ReverificationOutcome { session, user, refusal: None })
}

/// Tries a factor.
pub async fn attempt(
    tx: &mut Tx,
    act: &Act,
    target: &SessionOnClient,
    turn: WhichFactor,
    strategy: Strategy,
    evidence: Evidence,
) -> Result<ReverificationOutcome> {
    let (session, user) = lock(tx, act, target).await?;
    let under_way = rules::expected(&session, turn.status())?;
    let challenge = match turn {
        WhichFactor::First => under_way.first_factor.clone(),
        WhichFactor::Second => under_way.second_factor.clone(),
    };
    let sent = challenge.as_ref().filter(|sent| sent.strategy == strategy);
    let sent_to = sent.and_then(|sent| sent.identification.as_ref()).map(|id| id.as_str());
    // The user must have the factor still, also where a code was sent.
    let offered = turn.factors(under_way, &user, act, target);
    choose(&offered, strategy, sent_to, |_| false, turn.missing())?;
    let proof = prove(tx, act, user, strategy, challenge.as_ref(), evidence).await?;
    let user = match proof.refusal {
        None => verified(tx, act, proof.user, &proof.challenge).await?,
        Some(_) => proof.user,
    };
    let session = rules::noted(session, proof.challenge, &user, &act.settings);
    store::save(tx, &session).await?;
    Ok(ReverificationOutcome { session, user, refusal: proof.refusal })
}

/// Keeps a proof that a registered factor began.
pub async fn keep(
    tx: &mut Tx,
    act: &Act,
    target: &SessionOnClient,
    turn: WhichFactor,
    challenge: Challenge,
) -> Result<ReverificationOutcome> {
    let (session, user) = lock(tx, act, target).await?;
    let offered = turn.factors(rules::expected(&session, turn.status())?, &user, act, target);
    choose(&offered, challenge.strategy, None, |_| false, turn.missing())?;
    let session = rules::noted(session, challenge, &user, &act.settings);
    store::save(tx, &session).await?;
    Ok(ReverificationOutcome { session, user, refusal: None })
}

/// Goes on from what a registered first factor says of the proof `examined`.
pub async fn judge(
    tx: &mut Tx,
    act: &Act,
    target: &SessionOnClient,
    factor: &dyn FirstFactor,
    (strategy, examined): (Strategy, Option<Challenge>),
    verdict: ProofVerdict,
) -> Result<ReverificationOutcome> {
    let (session, user) = lock(tx, act, target).await?;
    let turn = WhichFactor::First;
    let offered = turn.factors(rules::expected(&session, turn.status())?, &user, act, target);
    choose(&offered, strategy, None, |_| false, turn.missing())?;
    if rules::open(&session, strategy, act.now)? != examined.as_ref() {
        // Another request was faster; what was examined is not what stands there now.
        return Err(Error::new(Code::ClientStateInvalid));
    }
    check_open(&user, act.now)?;
    let somebody_else = || Error::param(Code::StrategyForUserInvalid, "strategy");
    let refusal = match verdict {
        ProofVerdict::User(id, proof) if id == user.id => {
            let user = factor.redeem(tx, act, user, &proof).await?;
            let proves_both = factor.proves_both(&act.settings);
            let expire_at = examined.as_ref().and_then(|begun| begun.expire_at);
            let proven = proven_challenge(examined.as_ref(), strategy, act.now);
            let proven = Challenge { proves_both, expire_at, ..proven };
            let session = rules::noted(session, proven, &user, &act.settings);
            store::save(tx, &session).await?;
            return Ok(ReverificationOutcome { session, user, refusal: None });
        }
        ProofVerdict::User(..) | ProofVerdict::Maybe(..) | ProofVerdict::Nobody(_) => somebody_else(),
        ProofVerdict::Refused(refusal) => refusal,
    };
    let challenge = match examined {
        // What was begun stays as it is: its secret, its end, and what it shows.
        Some(begun) => Challenge { attempts: begun.attempts + 1, ..begun },
        None => failed_challenge(None, strategy, act.now),
    };
    let (user, refusal) = count(tx, act, user, refusal).await?;
    let session = rules::noted(session, challenge, &user, &act.settings);
    store::save(tx, &session).await?;
    Ok(ReverificationOutcome { session, user, refusal: Some(refusal) })
}

async fn lock(tx: &mut Tx, act: &Act, target: &SessionOnClient) -> Result<(Session, User)> {
    let unknown = || Error::not_found("session", &target.session);
    let found = store::find(tx, &act.instance, &target.session, &act.settings).await?;
    let found = found.ok_or_else(unknown)?;
    let user = users::lock(tx, &act.instance, &found.user).await?.ok_or_else(unknown)?;
    let session = store::lock(tx, &act.instance, &target.session, &act.settings).await?;
    let session = session.filter(|session| session.client == target.client).ok_or_else(unknown)?;
    match session.is_live(act.now) {
        true => Ok((session, user)),
        false => Err(Error::new(Code::SignedOut)),
    }
}
