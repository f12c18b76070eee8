//! Messages to people: what they say, in which language, and what the application is told of them.

use latchkey_kernel::settings::Settings;
use latchkey_letters::catalogue;
use latchkey_letters::model::Channel;
use latchkey_messaging::messages::model::Content;
use latchkey_messaging::templates::store as templates;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const CODE: &str = "/v1/templates/email/verification_code";

/// What a message table row holds.
struct Stored {
    id: String,
    status: String,
    is_due: bool,
    expire_at: Option<i64>,
    content: Content,
}

impl Stored {
    fn html(&self) -> &str {
        self.content.html.as_deref().unwrap_or_default()
    }
}

async fn stored(t: &TestServer) -> Vec<Stored> {
    let sql = "SELECT id, status, next_at, expire_at, content_sealed FROM messages WHERE instance_id = $1 ORDER BY created_at, id";
    let read = |row: &latchkey_db::Row<'_>| {
        Ok((row.text(0)?, row.text(1)?, row.maybe_int(2)?.is_some(), row.maybe_int(3)?, row.bytes(4)?))
    };
    let rows = t.db().read().await.unwrap().all(&[sql], &[(&t.tenant.id).into()], read).await.unwrap();
    let open = |(id, status, is_due, expire_at, sealed): (String, String, bool, Option<i64>, Vec<u8>)| {
        let content = serde_json::from_slice(&t.master.open(&id, &sealed).unwrap()).unwrap();
        Stored { id, status, is_due, expire_at, content }
    };
    rows.into_iter().map(open).collect()
}

async fn told(t: &TestServer, kind: &str) -> Vec<(String, Value)> {
    let events = t.events().await.into_iter().filter(|event| event.kind == kind);
    events.map(|event| (event.subject, event.data)).collect()
}

/// A user with an address nobody has proven, and the path to it.
async fn unproven(t: &TestServer, user: Value) -> (Value, String) {
    let user = t.user(user).await;
    let body = json!({"user_id": user["id"], "email_address": "new@example.com"});
    let address = t.post("/v1/email_addresses", body).await.ok();
    let path = format!("/v1/email_addresses/{}/prepare_verification", address["id"].as_str().unwrap());
    (user, path)
}

