//! The task to choose an organization, where everybody works for one.

use latchkey_kernel::limits::SESSION_TOUCH_MS;
use latchkey_kernel::settings::Settings;
use serde_json::{Value, json};

use super::{At, acting, join, organization, remove, server, session_events, user};

fn forced(settings: &mut Settings) {
    settings.organizations.force_selection = true;
}

fn status(session: &Value) -> (&str, &Value) {
    (session["status"].as_str().unwrap(), &session["tasks"])
}

#[tokio::test]
async fn a_session_without_organization_waits_until_one_is_chosen() {
    let t = server(forced).await;
    let ann = user(&t, "ann@example.com").await;
    let task = json!([{ "key": "choose-organization" }]);
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(status(&at.shown().await), ("pending", &task));
    assert_eq!(at.token().await["sts"], "pending");
    let path = format!("/v1/sessions/{}", at.session);
    assert_eq!(status(&t.get(&path).await.ok()), ("pending", &task));
    let old = t.call_version("2024-10-01", "GET", &path, None).await.ok();
    assert_eq!(status(&old), ("active", &Value::Null), "older versions know no such sessions");
    assert_eq!(session_events(&t).await, ["session.pending"]);
    // Nobody can choose to work for themselves.
    at.touch("").await.ok();
    assert_eq!(status(&at.shown().await), ("pending", &task));
    let engines = organization(&t, "engines").await;
    at.touch(&engines).await.is_error(404, "organization_not_found_or_unauthorized");
    join(&t, &engines, &ann, "org:member").await;
    assert_eq!(status(&at.shown().await), ("pending", &task), "a membership alone is no choice");
    let touched = at.touch("engines").await.ok();
    assert_eq!(status(&touched["response"]), ("active", &Value::Null));
    let told = at.token().await;
    assert_eq!((&told["sts"], &told["o"]["id"]), (&json!("active"), &json!(engines)));
    assert_eq!(session_events(&t).await, ["session.pending", "session.created"]);
    // Empty keeps what was chosen, in the session and in tokens.
    at.touch("").await.ok();
    assert_eq!(at.token_for(json!({ "organization_id": "" })).await["o"]["id"], json!(engines));
}

#[tokio::test]
async fn leaving_brings_the_task_back() {
    let t = server(forced).await;
    let ann = user(&t, "ann@example.com").await;
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(status(&at.shown().await), ("active", &Value::Null), "it begins with the organization");
    remove(&t, &engines, &ann).await;
    let task = json!([{ "key": "choose-organization" }]);
    assert_eq!(status(&at.shown().await), ("pending", &task));
    assert_eq!(at.token().await["sts"], "pending");
    let path = format!("/v1/client/sessions/{}/tokens/none", at.session);
    at.browser.post(&path, json!({})).await.is_error(401, "signed_out");
    join(&t, &engines, &ann, "org:member").await;
    at.touch(&engines).await.ok();
    t.delete(&format!("/v1/organizations/{engines}")).await.ok();
    assert_eq!(status(&at.shown().await), ("pending", &task));
    t.run_jobs().await;
    assert_eq!(status(&at.shown().await), ("pending", &task));
}

#[tokio::test]
async fn lists_tell_sessions_that_wait_for_the_choice_from_those_that_do_not() {
    let t = server(forced).await;
    let (ann, ben) = (user(&t, "ann@example.com").await, user(&t, "ben@example.com").await);
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let (mine, his) = (At::new(&t, "ann@example.com").await, At::new(&t, "ben@example.com").await);
    for (who, session, status) in [(&ann, &mine.session, "active"), (&ben, &his.session, "pending")] {
        let id = who["id"].as_str().unwrap();
        for asked in ["active", "pending"] {
            let path = format!("/v1/sessions?user_id={id}&status={asked}&paginated=true");
            let listed = t.get(&path).await.ok();
            let count = i64::from(asked == status);
            assert_eq!(listed["total_count"], json!(count), "{asked}");
            assert_eq!(listed["data"].as_array().unwrap().len() as i64, count, "{asked}");
        }
        let path = format!("/v1/sessions?user_id={id}&status=active");
        let old = t.call_version("2024-10-01", "GET", &path, None).await.ok();
        assert_eq!(old[0]["id"], json!(session), "older versions count both as active");
    }
}

#[tokio::test]
async fn the_task_comes_behind_others() {
    let t = server(|settings| {
        forced(settings);
        settings.sign_in.second_factor_required = true;
        settings.attributes.authenticator_app.enabled = true;
    })
    .await;
    let ann = user(&t, "ann@example.com").await;
    let mut at = At::new(&t, "ann@example.com").await;
    let both = json!([{ "key": "setup-mfa" }, { "key": "choose-organization" }]);
    assert_eq!(status(&at.shown().await), ("pending", &both));
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    let touched = at.touch(&engines).await.ok();
    assert_eq!(status(&touched["response"]), ("pending", &json!([{ "key": "setup-mfa" }])));
    assert_eq!(at.token().await["o"]["id"], json!(engines));
}

