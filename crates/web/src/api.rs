//! The operation table: adding a route adds a row, and everything else reads the rows.
//!
//! What a handler takes is read from its signature (`signature.rs`); a row only says what no signature can.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::response::Response;
use axum::routing::on;
use futures_util::future::BoxFuture;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::signature::Signature;
use crate::throttle::{PersonRate, Rate};

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
    /// What the handler reads of the path, in order.
    pub in_path: Vec<PathPart>,
    /// The query parameters.
    pub query: Option<MakeSchema>,
    /// The headers it looks at by itself. What all operations look at is said once, for all of them.
    pub headers: Vec<Header>,
    /// The request body.
    pub body: Option<Body>,
    /// Whether a body must be sent although none of its fields must.
    pub wants_body: bool,
    /// The body of a success.
    pub returns: Option<MakeSchema>,
    /// Error statuses beyond those every operation has.
    pub errors: &'static [u16],
    /// Error statuses that have another one here.
    pub instead: &'static [(u16, u16)],
    /// The status it sends browsers elsewhere with, if it does.
    pub redirect: Option<u16>,
    /// The least a caller must show.
    pub credential: Credential,
    /// How often it may be called, beside what all operations of an instance share.
    pub rate: Option<Rate>,
    /// How often one person may call it, if it is for people.
    pub person_rates: Option<&'static [PersonRate]>,
    /// Whether it counts for the limit that all operations of an instance share.
    pub counts: bool,
    /// The way into an account that it is, if it is one.
    pub entrance: Option<Entrance>,
    /// Whether it changes nothing, whoever calls it.
    pub only_reads: bool,
    /// Whether the client that a browser shows is read together with its instance.
    pub read_ahead: bool,
    /// The status of a success.
    pub success: u16,
    /// Whether what is wrong with the body is told as 400 `bad_request`.
    pub bad_requests: bool,
    /// Whether a success is too frequent for a line in the log.
    pub quiet: bool,
    /// Whether the published description advises against it.
    pub deprecated: bool,
    /// Whether pages of other sites send people here with a form.
    pub from_other_sites: bool,
}

/// What a caller shows, from nothing to the key of a whole instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    /// Nothing.
    None,
    /// The token of a client. Anybody gets one for the asking, so it keeps no one from writing.
    Client,
    /// The token of a client on which somebody is signed in.
    Person,
    /// A secret key of the instance, or a pass that was made with one.
    SecretKey,
}

/// A way into an account. There is none on a satellite domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// A step of signing in or up. Where nobody is to learn who has an account, each takes as long as any other.
    Attempt,
    /// Makes a client, or opens a session by a link.
    Opening,
}

/// A part of the path that a handler reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// An id with this prefix.
    Id(&'static str),
    /// Any text.
    Text,
    /// All parts, as texts.
    All,
}

/// A header that an operation looks at.
pub struct Header {
    /// Its name.
    pub name: &'static str,
    /// Whether it must be sent.
    pub required: bool,
    /// What it says.
    pub description: &'static str,
}

