//! The settings of an instance as its backends see and change them: the same document as by the command line, with the
//! same effects.

use latchkey_kernel::environment::Environment::Production;
use latchkey_kernel::instances::change;
use latchkey_kernel::outbox::ChangeOrigin;
use latchkey_kernel::settings::{Settings, SettingsFault};
use latchkey_testkit::{Answer, Tenant, TestServer};
use serde_json::{Value, json};

const INSTANCE: &str = "/v1/instance";
const ORGANIZATIONS: &str = "/v1/instance/organization_settings";
const COMMUNICATION: &str = "/v1/instance/communication";
const RESTRICTIONS: &str = "/v1/instance/restrictions";
const AUTH_CONFIG: &str = "/v1/beta_features/instance_settings";
const PROTECT: &str = "/v1/instance/protect";
const OAUTH: &str = "/v1/instance/oauth_application_settings";

async fn environment(t: &TestServer, tenant: &Tenant) -> Value {
    let mut browser = t.browser_at(tenant);
    browser.origin = None;
    browser.get("/v1/environment").await.ok()
}

/// Changes the instance, and returns its environment.
async fn changed(t: &TestServer, body: Value) -> Value {
    let answer = t.patch(INSTANCE, body).await;
    assert_eq!((answer.status, answer.bytes.len()), (204, 0), "{:#}", answer.json);
    environment(t, &t.tenant).await
}

#[tokio::test]
async fn an_instance_shows_itself() {
    let t = TestServer::start().await;
    let expected = json!({"object": "instance", "id": t.tenant.id, "environment_type": "development",
        "allowed_origins": [], "workspace_id": null});
    assert_eq!(t.get(INSTANCE).await.ok(), expected);
    let other = t.call(Some(&t.other), "GET", INSTANCE, None).await.ok();
    assert_eq!((&other["id"], &other["environment_type"]), (&json!(t.other.id), &json!("production")));
}

#[tokio::test]
async fn changes_of_the_instance_are_what_browsers_see() {
    let t = TestServer::start().await;
    let other = environment(&t, &t.other).await;
    let seen = changed(
        &t,
        json!({"test_mode": false, "hibp": false, "support_email": "help@example.com",
            "development_origin": "http://localhost:4000",
            "preferred_sign_in_strategy_when_password_required": "otp"}),
    )
    .await;
    assert_eq!(seen["auth_config"]["test_mode"], false);
    assert_eq!(seen["user_settings"]["password_settings"]["disable_hibp"], true);
    assert_eq!(seen["display_config"]["support_email"], "help@example.com");
    assert_eq!(seen["display_config"]["home_url"], "http://localhost:4000");
    assert_eq!(seen["display_config"]["preferred_sign_in_strategy"], "otp");
    // Null and what is left out change nothing.
    assert_eq!(changed(&t, json!({"support_email": null, "test_mode": null})).await, seen);
    assert_eq!(changed(&t, json!({})).await, seen);
    let cleared = changed(
        &t,
        json!({"support_email": "", "development_origin": "",
            "preferred_sign_in_strategy_when_password_required": "", "hibp": true, "test_mode": true}),
    )
    .await;
    assert_eq!(cleared["display_config"]["support_email"], Value::Null);
    assert_eq!(cleared["display_config"]["home_url"], "");
    assert_eq!(cleared["display_config"]["preferred_sign_in_strategy"], "password");
    assert_eq!(cleared["user_settings"]["password_settings"]["disable_hibp"], false);
    assert_eq!(environment(&t, &t.other).await, other);
}

#[tokio::test]
async fn test_mode_and_leaked_passwords_follow_the_api() {
    let t = TestServer::start().await;
    let leaked = json!({"email_address": ["ada@example.com"], "password": "password123"});
    t.post("/v1/users", leaked.clone()).await.is_error(422, "form_password_pwned");
    changed(&t, json!({"hibp": false})).await;
    t.post("/v1/users", leaked).await.ok();
}

