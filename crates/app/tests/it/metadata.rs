//! Metadata: merged by PATCH, replaced by PUT.

use futures_util::future::join_all;
use latchkey_testkit::TestServer;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};

const FIELDS: [&str; 3] = ["public_metadata", "private_metadata", "unsafe_metadata"];
const LIMIT: usize = 8192;

async fn start(metadata: Value) -> (TestServer, String) {
    let t = TestServer::start().await;
    let mut body = json!({"username": "ada_l"});
    body.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    let user = t.user(body).await;
    let path = format!("/v1/users/{}/metadata", user["id"].as_str().unwrap());
    (t, path)
}

#[tokio::test]
async fn of_merges_at_once_none_is_lost() {
    let (t, path) = start(json!({})).await;
    let keys: Vec<String> = (0..20).map(|number| format!("key{number}")).collect();
    let merges = keys.iter().map(|key| t.patch(&path, json!({"public_metadata": {key: true}})));
    for answer in join_all(merges).await {
        answer.ok();
    }
    let merged = t.patch(&path, json!({})).await.ok();
    assert!(keys.iter().all(|key| merged["public_metadata"][key] == true), "{merged:#}");
}

#[tokio::test]
async fn patch_merges_at_every_depth_and_null_deletes() {
    let (t, path) = start(json!({
        "public_metadata": {"a": {"b": {"c": 1, "d": 2}, "e": 3}, "gone": {"x": 1}, "kept": true}
    }))
    .await;
    let patch = json!({"public_metadata": {"a": {"b": {"c": null, "f": 4}, "new": {"deep": {"null": null, "x": 1}}}, "gone": null}});
    let expected = json!({"a": {"b": {"d": 2, "f": 4}, "e": 3, "new": {"deep": {"x": 1}}}, "kept": true});
    let merged = t.patch(&path, patch).await.ok();
    assert_eq!(merged["public_metadata"], expected);
    assert_eq!(t.shown(merged["id"].as_str().unwrap()).await, merged);
}

#[tokio::test]
async fn patch_replaces_lists_scalars_and_values_of_another_type_whole() {
    let (t, path) = start(json!({
        "public_metadata": {"list": [1, {"a": 1}], "text": "x", "object": {"a": 1}, "number": 1}
    }))
    .await;
    let patch = json!({"public_metadata": {"list": [{"b": null}], "text": {"now": "an object"}, "object": "now a text", "number": 2.5}});
    let expected =
        json!({"list": [{"b": null}], "text": {"now": "an object"}, "object": "now a text", "number": 2.5});
    assert_eq!(t.patch(&path, patch).await.ok()["public_metadata"], expected);
}

#[tokio::test]
async fn patch_touches_only_the_kinds_given() {
    let all = json!({"public_metadata": {"a": 1}, "private_metadata": {"b": 2}, "unsafe_metadata": {"c": 3}});
    let (t, path) = start(all.clone()).await;
    for field in FIELDS {
        let merged = t.patch(&path, json!({field: {"own": field}})).await.ok();
        assert_eq!(merged[field]["own"], field);
    }
    let shown = t.patch(&path, json!({})).await.ok();
    for field in FIELDS {
        let mut expected = all[field].clone();
        expected["own"] = json!(field);
        assert_eq!(shown[field], expected);
    }
}

#[tokio::test]
async fn put_replaces_the_kinds_given_and_leaves_the_others() {
    let (t, path) =
        start(json!({"public_metadata": {"a": {"b": 1}}, "private_metadata": {"b": 2}, "unsafe_metadata": {"c": 3}}))
            .await;
    let replaced =
        t.put(&path, json!({"public_metadata": {"new": {"null": null}}, "unsafe_metadata": {}})).await.ok();
    assert_eq!(replaced["public_metadata"], json!({"new": {"null": null}}));
    assert_eq!(replaced["private_metadata"], json!({"b": 2}));
    assert_eq!(replaced["unsafe_metadata"], json!({}));
    assert_eq!(t.put(&path, json!({})).await.ok(), replaced);
    assert_eq!(t.shown(replaced["id"].as_str().unwrap()).await, replaced);
}

#[tokio::test]
async fn only_objects_of_the_three_kinds_are_accepted() {
    let (t, path) = start(json!({})).await;
    for field in FIELDS {
        for value in [json!([]), json!("x"), json!(1), json!(true)] {
            t.patch(&path, json!({field: value})).await.is_problem(422, "form_param_type_invalid", field);
            t.put(&path, json!({field: value})).await.is_problem(422, "form_param_type_invalid", field);
        }
    }
    t.patch(&path, json!({"metadata": {}})).await.is_problem(422, "form_param_unknown", "metadata");
    t.put(&path, json!({"first_name": "Ada"})).await.is_problem(422, "form_param_unknown", "first_name");
    let nobody = "/v1/users/user_000000000000000000000000000/metadata";
    t.patch(nobody, json!({"public_metadata": {}})).await.is_error(404, "resource_not_found");
    t.put(nobody, json!({"public_metadata": {}})).await.is_error(404, "resource_not_found");
}

