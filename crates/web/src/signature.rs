//! What a handler takes, read from its signature into the row of its operation: so neither the contract nor a test
//! can say anything else than what the code does.
//!
//! A type that does not describe itself cannot be an argument of an operation. Whoever reads a request by hand makes
//! an extractor for it.

use axum::extract::State;
use axum::http::{Extensions, HeaderMap, Method};
use latchkey_base::id::{Id, Kind};
use schemars::JsonSchema;

use crate::api::{Body, Credential, Operation, PathPart};
use crate::form::{Form, OpenForm};
use crate::input::{Fields, Input, Inputs, Path};
use crate::query::Query;

/// Something a handler takes from a request.
pub trait Argument {
    /// Notes in the row what of the request it is; what callers need not know of leaves no note.
    fn describe(_row: &mut Operation) {}
}

/// All arguments of a handler. axum writes them as a tuple behind a mark of its own.
pub trait Signature {
    /// Notes in the row what the handler takes.
    fn describe(row: &mut Operation);
}

impl Operation {
    /// Notes that the caller must show at least this.
    pub fn needs(&mut self, credential: Credential) {
        self.credential = self.credential.max(credential);
    }
}

impl Argument for Extensions {}
impl Argument for HeaderMap {}
impl Argument for Method {}
impl<T> Argument for State<T> {}

impl<T: JsonSchema> Argument for Query<T> {
    fn describe(row: &mut Operation) {
        row.query = Some(|generator| T::json_schema(generator));
    }
}

impl<T: JsonSchema> Argument for Input<T> {
    fn describe(row: &mut Operation) {
        row.body = Some(Body::Json(|generator| generator.subschema_for::<T>()));
    }
}

impl<T: JsonSchema, const MOST: usize> Argument for Inputs<T, MOST> {
    fn describe(row: &mut Operation) {
        row.body = Some(Body::Json(|generator| {
            let items = generator.subschema_for::<T>();
            schemars::json_schema!({ "type": "array", "items": items, "minItems": 1, "maxItems": MOST })
        }));
    }
}

impl<T: JsonSchema> Argument for Fields<T> {
    fn describe(row: &mut Operation) {
        Input::<T>::describe(row);
    }
}

impl<T: JsonSchema> Argument for OpenForm<T> {
    fn describe(row: &mut Operation) {
        Form::<T>::describe(row);
    }
}

impl<T: JsonSchema> Argument for Form<T> {
    fn describe(row: &mut Operation) {
        row.body = Some(Body::Form(|generator| generator.subschema_for::<T>()));
    }
}

impl<K: Kind> Argument for Path<Id<K>> {
    fn describe(row: &mut Operation) {
        row.in_path.push(PathPart::Id(K::PREFIX));
    }
}

impl Argument for Path<String> {
    fn describe(row: &mut Operation) {
        row.in_path.push(PathPart::Text);
    }
}

impl Argument for Path<Vec<String>> {
    fn describe(row: &mut Operation) {
        row.in_path.push(PathPart::All);
    }
}

impl<A: Kind, B: Kind> Argument for Path<(Id<A>, Id<B>)> {
    fn describe(row: &mut Operation) {
        row.in_path.extend([PathPart::Id(A::PREFIX), PathPart::Id(B::PREFIX)]);
    }
}

impl<A: Kind> Argument for Path<(Id<A>, String)> {
    fn describe(row: &mut Operation) {
        row.in_path.extend([PathPart::Id(A::PREFIX), PathPart::Text]);
    }
}

impl Signature for ((),) {
    fn describe(_: &mut Operation) {}
}

impl<M, A: Argument> Signature for (M, A) {
    fn describe(row: &mut Operation) {
        A::describe(row);
    }
}

impl<M, A: Argument, B: Argument> Signature for (M, A, B) {
    fn describe(row: &mut Operation) {
        <(M, A)>::describe(row);
        B::describe(row);
    }
}

impl<M, A: Argument, B: Argument, C: Argument> Signature for (M, A, B, C) {
    fn describe(row: &mut Operation) {
        <(M, A, B)>::describe(row);
        C::describe(row);
    }
}

impl<M, A: Argument, B: Argument, C: Argument, D: Argument> Signature for (M, A, B, C, D) {
    fn describe(row: &mut Operation) {
        <(M, A, B, C)>::describe(row);
        D::describe(row);
    }
}