#[tokio::test]
async fn an_allowed_origin_may_use_the_frontend_api_of_a_production_instance() {
    let t = TestServer::start().await;
    let live = t.new_tenant(Production, Settings::default()).await;
    let origin = "chrome-extension://abcdefghijklmnop";
    let ask = async || {
        let mut browser = t.browser_at(&live);
        browser.origin = Some(origin.to_owned());
        browser.get("/v1/client").await.status
    };
    assert_eq!(ask().await, 400);
    let body = json!({"allowed_origins": [origin]});
    assert_eq!(t.call(Some(&live), "PATCH", INSTANCE, Some(body)).await.status, 204);
    assert_eq!(ask().await, 200);
    let shown = t.call(Some(&live), "GET", INSTANCE, None).await.ok();
    assert_eq!(shown["allowed_origins"], json!([origin]));
    t.call(Some(&live), "PATCH", INSTANCE, Some(json!({"allowed_origins": null}))).await;
    assert_eq!(ask().await, 200);
    t.call(Some(&live), "PATCH", INSTANCE, Some(json!({"allowed_origins": []}))).await;
    let shown = t.call(Some(&live), "GET", INSTANCE, None).await.ok();
    assert_eq!(shown["allowed_origins"], json!([]));
    assert_eq!(ask().await, 400);
}

#[tokio::test]
async fn what_cannot_be_set_is_refused_by_its_name_and_changes_nothing() {
    let t = TestServer::start().await;
    let before = t.everything().await;
    for (body, status, code, param) in [
        (json!({"support_email": "nobody"}), 422, "form_param_value_invalid", "support_email"),
        (json!({"allowed_origins": ["https://a.com/path"]}), 422, "form_invalid_origin", "allowed_origins"),
        (
            json!({"allowed_origins": vec!["https://a.com"; 101]}),
            422,
            "form_invalid_origin",
            "allowed_origins",
        ),
        (json!({"development_origin": "localhost"}), 422, "form_param_format_invalid", "development_origin"),
        (json!({"clerk_js_version": "4"}), 403, "feature_not_implemented", "clerk_js_version"),
        (json!({"cookieless_dev": false}), 403, "feature_not_implemented", "cookieless_dev"),
        (
            json!({"url_based_session_syncing": false}),
            403,
            "feature_not_implemented",
            "url_based_session_syncing",
        ),
    ] {
        let body = body.as_object().unwrap().iter().chain(json!({"hibp": false}).as_object().unwrap()).fold(
            serde_json::Map::new(),
            |mut all, (name, value)| {
                all.insert(name.clone(), value.clone());
                all
            },
        );
        t.patch(INSTANCE, Value::Object(body)).await.is_problem(status, code, param);
    }
    assert_eq!(t.everything().await, before);
    // What is so already may be said.
    changed(&t, json!({"cookieless_dev": true, "url_based_session_syncing": true, "clerk_js_version": "6"}))
        .await;
    let at_live = |body: Value| t.call(Some(&t.other), "PATCH", INSTANCE, Some(body));
    assert_eq!(at_live(json!({"cookieless_dev": false})).await.status, 204);
    at_live(json!({"cookieless_dev": true})).await.is_error(403, "feature_not_implemented");
    at_live(json!({"development_origin": "http://localhost"}))
        .await
        .is_error(400, "request_invalid_for_environment");
}

async fn organization_settings(t: &TestServer, body: Value) -> Answer {
    t.patch(ORGANIZATIONS, body).await
}

