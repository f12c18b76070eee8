//! Passkeys as a factor of sign-in and reverification. As a first factor they are begun with an identifier or without; as a
//! second one they stand in for another second factor of the user.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use latchkey_base::kinds::UserId;
use latchkey_base::{Code, Error, Id, Result, rng};
use latchkey_db::Tx;
use latchkey_flows::strategies::{
    FirstFactor, ProofPurpose, ProofRequest, ProofVerdict, SecondFactorStrategy, SecondFactorVerdict,
    ShownProof,
};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::DEVICE_CHALLENGE_MS;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use webauthn_rs_core::proto::Credential;
use webauthn_rs_proto::PublicKeyCredential;

use super::ceremony::{self, FIELD, IssuedRequest, PasskeyUse, RelyingParty};
use super::model::StoredPasskey;
use super::{origins, rules, store};

/// Where a challenge shows the options of the proof.
const NONCE: &str = "nonce";

/// The strategy `passkey`.
pub struct PasskeyFactor;

/// What `redeem` has to know of a proof.
#[derive(Serialize, Deserialize)]
struct PasskeyProof {
    credential_id: String,
    #[serde(flatten)]
    used: PasskeyUse,
}

impl FirstFactor for PasskeyFactor {
    fn answers_to(&self, name: &str, settings: &Settings) -> bool {
        let passkey = &settings.attributes.passkey;
        name == Strategy::PASSKEY.name()
            && passkey.is_first_factor()
            && passkey.first_factors.contains(&Strategy::PASSKEY)
    }

    fn proves_both(&self, settings: &Settings) -> bool {
        settings.passkey_settings.satisfies_second_factor
    }

    fn prepare<'a>(&'a self, cx: &'a Cx, asked: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>> {
        begin(cx, asked).boxed()
    }

    fn examine<'a>(&'a self, cx: &'a Cx, shown: ShownProof<'a>) -> BoxFuture<'a, Result<ProofVerdict>> {
        judge(cx, shown).boxed()
    }

    fn redeem<'a>(
        &'a self,
        tx: &'a mut Tx,
        act: &'a Act,
        user: User,
        proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>> {
        note(tx, act, user, proof).boxed()
    }
}

impl SecondFactorStrategy for PasskeyFactor {
    fn answers_to(&self, name: &str, settings: &Settings) -> bool {
        name == Strategy::PASSKEY.name() && settings.attributes.has_second_passkey()
    }

    fn prepare<'a>(&'a self, cx: &'a Cx, request: ProofRequest<'a>) -> BoxFuture<'a, Result<Challenge>> {
        begin(cx, request).boxed()
    }

    fn examine<'a>(
        &'a self,
        cx: &'a Cx,
        shown: ShownProof<'a>,
    ) -> BoxFuture<'a, Result<SecondFactorVerdict>> {
        async move {
            let found = answer(cx, &shown).await?;
            Ok(found
                .map_or_else(SecondFactorVerdict::Refused, |(_, proof)| SecondFactorVerdict::Proven(proof)))
        }
        .boxed()
    }

    fn redeem<'a>(
        &'a self,
        tx: &'a mut Tx,
        act: &'a Act,
        user: User,
        proof: &'a Value,
    ) -> BoxFuture<'a, Result<User>> {
        note(tx, act, user, proof).boxed()
    }
}

async fn begin(cx: &Cx, asked: ProofRequest<'_>) -> Result<Challenge> {
    if asked.identifier.is_some_and(|identifier| !identifier.is_empty()) {
        return Err(Error::param(Code::FormParamValueInvalid, "identifier").saying(
            "A passkey says itself whose it is: begin without an identifier, or name the strategy later.",
        ));
    }
    let site = &asked.visitor.site;
    // Where answers must not tell who has an account, they do not tell which passkeys it has either: whoever has one for
    // the domain may answer, and it must be that of whom they say they are. Before a second factor the first one is proven.
    let is_guarded =
        site.settings.attack_protection.enumeration_protection && asked.purpose != ProofPurpose::SecondFactor;
    let allowed = match asked.user.filter(|_| !is_guarded) {
        Some(user) => own(cx, &asked, user).await?,
        None => Vec::new(),
    };
    let party = RelyingParty { id: &site.relying_party, name: site.settings.display.name() };
    let options = ceremony::request_options(&party, allowed, rng::bytes(&*cx.app.rng))?;
    Ok(Challenge {
        expire_at: Some(cx.now.plus_ms(DEVICE_CHALLENGE_MS)),
        details: Map::from_iter([(NONCE.to_owned(), json!(options))]),
        ..Challenge::failed(asked.strategy, 0, cx.now)
    })
}

