//! The sockets for ways to sign in that groups above bring along, such as connections to other providers and passkeys.
//! Such a group registers a `FirstFactor` or a `SecondFactorStrategy`; the sign-in machine and reverification find it by
//! the name of the strategy and never learn who stands behind it. The machine keeps the rules that hold for every factor:
//! whose turn it is, whether the proof is still open, lockout, and that answers do not tell who has an account.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use latchkey_base::kinds::{IdentificationId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::registry::Registry;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_people::challenges::rules::{AttemptOutcome, attempt_proof};
use latchkey_people::users::model::User;
use serde_json::{Map, Value};

/// What native apps are told in their URL when somebody comes back from another site: a field of what they show then.
pub const RETURN_NONCE: &str = "rotating_token_nonce";

/// A first factor of a group above.
pub trait FirstFactor: Send + Sync {
    /// Whether it answers to this name at an instance with these settings. Names of the server's own strategies never
    /// get here.
    fn answers_to(&self, name: &str, settings: &Settings) -> bool;

    /// Begins the proof: what the attempt keeps of it. Runs before the transaction, so it may ask others.
    fn prepare<'a>(&'a self, cx: &'a Cx, asked: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>>;

    /// Judges what somebody shows. Runs before the transaction, so it may ask others.
    fn examine<'a>(&'a self, cx: &'a Cx, shown: ShownProof<'a>) -> BoxFuture<'a, Result<ProofVerdict>>;

    /// Whether it is about an account at another provider, by which people can sign up too.
    fn is_account(&self) -> bool {
        false
    }

    /// Whether what somebody sends to begin with is the whole proof already, such as a token of a provider.
    fn is_shown_at_once(&self, _name: &str) -> bool {
        false
    }

    /// Whether whom it proved has to choose a new password before they are in.
    fn asks_for_new_password(&self, _proof: &Value) -> bool {
        false
    }

    /// Whether it proves two factors at once at an instance with these settings, so that no second one is asked for.
    fn proves_both(&self, _: &Settings) -> bool {
        false
    }

    /// Whether `redeem` adds a way to sign in, such as an account that is connected: then it waits until all that the
    /// sign-in asks for is proven.
    fn adds_way_in(&self) -> bool {
        false
    }

    /// Connects the account of a user that waits until a native app shows the nonce of its return URL.
    fn confirm<'a>(
        &'a self,
        _cx: &'a Cx,
        _visitor: &'a Visitor,
        _user: &'a User,
        _nonce: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async { Err(Error::new(Code::ClientStateInvalid)) })
    }

    /// Uses up what proved that it is this user, inside the transaction in which they are locked: a counter, an
    /// assertion that is good once. `proof` is what `examine` returned with them. Returns the user as saved; an error
    /// keeps them out.
    fn redeem<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _act: &'a Act,
        user: User,
        _proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>> {
        Box::pin(async { Ok(user) })
    }
}

/// A second factor of a group above. Whether a user is offered it is decided by `people/factors`, from the document of the
/// user. The user has proven the first factor, or is signed in.
pub trait SecondFactorStrategy: Send + Sync {
    /// Returns whether the factor has this name at an instance with these settings. Names of the server's own strategies
    /// never get here.
    fn answers_to(&self, name: &str, settings: &Settings) -> bool;

    /// Begins a proof and returns its challenge. Runs before the transaction.
    fn prepare<'a>(&'a self, cx: &'a Cx, request: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>>;

    /// Checks the evidence of a browser. Runs before the transaction. An error counts for nothing: the request was
    /// malformed.
    fn examine<'a>(&'a self, cx: &'a Cx, shown: ShownProof<'a>)
    -> BoxFuture<'a, Result<SecondFactorVerdict>>;

    /// Uses up a proof in the transaction in which the user is locked, and returns the user as saved. `proof` is what
    /// `examine` returned.
    fn redeem<'a>(
        &'a self,
        tx: &'a mut Tx,
        act: &'a Act,
        user: User,
        proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>>;
}

/// What the evidence for a second factor proves.
#[derive(Debug)]
pub enum SecondFactorVerdict {
    /// The user has the factor. The value is for `redeem`.
    Proven(Value),
    /// The evidence is wrong, and counts as a failure of the user.
    Refused(Error),
}

/// A second factor that a group registers.
#[derive(Clone)]
pub struct RegisteredSecondFactor(pub Arc<dyn SecondFactorStrategy>);

/// A registered second factor with its strategy.
pub type NamedSecondFactor = (Strategy, Arc<dyn SecondFactorStrategy>);

/// Finds the registered second factor of this name, if the instance has one.
pub fn find_second(registry: &Registry, name: &str, settings: &Settings) -> Option<NamedSecondFactor> {
    let strategy = Strategy::named(name).filter(|strategy| matches!(strategy, Strategy::Registered(_)))?;
    let mut all = registry.all::<RegisteredSecondFactor>().iter();
    let found = all.find(|RegisteredSecondFactor(factor)| factor.answers_to(name, settings));
    found.map(|RegisteredSecondFactor(factor)| (strategy, factor.clone()))
}