#[tokio::test]
async fn organizations_are_switched_on_and_set_up_by_the_api() {
    let t = TestServer::start().await;
    t.set_settings(Settings::default()).await;
    let before = t.get(ORGANIZATIONS).await.ok();
    let expected = json!({"object": "organization_settings", "enabled": false, "max_allowed_memberships": 0,
        "max_allowed_roles": 10, "max_allowed_domains": 10, "max_allowed_permissions": 50, "max_role_sets_allowed": 20,
        "creator_role": "org:admin", "admin_delete_enabled": true, "domains_enabled": false, "slug_disabled": false,
        "domains_enrollment_modes": [], "domains_default_role": "org:member",
        "initial_role_set_key": "role_set:default"});
    assert_eq!(before, expected);
    t.post("/v1/organizations", json!({"name": "A"}))
        .await
        .is_error(403, "organization_not_enabled_in_instance");
    let all = json!({"enabled": true, "max_allowed_memberships": 7, "admin_delete_enabled": false,
        "domains_enabled": true, "slug_disabled": true, "domains_enrollment_modes": ["automatic_suggestion"]});
    let after = organization_settings(&t, all).await.ok();
    assert_eq!(
        after["domains_enrollment_modes"],
        json!(["manual_invitation", "automatic_suggestion"]),
        "inviting by hand always works"
    );
    assert_eq!(t.get(ORGANIZATIONS).await.ok(), after);
    let made = t.post("/v1/organizations", json!({"name": "A"})).await.ok();
    assert_eq!((&made["max_allowed_memberships"], &made["admin_delete_enabled"]), (&json!(7), &json!(false)));
    t.post("/v1/organizations", json!({"name": "B", "slug": "b"}))
        .await
        .is_error(403, "organization_slugs_disabled");
    let seen = environment(&t, &t.tenant).await["organization_settings"].take();
    assert_eq!(
        (&seen["enabled"], &seen["slug"]["disabled"], &seen["domains"]["enabled"]),
        (&json!(true), &json!(true), &json!(true))
    );
    // What is shown can be sent back.
    let modes = json!({"domains_enrollment_modes": after["domains_enrollment_modes"]});
    assert_eq!(organization_settings(&t, modes).await.ok(), after);
    let off = organization_settings(&t, json!({"enabled": false})).await.ok();
    assert_eq!((&off["enabled"], &off["domains_enabled"]), (&json!(false), &json!(false)));
    t.get("/v1/organizations").await.is_error(403, "organization_not_enabled_in_instance");
}

#[tokio::test]
async fn the_roles_of_creators_and_of_people_who_join_are_given_by_id() {
    let t = TestServer::start().await;
    let roles = t.get("/v1/organization_roles").await.ok();
    let id = |key: &str| {
        let all = roles["data"].as_array().unwrap();
        all.iter().find(|role| role["key"] == key).unwrap()["id"].clone()
    };
    let after = organization_settings(&t, json!({"domains_default_role_id": id("org:admin")})).await.ok();
    assert_eq!(
        (&after["creator_role"], &after["domains_default_role"]),
        (&json!("org:admin"), &json!("org:admin"))
    );
    let set = t.get("/v1/role_sets/role_set:default").await.ok();
    assert_eq!(set["default_role"]["key"], "org:admin");
    let before = t.everything().await;
    organization_settings(&t, json!({"creator_role_id": id("org:member"), "enabled": false}))
        .await
        .is_error(422, "organization_missing_creator_role_permissions");
    organization_settings(&t, json!({"creator_role_id": "role_x"})).await.is_error(404, "resource_not_found");
    let unknown = format!("role_{}", "0".repeat(27));
    organization_settings(&t, json!({"domains_default_role_id": unknown}))
        .await
        .is_error(404, "resource_not_found");
    assert_eq!(t.everything().await, before);
    let alone = t.post("/v1/organization_roles", json!({"name": "Alone", "key": "org:alone"})).await.ok();
    organization_settings(&t, json!({"domains_default_role_id": alone["id"]})).await.is_problem(
        422,
        "form_param_value_invalid",
        "domains_default_role_id",
    );
}

#[tokio::test]
async fn the_environment_names_the_roles_also_while_organizations_are_off() {
    let t = TestServer::start().await;
    let roles = t.get("/v1/organization_roles").await.ok();
    let admin = roles["data"].as_array().unwrap().iter().find(|role| role["key"] == "org:admin").unwrap();
    let body = json!({"domains_default_role_id": admin["id"], "enabled": false});
    let settings = organization_settings(&t, body).await.ok();
    assert_eq!(
        (&settings["enabled"], &settings["domains_default_role"]),
        (&json!(false), &json!("org:admin"))
    );
    let seen = environment(&t, &t.tenant).await["organization_settings"].take();
    assert_eq!(seen["domains"]["default_role"], settings["domains_default_role"]);
    assert_eq!(seen["creator_role"], settings["creator_role"]);
    assert_eq!(seen["domains"]["enrollment_modes"], settings["domains_enrollment_modes"]);
}

