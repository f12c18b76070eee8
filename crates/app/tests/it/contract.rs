//! Our OpenAPI document against its copy in the repository, and against the published description of
//! the API we are compatible with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use latchkey_app::{GROUPS, document, frontend_document};
use serde_json::{Map, Value, json};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The tags whose operations all exist here.
const TAGS: &[&str] = &[
    "Actor Tokens",
    "Admin Portal Link Tokens",
    "Allow-list / Block-list",
    "Beta Features",
    "Clients",
    "Domains",
    "Email & SMS Templates",
    "Email Addresses",
    "Instance Settings",
    "Invitations",
    "JWKS",
    "JWT Templates",
    "Miscellaneous",
    "Organization Domains",
    "Organization Invitations",
    "Organization Memberships",
    "Organization Permissions",
    "Organization Roles",
    "Organizations",
    "Phone Numbers",
    "Proxy Checks",
    "Redirect URLs",
    "Role Sets",
    "Sessions",
    "Sign Ups",
    "Sign-in Tokens",
    "Testing Tokens",
    "Users",
    "Waitlist Entries",
    "Webhooks",
];

/// The tags of operations that are ours: nothing is published to compare them with.
const OUR_TAGS: &[&str] = &["Webhook Endpoints"];

/// Operations that SDKs call although the newest description does not list them.
const UNLISTED: [&str; 9] = [
    "ChangeDomain",
    "DeleteTemplateLocale",
    "GetHandshakePayload",
    "GetTemplateLocale",
    "ListEvents",
    "ListInboxMessages",
    "ListTemplateLocales",
    "PutTemplateLocale",
    "VerifySession",
];

/// Operations of those groups that come with another group.
const LATER: [&str; 6] = [
    "GetUserBillingSubscription",
    "GetUserBillingCreditBalance",
    "AdjustUserBillingCreditBalance",
    "GetOrganizationBillingSubscription",
    "GetOrganizationBillingCreditBalance",
    "AdjustOrganizationBillingCreditBalance",
];

/// Where we differ from the published description on purpose, and why: what the difference starts with.
/// A line that no longer applies fails the test.
const DEVIATIONS: [(&str, &str); 32] = [
    ("AdminPortalLinkToken.", "times are whole numbers of milliseconds, as everywhere"),
    ("ChangeDomain: ", "SDKs call it"),
    ("CreateActorToken: field org_id", "as for sign-in tokens"),
    ("CreatedAdminPortalLinkToken.", "times are whole numbers of milliseconds, as everywhere"),
    ("CreateUser: type of password_hasher null", "null is left out here too, as for every other field"),
    ("DeleteTemplateLocale: ", "ours: variants of templates for locales"),
    ("ExternalAccount.verification.", "shares its type with all other verifications"),
    ("GetHandshakePayload: ", "SDKs call it"),
    ("GetTemplate: path parameter template_type", "any other type answers 400, as published"),
    ("GetTemplateList: path parameter template_type", "any other type answers 400, as published"),
    ("GetTemplateLocale: ", "ours: variants of templates for locales"),
    ("GetSessionList: query parameter status pending", "SDKs send it, and such sessions exist"),
    ("Jwk.kty may be anything", "always RSA, as the only algorithm is RS256"),
    (
        "ListAllOrganizationDomains: query parameter enrollment_mode",
        "several may stand in one, separated by commas; unknown ones are refused all the same",
    ),
    (
        "ListAllOrganizationDomains: query parameter verified",
        "a boolean, as for the domains of one organization",
    ),
    ("ListEvents: ", "ours"),
    ("ListInboxMessages: ", "ours: the inbox of development instances"),
    ("ListTemplateLocales: ", "ours: variants of templates for locales"),
    ("MaybePaginated", "what `paginated=true` makes of a bare list is not published"),
    ("Passkey.verification.", "always null until passkeys can be registered"),
    ("PutTemplateLocale: ", "ours: variants of templates for locales"),
    ("RevertTemplate: path parameter template_type", "any other type answers 400, as published"),
    ("SignUpVerifications.", "left open by the publisher; these are the fields of every verification"),
    ("RefreshSession: query parameter suffixed_cookies", "SDKs send it"),
    ("Template.delivered_by_service", "the name of the field here; `delivered_by_clerk` is its alias"),
    ("ToggleTemplateDelivery: field delivered_by_service", "the name of the field here"),
    ("ToggleTemplateDelivery: path parameter template_type", "any other type answers 400, as published"),
    ("UpsertTemplate: field delivered_by_service", "the name of the field here"),
    ("UpsertTemplate: path parameter template_type", "any other type answers 400, as published"),
    ("User.enterprise_accounts[].", "always empty until enterprise connections exist"),
    ("User.saml_accounts[].", "always empty until enterprise connections exist"),
    ("VerifySession: ", "SDKs call it, and older versions list it"),
];

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "asked to write the files rather than to compare them")]
fn contracts_in_the_repository_are_what_the_code_says() {
    let documents = [
        ("contract/backend.json", document("http://127.0.0.1:3400", GROUPS)),
        ("contract/frontend.json", frontend_document("http://localhost:3401", GROUPS)),
    ];
    for (name, document) in documents {
        let path = repository().join(name);
        if std::env::var("UPDATE_CONTRACT").is_ok_and(|wanted| wanted == "1") {
            let text = serde_json::to_string_pretty(&document).unwrap();
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, format!("{text}\n")).unwrap();
        }
        let stored: Value =
            serde_json::from_slice(&std::fs::read(path).unwrap_or_default()).unwrap_or_default();
        assert!(stored == document, "{name} is out of date; `make contract` writes it anew");
    }
}

