//! An HTTP server that keeps what it is sent and answers what it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};

/// A request that came.
#[derive(Clone)]
pub(crate) struct Came {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

#[derive(Clone, Default)]
pub(crate) struct Receiver {
    pub(crate) port: u16,
    came: Arc<Mutex<Vec<Came>>>,
    answers: Arc<Mutex<VecDeque<(u16, &'static str)>>>,
}

impl Receiver {
    pub(crate) async fn start() -> Receiver {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let receiver = Receiver { port, ..Receiver::default() };
        let own = receiver.clone();
        let router = Router::new().fallback(move |request: Request| {
            let own = own.clone();
            async move { own.take(request).await }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        receiver
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Answers the next request so; those without an answer of their own get 201.
    pub(crate) fn answer_next(&self, status: u16, body: &'static str) {
        self.answers.lock().unwrap().push_back((status, body));
    }

    pub(crate) fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    async fn take(&self, request: Request) -> (StatusCode, Body) {
        let (parts, body) = request.into_parts();
        let body = String::from_utf8(to_bytes(body, 1 << 20).await.unwrap().to_vec()).unwrap();
        self.came.lock().unwrap().push(Came { path: parts.uri.to_string(), headers: parts.headers, body });
        let (status, answer) = self.answers.lock().unwrap().pop_front().unwrap_or((201, "{}"));
        (StatusCode::from_u16(status).unwrap(), Body::from(answer))
    }
}
