//! Routes and handlers of the backend API.

use latchkey_base::kinds::{IdentificationId, TrustedDeviceId, UserId};
use latchkey_base::{Code, Error, Result};
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::slow::WorkOwner;
use latchkey_kernel::wire::{DeletedView, ListView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::query::Query;
use latchkey_web::reply::Reply;

use super::change::{self, UserTarget, change, change_secrets};
use super::credentials::{self, Credentials};
use super::found::FoundUser;
use super::input::{ListUsers, Metadata, UserFilters, VerifyPassword, VerifyTotp};
use super::metadata::{self, Mode};
use super::model::{ContactKind, User};
use super::view::{
    self, TotalCountView, TrustedDeviceView, UserIdView, UserView, VerifiedCodeView, VerifiedView,
    ViewContext,
};
use super::{create, factors, list, pictures, rules, store};
use crate::external_accounts::change::disconnect;
use crate::identifications::rules as identifications;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Users");
    api.get("/users", "GetUserList", list_users).summary("List users").returns::<Vec<UserView>>();
    api.post("/users", "CreateUser", create::create)
        .summary("Create a user")
        .wants_body()
        .returns::<UserView>()
        .errors(&[403]);
    api.get("/users/count", "GetUsersCount", count).summary("Count users").returns::<TotalCountView>();
    api.get("/users/{user_id}", "GetUser", get).summary("Get a user").returns::<UserView>();
    api.post("/users/{user_id}/lock", "LockUser", lock)
        .summary("Lock a user")
        .returns::<UserView>()
        .errors(&[403]);
    api.post("/users/{user_id}/unlock", "UnlockUser", unlock)
        .summary("Unlock a user")
        .returns::<UserView>()
        .errors(&[403]);
    api.post("/users/{user_id}/profile_image", "SetUserProfileImage", pictures::set)
        .summary("Set the picture of a user")
        .returns::<UserView>()
        .instead(&[(422, 400)]);
    api.delete("/users/{user_id}/profile_image", "DeleteUserProfileImage", pictures::delete)
        .summary("Remove the picture of a user")
        .returns::<UserView>();
    api.patch("/users/{user_id}/metadata", "UpdateUserMetadata", merge_metadata)
        .summary("Merge metadata of a user")
        .returns::<UserView>()
        .limited(limits::USER_CHANGES);
    api.put("/users/{user_id}/metadata", "ReplaceUserMetadata", replace_metadata)
        .summary("Replace metadata of a user")
        .returns::<UserView>()
        .limited(limits::USER_CHANGES);
    api.post("/users/{user_id}/verify_password", "VerifyPassword", verify_password)
        .summary("Check the password of a user")
        .returns::<VerifiedView>();
    api.post("/users/{user_id}/verify_totp", "VerifyTOTP", verify_totp)
        .summary("Check a TOTP or backup code of a user")
        .returns::<VerifiedCodeView>();
    api.delete("/users/{user_id}/mfa", "DisableMFA", delete_mfa)
        .summary("Remove all second factors")
        .returns::<UserIdView>();
    api.delete("/users/{user_id}/backup_code", "DeleteBackupCode", delete_backup_codes)
        .summary("Remove the backup codes")
        .returns::<UserIdView>();
    api.delete("/users/{user_id}/totp", "DeleteTOTP", delete_totp)
        .summary("Remove the authenticator app")
        .returns::<UserIdView>();
    api.delete(
        "/users/{user_id}/web3_wallets/{web3_wallet_identification_id}",
        "UserWeb3WalletDelete",
        delete_wallet,
    )
    .summary("Remove a wallet")
    .returns::<DeletedView>();
    api.delete(
        "/users/{user_id}/external_accounts/{external_account_id}",
        "DeleteExternalAccount",
        delete_external_account,
    )
    .summary("Remove a connected account")
    .returns::<DeletedView>();
    api.get("/users/{user_id}/trusted_devices", "ListUserTrustedDevices", trusted_devices)
        .summary("List the trusted devices of a user")
        .returns::<ListView<TrustedDeviceView>>();
    api.delete(
        "/users/{user_id}/trusted_devices/{trusted_device_id}",
        "RevokeUserTrustedDevice",
        revoke_trusted_device,
    )
    .summary("Revoke a trusted device")
    .returns::<TrustedDeviceView>();
    api.post(
        "/users/{user_id}/password/unset_compromised",
        "UnsetUserPasswordCompromised",
        unset_compromised,
    )
    .summary("Mark the password of a user as sound")
    .returns::<UserView>();
}