/// A request body.
#[derive(Clone, Copy)]
pub enum Body {
    /// JSON of a type.
    Json(MakeSchema),
    /// A form of a type, as browsers send it.
    Form(MakeSchema),
    /// A multipart form with one file in the part of this name, and with texts in parts of these, which may be left out.
    File(&'static str, &'static [&'static str]),
}

impl Operation {
    fn new(method: Method, path: String, id: &'static str, tag: &'static str) -> Operation {
        Operation {
            id,
            tag,
            method,
            path,
            summary: "",
            in_path: Vec::new(),
            query: None,
            headers: Vec::new(),
            body: None,
            wants_body: false,
            returns: None,
            errors: &[],
            instead: &[],
            redirect: None,
            credential: Credential::None,
            rate: None,
            person_rates: None,
            counts: true,
            entrance: None,
            only_reads: false,
            read_ahead: false,
            success: 200,
            bad_requests: false,
            quiet: false,
            deprecated: false,
            from_other_sites: false,
        }
    }

    /// Says in one line what it does.
    pub fn summary(&mut self, text: &'static str) -> &mut Self {
        self.summary = text;
        self
    }

    /// A body must be sent, says the published description, although none of its fields must. One that is left
    /// out is read as `{}` all the same.
    pub fn wants_body(&mut self) -> &mut Self {
        self.wants_body = true;
        self
    }

    /// Looks at this header, which must be sent or may be.
    pub fn header(&mut self, name: &'static str, required: bool, description: &'static str) -> &mut Self {
        self.headers.push(Header { name, required, description });
        self
    }

    /// Answers a browser that has no client yet. Signatures cannot tell: a visitor has one or not.
    pub fn public(&mut self) -> &mut Self {
        self.credential = Credential::None;
        self
    }

    /// May be called so often. Operations with the same rate share one count.
    pub fn limited(&mut self, rate: Rate) -> &mut Self {
        self.rate = Some(rate);
        self
    }

    /// May be called so often by one person, instead of what is usual for changes that people make.
    pub fn limited_by_person(&mut self, rates: &'static [PersonRate]) -> &mut Self {
        self.person_rates = Some(rates);
        self
    }

    /// Does not count for the limit that all operations of an instance share, and is not stopped by it.
    pub fn uncounted(&mut self) -> &mut Self {
        self.counts = false;
        self
    }

    /// Changes nothing, whoever calls it: not a row is written. Methods do not tell, because browsers are sent around
    /// by `GET`.
    pub fn only_reads(&mut self) -> &mut Self {
        self.only_reads = true;
        self
    }

    /// Is a way into an account.
    pub fn entrance(&mut self, entrance: Entrance) -> &mut Self {
        self.entrance = Some(entrance);
        self
    }

    /// Is sent by pages of other sites, whose origin is not asked for: it must do nothing by itself.
    pub fn from_other_sites(&mut self) -> &mut Self {
        self.from_other_sites = true;
        self
    }

    /// Is what browsers ask for most: the client they show is read in the statement that finds the instance.
    pub fn read_ahead(&mut self) -> &mut Self {
        self.read_ahead = true;
        self
    }

    /// Answers a `T`.
    pub fn returns<T: JsonSchema>(&mut self) -> &mut Self {
        self.returns = Some(|generator| generator.subschema_for::<T>());
        self
    }

    /// Answers 204, without a body.
    pub fn returns_nothing(&mut self) -> &mut Self {
        self.success = 204;
        self
    }

    /// Answers 201 rather than 200.
    pub fn creates(&mut self) -> &mut Self {
        self.success = 201;
        self
    }

    /// Answers 202, without a body: what follows from it may take a while.
    pub fn accepts(&mut self) -> &mut Self {
        self.success = 202;
        self
    }

    /// Tells what is wrong with the body as 400 `bad_request`, as published for a few groups.
    pub fn bad_requests(&mut self) -> &mut Self {
        self.bad_requests = true;
        self
    }

    /// Whether a success has no body.
    pub fn is_empty(&self) -> bool {
        matches!(self.success, 202 | 204)
    }

    /// Succeeds so often, and changes so little, that it only says so in the log when asked for details.
    pub fn quiet(&mut self) -> &mut Self {
        self.quiet = true;
        self
    }

    /// Is there for those who still use it: there is a better way.
    pub fn deprecated(&mut self) -> &mut Self {
        self.deprecated = true;
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

    /// Whether it may change something for somebody who has shown nothing that is hard to get.
    pub fn writes_for_anybody(&self) -> bool {
        !self.only_reads && self.credential < Credential::Person
    }

    /// Whether it may change something for somebody who is signed in.
    pub fn writes_for_people(&self) -> bool {
        !self.only_reads && self.credential == Credential::Person
    }

    /// The status an error has here.
    pub fn status(&self, error: u16) -> u16 {
        if self.bad_requests && error == 422 {
            return 400;
        }
        self.instead.iter().find(|(usual, _)| *usual == error).map_or(error, |(_, here)| *here)
    }
}

/// The limits of operations that write and say nothing about how often they may be called.
#[derive(Clone, Copy)]
pub struct DefaultRates {
    /// Of those that write without a credential; counted for each operation by itself.
    pub for_anybody: Rate,
    /// Of those that write for somebody who is signed in; counted for all of them together.
    pub for_people: Rate,
    /// Of the same, for one person; counted for all of them together.
    pub of_person: &'static [PersonRate],
}

/// What handles an operation: a function whose arguments describe themselves.
pub trait OperationHandler<T, S>: Handler<T, S, Future = BoxFuture<'static, Response>> + Sync {}
impl<H: Handler<T, S, Future = BoxFuture<'static, Response>> + Sync, T, S> OperationHandler<T, S> for H {}

/// A handler of which no more is known than how to call it. All of axum is compiled once for every type of handler it is
/// given, and hundreds of them take a minute; this is one type for all.
struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> BoxFuture<'static, Response> + Send + Sync>);

impl<S> AnyHandler<S> {
    fn new<T>(handler: impl OperationHandler<T, S>) -> AnyHandler<S> {
        AnyHandler(Arc::new(move |request, state| handler.clone().call(request, state)))
    }
}

impl<S> Clone for AnyHandler<S> {
    fn clone(&self) -> AnyHandler<S> {
        AnyHandler(self.0.clone())
    }
}

impl<S: 'static> Handler<(), S> for AnyHandler<S> {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, state: S) -> Self::Future {
        (self.0)(request, state)
    }
}

/// The API being put together.
pub struct Api<S> {
    prefix: &'static str,
    defaults: DefaultRates,
    tag: &'static str,
    router: Router<S>,
    operations: Vec<Operation>,
}

impl<S: Clone + Send + Sync + 'static> Api<S> {
    /// An empty API whose paths all start with `prefix`. What writes and says nothing about how often it may be called
    /// has the limits of `defaults`.
    pub fn new(prefix: &'static str, defaults: DefaultRates) -> Api<S> {
        Api { prefix, defaults, tag: "", router: Router::new(), operations: Vec::new() }
    }

