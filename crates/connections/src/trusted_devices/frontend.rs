//! Routes and handlers of the Frontend API: the devices of the current user, and what apps ask of the one they know.

use axum::response::Response;
use latchkey_base::kinds::{ClientId, TrustedDeviceChallengeId, TrustedDeviceId};
use latchkey_base::{Code, Error, Id, Result, rng};
use latchkey_db::Tx;
use latchkey_door::person::Person;
use latchkey_door::reply::Envelope;
use latchkey_door::visitor::Visitor;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::{AppState, limits};
use latchkey_people::users::change::{UserTarget, changed, save_user};
use latchkey_people::users::model::{TrustedDevice, User};
use latchkey_people::users::store as users;
use latchkey_people::users::view::{TrustedDeviceView, trusted_device};
use latchkey_web::api::Api;
use latchkey_web::form::Form;
use latchkey_web::input::Path;

use super::input::{AttemptTrustedDevice, DeviceAlgorithm, PrepareTrustedDevice, ValidateTrustedDevice};
use super::model::{DeviceClaim, EnrollmentChallenge, TrustedDeviceKey};
use super::view::{ShownChallenge, TrustedDeviceChallengeView, TrustedDeviceValidationView};
use super::{rules, store, view};

pub fn routes(api: &mut Api<AppState>) {
    api.group("Trusted Devices");
    api.get("/v1/me/trusted_devices", "listTrustedDevices", list)
        .summary("List the trusted devices of the current user")
        .returns::<Envelope<'_, Vec<TrustedDeviceView<'_>>>>()
        .only_reads();
    api.post("/v1/me/trusted_devices/prepare", "prepareTrustedDevice", prepare)
        .summary("Begin to enroll a device")
        .returns::<Envelope<'_, TrustedDeviceChallengeView<'_>>>()
        .errors(&[403]);
    api.post("/v1/me/trusted_devices/attempt", "attemptTrustedDevice", attempt)
        .summary("Enroll a device that signed its challenge")
        .returns::<Envelope<'_, TrustedDeviceView<'_>>>()
        .errors(&[403, 409])
        .limited(limits::GUESSES);
    api.delete("/v1/me/trusted_devices/{trusted_device_id}", "revokeTrustedDevice", revoke)
        .summary("Revoke a trusted device of the current user")
        .returns::<Envelope<'_, TrustedDeviceView<'_>>>()
        .errors(&[403]);
    api.post("/v1/client/trusted_devices/validate", "validateTrustedDevice", validate)
        .summary("Tell whether people can sign in with a device")
        .returns::<Envelope<'_, TrustedDeviceValidationView>>()
        .errors(&[403])
        .limited(limits::SIGN_INS);
}

async fn list(cx: Cx, person: Person) -> Response {
    let devices: Vec<_> = rules::active(&person.user).map(trusted_device).collect();
    person.visitor.answer(&cx, Ok(devices)).await
}

async fn prepare(cx: Cx, person: Person, Form(input): Form<PrepareTrustedDevice>) -> Response {
    let DeviceAlgorithm::Es256 = input.algorithm;
    match begin(&cx, &person, input).await {
        Ok((challenge, begun)) => {
            let shown = ShownChallenge {
                challenge: &challenge,
                id: begun.id.as_str(),
                device: None,
                client_data: &begun.client_data,
                expire_at: begun.expire_at,
            };
            person.visitor.answer(&cx, Ok(view::challenge(&shown))).await
        }
        Err(error) => person.visitor.answer::<()>(&cx, Err(error)).await,
    }
}

async fn begin(
    cx: &Cx,
    person: &Person,
    input: PrepareTrustedDevice,
) -> Result<(String, EnrollmentChallenge)> {
    let site = &person.visitor.site;
    rules::check_enabled(&site.settings)?;
    person.check_reverified(cx.now)?;
    let platform = input.platform.name();
    let device =
        rules::claim(platform, input.app_identifier, input.name, &input.public_key_jwk, &site.settings)?;
    rules::check_quota(&person.user)?;
    let challenge = rules::challenge(rng::bytes(&*cx.app.rng));
    let id = TrustedDeviceChallengeId::new(cx.now, &*cx.app.rng);
    let expire_at = cx.now.plus_ms(limits::DEVICE_CHALLENGE_MS);
    let begun = EnrollmentChallenge {
        instance: site.instance.clone(),
        client_data: rules::enrollment_text(&id, &challenge, &person.user, &device, expire_at),
        id,
        user: person.user.id.clone(),
        client: person.session.client.clone(),
        device,
        expire_at,
    };
    let (kept, now) = (begun.clone(), cx.now);
    cx.write(move |tx| Box::pin(async move { store::begin(tx, &kept, now).await })).await?;
    Ok((challenge, begun))
}

async fn attempt(cx: Cx, person: Person, Form(input): Form<AttemptTrustedDevice>) -> Response {
    let outcome = enroll(&cx, &person, input).await;
    show(&cx, &person, outcome).await
}