async fn list_users(cx: Cx, key: SecretKey, Query(query): Query<ListUsers>) -> Reply {
    let users = list::fetch(&cx.backend_reads(&key.instance), &key.instance, query).await?;
    let act = cx.act(&key);
    cx.reply(&users.iter().map(|user| view::user(user, ViewContext::of(&act))).collect::<Vec<_>>())
}

async fn count(cx: Cx, key: SecretKey, Query(filters): Query<UserFilters>) -> Reply {
    cx.reply(&view::total_count(list::count(&cx.backend_reads(&key.instance), &key.instance, filters).await?))
}

async fn get(cx: Cx, FoundUser { key, user }: FoundUser) -> Reply {
    let context =
        ViewContext { now: cx.now, settings: &key.settings, api_url: &cx.app.api_url, relying_party: None };
    cx.reply(&view::user(&user, context))
}

async fn lock(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    changed(cx, key, id, |user, act| rules::lock(user, &act.settings, act.now)).await
}

async fn unlock(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    changed(cx, key, id, |user, act| rules::unlock(user, &act.settings)).await
}

async fn merge_metadata(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<Metadata>,
) -> Reply {
    changed(cx, key, id, |user, _| metadata::apply(user, input, Mode::Merge)).await
}

async fn replace_metadata(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<Metadata>,
) -> Reply {
    changed(cx, key, id, |user, _| metadata::apply(user, input, Mode::Replace)).await
}

async fn unset_compromised(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    changed(cx, key, id, |user, _| factors::set_compromised(user, false)).await
}

async fn delete_mfa(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    let user = change_credentials(&cx, cx.act(&key), id, factors::without_mfa).await?;
    cx.reply(&UserIdView { user_id: user.id })
}

async fn delete_totp(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    let user = change_credentials(&cx, cx.act(&key), id, factors::without_totp).await?;
    cx.reply(&UserIdView { user_id: user.id })
}

async fn delete_backup_codes(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    let user = change_credentials(&cx, cx.act(&key), id, factors::without_backup_codes).await?;
    cx.reply(&UserIdView { user_id: user.id })
}

async fn verify_password(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<VerifyPassword>,
) -> Reply {
    find(&cx, &key, &id).await?;
    let mut tx = cx.app.db.read().await?;
    let stored = credentials::find(&mut tx, &key.instance, &id, &cx.app.master).await?.password;
    drop(tx);
    let stored = stored.ok_or_else(|| Error::new(Code::NoPasswordSet))?;
    let (tried, salt) = (stored.clone(), latchkey_base::rng::bytes(&*cx.app.rng));
    let work = move || {
        let fits = factors::password_fits(&tried, &input.password);
        let upgrade = fits && factors::needs_upgrade(&tried);
        (fits, upgrade.then(|| latchkey_passwords::hash(input.password.expose(), salt)))
    };
    let (fits, upgraded) = cx.app.hashing.run(&WorkOwner::backend(&key.instance), work).await?;
    if !fits {
        return Err(Error::param(Code::IncorrectPassword, "password").into());
    }
    if let Some(digest) = upgraded {
        let instance = key.instance.clone();
        cx.write(move |tx| {
            Box::pin(async move { credentials::upgrade(tx, &instance, &id, &stored, digest).await })
        })
        .await?;
    }
    cx.reply(&VerifiedView { verified: true })
}

/// The code is checked outside of the transaction, because bcrypt digests are slow, and then used up
/// inside it only if nobody used one meanwhile.
async fn verify_totp(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<VerifyTotp>,
) -> Reply {
    find(&cx, &key, &id).await?;
    let mut tx = cx.app.db.read().await?;
    let before = credentials::find(&mut tx, &key.instance, &id, &cx.app.master).await?;
    drop(tx);
    let (tried, now) = (before.clone(), cx.now);
    let work = move || factors::use_code(tried, &input.code, now);
    let owner = WorkOwner::backend(&key.instance);
    let (after, code_type) = cx.app.hashing.run(&owner, work).await??;
    let (act, target) = (cx.act(&key), UserTarget::User(id));
    cx.write(move |tx| Box::pin(consume_code(tx, act, target, before, after))).await?;
    cx.reply(&VerifiedCodeView { verified: true, code_type })
}

