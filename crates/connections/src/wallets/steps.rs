//! Proving a wallet that somebody added to their own account.

use latchkey_base::kinds::IdentificationId;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_flows::me::contacts::{asked, proven};
use latchkey_flows::strategies::{WalletRequest, attempt_wallet, prepare_wallet};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::identifications::handlers::{claimed, explain, picked};
use latchkey_people::users::change::UserTarget;
use latchkey_people::users::model::Contact;
use latchkey_people::users::model::ContactKind::Wallet;
use latchkey_people::users::store as users;

/// Makes the text that the wallet is to sign.
pub async fn prepare(cx: &Cx, person: &Person, id: IdentificationId, strategy: &str) -> Result<Contact> {
    picked(&person.user, Wallet, &id)?;
    let strategy = accepted(strategy, &person.visitor.site.settings)?;
    let (act, target, page) = (person.visitor.act(cx), target(person), person.visitor.page());
    cx.write(move |tx| Box::pin(async move { prepare_in(tx, &act, &target, &id, strategy, &page).await }))
        .await
}

async fn prepare_in(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    id: &IdentificationId,
    strategy: Strategy,
    page: &str,
) -> Result<Contact> {
    let before = target.lock(tx, act).await?;
    let wallet = picked(&before, Wallet, id)?;
    if wallet.is_verified() {
        return Err(Error::new(Code::VerificationAlreadyVerified));
    }
    let request = WalletRequest { strategy, address: &wallet.value, identification: Some(id), page };
    let after = asked(before.clone(), Wallet, id, prepare_wallet(act, request)?);
    users::save(tx, &before, &after).await?;
    picked(&after, Wallet, id)
}

/// The strategy of this name, if the instance verifies wallets by it.
fn accepted(name: &str, settings: &Settings) -> Result<Strategy> {
    let wallets = &settings.attributes.web3_wallet;
    let mut ways = wallets.verifications.iter().filter(|_| wallets.enabled);
    let found = ways.find(|strategy| strategy.name() == name).copied();
    found.ok_or_else(|| Error::param(Code::VerificationStrategyInvalid, "strategy"))
}

/// Tries a signature. A wrong one counts, so it is saved although the answer is a refusal.
pub async fn attempt(cx: &Cx, person: &Person, id: IdentificationId, signature: String) -> Result<Contact> {
    let (act, target) = (person.visitor.act(cx), target(person));
    let tried = cx.write(move |tx| Box::pin(async move { tried(tx, &act, &target, &id, &signature).await }));
    tried.await.map_err(|error| explain(error, claimed(Wallet)))?
}

async fn tried(
    tx: &mut Tx,
    act: &Act,
    target: &UserTarget,
    id: &IdentificationId,
    signature: &str,
) -> Result<Result<Contact>> {
    let before = target.lock(tx, act).await?;
    let challenge = pending(&picked(&before, Wallet, id)?)?;
    // What the settings no longer take proves nothing any more.
    accepted(challenge.strategy.name(), &act.settings)?;
    let tried = attempt_wallet(act, challenge, signature)?;
    match tried.refusal {
        Some(refusal) => {
            let after = asked(before.clone(), Wallet, id, tried.challenge);
            users::save(tx, &before, &after).await?;
            Ok(Err(refusal))
        }
        None => Ok(Ok(proven(tx, act, before, Wallet, id, tried.challenge).await?)),
    }
}

/// The proof that somebody was asked for.
fn pending(wallet: &Contact) -> Result<Challenge> {
    match (&wallet.verification, &wallet.challenge) {
        (Some(_), _) => Err(Error::new(Code::VerificationAlreadyVerified)),
        (None, Some(challenge)) => Ok(challenge.clone()),
        (None, None) => Err(Error::new(Code::VerificationNotSent)),
    }
}

/// The person whose wallet it is.
fn target(person: &Person) -> UserTarget {
    UserTarget::User(person.user.id.clone())
}
