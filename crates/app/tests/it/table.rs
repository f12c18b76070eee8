//! Every operation, taken from the same table the router and the OpenAPI document are made from: who
//! may not call it, which ids it does not know, and which bodies it refuses.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::Request;
use latchkey_app::document;
use latchkey_base::time::Clock;
use latchkey_jose::totp::totp_code;
use latchkey_testkit::{APP_ORIGIN, Answer, PICTURE, Person, Tenant, TestServer};
use serde_json::{Map, Value, json};

/// One operation of the document.
struct Operation {
    id: String,
    method: String,
    path: String,
    /// Its entry in the document.
    entry: Value,
}

/// What `Person` has for a path parameter.
type IdOf = fn(&Person) -> &str;

/// How path parameters are filled: name, prefix of the id, id.
const IDS: [(&str, &str, IdOf); 20] = [
    ("user_id", "user", |person| &person.user),
    ("email_address_id", "idn", |person| &person.email),
    ("phone_number_id", "idn", |person| &person.phone),
    ("passkey_identification_id", "idn", |person| &person.passkey),
    ("web3_wallet_identification_id", "idn", |person| &person.wallet),
    ("external_account_id", "eac", |person| &person.external_account),
    ("trusted_device_id", "tdv", |person| &person.trusted_device),
    ("template_id", "jtmp", |person| &person.jwt_template),
    ("id", "sua", |person| &person.sign_up),
    ("session_id", "sess", |person| &person.presence.session),
    ("client_id", "client", |person| &person.presence.client),
    ("sign_in_token_id", "sit", |person| &person.sign_in_token),
    ("actor_token_id", "act", |person| &person.actor_token),
    ("endpoint_id", "ep", |person| &person.webhook_endpoint),
    ("event_id", "msg", |person| &person.event),
    // A name rather than an id, and as unknown to others.
    ("template_name", "template", |person| &person.jwt_template_name),
    // Not an id: every provider that may exist has an empty list.
    ("provider", "", |_| "oauth_google"),
    // Every instance has the same templates; `templates.rs` tests what it has of its own.
    ("template_type", "", |_| "email"),
    ("slug", "", |_| "verification_code"),
    ("locale", "", |_| "de"),
];

/// Parameters that mean the same in every instance.
const NO_IDS: [&str; 4] = ["locale", "provider", "slug", "template_type"];

/// Ids that are not found under another code than `resource_not_found`, as published.
const NOT_FOUND: [(&str, &str); 2] = [
    ("passkey_identification_id", "passkey_not_registered"),
    ("external_account_id", "external_account_not_found"),
];

/// Operations without a credential. Their answers are for people.
const PUBLIC: [&str; 1] = ["GetPublicInterstitial"];

/// Operations that answer 401 to whatever is wrong, unknown ids included, as published: it sends SDKs
/// another way. `sessions.rs` tests them.
const ALWAYS_401: [&str; 1] = ["RefreshSession"];

/// Every operation.
fn operations() -> Vec<Operation> {
    let document = document("http://127.0.0.1:3400");
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, entry) in methods.as_object().unwrap() {
            operations.push(Operation {
                id: entry["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                entry: entry.clone(),
            });
        }
    }
    operations
}