impl<M, A: Argument, B: Argument, C: Argument, D: Argument, E: Argument> Signature for (M, A, B, C, D, E) {
    fn describe(row: &mut Operation) {
        <(M, A, B, C, D)>::describe(row);
        E::describe(row);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::extract::FromRef;
    use axum::http::StatusCode;
    use serde::Deserialize;

    use super::*;
    use crate::api::{Api, DefaultRates};
    use crate::shape::Shapes;
    use crate::throttle::{Limit, PersonRate, Rate};

    const FOR_ANYBODY: Rate = Rate::per_address("", 7, 1000);
    const FOR_PEOPLE: Rate = Rate::per_address("people", 8, 1000);
    const OF_PERSON: &[PersonRate] =
        &[PersonRate { name: "person", limit: Limit { requests: 9, window_ms: 1000 }, is_shared: false }];
    const DEFAULTS: DefaultRates =
        DefaultRates { for_anybody: FOR_ANYBODY, for_people: FOR_PEOPLE, of_person: OF_PERSON };
    const OWN: Rate = Rate::per_address("own", 1, 1000);

    #[derive(Clone)]
    struct Nobody;

    impl FromRef<Nobody> for Arc<Shapes> {
        fn from_ref(_: &Nobody) -> Arc<Shapes> {
            Arc::default()
        }
    }

    struct ThingKind;

    impl Kind for ThingKind {
        const PREFIX: &'static str = "thing";
    }

    struct Needing<const PERSON: bool>;

    impl<S: Send + Sync, const PERSON: bool> axum::extract::FromRequestParts<S> for Needing<PERSON> {
        type Rejection = StatusCode;

        async fn from_request_parts(_: &mut axum::http::request::Parts, _: &S) -> Result<Self, StatusCode> {
            Ok(Needing)
        }
    }

    impl<const PERSON: bool> Argument for Needing<PERSON> {
        fn describe(row: &mut Operation) {
            row.needs(if PERSON { Credential::Person } else { Credential::Client });
        }
    }

    #[derive(Deserialize, JsonSchema)]
    struct Named {
        #[expect(dead_code, reason = "only its schema is used")]
        name: String,
    }

    fn rows(build: impl FnOnce(&mut Api<Nobody>)) -> Vec<Operation> {
        let mut api = Api::new("/v1", DEFAULTS);
        build(&mut api);
        api.finish().1
    }

    #[test]
    fn a_row_says_what_its_handler_takes() {
        let rows = rows(|api| {
            api.get("/none", "none", async || ());
            let all = async |_: Needing<true>,
                             _: Path<(Id<ThingKind>, String)>,
                             _: Query<Named>,
                             _: Form<Named>| ();
            api.post("/{thing_id}/{name}", "all", all);
            api.put("/input", "input", async |_: Needing<false>, _: HeaderMap, _: Input<Named>| ());
            api.patch("/fields", "fields", async |_: Fields<Named>| ());
        });
        let [none, all, input, fields] = &rows[..] else { panic!("{} rows", rows.len()) };
        assert!(none.query.is_none() && none.body.is_none() && none.in_path.is_empty());
        assert_eq!(none.credential, Credential::None);
        assert_eq!(all.in_path, [PathPart::Id("thing"), PathPart::Text]);
        assert!(all.query.is_some() && matches!(all.body, Some(Body::Form(_))));
        assert_eq!(all.credential, Credential::Person);
        assert!(matches!(input.body, Some(Body::Json(_))) && input.credential == Credential::Client);
        assert!(matches!(fields.body, Some(Body::Json(_))));
    }

    #[test]
    fn what_may_write_for_a_person_and_says_nothing_has_a_limit_for_each_person() {
        let rows = rows(|api| {
            api.get("/read", "read", async |_: Needing<true>| ()).only_reads();
            api.post("/write", "write", async |_: Needing<true>| ());
            api.post("/own", "own", async |_: Needing<true>| ()).limited(OWN);
            api.post("/none", "none", async |_: Needing<true>| ()).limited_by_person(&[]);
            api.post("/client", "client", async |_: Needing<false>| ());
        });
        let limits: Vec<_> = rows.iter().map(|row| (row.rate, row.person_rates)).collect();
        let client = Rate { name: "client", ..FOR_ANYBODY };
        let [nothing, people, own, client] = [
            (None, None),
            (Some(FOR_PEOPLE), Some(OF_PERSON)),
            (Some(OWN), Some(OF_PERSON)),
            (Some(client), None),
        ];
        assert_eq!(limits, [nothing, people, own, (None, Some(&[][..])), client]);
    }

    #[test]
    fn what_may_write_without_a_credential_and_says_nothing_has_a_limit() {
        let rows = rows(|api| {
            api.get("/read", "read", async || ()).only_reads();
            api.get("/get", "get", async || ());
            api.post("/write", "write", async || ());
            api.delete("/client", "client", async |_: Needing<false>| ());
            api.post("/person", "person", async |_: Needing<true>| ());
            api.post("/own", "own", async || ()).limited(OWN);
            api.post("/public", "public", async |_: Needing<true>| ()).public();
        });
        let rates: Vec<_> = rows.iter().map(|row| row.rate).collect();
        let usual = |name| Some(Rate { name, ..FOR_ANYBODY });
        assert_eq!(
            rates,
            [
                None,
                usual("get"),
                usual("write"),
                usual("client"),
                Some(FOR_PEOPLE),
                Some(OWN),
                usual("public")
            ]
        );
    }
}