/// Needs no proof of its own: only who began, with one, has the challenge, in the same app.
async fn enroll(cx: &Cx, person: &Person, input: AttemptTrustedDevice) -> Result<TrustedDevice> {
    let DeviceAlgorithm::Es256 = input.algorithm;
    let site = &person.visitor.site;
    rules::check_enabled(&site.settings)?;
    let platform = input.platform.name();
    let device =
        rules::claim(platform, input.app_identifier, input.name, &input.public_key_jwk, &site.settings)?;
    let id = rules::challenge_of(&input.client_data)?;
    let signed = SignedChallenge { id, device, client_data: input.client_data, signature: input.signature };
    let (act, target, client) = (person.visitor.act(cx), target(person), person.session.client.clone());
    // A challenge is used up also by what is refused, so the refusal comes out of the transaction as an outcome.
    cx.write(move |tx| Box::pin(settle(tx, act, target, client, signed))).await?
}

/// What a device shows to be enrolled.
struct SignedChallenge {
    id: TrustedDeviceChallengeId,
    device: DeviceClaim,
    client_data: String,
    signature: String,
}

async fn settle(
    tx: &mut Tx,
    act: Act,
    target: UserTarget,
    client: ClientId,
    signed: SignedChallenge,
) -> Result<Result<TrustedDevice>> {
    let before = target.lock(tx, &act).await?;
    let found = store::take(tx, &act.instance, &signed.id, &before.id, &client).await?;
    let Some(challenge) = found else {
        return Err(Error::new(Code::TrustedDeviceChallengeNotFound));
    };
    let SignedChallenge { device, client_data, signature, .. } = &signed;
    if let Err(refusal) = rules::check_signed(&challenge, device, client_data, signature, act.now) {
        return Ok(Err(refusal));
    }
    let held = store::list(tx, &act.instance, &before.id).await?;
    for key in held {
        let is_active = rules::find_active(&before, &key.id).is_some();
        match is_active && key.public_key == device.public_key {
            true => return Ok(Err(Error::new(Code::TrustedDeviceAlreadyEnrolled))),
            // What was revoked is not needed any more.
            false if !is_active => _ = store::delete(tx, &act.instance, &key.id).await?,
            false => (),
        }
    }
    let name = device.name.clone().or(challenge.device.name);
    let id = TrustedDeviceId::new(act.now, &*act.rng);
    let claim = DeviceClaim { name, ..device.clone() };
    let after = match rules::enrolled(before.clone(), &id, claim, act.now) {
        Ok(after) => after,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let key = TrustedDeviceKey {
        instance: act.instance.clone(),
        id: id.clone(),
        user: before.id.clone(),
        public_key: device.public_key.clone(),
        created_at: act.now,
    };
    store::insert(tx, &key).await?;
    let user = save_user(tx, &act, &before, after).await?;
    Ok(rules::find_active(&user, &id).cloned().ok_or_else(rules::not_registered))
}

async fn revoke(cx: Cx, person: Person, Path(id): Path<TrustedDeviceId>) -> Response {
    let outcome = take_away(&cx, &person, id).await;
    show(&cx, &person, outcome).await
}

async fn take_away(cx: &Cx, person: &Person, id: TrustedDeviceId) -> Result<TrustedDevice> {
    let unknown = || Error::not_found("trusted device", &id);
    rules::find_active(&person.user, &id).ok_or_else(unknown)?;
    person.check_reverified(cx.now)?;
    let (act, target, revoked) = (person.visitor.act(cx), target(person), id.clone());
    let user =
        cx.write(move |tx| Box::pin(async move { take_away_in(tx, &act, &target, &revoked).await })).await?;
    user.trusted_devices.into_iter().find(|device| device.id == id).ok_or_else(unknown)
}

async fn take_away_in(tx: &mut Tx, act: &Act, target: &UserTarget, id: &TrustedDeviceId) -> Result<User> {
    let rule = |user, act: &Act| rules::revoked(user, id, act.now);
    let user = changed(tx, act, target, rule).await?;
    store::delete(tx, &act.instance, id).await?;
    Ok(user)
}

async fn validate(cx: Cx, visitor: Visitor, Form(input): Form<ValidateTrustedDevice>) -> Response {
    let outcome = is_valid(&cx, &visitor, &input.trusted_device_id).await;
    visitor.answer(&cx, outcome.map(view::validation)).await
}

async fn is_valid(cx: &Cx, visitor: &Visitor, id: &str) -> Result<bool> {
    visitor.require_client()?;
    let site = &visitor.site;
    rules::check_enabled(&site.settings)?;
    let Some(id) = Id::parse(id) else { return Ok(false) };
    let mut tx = cx.app.db.read().await?;
    let Some(key) = store::find(&mut tx, &site.instance, &id).await? else { return Ok(false) };
    let Some(user) = users::find(&mut tx, &site.instance, &key.user).await? else { return Ok(false) };
    let device = rules::find_active(&user, &id);
    let native = &site.settings.native_settings;
    Ok(device.is_some_and(|device| native.has_app(&device.platform, &device.app_identifier)))
}

/// The person whose account is changed.
fn target(person: &Person) -> UserTarget {
    UserTarget::User(person.user.id.clone())
}

/// Answers with a device as it is now.
async fn show(cx: &Cx, person: &Person, outcome: Result<TrustedDevice>) -> Response {
    match outcome {
        Ok(device) => person.visitor.answer(cx, Ok(trusted_device(&device))).await,
        Err(error) => person.visitor.answer::<()>(cx, Err(error)).await,
    }
}