async fn consume_code(
    tx: &mut latchkey_db::Tx,
    act: Act,
    target: UserTarget,
    before: Credentials,
    after: Credentials,
) -> Result<()> {
    let act = &act;
    let user = target.lock(tx, act).await?;
    let held = credentials::lock(tx, &act.instance, &user.id, &act.master).await?;
    if !held.has_factors_of(&before) {
        return Err(
            Error::param(Code::TotpIncorrectCode, "code").saying("Another code was used at the same moment.")
        );
    }
    let after = Credentials { password: held.password, totp_pending: held.totp_pending, ..after };
    let (sql, params) = credentials::save(&act.instance, &user.id, &after, &act.master)?;
    tx.run(&[sql], &params).await?;
    if after.backup_codes.is_empty() && user.backup_code_enabled {
        let without = User { backup_code_enabled: false, ..user.clone() };
        change::save_user(tx, act, &user, without).await?;
    }
    Ok(())
}

async fn delete_wallet(
    cx: Cx,
    key: SecretKey,
    Path((id, wallet)): Path<(UserId, IdentificationId)>,
) -> Reply {
    let gone = deleted("web3_wallet", &wallet);
    let rule =
        move |user, act: &Act| identifications::remove(user, ContactKind::Wallet, &wallet, &act.settings);
    change(&cx, cx.act(&key), UserTarget::User(id), rule).await?;
    cx.reply(&gone)
}

async fn delete_external_account(
    cx: Cx,
    key: SecretKey,
    Path((id, account)): Path<(UserId, String)>,
) -> Reply {
    let (gone, act) = (deleted("external_account", &account), cx.act(&key));
    let work = cx.write(move |tx| {
        Box::pin(async move {
            let before = UserTarget::User(id).lock(tx, &act).await?;
            disconnect(tx, &act, &before, &account).await
        })
    });
    work.await?;
    cx.reply(&gone)
}

async fn trusted_devices(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    let user = find(&cx, &key, &id).await?;
    let active = user.trusted_devices.iter().filter(|device| device.revoked_at.is_none());
    let data: Vec<_> = active.map(view::trusted_device).collect();
    cx.reply(&ListView { total_count: data.len() as i64, data })
}

async fn revoke_trusted_device(
    cx: Cx,
    key: SecretKey,
    Path((id, device)): Path<(UserId, TrustedDeviceId)>,
) -> Reply {
    let act = cx.act(&key);
    let revoked = device.clone();
    let rule = move |mut user: User, act: &Act| {
        let active =
            user.trusted_devices.iter_mut().find(|known| known.id == device && known.revoked_at.is_none());
        let active = active.ok_or_else(|| Error::not_found("trusted device", &device))?;
        active.revoked_at = Some(act.now);
        active.updated_at = act.now;
        Ok(user)
    };
    let user = change(&cx, act, UserTarget::User(id), rule).await?;
    let device = user.trusted_devices.iter().find(|known| known.id == revoked);
    cx.reply(&device.map(view::trusted_device).ok_or_else(|| Error::not_found("trusted device", &revoked))?)
}

async fn find(cx: &Cx, key: &SecretKey, id: &UserId) -> Result<User> {
    let mut tx = cx.app.db.read().await?;
    store::find(&mut tx, &key.instance, id).await?.ok_or_else(|| Error::not_found("user", id))
}

/// Changes a user by a rule and shows the result.
async fn changed<R>(cx: Cx, key: SecretKey, id: UserId, rule: R) -> Reply
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    let act = cx.act(&key);
    let user = change(&cx, act.clone(), UserTarget::User(id), rule).await?;
    cx.reply(&view::user(&user, ViewContext::of(&act)))
}

/// Changes a user together with their credentials.
async fn change_credentials(
    cx: &Cx,
    act: Act,
    id: UserId,
    rule: fn(User, Credentials) -> (User, Credentials),
) -> Result<User> {
    let target = UserTarget::User(id);
    cx.write(move |tx| Box::pin(async move { change_secrets(tx, &act, &target, rule).await })).await
}