impl Operation {
    /// The path parameters, in order.
    fn parameters(&self) -> Vec<&str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect()
    }

    /// The parameters that are ids.
    fn id_parameters(&self) -> Vec<&str> {
        self.parameters().into_iter().filter(|name| !NO_IDS.contains(name)).collect()
    }

    /// The path with every parameter filled by `fill`.
    fn filled(&self, fill: impl Fn(&str) -> String) -> String {
        let part = |part: &str| match part.strip_prefix('{') {
            Some(name) => fill(name.trim_end_matches('}')),
            None => part.to_owned(),
        };
        self.path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// The path to what `person` has, with the query it needs.
    fn path_of(&self, person: &Person) -> String {
        let path = self.filled(|name| own(name, person));
        match self.id.as_str() {
            "GetHandshakePayload" => format!("{path}?nonce={}", person.handshake_nonce),
            "GetPublicInterstitial" => format!("{path}?frontend_api={}", person.frontend_api),
            _ => path,
        }
    }

    fn is_public(&self) -> bool {
        PUBLIC.contains(&self.id.as_str())
    }

    /// Whether it has ids in its path, and says so when nothing has one.
    fn finds_by_id(&self) -> bool {
        !self.id_parameters().is_empty() && !ALWAYS_401.contains(&self.id.as_str())
    }

    /// The schema of its JSON body, with references followed.
    fn body_schema(&self) -> Option<Value> {
        let schema = self.entry["requestBody"]["content"]["application/json"].get("schema")?;
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => document("").pointer(reference.trim_start_matches('#')).cloned(),
            None => Some(schema.clone()),
        }
    }

    fn takes_a_file(&self) -> bool {
        self.entry["requestBody"]["content"].get("multipart/form-data").is_some()
    }

    /// A body its owner may send.
    fn body(&self, t: &TestServer, person: &Person) -> Option<Value> {
        self.body_schema()?;
        Some(match self.id.as_str() {
            "CreateUser" => json!({"username": "somebody-new"}),
            "UpdateSignUp" => json!({"custom_action": true}),
            "UpdateUser" => json!({"first_name": "Changed"}),
            "UsersBan" | "UsersUnban" => json!({"user_ids": [person.user]}),
            "VerifyPassword" => json!({"password": person.password}),
            "VerifyTOTP" => {
                json!({"code": totp_code(&person.totp_secret, t.clock.now().seconds() / 30)})
            }
            "CreateEmailAddress" => json!({"user_id": person.user, "email_address": "new@example.com"}),
            "CreatePhoneNumber" => json!({"user_id": person.user, "phone_number": "+4915399999999"}),
            "ReplaceUserEmailAddress" => json!({"email_address": "replaced@example.com"}),
            "ReplaceUserPhoneNumber" => json!({"phone_number": "+4915388888888"}),
            "AttemptEmailAddressVerification" => {
                json!({"verification_id": person.email_verification, "code": "000000"})
            }
            "AttemptPhoneNumberVerification" => {
                json!({"verification_id": person.phone_verification, "code": "000000"})
            }
            "UpdateUserMetadata" | "ReplaceUserMetadata" => json!({"public_metadata": {"changed": true}}),
            "UpdateEmailAddress" | "UpdatePhoneNumber" => json!({"verified": false}),
            "RemoveUserPassword" | "SetUserPasswordCompromised" => json!({}),
            "UpsertTemplate" => json!({"name": "Changed"}),
            "PreviewTemplate" => json!({}),
            "ToggleTemplateDelivery" => json!({"delivered_by_service": true}),
            "PutTemplateLocale" => json!({"body": "{{otp_code}}"}),
            "CreateJWTTemplate" => json!({"name": "new", "claims": {"role": "user"}}),
            "UpdateJWTTemplate" => json!({"name": "changed", "claims": {"role": "user"}}),
            "createSession" | "CreateSignInToken" => json!({"user_id": person.user}),
            "CreateActorToken" => json!({"user_id": person.user, "actor": {"sub": "admin"}}),
            "CreateSessionToken" | "CreateSessionTokenFromTemplate" => json!({"expires_in_seconds": 30}),
            "CreateWebhookEndpoint" => json!({"url": "https://example.com/new"}),
            "UpdateWebhookEndpoint" => json!({"description": "changed"}),
            "RotateWebhookSecret" => json!({"expire_old_in_seconds": 0}),
            "TestWebhookEndpoint" => json!({"type": "user.created"}),
            "ReplayWebhookEvents" => json!({"since": 0, "only_failed": true}),
            "VerifyClient" => json!({"token": person.presence.client_token}),
            "VerifySession" => json!({"token": person.presence.session_token}),
            "RefreshSession" => json!({
                "expired_token": person.presence.session_token,
                "refresh_token": person.presence.refresh_token,
                "request_origin": APP_ORIGIN,
            }),
            other => panic!("{other} has a body: say here what its owner would send"),
        })
    }

    /// Calls it at `path` with a body that `person`'s owner may send.
    async fn call(&self, t: &TestServer, tenant: &Tenant, path: &str, person: &Person) -> Answer {
        match self.takes_a_file() {
            true => t.upload(tenant, path, PICTURE).await,
            false => t.call(Some(tenant), &self.method, path, self.body(t, person)).await,
        }
    }

    /// Calls it at `path` with these bytes as a JSON body.
    async fn send(&self, t: &TestServer, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::builder()
            .method(self.method.as_str())
            .uri(path)
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .header("clerk-api-version", "2026-05-12")
            .header("content-type", "application/json");
        t.send(request.body(body.into()).unwrap()).await
    }
}