/// What somebody asks for who begins such a proof.
pub struct ProofRequest<'a> {
    /// The browser.
    pub visitor: &'a Visitor,
    /// By which name.
    pub strategy: Strategy,
    /// What the proof is for.
    pub purpose: ProofPurpose,
    /// The attempt it is for; a new one may begin with this.
    pub attempt: &'a str,
    /// Who it must be, if that is known: who somebody says they are, or who is signed in and proves it anew.
    pub user: Option<&'a User>,
    /// Who somebody says they are, if they say so with this very request.
    pub identifier: Option<&'a str>,
    /// Where the browser is to go in the end. It is not checked yet.
    pub redirect_url: Option<&'a str>,
    /// The fields of the request that the server itself does not know.
    pub fields: &'a Map<String, Value>,
}

/// What somebody shows.
pub struct ShownProof<'a> {
    /// The browser.
    pub visitor: &'a Visitor,
    /// By which name.
    pub strategy: Strategy,
    /// Who it must be, if that is known.
    pub user: Option<&'a User>,
    /// What it is shown for.
    pub purpose: ProofPurpose,
    /// The proof that was begun with the same strategy, if one was; it has not expired, nor was it tried too often.
    pub challenge: Option<&'a Challenge>,
    /// The code, for strategies that have one.
    pub code: Option<&'a str>,
    /// The fields of the request that the server itself does not know.
    pub fields: &'a Map<String, Value>,
}

/// What a proof is shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofPurpose {
    SignIn,
    /// Signing in with what was proven in an attempt to sign up.
    Transfer,
    SignUp,
    /// Showing once more who is signed in.
    Reverification,
    /// A second factor, beside a first one that is proven or in a running session.
    SecondFactor,
}

/// What was shown proves.
#[derive(Debug)]
pub enum ProofVerdict {
    /// That it is this user, and what `redeem` has to know of the proof.
    User(UserId, Value),
    /// That it may be this user, with the address by which they are named, if it is one: they have to prove it in another
    /// way first, then this is redeemed.
    Maybe(UserId, Option<IdentificationId>, Value),
    /// That it is somebody who has no account yet: signing up can go on from here.
    Nobody(Box<Newcomer>),
    /// Nothing.
    Refused(Error),
}

/// What a group registers.
#[derive(Clone)]
pub struct Registered(pub Arc<dyn FirstFactor>);

/// A way to prove that a wallet is one's own, of a group above: when signing in, when signing up, and for the account of
/// somebody signed in. It asks nobody else, so it works inside the transaction, and the machines treat it like a code.
pub trait WalletProof: Send + Sync {
    /// Whether it knows how to prove a wallet so.
    fn answers_to(&self, strategy: Strategy) -> bool;

    /// Begins the proof of a wallet.
    fn prepare(&self, act: &Act, asked: WalletRequest<'_>) -> Result<Challenge>;

    /// Judges the signature somebody shows for a proof that was begun and is still open; an error is why it is none.
    fn examine(&self, challenge: &Challenge, signature: &str) -> Result<()>;
}

/// What somebody asks for who begins to prove a wallet.
pub struct WalletRequest<'a> {
    /// By which name.
    pub strategy: Strategy,
    /// The address, in its stored form.
    pub address: &'a str,
    /// Which of somebody's wallets it is, unless the account does not exist yet.
    pub identification: Option<&'a IdentificationId>,
    /// The origin of the page that asks, which wallets show and compare.
    pub page: &'a str,
}

/// What a group registers that proves wallets.
#[derive(Clone)]
pub struct RegisteredWalletProof(pub Arc<dyn WalletProof>);

/// The registered proof of wallets by this name.
fn wallet_proof(registry: &Registry, strategy: Strategy) -> Result<Arc<dyn WalletProof>> {
    let mut all = registry.all::<RegisteredWalletProof>().iter();
    let found = all.find(|RegisteredWalletProof(proof)| proof.answers_to(strategy));
    let unknown = || Error::param(Code::VerificationStrategyInvalid, "strategy");
    found.map(|RegisteredWalletProof(proof)| proof.clone()).ok_or_else(unknown)
}

/// Begins the proof of a wallet, if the strategy can prove it.
pub fn prepare_wallet(act: &Act, asked: WalletRequest<'_>) -> Result<Challenge> {
    let proof = wallet_proof(&act.registry, asked.strategy)?;
    match asked.strategy.fits_wallet(asked.address) {
        true => proof.prepare(act, asked),
        false => Err(Error::param(Code::VerificationStrategyInvalid, "strategy")
            .saying("This wallet is of another chain.")),
    }
}

/// Tries a signature for a proof that was begun.
pub fn attempt_wallet(act: &Act, challenge: Challenge, signature: &str) -> Result<AttemptOutcome> {
    let proof = wallet_proof(&act.registry, challenge.strategy)?;
    Ok(attempt_proof(challenge, act.now, |challenge| proof.examine(challenge, signature)))
}

/// The registered factor of this name, if the instance has one.
pub fn find(
    registry: &Registry,
    name: &str,
    settings: &Settings,
) -> Option<(Strategy, Arc<dyn FirstFactor>)> {
    let strategy = Strategy::named(name).filter(|strategy| matches!(strategy, Strategy::Registered(_)))?;
    let found =
        registry.all::<Registered>().iter().find(|Registered(factor)| factor.answers_to(name, settings));
    found.map(|Registered(factor)| (strategy, factor.clone()))
}