#[tokio::test]
async fn a_code_is_written_sealed_and_told_of() {
    let t = TestServer::start().await;
    let (user, path) = unproven(&t, json!({"username": "ada-lovelace"})).await;
    t.post(&path, json!({})).await.ok();
    let all = stored(&t).await;
    let [message] = all.as_slice() else { panic!("{} messages", all.len()) };
    assert_eq!((message.status.as_str(), message.is_due), ("queued", true));
    let code = message.content.code.clone().unwrap();
    assert_eq!(message.content.subject, format!("{code} is your Latchkey verification code"));
    assert!(message.html().contains(&format!(">{code}<")) && message.content.text.contains(&code));
    assert_eq!(message.expire_at, Some(1_767_225_600_000 + 600_000));
    let told = told(&t, "email.created").await;
    let [(subject, data)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!(json!(subject), user["id"]);
    for (field, value) in [
        ("object", json!("email")),
        ("id", json!(message.id)),
        ("slug", json!("verification_code")),
        ("to_email_address", json!("new@example.com")),
        ("user_id", user["id"].clone()),
        ("from_email_name", json!("noreply")),
        ("reply_to_email_name", Value::Null),
        ("subject", json!(message.content.subject)),
        ("body", json!(message.html())),
        ("body_plain", json!(message.content.text)),
        ("status", json!("queued")),
        ("delivered_by_clerk", json!(true)),
        ("delivered_by_service", json!(true)),
    ] {
        assert_eq!(data[field], value, "{field}");
    }
    assert!(data["email_address_id"].as_str().unwrap().starts_with("idn_"));
    assert_eq!((&data["data"]["otp_code"], &data["data"]["app"]["name"]), (&json!(code), &json!("Latchkey")));
    // Nothing of it can be read from the tables.
    assert!(!t.everything().await.iter().any(|row| row.contains(&code) || row.contains("verification code")));
}

#[tokio::test]
async fn a_text_message_says_the_same_shorter() {
    let t = TestServer::start().await;
    let user = t.user(json!({"phone_number": ["+4915112345678"]})).await;
    let id = user["phone_numbers"][0]["id"].as_str().unwrap();
    t.post(&format!("/v1/phone_numbers/{id}/prepare_verification"), json!({})).await.ok();
    let told = told(&t, "sms.created").await;
    let data = &told[0].1;
    let code = data["data"]["otp_code"].as_str().unwrap();
    assert!(data["id"].as_str().unwrap().starts_with("sms_"), "{data}");
    assert_eq!(data["message"], format!("{code} is your Latchkey verification code. Do not share it."));
    assert_eq!((&data["to_phone_number"], &data["phone_number_id"]), (&json!("+4915112345678"), &json!(id)));
    assert_eq!(
        (&data["object"], &data["created_at_ms"]),
        (&json!("sms_message"), &json!(1_767_225_600_000_i64))
    );
    assert_eq!(stored(&t).await[0].content.html, None);
}

#[tokio::test]
async fn what_the_application_delivers_is_held_and_told_in_full() {
    let t = TestServer::start().await;
    t.post(&format!("{CODE}/toggle_delivery"), json!({"delivered_by_service": false})).await.ok();
    let (_, path) = unproven(&t, json!({"username": "ada-lovelace"})).await;
    t.post(&path, json!({})).await.ok();
    let message = &stored(&t).await[0];
    assert_eq!((message.status.as_str(), message.is_due), ("held", false));
    let (_, data) = &told(&t, "email.created").await[0];
    assert_eq!((&data["delivered_by_clerk"], &data["delivered_by_service"]), (&json!(false), &json!(false)));
    assert!(data["body"].as_str().unwrap().contains(data["data"]["otp_code"].as_str().unwrap()));
}

#[tokio::test]
async fn targets_for_tests_get_nothing() {
    let t = TestServer::start().await;
    let user = t
        .user(json!({"email_address": ["a+clerk_test@example.com"], "phone_number": ["+15555550100"]}))
        .await;
    for (kind, path) in [("email_addresses", "email_addresses"), ("phone_numbers", "phone_numbers")] {
        let id = user[kind][0]["id"].as_str().unwrap();
        t.post(&format!("/v1/{path}/{id}/prepare_verification"), json!({})).await.ok();
    }
    assert!(
        stored(&t).await.is_empty()
            && told(&t, "email.created").await.is_empty()
            && told(&t, "sms.created").await.is_empty()
    );
}

#[tokio::test]
async fn messages_are_in_the_readers_language() {
    let t = TestServer::start().await;
    for (locale, word) in [("pt", "código"), ("pt-BR", "seu código"), ("de", "Code")] {
        let body = json!({"subject": format!("{word} {{{{otp_code}}}}"), "body": format!("<p>{word}: {{{{otp_code}}}}</p>")});
        t.put(&format!("{CODE}/locales/{locale}"), body).await.ok();
    }
    for (number, (locale, word)) in [
        (json!("pt-BR"), "seu código"),
        (json!("pt-PT"), "código"),
        (json!("PT"), "código"),
        (json!("de-AT"), "Code"),
        (json!("fr"), "is your"),
        (Value::Null, "is your"),
    ]
    .into_iter()
    .enumerate()
    {
        let user = t.user(json!({"username": format!("user-{number}"), "locale": locale})).await;
        let body = json!({"user_id": user["id"], "email_address": format!("a{number}@example.com")});
        let address = t.post("/v1/email_addresses", body).await.ok();
        t.clock.advance_ms(1000);
        t.post(
            &format!("/v1/email_addresses/{}/prepare_verification", address["id"].as_str().unwrap()),
            json!({}),
        )
        .await
        .ok();
        let message = stored(&t).await.pop().unwrap();
        assert!(message.content.subject.contains(word), "{locale}: {}", message.content.subject);
    }
    // The text is made from the page where nobody wrote it.
    t.delete(&format!("{CODE}/locales/pt-BR")).await.ok();
    let texts: Vec<String> = stored(&t).await.into_iter().map(|message| message.content.text).collect();
    assert!(texts[0].starts_with("seu código: "), "{}", texts[0]);
}

#[tokio::test]
async fn only_the_variants_a_reader_may_get_are_loaded() {
    let t = TestServer::start().await;
    for locale in ["de", "fr", "pt", "pt-BR"] {
        t.put(&format!("{CODE}/locales/{locale}"), json!({"body": "{{otp_code}}"})).await.ok();
    }
    t.put(CODE, json!({"body": "{{otp_code}}"})).await.ok();
    let system = catalogue::find(Channel::Email, "verification_code").unwrap();
    let mut tx = t.db().read().await.unwrap();
    // More than are looked for; what comes first is found.
    let mut many = vec!["pt-BR".to_owned(), "pt".to_owned()];
    many.extend((b'a'..=b'z').map(|letter| format!("x{}", char::from(letter))));
    many.push("de".to_owned());
    for (locales, expected) in [(&[][..], &[""][..]), (&many, &["", "pt", "pt-BR"])] {
        let found = templates::wanted(&mut tx, &t.tenant.id, system, locales).await.unwrap();
        let mut found: Vec<String> = found.into_iter().map(|stored| stored.locale).collect();
        found.sort();
        assert_eq!(found, expected);
    }
    assert!(templates::wanted(&mut tx, &t.other.id, system, &many).await.unwrap().is_empty());
}

#[tokio::test]
async fn names_cannot_inject_markup_headers_or_templates() {
    let mut settings = Settings::default();
    settings.display.application_name = "A<script>\r\nBcc: x@example.com {{otp_code}}".to_owned();
    let t = TestServer::start_with(latchkey_kernel::limits::RateLimits::Off, settings).await;
    let page = "<p title=\"{{user.public_metadata.name}}\">{{user.public_metadata.name}} {{user.public_metadata.x}} {{otp_code}}</p>\
        <a href=\"{{user.public_metadata.link}}\">x</a>";
    t.put(CODE, json!({"subject": "{{user.public_metadata.name}} {{user.public_metadata.x}} {{otp_code}}", "body": page})).await.ok();
    let (_, path) = unproven(
        &t,
        json!({
            "username": "ada-lovelace",
            "public_metadata": {
                "name": "\"><img src=x onerror=y>{{otp_code}}{% if 1 %}",
                "x": "a\r\nBcc: y@example.com\u{202e}", "link": "javascript:alert(1)"},
        }),
    )
    .await;
    t.post(&path, json!({})).await.ok();
    let message = stored(&t).await.remove(0);
    let (html, content) = (message.html(), &message.content);
    assert!(!html.contains("<img") && html.contains("href=\"#\""), "{html}");
    assert!(html.contains("{{otp_code}}{% if 1 %}"), "{html}");
    assert!(!content.subject.contains(['\r', '\n', '\u{202e}']), "{}", content.subject);
    // The name of the application stands in the default page.
    t.post(&format!("{CODE}/revert"), json!({})).await.ok();
    t.clock.advance_ms(1000);
    t.post(&path, json!({})).await.ok();
    let message = stored(&t).await.remove(1);
    let content = &message.content;
    assert!(
        !message.html().contains("<script") && !content.subject.contains(['\r', '\n']),
        "{}",
        content.subject
    );
    assert!(
        content.subject.contains("Bcc: x@example.com {{otp_code}} verification code"),
        "{}",
        content.subject
    );
}

#[tokio::test]
async fn names_cannot_change_where_an_address_leads() {
    let t = TestServer::start().await;
    let page = |url: &str| json!({"body": format!("<a href=\"{url}\">{{{{otp_code}}}}</a>")});
    let refused = t.put(CODE, page("https://acme.example{{user.first_name}}")).await;
    refused.is_problem(422, "invalid_template_body", "body");
    t.put(CODE, page("https://acme.example/{{user.first_name}}?a={{user.first_name}}")).await.ok();
    for (number, (name, part)) in
        [("evil.example/", "evil.example%2F"), ("a&b=c", "a%26b%3Dc")].into_iter().enumerate()
    {
        let user = t.user(json!({"username": format!("user-{number}"), "first_name": name})).await;
        let body = json!({"user_id": user["id"], "email_address": format!("a{number}@example.com")});
        let address = t.post("/v1/email_addresses", body).await.ok();
        t.clock.advance_ms(1000);
        let id = address["id"].as_str().unwrap();
        t.post(&format!("/v1/email_addresses/{id}/prepare_verification"), json!({})).await.ok();
        let message = stored(&t).await.pop().unwrap();
        let expected = format!("<a href=\"https://acme.example/{part}?a={part}\">");
        assert!(message.html().starts_with(&expected), "{}", message.html());
    }
}

#[tokio::test]
async fn a_template_that_fails_for_somebody_gives_way_to_the_default() {
    let t = TestServer::start().await;
    let page = format!("{{{{otp_code}}}}{}", "{{user.public_metadata.x}}".repeat(200));
    t.put(CODE, json!({"subject": "Own", "body": page})).await.ok();
    let (_, path) =
        unproven(&t, json!({"username": "ada-lovelace", "public_metadata": {"x": "y".repeat(8000)}})).await;
    t.post(&path, json!({})).await.ok();
    let content = stored(&t).await.remove(0).content;
    assert!(content.subject.ends_with("verification code") && content.code.is_some(), "{}", content.subject);
}

#[tokio::test]
async fn the_old_primary_address_is_told_of_the_new_one_if_asked_for() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["old@example.com"], "first_name": "Ada"})).await;
    let body =
        json!({"user_id": user["id"], "email_address": "new@example.com", "verified": true, "primary": true});
    t.post("/v1/email_addresses", body).await.ok();
    assert!(told(&t, "email.created").await.is_empty());
    let id = user["email_addresses"][0]["id"].as_str().unwrap();
    let body = json!({"primary": true, "notify_primary_email_address_changed": true});
    t.patch(&format!("/v1/email_addresses/{id}"), body).await.ok();
    let (_, data) = told(&t, "email.created").await.remove(0);
    assert_eq!(
        (&data["slug"], &data["to_email_address"]),
        (&json!("primary_email_address_changed"), &json!("new@example.com"))
    );
    assert_eq!(
        (&data["data"]["new_email_address"], &data["data"]["greeting_name"]),
        (&json!("old@example.com"), &json!("Ada"))
    );
}