/// The passkeys of a user that can answer, or the one of them that is named.
async fn own(cx: &Cx, asked: &ProofRequest<'_>, user: &User) -> Result<Vec<Credential>> {
    let site = &asked.visitor.site;
    let named = asked.fields.get("passkey_id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let mut tx = cx.app.db.read().await?;
    let mut found = store::list(&mut tx, &site.instance, &user.id, &site.relying_party).await?;
    found.retain(|passkey| user.passkeys.iter().any(|shown| shown.id == passkey.id));
    if let Some(named) = named {
        found.retain(|passkey| passkey.id.as_str() == named);
        let is_unfinished = match Id::parse(named) {
            Some(id) => store::is_under_way(&mut tx, &site.instance, &id, &user.id).await?,
            None => false,
        };
        if is_unfinished {
            return Err(Error::new(Code::PasskeyIdentificationNotVerified));
        }
        if found.is_empty() {
            return Err(Error::new(Code::PasskeyNotRegistered));
        }
    }
    match found.is_empty() {
        true => Err(Error::new(Code::NoPasskeysFoundForUser)),
        false => found.iter().map(credential).collect(),
    }
}

/// The key of a passkey with what is known of its use.
fn credential(passkey: &StoredPasskey) -> Result<Credential> {
    let stored: Credential = serde_json::from_str(&passkey.credential).map_err(Error::internal)?;
    Ok(Credential {
        // Compared in the transaction that notes it.
        counter: 0,
        backup_eligible: passkey.backup_eligible,
        backup_state: passkey.backed_up,
        ..stored
    })
}

async fn judge(cx: &Cx, shown: ShownProof<'_>) -> Result<ProofVerdict> {
    let found = answer(cx, &shown).await?;
    Ok(found.map_or_else(ProofVerdict::Refused, |(user, proof)| ProofVerdict::User(user, proof)))
}

/// Returns the owner of the passkey that answered and the proof that `note` needs, or why the answer proves nothing.
async fn answer(cx: &Cx, shown: &ShownProof<'_>) -> Result<Result<(UserId, Value)>> {
    let text = shown.fields.get(FIELD).and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = text.ok_or_else(|| Error::param(Code::FormParamMissing, FIELD))?;
    let nonce = shown.challenge.and_then(|challenge| challenge.details.get(NONCE)).and_then(Value::as_str);
    let nonce = nonce.ok_or_else(|| Error::new(Code::VerificationMissing))?;
    match proven(cx, shown, nonce, text).await {
        Ok((passkey, used)) => {
            let proof = PasskeyProof { credential_id: URL_SAFE_NO_PAD.encode(&passkey.credential_id), used };
            Ok(Ok((passkey.user, serde_json::to_value(&proof).map_err(Error::internal)?)))
        }
        Err(error) if error.code() == Code::Internal => Err(error),
        Err(refusal) => Ok(Err(refusal)),
    }
}

/// The passkey that answered, and how often it was used by now.
async fn proven(
    cx: &Cx,
    shown: &ShownProof<'_>,
    nonce: &str,
    text: &str,
) -> Result<(StoredPasskey, PasskeyUse)> {
    let failed = || Error::new(Code::PasskeyAuthenticationFailure);
    let site = &shown.visitor.site;
    let answer: PublicKeyCredential = ceremony::read(text)?;
    let asked = IssuedRequest::read(nonce)?;
    let mut tx = cx.app.db.read().await?;
    let found = store::find(&mut tx, &site.instance, answer.get_credential_id()).await?;
    drop(tx);
    let passkey = found.ok_or_else(|| Error::new(Code::PasskeyNotRegistered))?;
    // Some authenticators write nothing as an empty text.
    let handle = answer.get_user_unique_id().filter(|handle| !handle.is_empty());
    let is_owner = match handle {
        Some(handle) => handle == passkey.user.as_str().as_bytes(),
        None => !asked.is_for_anybody(),
    };
    // Where answers must not tell who has an account, the sign-in machine refuses the passkey of somebody else: it does so
    // in the same way where nobody has the name that was typed.
    let is_guarded = site.settings.attack_protection.enumeration_protection;
    let is_judged_later = is_guarded && shown.purpose == ProofPurpose::SignIn;
    let is_asked = is_judged_later || shown.user.is_none_or(|user| user.id == passkey.user);
    if !is_owner || !is_asked || passkey.rp_id != asked.rp_id {
        return Err(failed());
    }
    let key = credential(&passkey)?;
    let is_expected = |origin: &str| origins::is_expected(site, &asked.rp_id, origin);
    let used = ceremony::authenticate(nonce, &answer, key, is_expected)?;
    Ok((passkey, used))
}

/// Notes that a passkey was used, unless the number it shows says that it was copied.
async fn note(tx: &mut Tx, act: &Act, user: User, proof: &Value) -> Result<User> {
    let failed = || Error::new(Code::PasskeyAuthenticationFailure);
    let proof: PasskeyProof = serde_json::from_value(proof.clone()).map_err(Error::internal)?;
    let credential_id = URL_SAFE_NO_PAD.decode(&proof.credential_id).map_err(Error::internal)?;
    let found = store::lock(tx, &act.instance, &credential_id).await?;
    let passkey = found.filter(|passkey| passkey.user == user.id).ok_or_else(failed)?;
    let PasskeyUse { counter, backup_eligible, backed_up } = proof.used;
    if !ceremony::is_later(counter, passkey.counter, act.test_mode) {
        return Err(failed());
    }
    let after = rules::used(user.clone(), &passkey.id, act.now)?;
    let updated_at = act.now;
    store::save(tx, &StoredPasskey { counter, backup_eligible, backed_up, updated_at, ..passkey }).await?;
    users::save(tx, &user, &after).await?;
    Ok(after)
}
