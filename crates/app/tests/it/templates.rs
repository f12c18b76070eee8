//! Templates of messages: what instances may make of them.

use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::Settings;
use latchkey_letters::catalogue;
use latchkey_letters::model::Channel;
use latchkey_testkit::TestServer;
use serde_json::{Value, json};

const CODE: &str = "/v1/templates/email/verification_code";
const CHANGED: &str = "/v1/templates/email/password_changed";
const PAGE: &str = "<p>Your code: <b>{{otp_code}}</b></p>";

#[tokio::test]
async fn every_system_template_is_listed_by_position() {
    let t = TestServer::start().await;
    for (channel, name) in [(Channel::Email, "email"), (Channel::Sms, "sms")] {
        let all = t.get(&format!("/v1/templates/{name}?limit=100")).await.ok();
        let slugs: Vec<&str> =
            all.as_array().unwrap().iter().map(|it| it["slug"].as_str().unwrap()).collect();
        assert_eq!(slugs, catalogue::of(channel).map(|system| system.slug).collect::<Vec<_>>());
        for (position, template) in all.as_array().unwrap().iter().enumerate() {
            assert_eq!((&template["position"], &template["template_type"]), (&json!(position), &json!(name)));
        }
    }
    let page = t.get("/v1/templates/email?paginated=true&limit=2&offset=1").await.ok();
    assert_eq!(page["total_count"], catalogue::of(Channel::Email).count());
    assert_eq!(page["data"][0]["slug"], "reset_password_code");
    assert_eq!(page["data"].as_array().unwrap().len(), 2);
    assert_eq!(t.get("/v1/templates/sms?offset=999").await.ok(), json!([]));
}

#[tokio::test]
async fn a_template_nobody_changed_is_as_it_comes_with_the_server() {
    let t = TestServer::start().await;
    let template = t.get(CODE).await.ok();
    assert!(template["id"].as_str().unwrap().starts_with("tmpl_"));
    assert_eq!(t.get(CODE).await.ok(), template);
    for (field, value) in [
        ("object", json!("template")),
        ("resource_type", json!("system")),
        ("can_revert", json!(false)),
        ("can_delete", json!(false)),
        ("can_edit_body", json!(true)),
        ("can_toggle", json!(false)),
        ("required_variables", json!(["otp_code"])),
        ("from_email_name", json!("noreply")),
        ("reply_to_email_name", json!("")),
        ("delivered_by_service", json!(true)),
        ("delivered_by_clerk", json!(true)),
        ("enabled", json!(true)),
        ("instance_id", json!(t.tenant.id)),
    ] {
        assert_eq!(template[field], value, "{field}");
    }
    assert!(template["body"].as_str().unwrap().contains("{{otp_code}}"));
    assert!(template["available_variables"].as_array().unwrap().contains(&json!("app.name")));
    let sms = t.get("/v1/templates/sms/password_changed").await.ok();
    assert_eq!(
        (&sms["subject"], &sms["can_toggle"], &sms["from_email_name"]),
        (&Value::Null, &json!(true), &json!(""))
    );
}

#[tokio::test]
async fn what_does_not_exist_is_not_found_and_other_types_are_not_supported() {
    let t = TestServer::start().await;
    for (method, rest, body) in [
        ("GET", "", None),
        ("PUT", "", Some(json!({"name": "x"}))),
        ("POST", "/revert", None),
        ("POST", "/preview", Some(json!({}))),
        ("POST", "/toggle_delivery", Some(json!({"delivered_by_clerk": true}))),
        ("GET", "/locales", None),
        ("GET", "/locales/de", None),
        ("PUT", "/locales/de", Some(json!({"body": "x"}))),
        ("DELETE", "/locales/de", None),
    ] {
        let path = format!("/v1/templates/email/welcome{rest}");
        t.call(Some(&t.tenant), method, &path, body.clone()).await.is_error(404, "resource_not_found");
        let path = format!("/v1/templates/fax/verification_code{rest}");
        t.call(Some(&t.tenant), method, &path, body).await.is_problem(
            400,
            "template_type_unsupported",
            "template_type",
        );
    }
    t.get("/v1/templates/fax").await.is_problem(400, "template_type_unsupported", "template_type");
    t.get("/v1/templates/sms/invitation").await.is_error(404, "resource_not_found");
    t.get("/v1/templates/email/%00").await.is_error(404, "resource_not_found");
    t.get("/v1/templates/email?limit=0").await.is_problem(422, "form_param_value_invalid", "limit");
}