#[test]
fn contract_agrees_with_the_published_description() {
    let Some(published) = published() else { return };
    let ours = document("http://127.0.0.1:3400", GROUPS);
    let mut found = BTreeSet::new();
    let listed = operations(&published);
    for ((method, path), entry) in operations(&ours).into_iter().filter(|(_, entry)| !is_ours(entry)) {
        let name = entry["operationId"].as_str().unwrap();
        let at = format!("{method} {path}");
        let public_path = path.strip_prefix("/v1").unwrap();
        match listed.get(&(method, public_path)) {
            Some(theirs) => {
                let (mine, theirs) = (Side { root: &ours, at: entry }, Side { root: &published, at: theirs });
                let mut compare = Compare { name, found: &mut found };
                compare.operation(mine, theirs);
            }
            None => _ = found.insert(format!("{name}: {at} is not published")),
        }
    }
    let explains = |(start, _): &(&str, _), difference: &str| difference.starts_with(start);
    let unexplained: Vec<&String> =
        found.iter().filter(|it| !DEVIATIONS.iter().any(|line| explains(line, it))).collect();
    let outdated: Vec<_> =
        DEVIATIONS.iter().filter(|line| !found.iter().any(|it| explains(line, it))).collect();
    assert!(unexplained.is_empty(), "differs from the published description:\n{unexplained:#?}");
    assert!(outdated.is_empty(), "no longer differs:\n{outdated:#?}");
}

#[test]
fn every_published_operation_of_these_groups_is_here() {
    let Some(published) = published() else { return };
    let ours = document("http://127.0.0.1:3400", GROUPS);
    let names = |document: &Value, wanted: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        let all = operations(document);
        let wanted = all.values().filter(|entry| wanted(entry));
        wanted.map(|entry| entry["operationId"].as_str().unwrap().to_owned()).collect()
    };
    let in_groups = |entry: &Value| {
        let tags = entry["tags"].as_array().unwrap();
        tags.iter().any(|tag| TAGS.iter().any(|built| tag == built))
    };
    let mut wanted = names(&published, &in_groups);
    for later in LATER {
        assert!(wanted.remove(later), "{later} is not published");
    }
    let is_listed =
        |entry: &Value| !is_ours(entry) && !UNLISTED.iter().any(|unlisted| entry["operationId"] == *unlisted);
    assert_eq!(names(&ours, &is_listed), wanted);
}

