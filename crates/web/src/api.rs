//! The operation table: adding a route adds a row, and everything else reads the rows.

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{MethodFilter, MethodRouter, on};
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Makes the schema of a type, given the generator of the document it goes into.
pub type MakeSchema = fn(&mut SchemaGenerator) -> Schema;

/// One operation of the API.
pub struct Operation {
    /// `VerbNoun`, stable for ever.
    pub id: &'static str,
    /// Group in the reference.
    pub tag: &'static str,
    /// HTTP method.
    pub method: Method,
    /// Path as axum matches it, prefix included.
    pub path: String,
    /// One line for the reference.
    pub summary: &'static str,
    /// The query parameters.
    pub query: Option<MakeSchema>,
    /// The request body.
    pub body: Option<Body>,
    /// The body of a success.
    pub returns: Option<MakeSchema>,
    /// Error statuses beyond those every operation has.
    pub errors: &'static [u16],
    /// Error statuses that have another one here.
    pub instead: &'static [(u16, u16)],
    /// The status it sends browsers elsewhere with, if it does.
    pub redirect: Option<u16>,
    /// Whether it answers without a credential.
    pub public: bool,
    /// Whether a success is a 204 without a body.
    pub nothing: bool,
    /// Whether a success is too frequent for a line in the log.
    pub quiet: bool,
}

/// A request body.
#[derive(Clone, Copy)]
pub enum Body {
    /// JSON of a type; `bool`: whether it must be sent.
    Json(MakeSchema, bool),
    /// A form of a type, as browsers send it.
    Form(MakeSchema),
    /// A multipart form with one file in the part of this name.
    File(&'static str),
}

impl Operation {
    /// Says in one line what it does.
    pub fn summary(&mut self, text: &'static str) -> &mut Self {
        self.summary = text;
        self
    }

    /// Takes the query parameters of `T`.
    pub fn query<T: JsonSchema>(&mut self) -> &mut Self {
        self.query = Some(|generator| T::json_schema(generator));
        self
    }

    /// Requires a JSON body of type `T`.
    pub fn body<T: JsonSchema>(&mut self) -> &mut Self {
        self.body = Some(Body::Json(|generator| generator.subschema_for::<T>(), true));
        self
    }

    /// Takes a JSON body of type `T`, which may be left out.
    pub fn optional_body<T: JsonSchema>(&mut self) -> &mut Self {
        self.body = Some(Body::Json(|generator| generator.subschema_for::<T>(), false));
        self
    }

    /// Takes a form, or a JSON object, of type `T`.
    pub fn form<T: JsonSchema>(&mut self) -> &mut Self {
        self.body = Some(Body::Form(|generator| generator.subschema_for::<T>()));
        self
    }

    /// Answers without a credential.
    pub fn public(&mut self) -> &mut Self {
        self.public = true;
        self
    }

    /// Takes a multipart form with a file in the part `name`.
    pub fn file(&mut self, name: &'static str) -> &mut Self {
        self.body = Some(Body::File(name));
        self
    }

    /// Answers a `T`.
    pub fn returns<T: JsonSchema>(&mut self) -> &mut Self {
        self.returns = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// Answers 204, without a body.
    pub fn returns_nothing(&mut self) -> &mut Self {
        self.nothing = true;
        self
    }

    /// Succeeds so often, and changes so little, that it only says so in the log when asked for details.
    pub fn quiet(&mut self) -> &mut Self {
        self.quiet = true;
        self
    }

    /// Sends the browser elsewhere, with this status.
    pub fn redirects(&mut self, status: u16) -> &mut Self {
        self.redirect = Some(status);
        self
    }

    /// Fails with these statuses, beside those every operation has.
    pub fn errors(&mut self, statuses: &'static [u16]) -> &mut Self {
        self.errors = statuses;
        self
    }

    /// Answers errors of one status with another: clients of the published description only know those it
    /// lists for an operation.
    pub fn instead(&mut self, statuses: &'static [(u16, u16)]) -> &mut Self {
        self.instead = statuses;
        self
    }

    /// The status an error has here.
    pub fn status(&self, error: u16) -> u16 {
        self.instead.iter().find(|(usual, _)| *usual == error).map_or(error, |(_, here)| *here)
    }
}

/// The API being put together.
pub struct Api<S> {
    prefix: &'static str,
    tag: &'static str,
    router: Router<S>,
    operations: Vec<Operation>,
}

impl<S: Clone + Send + Sync + 'static> Api<S> {
    /// An empty API whose paths all start with `prefix`.
    pub fn new(prefix: &'static str) -> Api<S> {
        Api { prefix, tag: "", router: Router::new(), operations: Vec::new() }
    }

    /// Starts a group of the reference.
    pub fn group(&mut self, tag: &'static str) {
        self.tag = tag;
    }

    /// Adds a `GET` operation.
    pub fn get<T: 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, S>,
    ) -> &mut Operation {
        self.add(Method::GET, path, id, on(MethodFilter::GET, handler))
    }

    /// Adds a `POST` operation.
    pub fn post<T: 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, S>,
    ) -> &mut Operation {
        self.add(Method::POST, path, id, on(MethodFilter::POST, handler))
    }

    /// Adds a `PUT` operation.
    pub fn put<T: 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, S>,
    ) -> &mut Operation {
        self.add(Method::PUT, path, id, on(MethodFilter::PUT, handler))
    }

    /// Adds a `PATCH` operation.
    pub fn patch<T: 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, S>,
    ) -> &mut Operation {
        self.add(Method::PATCH, path, id, on(MethodFilter::PATCH, handler))
    }

    /// Adds a `DELETE` operation.
    pub fn delete<T: 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl Handler<T, S>,
    ) -> &mut Operation {
        self.add(Method::DELETE, path, id, on(MethodFilter::DELETE, handler))
    }

    #[expect(clippy::unwrap_used, reason = "an operation was pushed in the line above")]
    fn add(
        &mut self,
        method: Method,
        path: &'static str,
        id: &'static str,
        route: MethodRouter<S>,
    ) -> &mut Operation {
        let path = format!("{}{path}", self.prefix);
        self.router = std::mem::take(&mut self.router).route(&path, route);
        self.operations.push(Operation {
            id,
            tag: self.tag,
            method,
            path,
            summary: "",
            query: None,
            body: None,
            returns: None,
            errors: &[],
            instead: &[],
            redirect: None,
            public: false,
            nothing: false,
            quiet: false,
        });
        self.operations.last_mut().unwrap()
    }

    /// The routes and the table.
    pub fn finish(self) -> (Router<S>, Vec<Operation>) {
        (self.router, self.operations)
    }
}