    /// Starts a group of the reference.
    pub fn group(&mut self, tag: &'static str) {
        self.tag = tag;
    }

    /// Adds a `GET` operation.
    pub fn get<T: Signature + 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        self.add(Method::GET, path, id, handler)
    }

    /// Adds a `POST` operation.
    pub fn post<T: Signature + 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        self.add(Method::POST, path, id, handler)
    }

    /// Adds a `PUT` operation.
    pub fn put<T: Signature + 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        self.add(Method::PUT, path, id, handler)
    }

    /// Adds a `PATCH` operation.
    pub fn patch<T: Signature + 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        self.add(Method::PATCH, path, id, handler)
    }

    /// Adds a `DELETE` operation.
    pub fn delete<T: Signature + 'static>(
        &mut self,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        self.add(Method::DELETE, path, id, handler)
    }

    #[expect(
        clippy::unwrap_used,
        reason = "an operation was pushed in the line above, and axum knows all methods"
    )]
    fn add<T: Signature + 'static>(
        &mut self,
        method: Method,
        path: &'static str,
        id: &'static str,
        handler: impl OperationHandler<T, S>,
    ) -> &mut Operation {
        let path = format!("{}{path}", self.prefix);
        let route = on(method.clone().try_into().unwrap(), AnyHandler::new(handler));
        self.router = std::mem::take(&mut self.router).route(&path, route);
        let mut operation = Operation::new(method, path, id, self.tag);
        T::describe(&mut operation);
        self.operations.push(operation);
        self.operations.last_mut().unwrap()
    }

    /// The routes and the table.
    pub fn finish(mut self) -> (Router<S>, Vec<Operation>) {
        for operation in &mut self.operations {
            if operation.rate.is_none() && operation.writes_for_anybody() {
                operation.rate = Some(Rate { name: operation.id, ..self.defaults.for_anybody });
            }
            if operation.writes_for_people() {
                let own = operation.person_rates;
                operation.person_rates = Some(own.unwrap_or(self.defaults.of_person));
                // What says that no person has to be limited writes next to nothing.
                if operation.rate.is_none() && own.is_none_or(|rates| !rates.is_empty()) {
                    operation.rate = Some(self.defaults.for_people);
                }
            }
        }
        (self.router, self.operations)
    }
}