fn is_ours(entry: &Value) -> bool {
    OUR_TAGS.iter().any(|tag| entry["tags"][0] == *tag)
}

#[test]
fn what_the_published_descriptions_advise_against_is_marked_here_too() {
    let faces = [
        ("bapi", "/v1", document("http://127.0.0.1:3400", GROUPS)),
        ("fapi", "", frontend_document("http://localhost:3401", GROUPS)),
    ];
    for (face, prefix, ours) in faces {
        let Some(published) = published_of(face) else { return };
        let listed = operations(&published);
        for ((method, path), entry) in operations(&ours) {
            let public_path = path.strip_prefix(prefix).unwrap();
            let Some(theirs) = listed.get(&(method, public_path)) else { continue };
            assert_eq!(entry["deprecated"], theirs["deprecated"], "{face}: {method} {path}");
        }
    }
}

/// The published description, when it lies beside the repository.
fn published() -> Option<Value> {
    published_of("bapi")
}

pub(crate) fn published_of(face: &str) -> Option<Value> {
    let path = repository().join(format!("../shared/spec/{face}/2026-05-12.yml"));
    match std::fs::read_to_string(path) {
        Ok(text) => Some(yaml_serde::from_str(&text).unwrap()),
        Err(_) => {
            say("the published description is not here: nothing was compared");
            None
        }
    }
}

#[expect(clippy::disallowed_macros, reason = "a note for whoever reads the test's output")]
fn say(text: &str) {
    println!("{text}");
}

fn operations(document: &Value) -> BTreeMap<(&str, &str), &Value> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let known = methods.as_object().unwrap().iter().filter(|(name, _)| METHODS.contains(&name.as_str()));
        known.map(move |(method, entry)| ((method.as_str(), path.as_str()), entry))
    });
    all.collect()
}

/// A place in a document.
#[derive(Clone, Copy)]
struct Side<'a> {
    root: &'a Value,
    at: &'a Value,
}

impl<'a> Side<'a> {
    /// What stands under `key`, references followed.
    fn get(self, key: &str) -> Option<Side<'a>> {
        self.raw(key).map(Side::followed)
    }

    /// What stands under `key`.
    fn raw(self, key: &str) -> Option<Side<'a>> {
        self.at.get(key).map(|at| Side { at, ..self })
    }

    fn followed(self) -> Side<'a> {
        match self.at.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let at = self.root.pointer(reference.trim_start_matches('#')).unwrap();
                Side { at, ..self }.followed()
            }
            None => self,
        }
    }

    fn list(self, key: &str) -> Vec<Side<'a>> {
        let items = self.at[key].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().map(|at| Side { at, ..self }).collect()
    }

    fn schema(self, content_type: &str) -> Option<Schema<'a>> {
        let schema = self.get("content")?.get(content_type)?.raw("schema")?;
        Some(Schema::of(schema))
    }
}

/// What a schema says once `allOf`, `oneOf`, `anyOf` and nullable are folded together.
#[derive(Clone, Default)]
struct Schema<'a> {
    /// Its name among the components, if it has one.
    name: Option<&'a str>,
    types: BTreeSet<String>,
    properties: BTreeMap<String, Vec<Side<'a>>>,
    required: BTreeSet<String>,
    /// Empty when any value will do.
    values: BTreeSet<String>,
    items: Vec<Side<'a>>,
    closed: bool,
}