fn own(parameter: &str, person: &Person) -> String {
    let known = IDS.iter().find(|(name, _, _)| *name == parameter);
    let (_, _, id) = known.unwrap_or_else(|| panic!("say in IDS what `{parameter}` is"));
    id(person).to_owned()
}

/// An id of the right shape that nothing has.
fn unknown(parameter: &str) -> String {
    let (_, prefix, _) = IDS.iter().find(|(name, _, _)| *name == parameter).unwrap();
    format!("{prefix}_{}", "0".repeat(27))
}

/// The code for something of this kind that is not there.
fn not_found(parameter: &str) -> &'static str {
    NOT_FOUND.iter().find(|(name, _)| *name == parameter).map_or("resource_not_found", |(_, code)| code)
}

/// Without this the other tests could pass because their requests are wrong in some other way.
#[tokio::test]
async fn every_operation_serves_the_owner_of_what_it_names() {
    let t = TestServer::start().await;
    for (number, operation) in (1..).zip(operations()) {
        let person = t.person(&t.tenant, number).await;
        // A phone number may not get two codes within half a minute.
        t.clock.advance_ms(30_000);
        if operation.id == "CreateSvixApp" {
            // Everybody has begun already.
            t.delete("/v1/webhooks/svix").await;
        }
        let answer = operation.call(&t, &t.tenant, &operation.path_of(&person), &person).await;
        let is_empty = operation.entry["responses"].get("204").is_some();
        assert_eq!(answer.status, if is_empty { 204 } else { 200 }, "{}: {:#}", operation.id, answer.json);
        let content_type = match (operation.is_public(), is_empty) {
            (true, _) => "text/html; charset=utf-8",
            (false, true) => "",
            (false, false) => "application/json",
        };
        assert_eq!(answer.header("content-type"), content_type, "{}", operation.id);
    }
}