/// An object whose compact JSON has exactly so many bytes.
fn sized(bytes: usize) -> Value {
    json!({"a": "x".repeat(bytes - r#"{"a":""}"#.len())})
}

#[tokio::test]
async fn each_kind_has_eight_kilobytes_of_its_own() {
    let (t, path) = start(json!({})).await;
    for field in FIELDS {
        t.put(&path, json!({field: sized(LIMIT)})).await.ok();
        t.put(&path, json!({field: sized(LIMIT + 1)})).await.is_problem(
            422,
            "form_param_exceeds_allowed_size",
            field,
        );
        let shown = t.patch(&path, json!({})).await.ok();
        assert_eq!(shown[field], sized(LIMIT), "{field}");
    }
    // Bytes count, not characters.
    let euros = json!({"a": "€".repeat(LIMIT / 3)});
    t.put(&path, json!({"public_metadata": euros})).await.is_error(422, "form_param_exceeds_allowed_size");
}

#[tokio::test]
async fn the_size_is_measured_after_the_merge() {
    let (t, path) = start(json!({"public_metadata": {"first": "x".repeat(5000)}})).await;
    let second = "y".repeat(5000);
    t.patch(&path, json!({"public_metadata": {"second": second}})).await.is_problem(
        422,
        "form_param_exceeds_allowed_size",
        "public_metadata",
    );
    let merged = t.patch(&path, json!({"public_metadata": {"second": second, "first": null}})).await.ok();
    assert_eq!(merged["public_metadata"], json!({"second": second}));
    // What is removed may be as large as it likes to be named.
    t.patch(&path, json!({"public_metadata": {"z".repeat(9000): null}})).await.ok();
}

#[tokio::test]
async fn a_refused_kind_keeps_the_others_from_changing() {
    let (t, path) = start(json!({"public_metadata": {"a": 1}})).await;
    let body = json!({"public_metadata": {"a": 2}, "unsafe_metadata": sized(LIMIT + 1)});
    t.patch(&path, body.clone()).await.is_problem(422, "form_param_exceeds_allowed_size", "unsafe_metadata");
    t.put(&path, body).await.is_problem(422, "form_param_exceeds_allowed_size", "unsafe_metadata");
    assert_eq!(t.patch(&path, json!({})).await.ok()["public_metadata"], json!({"a": 1}));
}

#[tokio::test]
async fn unusual_keys_and_values_survive() {
    let (t, path) = start(json!({})).await;
    let unusual = json!({
        "": "empty key", "a.b": {"$set": 1}, "quote\"": "\\ \u{0} \u{1f980} \u{202e}", "null_in_list": [null, {"a": null}],
        "large": 9_007_199_254_740_993_i64, "small": -0.000_001, "unsigned": u64::MAX, "__proto__": {"x": true}
    });
    let stored = t.put(&path, json!({"public_metadata": unusual})).await.ok();
    assert_eq!(stored["public_metadata"], unusual);
    let merged = t.patch(&path, json!({"public_metadata": {"": "still"}})).await.ok();
    assert_eq!(merged["public_metadata"]["quote\""], unusual["quote\""]);
}

#[tokio::test]
async fn deep_metadata_is_kept_in_every_version_or_refused() {
    let (t, path) = start(json!({})).await;
    let mut accepted = 0;
    for depth in [1, 10, 50, 100, 120, 128, 200, 1000] {
        let text = format!(r#"{{"public_metadata":{}1{}}}"#, r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let request = axum::http::Request::builder()
            .method("PUT")
            .uri(&path)
            .header("authorization", format!("Bearer {}", t.tenant.key))
            .header("content-type", "application/json")
            .body(axum::body::Body::from(text))
            .unwrap();
        let answer = t.send(request).await;
        if answer.status == 200 {
            accepted += 1;
            let id = answer.json["id"].as_str().unwrap();
            for version in ["2021-02-05", "2026-05-12"] {
                let user_path = format!("/v1/users/{id}");
                assert_eq!(t.call_version(version, "GET", &user_path, None).await.status, 200, "{depth}");
                assert_eq!(t.call_version(version, "GET", "/v1/users", None).await.status, 200, "{depth}");
            }
            t.patch(&path, json!({"public_metadata": {"b": 1}})).await.ok();
        } else {
            answer.is_problem(422, "form_param_value_invalid", "public_metadata");
        }
    }
    assert_eq!(accepted, 3);
}

/// The merge as the documentation words it, written without looking at ours.
fn reference_merge(old: &Value, given: &Value) -> Value {
    let Value::Object(given) = given else { return given.clone() };
    let nothing = Map::new();
    let mut merged = old.as_object().unwrap_or(&nothing).clone();
    for (key, value) in given {
        let next = reference_merge(merged.get(key).unwrap_or(&Value::Null), value);
        merged.insert(key.clone(), next);
    }
    merged.retain(|key, _| given.get(key) != Some(&Value::Null));
    Value::Object(merged)
}

/// Few keys, so that old and new metadata often meet.
fn object() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zé\u{1f980}]{0,4}".prop_map(Value::from),
    ];
    let value = scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    });
    prop::collection::btree_map("[abc]", value, 0..4).prop_map(|map| map.into_iter().collect())
}

#[test]
fn any_merge_is_what_the_reference_says() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (t, path) = runtime.block_on(start(json!({})));
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 150, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(&(object(), object()), |(old, given)| {
        let merged = runtime.block_on(async {
            let stored = t.put(&path, json!({"unsafe_metadata": old})).await.ok();
            assert_eq!(stored["unsafe_metadata"], old);
            t.patch(&path, json!({"unsafe_metadata": given})).await.ok()
        });
        prop_assert_eq!(&merged["unsafe_metadata"], &reference_merge(&old, &given));
        Ok(())
    });
    outcome.unwrap();
}
