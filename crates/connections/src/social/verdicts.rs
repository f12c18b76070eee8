//! Who somebody is by an account at another provider. Only the account itself says so, or an address that both sides have
//! proven; or one that only the provider has, where nothing else of the user is proven.

use latchkey_base::text::fold;
use latchkey_base::{Code, Error, Result};
use latchkey_db::Tx;
use latchkey_flows::accounts::unproven;
use latchkey_flows::strategies::ProofVerdict;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::account::ProvenAccount;
use latchkey_people::challenges::model::{Challenge, Newcomer};
use latchkey_people::external_accounts::change;
use latchkey_people::identifications::rules::checked;
use latchkey_people::restrictions::rules::is_subaddress;
use latchkey_people::users::model::{Contact, ContactKind, User};
use latchkey_people::users::store as users;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connecting::claimed;
use super::protocol::{Connection, Profile, ProviderTokens};
use super::{takeover, tokens};

/// How long the proof of an account is said to be good: pages read it, and nothing depends on it.
const PROOF_MS: i64 = 600_000;

/// An account that proves who somebody is, until it is connected to them.
#[derive(Serialize, Deserialize)]
pub(super) struct AccountProof {
    account: ProvenAccount,
    tokens: Option<String>,
    /// Whether the user was found by an address that they had not proven themselves, nor anything else.
    pub(super) is_taken_over: bool,
    /// What made it theirs. It must still be so when the account is connected, which may be some steps later.
    #[serde(default, rename = "ground")]
    pub(super) basis: ProofBasis,
}

/// Why an account proves that somebody is a user.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ProofBasis {
    /// It is connected to them.
    Connected,
    /// It has an address that both sides have proven; one that was taken over is proven by that.
    Address,
    /// It does not: they prove it in another way.
    #[default]
    Nothing,
}

impl AccountProof {
    pub(super) fn read(value: &Value) -> Result<AccountProof> {
        AccountProof::deserialize(value).map_err(Error::internal)
    }

    /// Connects the account to the user it proves, who must be locked.
    pub(super) async fn redeem(self, tx: &mut Tx, act: &Act, user: User) -> Result<User> {
        let (provider, subject) = (&self.account.provider, &self.account.provider_user_id);
        let holder = users::find_by_identifier(tx, &act.instance, provider, subject).await?;
        let is_connected = holder.is_some();
        if holder.is_some_and(|holder| holder.id != user.id) {
            // Somebody has connected it since.
            return Err(Error::new(Code::OauthIdentificationClaimed));
        }
        let is_good = match self.basis {
            ProofBasis::Connected => is_connected,
            ProofBasis::Address => is_connected || has_proven(&user, self.account.proven_email()),
            ProofBasis::Nothing => true,
        };
        if !is_good {
            // They have removed it, or the address, since.
            return Err(Error::new(Code::ClientStateInvalid));
        }
        let proof = proof(act, &self.account.provider)?;
        let connected = change::connect(tx, act, user, self.account, proof, self.tokens.as_deref());
        connected.await.map_err(claimed)
    }
}

/// Whether a user has proven an address.
pub(super) fn has_proven(user: &User, address: Option<&str>) -> bool {
    let is_it = |contact: &Contact| address.is_some_and(|address| fold(&contact.value) == fold(address));
    user.email_addresses.all.iter().any(|contact| contact.is_verified() && is_it(contact))
}

/// How an account was proven, as it is shown.
pub(super) fn proof(act: &Act, provider: &str) -> Result<Challenge> {
    let strategy = Strategy::try_from(provider.to_owned()).map_err(Error::internal)?;
    Ok(Challenge {
        attempts: 1,
        expire_at: Some(act.now.plus_ms(PROOF_MS)),
        ..Challenge::proven(strategy, act.now)
    })
}

/// What is known of somebody by what a provider says, if the provider's people may enter at all.
pub(super) fn newcomer(
    act: &Act,
    connection: &Connection,
    profile: Profile,
    given: Option<&ProviderTokens>,
) -> Result<Newcomer> {
    let account = account(connection, profile);
    check_address(connection, &account)?;
    let tokens = given.map(|given| tokens::seal(&act.master, &account, given)).transpose()?;
    Ok(Newcomer { account: Some(account), tokens, ..Newcomer::default() })
}

fn account(connection: &Connection, profile: Profile) -> ProvenAccount {
    // An address that is none here, such as one that is too long, is as good as none.
    let email_address = profile.email_address.and_then(|text| checked(ContactKind::Email, &text).ok());
    ProvenAccount {
        provider: connection.strategy().name().to_owned(),
        provider_user_id: profile.provider_user_id,
        approved_scopes: profile.approved_scopes,
        email_address_verified: profile.email_address_verified.filter(|_| email_address.is_some()),
        email_address,
        first_name: profile.first_name,
        last_name: profile.last_name,
        username: profile.username,
        image_url: profile.image_url,
        phone_number: profile.phone_number,
        label: profile.label,
    }
}

/// Whoever leaves a company may keep an address that they have derived from theirs.
fn check_address(connection: &Connection, account: &ProvenAccount) -> Result<()> {
    let is_derived = account.email_address.as_deref().is_some_and(is_subaddress);
    match is_derived && connection.blocks_subaddresses() {
        true => Err(Error::new(Code::NotAllowedAccess).saying(
            "Addresses with a part that their holder has added are not accepted from this provider.",
        )),
        false => Ok(()),
    }
}