async fn set(t: &TestServer, tenant: &Tenant, changes: Value) -> Result<(), Vec<String>> {
    let origin = ChangeOrigin::from(&t.act(tenant));
    let changes = vec![(String::new(), changes)];
    let outcome =
        t.db().write(move |tx| Box::pin(async move { change::settings(tx, &origin, &changes).await }));
    let said = |faults: Vec<SettingsFault>| faults.into_iter().map(|fault| fault.path).collect();
    outcome.await.unwrap().map(|_| ()).map_err(said)
}

#[tokio::test]
async fn what_has_no_effect_on_a_kind_of_instance_is_refused_there() {
    let t = TestServer::start().await;
    for (path, changes) in [
        ("development.any_origin", json!({"development": {"any_origin": true}})),
        ("display.show_devmode_warning", json!({"display": {"show_devmode_warning": false}})),
        ("messages.email.transport", json!({"messages": {"email": {"transport": "log"}}})),
    ] {
        assert_eq!(set(&t, &t.other, changes.clone()).await, Err(vec![path.to_owned()]));
        assert_eq!(set(&t, &t.tenant, changes).await, Ok(()));
    }
    let private = json!({"events": {"allow_private_targets": true}});
    assert_eq!(set(&t, &t.other, private.clone()).await, Ok(()));
    let expected = Err(vec!["events.allow_private_targets".to_owned()]);
    assert_eq!(set(&t, &t.tenant, private).await, expected);
}

#[tokio::test]
async fn what_an_older_version_took_keeps_no_other_change_out() {
    let t = TestServer::start().await;
    let mut settings = Settings::default();
    settings.password.max_length = 200;
    settings.events.allow_private_targets = true;
    settings.attributes.web3_wallet.used_for_first_factor = true;
    t.set_settings(settings).await;
    let seen = changed(&t, json!({"support_email": "help@example.com"})).await;
    assert_eq!(seen["display_config"]["support_email"], "help@example.com");
    assert_eq!(seen["user_settings"]["password_settings"]["max_length"], 200);
    let again = set(&t, &t.tenant, json!({"password": {"max_length": 100}})).await;
    assert_eq!(again, Err(vec!["password.max_length".to_owned()]));
    let usual = json!({"password": {"max_length": 72}, "events": {"allow_private_targets": false}});
    assert_eq!(set(&t, &t.tenant, usual).await, Ok(()));
}

#[tokio::test]
async fn settings_of_organizations_that_contradict_are_refused() {
    let t = TestServer::start().await;
    for (body, param) in [
        (json!({"enabled": false, "domains_enabled": true}), "domains_enabled"),
        (json!({"max_allowed_memberships": -1}), "max_allowed_memberships"),
        (json!({"max_allowed_memberships": i64::MAX}), "max_allowed_memberships"),
        (json!({"domains_enrollment_modes": ["by_mail"]}), "domains_enrollment_modes"),
        (
            json!({"domains_enrollment_modes": ["automatic_invitation", "automatic_invitation"]}),
            "domains_enrollment_modes",
        ),
    ] {
        organization_settings(&t, body).await.is_problem(422, "form_param_value_invalid", param);
    }
    let mut settings = Settings::default();
    (settings.organizations.enabled, settings.organizations.force_selection) = (true, true);
    t.set_settings(settings).await;
    organization_settings(&t, json!({"enabled": false})).await.is_error(400, "breaks_instance_invariant");
}

