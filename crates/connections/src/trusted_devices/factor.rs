//! Trusted devices as a first factor of the sign-in machine. The app names the device, and the device says who it is.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use latchkey_base::kinds::{InstanceId, TrustedDeviceChallengeId, TrustedDeviceId};
use latchkey_base::{Code, Error, Id, Result, rng};
use latchkey_db::Tx;
use latchkey_flows::strategies::{FirstFactor, ProofRequest, ProofVerdict, ShownProof};
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::limits::DEVICE_CHALLENGE_MS;
use latchkey_kernel::settings::Settings;
use latchkey_kernel::strategy::Strategy;
use latchkey_people::challenges::model::Challenge;
use latchkey_people::users::model::User;
use latchkey_people::users::store as users;
use serde_json::{Map, Value, json};

use super::model::TrustedDeviceKey;
use super::view::{self, ShownChallenge};
use super::{rules, store};

/// Where a verification shows what is to be signed.
const CHALLENGE: &str = "trusted_device_challenge";

/// The strategy `trusted_device`.
pub struct TrustedDeviceFactor;

impl FirstFactor for TrustedDeviceFactor {
    fn answers_to(&self, name: &str, settings: &Settings) -> bool {
        name == Strategy::TRUSTED_DEVICE.name() && settings.native_settings.trusted_device_sign_in_enabled
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
        async move {
            let id = proof.as_str().and_then(Id::parse).ok_or_else(rules::not_registered)?;
            let after = rules::used(user.clone(), &id, act.now)?;
            users::save(tx, &user, &after).await?;
            Ok(after)
        }
        .boxed()
    }
}

async fn begin(cx: &Cx, asked: ProofRequest<'_>) -> Result<Challenge> {
    let site = &asked.visitor.site;
    let id = field(asked.fields, "trusted_device_id")?;
    let (key, user) = device(cx, &site.instance, id, &site.settings).await?;
    // Where answers must not tell who has an account, the sign-in machine refuses the device of somebody else when it has
    // answered: it does so in the same way where nobody has the name that was typed.
    let is_guarded = site.settings.attack_protection.enumeration_protection;
    if !is_guarded && asked.user.is_some_and(|claimed| claimed.id != user.id) {
        return Err(rules::not_registered());
    }
    let challenge = rules::challenge(rng::bytes(&*cx.app.rng));
    let id = TrustedDeviceChallengeId::new(cx.now, &*cx.app.rng);
    let expire_at = cx.now.plus_ms(DEVICE_CHALLENGE_MS);
    let client_data = rules::proof_text(asked.purpose, &id, &challenge, &user, &key.id, expire_at);
    let shown = ShownChallenge {
        challenge: &challenge,
        id: id.as_str(),
        device: Some(key.id.as_str()),
        client_data: &client_data,
        expire_at,
    };
    let details = serde_json::to_value(view::challenge(&shown)).map_err(Error::internal)?;
    Ok(Challenge {
        expire_at: Some(expire_at),
        details: Map::from_iter([(CHALLENGE.to_owned(), details)]),
        ..Challenge::failed(asked.strategy, 0, cx.now)
    })
}

/// The key of a device and its owner, if people can sign in with it.
async fn device(
    cx: &Cx,
    instance: &InstanceId,
    id: &str,
    settings: &Settings,
) -> Result<(TrustedDeviceKey, User)> {
    let id: TrustedDeviceId = Id::parse(id).ok_or_else(rules::not_registered)?;
    let mut tx = cx.app.db.read().await?;
    let key = store::find(&mut tx, instance, &id).await?.ok_or_else(rules::not_registered)?;
    let user = users::find(&mut tx, instance, &key.user).await?.ok_or_else(rules::not_registered)?;
    let device = rules::find_active(&user, &id).ok_or_else(rules::not_registered)?;
    match settings.native_settings.has_app(&device.platform, &device.app_identifier) {
        true => Ok((key, user)),
        false => Err(Error::new(Code::TrustedDeviceAppIdentifierNotConfigured)),
    }
}

async fn judge(cx: &Cx, shown: ShownProof<'_>) -> Result<ProofVerdict> {
    let fields = shown.fields;
    let id = field(fields, "trusted_device_id")?;
    let (client_data, signature) = (field(fields, "client_data")?, field(fields, "signature")?);
    if field(fields, "algorithm")? != "ES256" {
        return Err(Error::param(Code::FormParamValueInvalid, "algorithm"));
    }
    let begun = shown.challenge.and_then(|challenge| challenge.details.get(CHALLENGE));
    let begun = begun.ok_or_else(|| Error::new(Code::TrustedDeviceChallengeNotFound))?;
    match proven(cx, &shown, begun, (id, client_data, signature)).await {
        Ok(key) => Ok(ProofVerdict::User(key.user, json!(key.id.as_str()))),
        Err(error) if error.code() == Code::Internal => Err(error),
        Err(refusal) => Ok(ProofVerdict::Refused(refusal)),
    }
}

/// The key that signed what it was asked to sign.
async fn proven(
    cx: &Cx,
    shown: &ShownProof<'_>,
    begun: &Value,
    (id, client_data, signature): (&str, &str, &str),
) -> Result<TrustedDeviceKey> {
    if begun["trusted_device_id"] != id {
        return Err(Error::param(Code::TrustedDeviceBindingMismatch, "trusted_device_id"));
    }
    if begun["client_data"] != client_data {
        return Err(Error::param(Code::TrustedDeviceInvalidClientData, "client_data"));
    }
    let site = &shown.visitor.site;
    let (key, _) = device(cx, &site.instance, id, &site.settings).await?;
    rules::verify(&key.public_key, client_data, signature)?;
    Ok(key)
}

/// A field that must be there.
fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str> {
    let text = fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| Error::param(Code::FormParamMissing, name))
}