#[tokio::test]
async fn an_old_primary_address_nobody_has_proven_is_not_told() {
    let t = TestServer::start().await;
    let user = t.user(json!({"email_address": ["old@example.com"]})).await;
    let id = user["email_addresses"][0]["id"].as_str().unwrap();
    t.patch(&format!("/v1/email_addresses/{id}"), json!({"verified": false})).await.ok();
    let notify = "notify_primary_email_address_changed";
    let next = |address: &str| json!({"user_id": user["id"], "email_address": address, "verified": true, "primary": true, notify: true});
    t.post("/v1/email_addresses", next("new@example.com")).await.ok();
    assert!(told(&t, "email.created").await.is_empty());
    t.post("/v1/email_addresses", next("newer@example.com")).await.ok();
    assert_eq!(told(&t, "email.created").await[0].1["to_email_address"], "new@example.com");
}

const PASSWORD: &str = "vexed-quilt-27";

async fn signs_in(browser: &mut latchkey_testkit::Browser<'_>) -> String {
    let body = json!({"identifier": "ada@example.com", "password": PASSWORD});
    let done = browser.post("/v1/client/sign_ins", body).await.ok();
    done["response"]["created_session_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn people_are_told_of_a_sign_in_on_a_device_that_does_not_know_them() {
    let t = TestServer::start().await;
    t.user(json!({"email_address": ["ada@example.com"], "password": PASSWORD, "skip_password_checks": true}))
        .await;
    let (mut first, mut second) = (t.browser(), t.browser());
    let session = signs_in(&mut first).await;
    assert!(told(&t, "email.created").await.is_empty(), "the first sign-in is no news");
    signs_in(&mut second).await;
    let (_, data) = told(&t, "email.created").await.remove(0);
    assert_eq!(
        (&data["slug"], &data["to_email_address"]),
        (&json!("new_device_sign_in"), &json!("ada@example.com"))
    );
    assert_eq!(
        (&data["data"]["sign_in_method"], &data["data"]["session_created_at"]),
        (&json!("Password"), &json!("1 January 2026, 00:00 UTC"))
    );
    t.clock.advance_ms(1000);
    t.post(&format!("/v1/sessions/{session}/revoke"), json!({})).await.ok();
    signs_in(&mut first).await;
    assert_eq!(told(&t, "email.created").await.len(), 1);
}