#[tokio::test]
async fn a_change_stays_until_it_is_reverted_and_keeps_what_it_does_not_name() {
    let t = TestServer::start().await;
    let before = t.get(CODE).await.ok();
    let body = json!({
        "name": "Our code", "subject": "Code {{otp_code}}", "body": PAGE, "markup": "<re-html>", "from_email_name": "hello",
        "reply_to_email_name": "help.desk",
    });
    let changed = t.put(CODE, body.clone()).await.ok();
    for (field, value) in body.as_object().unwrap() {
        assert_eq!(changed[field], *value, "{field}");
    }
    assert_eq!((&changed["resource_type"], &changed["can_revert"]), (&json!("user"), &json!(true)));
    assert_eq!(changed["id"], before["id"]);
    t.clock.advance_ms(1000);
    let again = t.put(CODE, json!({"subject": null, "from_email_name": ""})).await.ok();
    assert_eq!(
        (&again["subject"], &again["from_email_name"]),
        (&before["subject"], &before["from_email_name"])
    );
    assert_eq!((&again["body"], &again["created_at"]), (&json!(PAGE), &changed["created_at"]));
    assert!(again["updated_at"].as_i64() > changed["updated_at"].as_i64());
    assert_eq!(t.get(CODE).await.ok(), again);
    // Another instance has its own.
    let other = t.call(Some(&t.other), "GET", CODE, None).await.ok();
    assert_eq!((&other["resource_type"], &other["subject"]), (&json!("system"), &before["subject"]));
    t.call(Some(&t.other), "POST", &format!("{CODE}/revert"), None)
        .await
        .is_error(400, "template_revert_error");
    assert_eq!(t.post(&format!("{CODE}/revert"), json!({})).await.ok(), before);
    t.post(&format!("{CODE}/revert"), json!({})).await.is_error(400, "template_revert_error");
}

#[tokio::test]
async fn what_changes_nothing_leaves_a_template_as_it_is() {
    let t = TestServer::start().await;
    let before = t.get(CODE).await.ok();
    let mut same = json!({});
    for name in ["name", "subject", "body", "markup", "from_email_name", "reply_to_email_name"] {
        same[name] = before[name].clone();
    }
    for nothing in [json!({}), json!({"subject": null}), json!({"delivered_by_clerk": true}), same] {
        assert_eq!(t.put(CODE, nothing.clone()).await.ok(), before, "{nothing}");
        assert_eq!(t.get(CODE).await.ok(), before, "{nothing}");
    }
    assert_eq!((&before["resource_type"], &before["can_revert"]), (&json!("system"), &json!(false)));
    t.post(&format!("{CODE}/toggle_delivery"), json!({"delivered_by_service": true})).await.ok();
    t.post(&format!("{CODE}/revert"), json!({})).await.is_error(400, "template_revert_error");
    let changed = t.put(CODE, json!({"subject": "Code {{otp_code}}"})).await.ok();
    t.clock.advance_ms(1000);
    assert_eq!(t.put(CODE, json!({"subject": "Code {{otp_code}}"})).await.ok(), changed);
}

#[tokio::test]
async fn delivery_has_two_names_that_must_agree() {
    let t = TestServer::start().await;
    let toggle = format!("{CODE}/toggle_delivery");
    for name in ["delivered_by_service", "delivered_by_clerk"] {
        let off = t.post(&toggle, json!({name: false})).await.ok();
        assert_eq!(
            (&off["delivered_by_service"], &off["delivered_by_clerk"]),
            (&json!(false), &json!(false))
        );
        let on = t.put(CODE, json!({name: true})).await.ok();
        assert_eq!((&on["delivered_by_service"], &on["delivered_by_clerk"]), (&json!(true), &json!(true)));
    }
    let both = json!({"delivered_by_service": true, "delivered_by_clerk": false});
    t.post(&toggle, both.clone()).await.is_problem(400, "form_param_value_conflict", "delivered_by_clerk");
    t.put(CODE, both).await.is_problem(422, "form_param_value_conflict", "delivered_by_clerk");
    t.post(&toggle, json!({})).await.is_problem(400, "form_param_missing", "delivered_by_service");
    assert_eq!(t.put(CODE, json!({"delivered_by_clerk": null})).await.ok()["delivered_by_service"], true);
}