impl<'a> Schema<'a> {
    fn of(side: Side<'a>) -> Schema<'a> {
        let name = side.at.get("$ref").and_then(|it| it.as_str()?.rsplit('/').next());
        let side = side.followed();
        let mut schema = Schema { name, ..Schema::own(side) };
        for part in side.list("allOf").into_iter().map(Schema::of) {
            schema.required.extend(part.required.clone());
            schema.absorb(part);
        }
        let variants: Vec<Schema> =
            side.list("oneOf").into_iter().chain(side.list("anyOf")).map(Schema::of).collect();
        let objects = variants.iter().filter(|variant| !variant.properties.is_empty());
        let common = objects.map(|variant| variant.required.clone()).reduce(|a, b| &a & &b);
        schema.required.extend(common.unwrap_or_default());
        let is_free = variants.iter().any(|variant| variant.values.is_empty() && !variant.is_null());
        variants.into_iter().for_each(|variant| schema.absorb(variant));
        if is_free {
            schema.values.clear();
        }
        schema
    }

    /// Without what it is combined from.
    fn own(side: Side<'a>) -> Schema<'a> {
        let at = side.at;
        let texts = |key: &str| -> BTreeSet<String> {
            let one = at[key].as_str().into_iter();
            let many = at[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            one.chain(many).map(str::to_owned).collect()
        };
        let mut types = texts("type");
        if at["nullable"] == json!(true) {
            types.insert("null".to_owned());
        }
        let mut values = texts("enum");
        values.extend(texts("const"));
        let empty = Map::new();
        let properties = at["properties"].as_object().unwrap_or(&empty).keys();
        let property = |name: &String| {
            let at = &at["properties"][name.as_str()];
            (name.clone(), vec![Side { at, ..side }])
        };
        Schema {
            name: None,
            types,
            properties: properties.map(property).collect(),
            required: texts("required"),
            values,
            items: side.raw("items").into_iter().collect(),
            closed: at["additionalProperties"] == json!(false),
        }
    }

    fn absorb(&mut self, part: Schema<'a>) {
        self.types.extend(part.types);
        self.values.extend(part.values);
        self.items.extend(part.items);
        for (name, sides) in part.properties {
            self.properties.entry(name).or_default().extend(sides);
        }
    }

    fn is_null(&self) -> bool {
        self.types.iter().all(|name| name == "null") && !self.types.is_empty()
    }

    fn field(&self, name: &str) -> Schema<'a> {
        merged(&self.properties[name])
    }

    fn item(&self) -> Schema<'a> {
        merged(&self.items)
    }

    fn names(&self) -> BTreeSet<String> {
        self.properties.keys().cloned().collect()
    }
}

/// One schema that stands for several variants of the same field.
fn merged<'a>(sides: &[Side<'a>]) -> Schema<'a> {
    let mut all = sides.iter().map(|side| Schema::of(*side));
    let Some(mut first) = all.next() else { return Schema::default() };
    for next in all {
        first.required = &first.required & &next.required;
        let is_free = first.values.is_empty() || next.values.is_empty();
        first.absorb(next);
        if is_free {
            first.values.clear();
        }
    }
    first
}

/// Compares an operation and notes every difference.
struct Compare<'a> {
    name: &'a str,
    found: &'a mut BTreeSet<String>,
}