#[tokio::test]
async fn text_messages_are_not_sent_to_blocked_countries() {
    let t = TestServer::start().await;
    assert_eq!(t.get(COMMUNICATION).await.ok()["blocked_country_codes"], json!([]));
    let blocked = t.patch(COMMUNICATION, json!({"blocked_country_codes": ["GB", "XX", "JM"]})).await.ok();
    let expected = json!({"object": "instance_communication", "blocked_country_codes": ["GB", "JM"]});
    assert_eq!((&blocked, &t.get(COMMUNICATION).await.ok()), (&expected, &expected));
    assert_eq!(t.patch(COMMUNICATION, json!({})).await.ok(), expected);
    let user =
        t.user(json!({"phone_number": ["+442071838750"], "password": "Correct-horse-battery-42"})).await;
    let phone = user["phone_numbers"][0]["id"].as_str().unwrap();
    let prepare = format!("/v1/phone_numbers/{phone}/prepare_verification");
    t.call(Some(&t.tenant), "POST", &prepare, None).await.is_error(403, "unsupported_country_code");
    let mut browser = t.browser();
    let ask = json!({"strategy": "phone_code", "identifier": "+442071838750"});
    browser.post("/v1/client/sign_ins", ask).await.is_error(403, "unsupported_country_code");
    assert_eq!(t.count_rows("messages").await, 0);
    t.patch(COMMUNICATION, json!({"blocked_country_codes": ["JM"]})).await.ok();
    t.call(Some(&t.tenant), "POST", &prepare, None).await.ok();
    assert_eq!(t.count_rows("messages").await, 1);
}

#[tokio::test]
async fn whoever_gives_a_number_of_a_blocked_country_is_told_also_where_accounts_are_secret() {
    let t = TestServer::start().await;
    let mut settings = Settings::default();
    settings.attributes.phone_number.enabled = true;
    settings.attack_protection.enumeration_protection = true;
    settings.messages.sms.blocked_countries = vec!["GB".to_owned()];
    t.set_settings(settings).await;
    let fields = json!({"phone_number": "+442071838750", "strategy": "phone_code"});
    t.browser().post("/v1/client/sign_ups", fields).await.is_error(403, "unsupported_country_code");
    // Who has the number stays secret.
    t.user(json!({"phone_number": ["+442071838750"], "password": "Correct-horse-battery-42"})).await;
    for number in ["+442071838750", "+442071838751"] {
        let ask = json!({"strategy": "phone_code", "identifier": number});
        t.browser().post("/v1/client/sign_ins", ask).await.ok();
    }
    assert_eq!(t.count_rows("messages").await, 0);
}

#[tokio::test]
async fn restrictions_are_changed_shown_and_obeyed() {
    let t = TestServer::start().await;
    let names = [
        "allowlist",
        "blocklist",
        "allowlist_blocklist_disabled_on_sign_in",
        "block_email_subaddresses",
        "block_disposable_email_domains",
    ];
    let before = t.patch(RESTRICTIONS, json!({})).await.ok();
    assert_eq!(before["object"], "instance_restrictions");
    for name in names {
        let turned = !before[name].as_bool().unwrap();
        let after = t.patch(RESTRICTIONS, json!({name: turned})).await.ok();
        let expected = names.map(|other| (other, before[other].as_bool().unwrap() != (other == name)));
        assert_eq!(names.map(|other| (other, after[other].as_bool().unwrap())), expected);
        assert_eq!(t.patch(RESTRICTIONS, json!({name: null})).await.ok(), after);
        assert_eq!(t.patch(RESTRICTIONS, json!({name: before[name]})).await.ok(), before);
    }
    t.patch(RESTRICTIONS, json!({"allowlist": true})).await.ok();
    let seen = environment(&t, &t.tenant).await;
    assert_eq!(seen["user_settings"]["restrictions"]["allowlist"]["enabled"], true);
    let user = json!({"email_address": ["ada@example.com"]});
    t.post("/v1/users", user).await.is_error(403, "not_allowed_access");
    let other = environment(&t, &t.other).await;
    assert_eq!(other["user_settings"]["restrictions"]["allowlist"]["enabled"], false);
}