#[tokio::test]
async fn bodies_that_cannot_be_sent_are_refused_with_the_reason() {
    let t = TestServer::start().await;
    let before = t.everything().await;
    for (body, code) in [
        ("", "invalid_template_body"),
        (" \n", "invalid_template_body"),
        ("<p>Hello</p>", "required_variable_missing"),
        ("{{#if otp_code}}x{{/if}}", "required_variable_missing"),
        ("{{#if user.first_name}}{{otp_code}}{{/if}}", "required_variable_missing"),
        ("{{#if user.first_name}}{{otp_code}}{{else}}Hello{{/if}}", "required_variable_missing"),
        ("{{otp_code}}{{user.password}}", "invalid_template_body"),
        ("{{otp_code}}{{#if secret}}x{{/if}}", "invalid_template_body"),
        ("{{otp_code}}{{", "invalid_template_body"),
        ("{{otp_code}}{% for x in user %}{% endfor %}", "invalid_template_body"),
        ("{{otp_code}}{% include \"/etc/passwd\" %}", "invalid_template_body"),
        ("{{otp_code}}{{ self.__init__ }}", "invalid_template_body"),
        ("{{otp_code}}{{ app.name|safe }}", "invalid_template_body"),
        ("{{otp_code}}{% if app.name app.url %}{% endif %}", "invalid_template_body"),
        ("{{otp_code}}<a href=\"/relative\">x</a>", "invalid_template_body"),
        ("{{otp_code}}<p style=\"{{app.name}}\">", "invalid_template_body"),
        ("{{otp_code}}<style>", "invalid_template_body"),
    ] {
        t.put(CODE, json!({"body": body})).await.is_problem(422, code, "body");
        t.post(&format!("{CODE}/preview"), json!({"body": body})).await.is_problem(422, code, "body");
        t.put(&format!("{CODE}/locales/de"), json!({"body": body})).await.is_problem(422, code, "body");
    }
    let named = t.put(CODE, json!({"body": "{{otp_code}}{{a.b}}{{c}}"})).await;
    assert_eq!(named.json["errors"][0]["meta"]["variables"], json!(["a.b", "c"]));
    for body in [
        "<script>x</script>",
        "<form>",
        "<a href=\"javascript:x\">",
        "<img src=x onerror=y>",
        "<iframe src=\"https://x\">",
    ] {
        let body = json!({"body": format!("{{{{otp_code}}}}{body}")});
        t.put(CODE, body.clone()).await.is_problem(403, "email_template_suspicious_blocked", "body");
        t.post(&format!("{CODE}/preview"), body.clone()).await.is_problem(
            422,
            "email_template_suspicious_blocked",
            "body",
        );
        t.put(&format!("{CODE}/locales/de"), body).await.is_problem(
            403,
            "email_template_suspicious_blocked",
            "body",
        );
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn fields_have_their_limits_and_text_messages_have_fewer_fields() {
    let t = TestServer::start().await;
    let large = format!("{{{{otp_code}}}}{}", "x".repeat(100 * 1024));
    t.put(CODE, json!({"body": large})).await.is_problem(422, "form_param_exceeds_allowed_size", "body");
    t.put(CODE, json!({"body": "x".repeat(300 * 1024)})).await.is_error(413, "request_body_too_large");
    let markup = |bytes: usize| json!({"body": PAGE, "markup": "x".repeat(bytes)});
    t.put(CODE, markup(100 * 1024)).await.ok();
    let large = t.put(CODE, markup(100 * 1024 + 1)).await;
    large.is_problem(422, "form_param_exceeds_allowed_size", "markup");
    // As many variables as fit: slow templates are no way to keep the server busy.
    let busy = format!("{{{{otp_code}}}}{}", "{{a}}".repeat(20_000));
    t.put(CODE, json!({"body": busy})).await.is_problem(422, "invalid_template_body", "body");
    let busy = format!("{{{{otp_code}}}}{}", "{{app.name}}".repeat(8_500));
    assert!([200, 422].contains(&t.put(CODE, json!({"body": busy})).await.status));
    for (field, value, code) in [
        ("subject", "", "form_param_nil"),
        ("subject", "{{nothing}}", "invalid_template_body"),
        ("from_email_name", "a@b", "form_param_format_invalid"),
        ("from_email_name", "a\r\nBcc: b@example.com", "form_param_format_invalid"),
        ("reply_to_email_name", "a b", "form_param_format_invalid"),
    ] {
        t.put(CODE, json!({field: value})).await.is_problem(422, code, field);
    }
    t.put(CODE, json!({"name": "x".repeat(101)})).await.is_problem(
        422,
        "form_param_max_length_exceeded",
        "name",
    );
    t.put(CODE, json!({"markup": "<x>"})).await.is_problem(
        400,
        "template_body_modification_restricted",
        "markup",
    );
    t.put(CODE, json!({"enabled": false})).await.is_problem(422, "form_param_unknown", "enabled");
    let sms = "/v1/templates/sms/verification_code";
    for field in ["subject", "from_email_name", "reply_to_email_name"] {
        t.put(sms, json!({field: "x"})).await.is_problem(422, "form_conditional_param_disallowed", field);
    }
    t.put(sms, json!({"markup": "x", "body": "{{otp_code}}"})).await.is_problem(
        400,
        "template_body_modification_restricted",
        "markup",
    );
    let long = format!("{{{{otp_code}}}}{}", "x".repeat(1530));
    t.put(sms, json!({"body": long})).await.is_problem(422, "form_param_max_length_exceeded", "body");
    assert_eq!(
        t.put(sms, json!({"body": "Code <{{otp_code}}>", "subject": null})).await.ok()["body"],
        "Code <{{otp_code}}>"
    );
}

#[tokio::test]
async fn chains_that_would_end_the_stack_are_refused() {
    let t = TestServer::start().await;
    let else_ifs = format!("{{{{otp_code}}}}{{% if user.id %}}{}{{%endif%}}", "{%elif \"\"%}".repeat(9_000));
    let words = format!("{{{{otp_code}}}}{{% if user.id{}%}}{{%endif%}}", " or \"\"".repeat(17_000));
    let filters = format!("{{{{otp_code{}}}}}", "|upper".repeat(17_000));
    for body in [else_ifs, words, filters] {
        let body = json!({"body": body});
        t.put(CODE, body.clone()).await.is_problem(422, "invalid_template_body", "body");
        t.post(&format!("{CODE}/preview"), body.clone()).await.is_problem(
            422,
            "invalid_template_body",
            "body",
        );
        t.put(&format!("{CODE}/locales/de"), body).await.is_problem(422, "invalid_template_body", "body");
    }
}

#[tokio::test]
async fn a_preview_shows_samples_and_changes_nothing() {
    let t = TestServer::start().await;
    let before = t.everything().await;
    let preview = t.post(&format!("{CODE}/preview"), json!({})).await.ok();
    assert_eq!(preview["subject"], "424242 is your Latchkey verification code");
    assert!(preview["body"].as_str().unwrap().contains(">424242<"));
    assert!(preview["body_plain"].as_str().unwrap().contains("\n    424242\n"));
    let body = json!({"subject": "Hi {{user.first_name}}", "body": "<a href=\"{{app.url}}\">{{otp_code}}</a>", "from_email_name": "me"});
    let preview = t.post(&format!("{CODE}/preview"), body).await.ok();
    assert_eq!((&preview["subject"], &preview["from_email_name"]), (&json!("Hi Ada"), &json!("me")));
    assert_eq!(preview["body"], "<a href=\"#\">424242</a>");
    // Either kind of comment says nothing, not even what stands in it.
    let body = json!({"body": "{{!-- hello {{x}} --}}{{! dear }}<p>{{otp_code}}</p>{{!-- otp_code --}}"});
    let preview = t.post(&format!("{CODE}/preview"), body).await.ok();
    assert_eq!(preview["body"], "<p>424242</p>");
    let hidden = json!({"body": "<p>{{!-- otp_code --}}</p>"});
    t.post(&format!("{CODE}/preview"), hidden).await.is_error(422, "required_variable_missing");
    let sms = t.post("/v1/templates/sms/verification_code/preview", json!({})).await.ok();
    assert_eq!((&sms["subject"], &sms["body_plain"]), (&Value::Null, &Value::Null));
    assert_eq!(t.everything().await, before);
    for system in catalogue::ALL {
        let path = format!("/v1/templates/{}/{}/preview", system.channel.name(), system.slug);
        t.post(&path, json!({})).await.ok();
    }
}

#[tokio::test]
async fn variants_are_kept_for_each_locale() {
    let t = TestServer::start().await;
    let locales = format!("{CODE}/locales");
    assert_eq!(t.get(&locales).await.ok(), json!({"data": [], "total_count": 0}));
    let variant = t
        .put(&format!("{locales}/PT-br"), json!({"body": PAGE, "subject": "{{otp_code}} é seu código"}))
        .await
        .ok();
    assert_eq!((&variant["object"], &variant["locale"]), (&json!("template_locale"), &json!("pt-BR")));
    t.put(&format!("{locales}/de"), json!({"body": PAGE, "body_plain": "Code {{otp_code}}"})).await.ok();
    let listed = t.get(&locales).await.ok();
    assert_eq!((&listed["total_count"], &listed["data"][0]["locale"]), (&json!(2), &json!("de")));
    assert_eq!(t.get(&format!("{locales}/pt-BR")).await.ok(), variant);
    // The template itself is untouched, and reverting it leaves the variants alone.
    assert_eq!(t.get(CODE).await.ok()["resource_type"], "system");
    t.put(CODE, json!({"name": "x"})).await.ok();
    t.post(&format!("{CODE}/revert"), json!({})).await.ok();
    assert_eq!(t.get(&locales).await.ok()["total_count"], 2);
    t.get(&format!("{locales}/fr")).await.is_error(404, "resource_not_found");
    t.get(&format!("{locales}/no_tag")).await.is_problem(422, "form_param_format_invalid", "locale");
    let named = t.put(&format!("{locales}/german"), json!({"body": PAGE})).await;
    named.is_problem(422, "form_param_format_invalid", "locale");
    t.put(&format!("{locales}/fr"), json!({})).await.is_problem(422, "form_param_missing", "body");
    t.put(&format!("{locales}/fr"), json!({"body": PAGE, "body_plain": "nothing"})).await.is_problem(
        422,
        "required_variable_missing",
        "body_plain",
    );
    for method in ["GET", "DELETE"] {
        t.call(Some(&t.other), method, &format!("{locales}/de"), None)
            .await
            .is_error(404, "resource_not_found");
    }
    assert_eq!(t.delete(&format!("{locales}/de")).await.ok()["deleted"], true);
    t.delete(&format!("{locales}/de")).await.is_error(404, "resource_not_found");
}

#[tokio::test]
async fn changes_are_bounded_and_traps_lock_all_templates_for_an_hour() {
    let t = TestServer::start_with(RateLimits::default(), Settings::default()).await;
    let trap = json!({"body": "<script>{{otp_code}}"});
    for _ in 0..4 {
        t.put(CODE, trap.clone()).await.is_error(403, "email_template_suspicious_blocked");
    }
    t.post(&format!("{CODE}/preview"), trap).await.is_error(422, "email_template_suspicious_blocked");
    let locked = t.put(CHANGED, json!({"name": "x"})).await;
    locked.is_error(423, "email_template_customization_locked");
    assert_eq!(locked.header("retry-after"), "3600");
    let toggle = json!({"delivered_by_clerk": false});
    t.post(&format!("{CODE}/toggle_delivery"), toggle)
        .await
        .is_error(423, "email_template_customization_locked");
    // As published, previews know no such status.
    t.post(&format!("{CODE}/preview"), json!({})).await.is_error(422, "email_template_customization_locked");
    t.get(CODE).await.ok();
    let other = t.call(Some(&t.other), "PUT", CODE, Some(json!({"name": "x"}))).await;
    assert_eq!(other.status, 200);
    t.clock.advance_ms(3_600_000);
    for number in 0..500 {
        t.clock.advance_ms(150);
        assert_eq!(t.put(CHANGED, json!({"name": "x"})).await.status, 200, "{number}");
    }
    let limited = t.put(CHANGED, json!({"name": "x"})).await;
    limited.is_error(429, "email_template_customization_rate_limited");
    t.post(&format!("{CHANGED}/preview"), json!({}))
        .await
        .is_error(429, "email_template_customization_rate_limited");
    assert!(limited.header("retry-after").parse::<i64>().unwrap() > 3000);
}

#[tokio::test]
async fn every_version_has_the_templates() {
    let t = TestServer::start().await;
    for version in ["2021-02-05", "2024-10-01", "2025-04-10", "2025-11-10", "2026-05-12"] {
        let changed = t.call_version(version, "PUT", CODE, Some(json!({"name": version}))).await.ok();
        assert_eq!(t.call_version(version, "GET", CODE, None).await.ok(), changed);
    }
}