impl Compare<'_> {
    fn note(&mut self, text: String) {
        self.found.insert(format!("{}: {text}", self.name));
    }

    fn same(&mut self, what: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) {
        for extra in ours.difference(theirs) {
            self.note(format!("{what} {extra} is not published"));
        }
        for missing in theirs.difference(ours) {
            self.note(format!("{what} {missing} is missing"));
        }
    }

    fn operation(&mut self, ours: Side<'_>, theirs: Side<'_>) {
        if ours.at["operationId"] != theirs.at["operationId"] {
            self.note("is published under another id".to_owned());
        }
        self.parameters(ours, theirs);
        self.request(ours, theirs);
        let successes = |side: Side<'_>| -> BTreeSet<String> {
            let statuses = side.at["responses"].as_object().unwrap().keys();
            statuses.filter(|status| status.starts_with('2')).cloned().collect()
        };
        self.same("status", &successes(ours), &successes(theirs));
        for status in &successes(ours) & &successes(theirs) {
            let (ours, theirs) = (ours.get("responses"), theirs.get("responses"));
            let (ours, theirs) = (ours.and_then(|it| it.get(&status)), theirs.and_then(|it| it.get(&status)));
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            let json = "application/json";
            if let (Some(ours), Some(theirs)) = (ours.schema(json), theirs.schema(json)) {
                self.answer(self.name, &ours, &theirs, 0);
            }
        }
    }

    fn parameters(&mut self, ours: Side<'_>, theirs: Side<'_>) {
        for place in ["path", "query"] {
            let all = |side: Side<'_>| -> BTreeMap<String, BTreeSet<String>> {
                let listed = side.list("parameters").into_iter().map(Side::followed);
                let listed = listed.filter(|it| it.at["in"] == place);
                let parameter = |it: Side<'_>| {
                    let schema = it.get("schema").map(Schema::of).unwrap_or_default();
                    (it.at["name"].as_str().unwrap().to_owned(), &schema.values | &schema.item().values)
                };
                listed.map(parameter).collect()
            };
            let (ours, theirs) = (all(ours), all(theirs));
            let names = |of: &BTreeMap<String, _>| of.keys().cloned().collect::<BTreeSet<String>>();
            self.same(&format!("{place} parameter"), &names(&ours), &names(&theirs));
            for (name, values) in
                ours.iter().filter_map(|(name, ours)| Some((name, (ours, theirs.get(name)?))))
            {
                self.same(&format!("{place} parameter {name}"), values.0, values.1);
            }
        }
    }

    fn request(&mut self, ours: Side<'_>, theirs: Side<'_>) {
        let types = |side: Side<'_>| -> BTreeSet<String> {
            let content = side.get("requestBody").and_then(|body| body.get("content"));
            content.and_then(|it| it.at.as_object()).into_iter().flat_map(|it| it.keys().cloned()).collect()
        };
        self.same("content type", &types(ours), &types(theirs));
        for content_type in &types(ours) & &types(theirs) {
            let (Some(ours), Some(theirs)) = (ours.get("requestBody"), theirs.get("requestBody")) else {
                continue;
            };
            let (ours, theirs) = (ours.schema(&content_type), theirs.schema(&content_type));
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            self.same("field", &ours.names(), &theirs.names());
            if content_type == "application/json" {
                self.same("required field", &ours.required, &theirs.required);
                if ours.closed != theirs.closed {
                    self.note(format!(
                        "takes unknown fields: {}, published: {}",
                        !ours.closed, !theirs.closed
                    ));
                }
            }
            for name in &ours.names() & &theirs.names() {
                let (ours, theirs) = (ours.field(&name), theirs.field(&name));
                self.same(&format!("value of {name}"), &ours.values, &theirs.values);
                self.same(&format!("value in {name}"), &ours.item().values, &theirs.item().values);
                self.same(&format!("type of {name}"), &ours.types, &theirs.types);
            }
        }
    }

    /// Whoever reads the published answer must be able to read ours.
    ///
    /// What is wrong with a component is said under its name, once for all operations that show it.
    fn answer(&mut self, at: &str, ours: &Schema<'_>, theirs: &Schema<'_>, depth: usize) {
        assert!(depth < 20, "{at} never ends");
        let at = ours.name.unwrap_or(at);
        for missing in theirs.required.difference(&ours.required) {
            self.found.insert(format!("{at}.{missing} is missing"));
        }
        let is_free = theirs.properties.is_empty();
        for extra in ours.names().difference(&theirs.names()).filter(|_| !is_free) {
            self.found.insert(format!("{at}.{extra} is not published"));
        }
        if !theirs.values.is_empty() {
            if ours.values.is_empty() {
                self.found.insert(format!("{at} may be anything, published: {:?}", theirs.values));
            }
            for extra in ours.values.difference(&theirs.values) {
                self.found.insert(format!("{at} may be {extra}, which is not published"));
            }
        }
        if !theirs.types.is_empty() {
            for extra in ours.types.difference(&theirs.types) {
                self.found.insert(format!("{at} may be of type {extra}, which is not published"));
            }
        }
        for name in &ours.names() & &theirs.names() {
            self.answer(&format!("{at}.{name}"), &ours.field(&name), &theirs.field(&name), depth + 1);
        }
        if !ours.items.is_empty() && !theirs.items.is_empty() {
            self.answer(&format!("{at}[]"), &ours.item(), &theirs.item(), depth + 1);
        }
    }
}