#[tokio::test]
async fn the_allow_list_does_not_go_with_closed_modes() {
    let t = TestServer::start().await;
    let mut settings = Settings::default();
    settings.sign_up.mode = latchkey_kernel::settings::SignUpMode::Restricted;
    t.set_settings(settings).await;
    let before = t.everything().await;
    let code = "sign_up_mode_restricted_invalid_value";
    let both = json!({"allowlist": true, "blocklist": true});
    t.patch(RESTRICTIONS, both).await.is_problem(422, code, "allowlist");
    let older = json!({"restricted_to_allowlist": true});
    t.patch(AUTH_CONFIG, older).await.is_problem(422, code, "restricted_to_allowlist");
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn the_sender_and_the_way_to_sign_up_are_changed_by_the_older_operation() {
    let t = TestServer::start().await;
    let expected = |listed: bool, sender: &str| {
        json!({"object": "instance_settings", "id": t.tenant.id, "restricted_to_allowlist": listed,
            "from_email_address": sender, "progressive_sign_up": true, "enhanced_email_deliverability": false})
    };
    assert_eq!(t.patch(AUTH_CONFIG, json!({})).await.ok(), expected(false, "noreply"));
    let body = json!({"restricted_to_allowlist": true, "from_email_address": "accounts", "test_mode": false,
        "progressive_sign_up": true});
    assert_eq!(t.patch(AUTH_CONFIG, body).await.ok(), expected(true, "accounts"));
    assert_eq!(environment(&t, &t.tenant).await["auth_config"]["test_mode"], false);
    for (body, code, param) in [
        (json!({"from_email_address": "no.reply"}), "form_param_format_invalid", "from_email_address"),
        (json!({"from_email_address": "a@b"}), "form_param_format_invalid", "from_email_address"),
        (json!({"progressive_sign_up": false}), "form_param_value_invalid", "progressive_sign_up"),
    ] {
        t.patch(AUTH_CONFIG, body).await.is_problem(422, code, param);
    }
    let reset = json!({"restricted_to_allowlist": false, "from_email_address": ""});
    assert_eq!(t.patch(AUTH_CONFIG, reset).await.ok(), expected(false, "noreply"));
}

#[tokio::test]
async fn lists_of_countries_are_checked() {
    let t = TestServer::start().await;
    let many: Vec<String> = (0..251).map(|number| format!("{number:02}")).collect();
    for (codes, code) in [
        (json!(["gb"]), "form_param_format_invalid"),
        (json!(["GBR"]), "form_param_format_invalid"),
        (json!(["GB", "GB"]), "form_param_duplicate"),
        (json!(many), "form_param_array_size_exceeded"),
    ] {
        let answer = t.patch(COMMUNICATION, json!({"blocked_country_codes": codes})).await;
        answer.is_problem(422, code, "blocked_country_codes");
    }
}

#[tokio::test]
async fn what_the_server_does_not_have_can_only_be_off() {
    let t = TestServer::start().await;
    let before = t.everything().await;
    for (path, fields) in [
        (PROTECT, &["rules_enabled", "specter_enabled"][..]),
        (
            OAUTH,
            &[
                "dynamic_oauth_client_registration",
                "oauth_jwt_access_tokens",
                "client_id_metadata_documents_advertised",
                "client_id_metadata_documents_only_allow_pre_registered_clients",
                "client_id_metadata_documents_block_implicitly_allowed_clients",
            ][..],
        ),
    ] {
        let shown = t.get(path).await.ok();
        for field in fields {
            assert_eq!(shown[field], false, "{field}");
            t.patch(path, json!({*field: true})).await.is_problem(403, "feature_not_implemented", field);
            assert_eq!(t.patch(path, json!({*field: false})).await.ok(), shown);
            assert_eq!(t.patch(path, json!({*field: null})).await.ok(), shown);
        }
    }
    let scopes = t.patch(OAUTH, json!({"default_scopes": ["profile"]})).await;
    scopes.is_problem(403, "feature_not_implemented", "default_scopes");
    assert_eq!(t.patch(OAUTH, json!({"default_scopes": []})).await.ok()["default_scopes"], json!([]));
    assert_eq!(t.everything().await, before);
}