#[tokio::test]
async fn every_operation_without_credentials_answers_401() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations().iter().filter(|operation| !operation.is_public()) {
        let (path, body) = (operation.path_of(&person), operation.body(&t, &person));
        let answer = t.call(None, &operation.method, &path, body).await;
        answer.is_error(401, "could_not_authenticate_request");
        let stranger = Tenant { key: "sk_test_unknown".to_owned(), ..t.tenant.clone() };
        operation.call(&t, &stranger, &path, &person).await.is_error(401, "clerk_key_invalid");
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_to_an_id_nothing_has() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations().iter().filter(|operation| operation.finds_by_id()) {
        for parameter in operation.id_parameters() {
            for id in [unknown(parameter), "x".to_owned(), "user_%00".to_owned(), "..%2f..".to_owned()] {
                let fill = |name: &str| if name == parameter { id.clone() } else { own(name, &person) };
                let answer = operation.call(&t, &t.tenant, &operation.filled(fill), &person).await;
                assert_eq!(answer.status, 404, "{} {id}: {:#}", operation.id, answer.json);
                if id == unknown(parameter) {
                    assert_eq!(answer.code(), not_found(parameter), "{}", operation.id);
                }
            }
        }
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_to_ids_of_another_instance_and_changes_nothing() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations().iter().filter(|operation| operation.finds_by_id()) {
        let path = operation.path_of(&person);
        let answer = operation.call(&t, &t.other, &path, &person).await;
        assert_eq!((answer.status, answer.code()), (404, "resource_not_found"), "{}", operation.id);
        // Not even whether it exists elsewhere can be told.
        let fill = |name: &str| if name == "provider" { own(name, &person) } else { unknown(name) };
        let nobody = operation.call(&t, &t.other, &operation.filled(fill), &person).await;
        let text = |answer: &Answer| answer.json["errors"][0]["message"].clone();
        assert_eq!(text(&answer), text(&nobody), "{}", operation.id);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_to_what_was_deleted() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    t.delete(&format!("/v1/users/{}", person.user)).await.ok();
    t.delete(&format!("/v1/jwt_templates/{}", person.jwt_template)).await.ok();
    t.delete(&format!("/v1/webhooks/endpoints/{}", person.webhook_endpoint)).await.ok();
    t.run_sql("DELETE FROM clients WHERE instance_id = $1", vec![(&t.tenant.id).into()]).await;
    let before = t.everything().await;
    for operation in operations().iter().filter(|operation| operation.finds_by_id()) {
        let answer = operation.call(&t, &t.tenant, &operation.path_of(&person), &person).await;
        assert_eq!((answer.status, answer.code()), (404, "resource_not_found"), "{}", operation.id);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_answers_404_to_what_belongs_to_another_user() {
    let t = TestServer::start().await;
    let (person, other) = (t.person(&t.tenant, 1).await, t.person(&t.tenant, 2).await);
    let before = t.everything().await;
    for operation in operations()
        .iter()
        .filter(|operation| operation.id_parameters().len() == 2 && operation.id_parameters()[0] == "user_id")
    {
        let fill = |name: &str| own(name, if name == "user_id" { &person } else { &other });
        let answer = operation.call(&t, &t.tenant, &operation.filled(fill), &person).await;
        let code = not_found(operation.id_parameters()[1]);
        assert_eq!((answer.status, answer.code()), (404, code), "{}", operation.id);
    }
    assert_eq!(t.everything().await, before);
}

#[tokio::test]
async fn every_operation_with_a_json_body_refuses_what_is_not_a_json_object() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations().iter().filter(|operation| operation.body_schema().is_some()) {
        for bad in ["{", "{\"a\":}", "{\"a\": 1}}", "nothing", "[]", "[{}]", "\"text\"", "1", "true"] {
            let answer = operation.send(&t, &operation.path_of(&person), bad).await;
            assert_eq!(
                (answer.status, answer.code()),
                (400, "request_body_invalid"),
                "{} {bad}",
                operation.id
            );
        }
    }
    assert_eq!(t.everything().await, before);
}

/// The status of wrong input: 422, but for operations whose published description does not list that.
fn wrong_input(id: &str) -> u16 {
    match id {
        "RefreshSession" => 401,
        "AttemptEmailAddressVerification"
        | "AttemptPhoneNumberVerification"
        | "GetPublicInterstitial"
        | "RemoveUserPassword"
        | "SetUserProfileImage"
        | "ToggleTemplateDelivery"
        | "UpdateEmailAddress"
        | "UpdatePhoneNumber"
        | "UsersBan"
        | "UsersUnban"
        | "VerifyClient" => 400,
        _ => 422,
    }
}

#[tokio::test]
async fn every_operation_with_a_closed_body_refuses_unknown_fields_by_name() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    let mut open = Vec::new();
    for operation in operations() {
        let Some(schema) = operation.body_schema() else { continue };
        if schema["additionalProperties"] != json!(false) {
            open.push(operation.id.clone());
            continue;
        }
        let mut body = operation.body(&t, &person).unwrap();
        body["surprise"] = json!(1);
        let answer = operation.send(&t, &operation.path_of(&person), body.to_string()).await;
        assert_eq!(answer.status, wrong_input(&operation.id), "{}: {:#}", operation.id, answer.json);
        assert_eq!((answer.code(), answer.param()), ("form_param_unknown", "surprise"), "{}", operation.id);
    }
    assert_eq!(t.everything().await, before);
    open.sort();
    let as_published = [
        "CreateEmailAddress",
        "CreateJWTTemplate",
        "CreatePhoneNumber",
        "CreateSessionToken",
        "CreateSessionTokenFromTemplate",
        "CreateSignInToken",
        "UpdateEmailAddress",
        "UpdateJWTTemplate",
        "UpdatePhoneNumber",
        "UpdateSignUp",
        "UsersBan",
        "UsersUnban",
        "createSession",
    ];
    assert_eq!(open, as_published);
}

#[tokio::test]
async fn every_operation_names_each_required_field_that_is_missing() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations() {
        let Some(schema) = operation.body_schema() else { continue };
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        if required.is_empty() {
            continue;
        }
        for empty in ["", "null", "{}"] {
            let answer = operation.send(&t, &operation.path_of(&person), empty).await;
            let errors = answer.json["errors"].as_array().unwrap();
            let missing = texts(errors.iter().map(|error| &error["meta"]["param_name"]));
            assert_eq!(missing, texts(required.iter()), "{}", operation.id);
            assert!(errors.iter().all(|error| error["code"] == "form_param_missing"), "{}", operation.id);
        }
    }
    assert_eq!(t.everything().await, before);
}

fn texts<'a>(values: impl Iterator<Item = &'a Value>) -> BTreeSet<&'a str> {
    values.map(|value| value.as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_body_field_of_a_wrong_type_is_refused_by_name() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    let before = t.everything().await;
    for operation in operations() {
        let Some(schema) = operation.body_schema() else { continue };
        for (name, field) in schema["properties"].as_object().unwrap_or(&Map::new()) {
            for wrong in [json!("text"), json!(1.5), json!(true), json!([1]), json!({"a": 1})] {
                if fits(field, &wrong) {
                    continue;
                }
                let mut body = operation.body(&t, &person).unwrap();
                body[name] = wrong.clone();
                let answer = operation.send(&t, &operation.path_of(&person), body.to_string()).await;
                let expected = wrong_input(&operation.id);
                assert_eq!(answer.status, expected, "{} {name}={wrong}: {:#}", operation.id, answer.json);
                assert_eq!(answer.param(), name, "{} {name}={wrong}: {:#}", operation.id, answer.json);
            }
        }
    }
    assert_eq!(t.everything().await, before);
}

