//! Answers of the Frontend API against the published description: a person's whole way, step by step.

use latchkey_testkit::{Answer, TestServer};
use serde_json::{Value, json};

use super::super::PASSWORD;
use crate::environment::published;

/// Checks answers against the published description and collects what does not agree.
struct Published {
    document: Value,
    complaints: Vec<String>,
}

impl Published {
    /// Checks an answer of an operation, and returns it.
    fn check(&mut self, method: &str, path: &str, answer: Answer) -> Value {
        assert_eq!(answer.status, 200, "{method} {path}: {:#}", answer.json);
        let mut response = &self.document["paths"][path][method]["responses"]["200"];
        if let Some(name) = response["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            response = &self.document["components"]["responses"][name];
        }
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{method} {path} has no published answer");
        let whole = json!({ "allOf": [schema], "components": self.document["components"] });
        let validator =
            jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap();
        let said = validator.iter_errors(&answer.json);
        let said = said.map(|error| format!("{method} {path}{}: {error}", error.instance_path()));
        self.complaints.extend(said);
        answer.json
    }
}

#[tokio::test]
async fn a_persons_whole_way_is_answered_as_published() {
    let Some(mut document) = published() else { return };
    // Recorded answers of the original have it; the description forgets it.
    for name in ["Client.SignIn", "Client.SignIn-2"] {
        document["components"]["schemas"][name]["properties"]["locale"] = json!({"type": ["string", "null"]});
    }
    let mut p = Published { document, complaints: Vec::new() };
    let t = TestServer::start().await;
    let mut b = t.browser();
    p.check("get", "/v1/client", b.get("/v1/client").await);

    let form = json!({ "email_address": "ann+clerk_test@example.com", "password": PASSWORD });
    let made = p.check("post", "/v1/client/sign_ups", b.post("/v1/client/sign_ups", form).await);
    let id = made["response"]["id"].as_str().unwrap();
    let at = "/v1/client/sign_ups/{sign_up_id}";
    let own = format!("/v1/client/sign_ups/{id}");
    let form = json!({ "strategy": "email_code" });
    let answer = b.post(&format!("{own}/prepare_verification"), form).await;
    p.check("post", &format!("{at}/prepare_verification"), answer);
    p.check("get", at, b.get(&own).await);
    p.check("get", "/v1/client", b.get("/v1/client").await);
    let form = json!({ "strategy": "email_code", "code": "424242" });
    let answer = b.post(&format!("{own}/attempt_verification"), form).await;
    let done = p.check("post", &format!("{at}/attempt_verification"), answer);
    let session = done["response"]["created_session_id"].as_str().unwrap().to_owned();
    p.check("get", "/v1/client", b.get("/v1/client").await);

    let at = "/v1/client/sessions/{session_id}";
    let own = format!("/v1/client/sessions/{session}");
    p.check("get", at, b.get(&own).await);
    p.check("post", &format!("{at}/touch"), b.post(&format!("{own}/touch"), json!({})).await);
    p.check("post", &format!("{at}/tokens"), b.post(&format!("{own}/tokens"), json!({})).await);
    let answer = b.post(&format!("{own}/verify"), json!({ "level": "first_factor" })).await;
    p.check("post", &format!("{at}/verify"), answer);
    let form = json!({ "strategy": "password", "password": PASSWORD });
    let answer = b.post(&format!("{own}/verify/attempt_first_factor"), form).await;
    p.check("post", &format!("{at}/verify/attempt_first_factor"), answer);

    let me = "/v1/me";
    p.check("get", me, b.get(me).await);
    p.check("patch", me, b.patch(me, json!({ "first_name": "Ann" })).await);
    let form = json!({ "unsafe_metadata": { "a": 1 } });
    p.check("patch", "/v1/me/metadata", b.patch("/v1/me/metadata", form).await);
    p.check("get", "/v1/me/sessions/active", b.get("/v1/me/sessions/active").await);
    p.check("get", "/v1/me/sessions", b.get("/v1/me/sessions").await);
    let path = "/v1/me/email_addresses";
    p.check("get", path, b.get(path).await);
    let form = json!({ "email_address": "second+clerk_test@example.com" });
    let email = p.check("post", path, b.post(path, form).await);
    let id = email["response"]["id"].as_str().unwrap();
    let (at, own) = (format!("{path}/{{email_id}}"), format!("{path}/{id}"));
    let answer = b.post(&format!("{own}/prepare_verification"), json!({ "strategy": "email_code" })).await;
    p.check("post", &format!("{at}/prepare_verification"), answer);
    let answer = b.post(&format!("{own}/attempt_verification"), json!({ "code": "424242" })).await;
    p.check("post", &format!("{at}/attempt_verification"), answer);
    p.check("get", &at, b.get(&own).await);
    p.check("delete", &at, b.delete(&own).await);
    let path = "/v1/me/phone_numbers";
    let phone = p.check("post", path, b.post(path, json!({ "phone_number": "+12015550101" })).await);
    let id = phone["response"]["id"].as_str().unwrap();
    let (at, own) = (format!("{path}/{{phone_number_id}}"), format!("{path}/{id}"));
    let answer = b.post(&format!("{own}/prepare_verification"), json!({ "strategy": "phone_code" })).await;
    p.check("post", &format!("{at}/prepare_verification"), answer);
    let answer = b.post(&format!("{own}/attempt_verification"), json!({ "code": "424242" })).await;
    p.check("post", &format!("{at}/attempt_verification"), answer);
    p.check("get", path, b.get(path).await);
    p.check("patch", &at, b.patch(&own, json!({ "reserved_for_second_factor": "true" })).await);
    let (verify_at, verify) =
        ("/v1/client/sessions/{session_id}/verify", format!("/v1/client/sessions/{session}/verify"));
    p.check("post", verify_at, b.post(&verify, json!({ "level": "second_factor" })).await);
    let answer =
        b.post(&format!("{verify}/prepare_second_factor"), json!({ "strategy": "phone_code" })).await;
    p.check("post", &format!("{verify_at}/prepare_second_factor"), answer);
    let form = json!({ "strategy": "phone_code", "code": "424242" });
    let answer = b.post(&format!("{verify}/attempt_second_factor"), form).await;
    p.check("post", &format!("{verify_at}/attempt_second_factor"), answer);
    p.check("delete", &at, b.delete(&own).await);
    p.check("post", "/v1/me/totp", b.post("/v1/me/totp", json!({})).await);
    let form = json!({ "current_password": PASSWORD, "new_password": "another long password" });
    p.check("post", "/v1/me/change_password", b.post("/v1/me/change_password", form).await);
    p.check("delete", "/v1/client/sessions", b.delete("/v1/client/sessions").await);

    let path = "/v1/client/sign_ins";
    let form = json!({ "identifier": "ann+clerk_test@example.com" });
    let begun = p.check("post", path, b.post(path, form).await);
    let id = begun["response"]["id"].as_str().unwrap();
    let (at, own) = (format!("{path}/{{sign_in_id}}"), format!("{path}/{id}"));
    p.check("get", &at, b.get(&own).await);
    let form = json!({ "strategy": "email_code" });
    let answer = b.post(&format!("{own}/prepare_first_factor"), form).await;
    p.check("post", &format!("{at}/prepare_first_factor"), answer);
    let form = json!({ "strategy": "email_code", "code": "424242" });
    let answer = b.post(&format!("{own}/attempt_first_factor"), form).await;
    p.check("post", &format!("{at}/attempt_first_factor"), answer);
    p.check("delete", me, b.delete(me).await);
    assert!(p.complaints.is_empty(), "{}", p.complaints.join("\n"));
}
