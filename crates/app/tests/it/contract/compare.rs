//! Compares an OpenAPI document with the published one, and tells the differences as texts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

pub(super) fn operations(document: &Value) -> BTreeMap<(&str, &str), &Value> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let known = methods.as_object().unwrap().iter().filter(|(name, _)| METHODS.contains(&name.as_str()));
        known.map(move |(method, entry)| ((method.as_str(), path.as_str()), entry))
    });
    all.collect()
}

/// A path without the names of its parameters, which the two sides need not share.
fn shape(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

/// Every difference between our operations and the published ones.
pub(super) fn differences(ours: &Value, published: &Value, prefix: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let listed = operations(published);
    let listed: BTreeMap<(&str, String), &Value> =
        listed.into_iter().map(|((method, path), entry)| ((method, shape(path)), entry)).collect();
    for ((method, path), entry) in operations(ours) {
        let name = entry["operationId"].as_str().unwrap();
        match listed.get(&(method, shape(path.strip_prefix(prefix).unwrap()))) {
            Some(theirs) => {
                let (mine, theirs) = (Side { root: ours, at: entry }, Side { root: published, at: theirs });
                Compare { name, found: &mut found }.operation(mine, theirs);
            }
            None => _ = found.insert(format!("{name}: {method} {path} is not published")),
        }
    }
    found
}

/// Whether an operation takes a JSON body, or a list of bodies, with fields it does not know.
pub(super) fn is_body_open(document: &Value, operation: &Value) -> bool {
    let side = Side { root: document, at: operation };
    let body = side.get("requestBody").and_then(|body| body.schema("application/json"));
    let one = |body: Schema<'_>| if body.items.is_empty() { body.closed } else { body.item().closed };
    body.is_some_and(|body| !one(body))
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
        if let [named] = *variants.iter().filter(|variant| !variant.is_null()).collect::<Vec<_>>() {
            schema.name = schema.name.or(named.name);
        }
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

/// A parameter of an operation.
struct Parameter {
    /// Empty when any value will do.
    values: BTreeSet<String>,
    is_required: bool,
}

impl Parameter {
    /// Those in one place, by their names. Headers that may be left out are no part of it: browsers and proxies send them to
    /// every operation.
    fn all(operation: Side<'_>, place: &str) -> BTreeMap<String, Parameter> {
        let listed = operation.list("parameters").into_iter().map(Side::followed);
        let listed =
            listed.filter(|it| it.at["in"] == place && (place != "header" || it.at["required"] == true));
        let parameter = |it: Side<'_>| {
            let schema = it.get("schema").map(Schema::of).unwrap_or_default();
            let values = &schema.values | &schema.item().values;
            let is_required = it.at["required"] == true;
            (it.at["name"].as_str().unwrap().to_owned(), Parameter { values, is_required })
        };
        listed.map(parameter).collect()
    }
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
        for place in ["path", "query", "header"] {
            let (ours, theirs) = (Parameter::all(ours, place), Parameter::all(theirs, place));
            let names = |of: &BTreeMap<String, _>| of.keys().cloned().collect::<BTreeSet<String>>();
            self.same(&format!("{place} parameter"), &names(&ours), &names(&theirs));
            for name in &names(&ours) & &names(&theirs) {
                let (ours, theirs) = (&ours[&name], &theirs[&name]);
                self.same(&format!("{place} parameter {name}"), &ours.values, &theirs.values);
                if ours.is_required != theirs.is_required {
                    let is_required = ours.is_required;
                    self.note(format!(
                        "{place} parameter {name} is required: {is_required}, published otherwise"
                    ));
                }
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
            let (is_required, is_theirs) = (ours.at["required"] == true, theirs.at["required"] == true);
            let (ours, theirs) = (ours.schema(&content_type), theirs.schema(&content_type));
            let (Some(ours), Some(theirs)) = (ours, theirs) else { continue };
            // Many published bodies need not be sent although fields of them must.
            if is_required != is_theirs && (is_theirs || theirs.required.is_empty()) {
                self.note(format!("the body is required: {is_required}, published otherwise"));
            }
            self.same("field", &ours.names(), &theirs.names());
            self.same("required field", &ours.required, &theirs.required);
            if content_type == "application/json" && ours.closed != theirs.closed {
                self.note(format!("takes unknown fields: {}, published: {}", !ours.closed, !theirs.closed));
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