#[tokio::test]
async fn the_task_comes_and_goes_with_the_setting() {
    let t = server(|_| ()).await;
    user(&t, "ann@example.com").await;
    let mut at = At::new(&t, "ann@example.com").await;
    for is_forced in [true, false, true] {
        let mut settings = Settings::default();
        settings.organizations.enabled = true;
        settings.organizations.force_selection = is_forced;
        t.set_settings(settings).await;
        let expected = if is_forced { "pending" } else { "active" };
        // Using the session keeps nothing of the task.
        at.touch("").await.ok();
        assert_eq!(at.shown().await["status"], expected);
        assert_eq!(at.token().await["sts"], expected);
    }
}

#[tokio::test]
async fn with_personal_accounts_there_is_no_task() {
    let t = server(|_| ()).await;
    let ann = user(&t, "ann@example.com").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(status(&at.shown().await), ("active", &Value::Null));
    let engines = organization(&t, "engines").await;
    join(&t, &engines, &ann, "org:member").await;
    at.touch(&engines).await.ok();
    remove(&t, &engines, &ann).await;
    assert_eq!(status(&at.shown().await), ("active", &Value::Null));
}

#[tokio::test]
async fn whoever_acts_as_a_user_has_no_task() {
    let t = server(forced).await;
    let ann = user(&t, "ann@example.com").await;
    let actor = json!({ "user_id": ann["id"], "actor": { "sub": "user_admin" } });
    let mut acting = acting(&t, actor).await;
    assert_eq!(status(&acting.shown().await), ("active", &Value::Null));
    assert_eq!(acting.token().await["sts"], "active");
    acting.touch("").await.ok();
    assert_eq!(status(&acting.shown().await), ("active", &Value::Null));
    let path = format!("/v1/sessions/{}", acting.session);
    assert_eq!(status(&t.get(&path).await.ok()), ("active", &Value::Null));
    for (asked, count) in [("active", 1), ("pending", 0)] {
        let path =
            format!("/v1/sessions?user_id={}&status={asked}&paginated=true", ann["id"].as_str().unwrap());
        let listed = t.get(&path).await.ok();
        assert_eq!(listed["total_count"], json!(count), "{asked}");
        assert_eq!(listed["data"].as_array().unwrap().len(), count, "{asked}");
    }
}

#[tokio::test]
async fn a_token_for_an_organization_does_not_end_the_wait_for_the_choice() {
    let t = server(forced).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    let mut at = At::new(&t, "ann@example.com").await;
    for id in [&engines, &looms] {
        join(&t, id, &ann, "org:member").await;
    }
    let told = at.token_for(json!({ "organization_id": engines })).await;
    assert_eq!((&told["sts"], &told["o"]["id"]), (&json!("pending"), &json!(engines)));
    assert_eq!(at.shown().await["status"], "pending");
    at.touch(&looms).await.ok();
    let told = at.token_for(json!({ "organization_id": engines })).await;
    assert_eq!((&told["sts"], &told["o"]["id"]), (&json!("active"), &json!(engines)));
}

#[tokio::test]
async fn a_session_is_announced_once_however_often_the_task_comes_back() {
    let t = server(forced).await;
    let ann = user(&t, "ann@example.com").await;
    let (engines, looms) = (organization(&t, "engines").await, organization(&t, "looms").await);
    join(&t, &looms, &ann, "org:member").await;
    join(&t, &engines, &ann, "org:member").await;
    let mut at = At::new(&t, "ann@example.com").await;
    assert_eq!(session_events(&t).await, ["session.created"]);
    remove(&t, &engines, &ann).await;
    assert_eq!(at.shown().await["status"], "pending");
    at.touch(&looms).await.ok();
    assert_eq!(at.shown().await["status"], "active");
    at.touch(&looms).await.ok();
    assert_eq!(session_events(&t).await, ["session.created"]);
}

#[tokio::test]
async fn a_session_is_announced_when_nobody_has_to_choose_any_more() {
    let t = server(forced).await;
    user(&t, "ann@example.com").await;
    let mut by_touch = At::new(&t, "ann@example.com").await;
    let mut by_token = At::new(&t, "ann@example.com").await;
    assert_eq!(session_events(&t).await, ["session.pending"; 2]);
    let mut settings = Settings::default();
    settings.organizations.enabled = true;
    t.set_settings(settings).await;
    for _ in 0..2 {
        by_touch.touch("").await.ok();
    }
    assert_eq!(session_events(&t).await, ["session.pending", "session.pending", "session.created"]);
    // Tokens note now and then that a session is in use.
    t.clock.advance_ms(SESSION_TOUCH_MS + 1);
    for _ in 0..2 {
        assert_eq!(by_token.token().await["sts"], "active");
    }
    let told = ["session.pending", "session.pending", "session.created", "session.created"];
    assert_eq!(session_events(&t).await, told);
}