/// Whether a value has the JSON type a schema asks for.
fn fits(schema: &Value, value: &Value) -> bool {
    let name = match value {
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Null => "null",
    };
    let named = |kind: &Value| kind == name;
    match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(named) && name != "array",
        kind => named(kind) && name != "array",
    }
}

#[tokio::test]
async fn every_operation_refuses_a_version_that_does_not_exist() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    for operation in operations() {
        let request = Request::builder()
            .method(operation.method.as_str())
            .uri(operation.path_of(&person))
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .header("clerk-api-version", "2020-01-01");
        t.send(request.body(Body::empty()).unwrap()).await.is_error(400, "api_version_invalid");
    }
}

#[tokio::test]
async fn every_query_parameter_that_is_no_text_is_checked() {
    let t = TestServer::start().await;
    let person = t.person(&t.tenant, 1).await;
    for operation in operations() {
        for parameter in operation.entry["parameters"].as_array().unwrap() {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            if parameter["in"] != "query" || schema["type"] == "string" || schema["type"] == "array" {
                continue;
            }
            let path = operation.path_of(&person);
            let path = format!("{path}{}{name}=many", if path.contains('?') { '&' } else { '?' });
            let answer = operation.call(&t, &t.tenant, &path, &person).await;
            let expected = (wrong_input(&operation.id), name);
            assert_eq!((answer.status, answer.param()), expected, "{}: {:#}", operation.id, answer.json);
        }
    }
}

#[test]
fn every_operation_is_named_once_and_stands_in_the_contract() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/backend.json");
    let contract: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut names = BTreeSet::new();
    for operation in operations() {
        let method = operation.method.to_lowercase();
        assert_eq!(contract["paths"][&operation.path][method]["operationId"], json!(operation.id));
        assert!(names.insert(operation.id.clone()), "{} twice", operation.id);
        assert!(!operation.entry["summary"].as_str().unwrap().is_empty(), "{} says nothing", operation.id);
        assert!(!operation.entry["tags"][0].as_str().unwrap().is_empty(), "{} has no group", operation.id);
    }
}