/// Whom an account proves. Nothing is changed by asking.
pub(super) async fn of(cx: &Cx, act: &Act, newcomer: Newcomer) -> Result<ProofVerdict> {
    let Newcomer { account: Some(account), tokens, .. } = &newcomer else {
        return Err(Error::internal("an account that nobody has shown"));
    };
    let proof = |basis: ProofBasis, is_taken_over: bool| {
        let proof = AccountProof { account: account.clone(), tokens: tokens.clone(), is_taken_over, basis };
        serde_json::to_value(proof).map_err(Error::internal)
    };
    let mut tx = cx.app.db.read().await?;
    let (provider, subject) = (&account.provider, &account.provider_user_id);
    if let Some(user) = users::find_by_identifier(&mut tx, &act.instance, provider, subject).await? {
        return Ok(ProofVerdict::User(user.id, proof(ProofBasis::Connected, false)?));
    }
    let is_vouched = account.proven_email().is_some();
    let is_guarded = act.settings.attack_protection.enumeration_protection;
    let Some(address) = account.email_address.clone().filter(|_| is_vouched || !is_guarded) else {
        return Ok(ProofVerdict::Nobody(Box::new(newcomer)));
    };
    let kind = ContactKind::Email;
    let found = users::find_by_identifier(&mut tx, &act.instance, kind.name(), &address).await?;
    drop(tx);
    let Some(user) = found else { return Ok(ProofVerdict::Nobody(Box::new(newcomer))) };
    let is_it = |value: &str| fold(value) == fold(&address);
    let contact = user.email_addresses.all.iter().find(|contact| is_it(&contact.value));
    if is_vouched && unproven::is_of_another(&user, &address, act) {
        // They sign up, and the user loses the address as soon as their sign-up has it.
        return Ok(ProofVerdict::Nobody(Box::new(newcomer)));
    }
    let Some((id, is_verified)) = contact.map(|contact| (contact.id.clone(), contact.is_verified())) else {
        return Ok(ProofVerdict::Nobody(Box::new(newcomer)));
    };
    match (is_verified, is_vouched) {
        (true, true) => Ok(ProofVerdict::User(user.id, proof(ProofBasis::Address, false)?)),
        (true, false) => Ok(ProofVerdict::Maybe(user.id, Some(id), proof(ProofBasis::Nothing, false)?)),
        (false, true) => Ok(ProofVerdict::User(user.id, proof(ProofBasis::Address, true)?)),
        (false, false) => {
            Ok(ProofVerdict::Refused(Error::new(Code::ExternalAccountEmailAddressVerificationRequired)))
        }
    }
}

/// The same for somebody who signs in by it at once. An account that is to be theirs alone is made so first, in a transaction
/// of its own: sessions end with it, whose clients are locked before users.
pub(super) async fn acted_on(cx: &Cx, act: &Act, newcomer: Newcomer) -> Result<ProofVerdict> {
    let verdict = of(cx, act, newcomer).await?;
    if let ProofVerdict::User(user, proof) = &verdict {
        let AccountProof { account, is_taken_over, .. } = AccountProof::read(proof)?;
        if is_taken_over {
            takeover::take_over(cx, act, user, account).await?;
        }
    }
    Ok(verdict)
}

/// The same for somebody who is signed in and proves it anew: only what is connected already does.
pub(super) async fn again(cx: &Cx, act: &Act, newcomer: Newcomer) -> Result<ProofVerdict> {
    match of(cx, act, newcomer).await? {
        ProofVerdict::User(_, proof) if AccountProof::read(&proof)?.basis != ProofBasis::Connected => {
            Ok(ProofVerdict::Refused(Error::param(Code::StrategyForUserInvalid, "strategy")))
        }
        verdict => Ok(verdict),
    }
}

/// The same for somebody whose app began and was not told the outcome, so that anybody may have begun: they have to prove in
/// another way who they are.
pub(super) async fn of_unconfirmed(cx: &Cx, act: &Act, newcomer: Newcomer) -> Result<ProofVerdict> {
    match of(cx, act, newcomer).await? {
        ProofVerdict::User(_, proof) if AccountProof::read(&proof)?.is_taken_over => {
            Ok(ProofVerdict::Refused(Error::new(Code::ExternalAccountExists)))
        }
        ProofVerdict::User(user, proof) => Ok(ProofVerdict::Maybe(user, None, proof)),
        ProofVerdict::Nobody(newcomer) if is_address_held(cx, act, &newcomer).await? => {
            Ok(ProofVerdict::Refused(Error::new(Code::ExternalAccountExists)))
        }
        verdict => Ok(verdict),
    }
}

/// Whether a user has the address of a newcomer, and would lose it to them.
async fn is_address_held(cx: &Cx, act: &Act, newcomer: &Newcomer) -> Result<bool> {
    let address = newcomer.account.as_ref().and_then(ProvenAccount::proven_email);
    let Some(address) = address else { return Ok(false) };
    users::is_held(&mut cx.app.db.read().await?, &act.instance, ContactKind::Email.name(), address).await
}
