//! Routes and handlers of the backend API.

use latchkey_base::kinds::UserId;
use latchkey_base::{Code, Error, Id, Result};
use latchkey_db::Tx;
use latchkey_kernel::auth::SecretKey;
use latchkey_kernel::cx::{Act, Cx};
use latchkey_kernel::wire::{DeletedView, deleted};
use latchkey_kernel::{AppState, limits};
use latchkey_people::users::change::{UserTarget, change_secrets, save_user};
use latchkey_people::users::credentials::Credentials;
use latchkey_people::users::input::{RemovePassword, SetCompromised, UserIds};
use latchkey_people::users::model::User;
use latchkey_people::users::view::{self, UserView, ViewContext};
use latchkey_people::users::{factors, rules};
use latchkey_presence::sessions::store;
use latchkey_web::api::Api;
use latchkey_web::input::{Input, Path};
use latchkey_web::reply::Reply;

use super::deletion;
use super::sessions::{Sessions, change_and};
use super::update;

pub fn routes(api: &mut Api<AppState>) {
    api.group("Users");
    api.patch("/users/{user_id}", "UpdateUser", update::update)
        .summary("Update a user")
        .wants_body()
        .returns::<UserView>()
        .limited(limits::USER_CHANGES);
    api.delete("/users/{user_id}", "DeleteUser", delete).summary("Delete a user").returns::<DeletedView>();
    api.post("/users/ban", "UsersBan", ban_many)
        .summary("Ban several users")
        .returns::<Vec<UserView>>()
        .errors(&[404])
        .instead(&[(422, 400)]);
    api.post("/users/unban", "UsersUnban", unban_many)
        .summary("Lift the ban of several users")
        .returns::<Vec<UserView>>()
        .errors(&[404])
        .instead(&[(422, 400)]);
    api.post("/users/{user_id}/ban", "BanUser", ban).summary("Ban a user").returns::<UserView>();
    api.post("/users/{user_id}/unban", "UnbanUser", unban)
        .summary("Lift the ban of a user")
        .returns::<UserView>();
    api.post("/users/{user_id}/remove_password", "RemoveUserPassword", remove_password)
        .summary("Remove the password of a user")
        .returns::<UserView>()
        .instead(&[(422, 400)]);
    api.post("/users/{user_id}/password/set_compromised", "SetUserPasswordCompromised", set_compromised)
        .summary("Mark the password of a user as compromised")
        .returns::<UserView>();
}

async fn delete(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    let (act, gone) = (cx.act(&key), deleted("user", &id));
    deletion::delete(&cx, act, id).await?;
    cx.reply(&gone)
}

async fn ban(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    changed_and(cx, key, id, |user, _| Ok(rules::ban(user)), Sessions::End).await
}

async fn unban(cx: Cx, key: SecretKey, Path(id): Path<UserId>) -> Reply {
    changed_and(cx, key, id, |user, _| Ok(rules::unban(user)), Sessions::Stay).await
}

async fn set_compromised(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<SetCompromised>,
) -> Reply {
    let sessions = Sessions::end_if(input.revoke_all_sessions == Some(true));
    changed_and(cx, key, id, |user, _| factors::set_compromised(user, true), sessions).await
}

async fn ban_many(cx: Cx, key: SecretKey, Input(input): Input<UserIds>) -> Reply {
    change_many(cx, key, input, rules::ban, Sessions::End).await
}

async fn unban_many(cx: Cx, key: SecretKey, Input(input): Input<UserIds>) -> Reply {
    change_many(cx, key, input, rules::unban, Sessions::Stay).await
}

async fn remove_password(
    cx: Cx,
    key: SecretKey,
    Path(id): Path<UserId>,
    Input(input): Input<RemovePassword>,
) -> Reply {
    let (act, sessions) = (cx.act(&key), Sessions::end_if(input.sign_out_of_other_sessions));
    let user = change_credentials(&cx, act.clone(), id, factors::without_password, sessions).await?;
    cx.reply(&view::user(&user, ViewContext::of(&act)))
}

/// Changes a user by a rule, and their sessions with them, and shows the result.
async fn changed_and<R>(cx: Cx, key: SecretKey, id: UserId, rule: R, sessions: Sessions) -> Reply
where
    R: FnOnce(User, &Act) -> Result<User> + Send + 'static,
{
    let act = cx.act(&key);
    let user = change_and(&cx, act.clone(), id, rule, sessions).await?;
    cx.reply(&view::user(&user, ViewContext::of(&act)))
}

/// Changes several users, all or none. They are locked in the order of their ids, so that two calls
/// never wait for each other; the clients before all of them, and all of them before any session.
async fn change_many(
    cx: Cx,
    key: SecretKey,
    input: UserIds,
    rule: fn(User) -> User,
    sessions: Sessions,
) -> Reply {
    let parse = |text: &String| Id::parse(text).ok_or_else(|| Error::not_found("user", text));
    let ids: Vec<UserId> = input.user_ids.iter().map(parse).collect::<Result<_>>()?;
    let mut ordered = ids.clone();
    ordered.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    ordered.dedup();
    let act = cx.act(&key);
    let inner = act.clone();
    let write =
        cx.write(move |tx| Box::pin(async move { change_all_in(tx, &inner, ordered, rule, sessions).await }));
    let users = write.await?;
    let in_order = ids.iter().filter_map(|id| users.iter().find(|user| user.id == *id));
    cx.reply(&in_order.map(|user| view::user(user, ViewContext::of(&act))).collect::<Vec<_>>())
}

/// Refuses users with very many sessions together: all of them would end in one transaction, and others wait for it.
async fn check_sum(tx: &mut Tx, act: &Act, ids: &[UserId]) -> Result<()> {
    let most = limits::SESSIONS_IN_BULK;
    match store::count_live_of_users(tx, &act.instance, ids, act.now, most + 1).await? > most {
        true => Err(Error::param(Code::FormParamValueInvalid, "user_ids").saying(format!(
            "These users have more than {most} sessions together, which would end. Name fewer of them in one call."
        ))),
        false => Ok(()),
    }
}

async fn change_all_in(
    tx: &mut Tx,
    act: &Act,
    ids: Vec<UserId>,
    rule: fn(User) -> User,
    sessions: Sessions,
) -> Result<Vec<User>> {
    if sessions == Sessions::End && ids.len() > 1 {
        check_sum(tx, act, &ids).await?;
    }
    let mut settling = sessions.lock(tx, act, &ids.iter().collect::<Vec<_>>()).await?;
    let mut users = Vec::with_capacity(ids.len());
    for id in ids {
        let before = UserTarget::User(id).lock(tx, act).await?;
        let after = rule(before.clone());
        users.push(save_user(tx, act, &before, after).await?);
    }
    for user in &users {
        settling.settle(tx, act, &user.id).await?;
    }
    Ok(users)
}

/// Changes a user together with their credentials and their sessions.
async fn change_credentials(
    cx: &Cx,
    act: Act,
    id: UserId,
    rule: fn(User, Credentials) -> (User, Credentials),
    sessions: Sessions,
) -> Result<User> {
    cx.write(move |tx| Box::pin(async move { change_credentials_in(tx, &act, id, rule, sessions).await }))
        .await
}

async fn change_credentials_in(
    tx: &mut Tx,
    act: &Act,
    id: UserId,
    rule: fn(User, Credentials) -> (User, Credentials),
    sessions: Sessions,
) -> Result<User> {
    let mut settling = sessions.lock(tx, act, &[&id]).await?;
    let user = change_secrets(tx, act, &UserTarget::User(id), rule).await?;
    settling.settle(tx, act, &user.id).await?;
    Ok(user)
}
