//! A server with messages to send.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latchkey_base::kinds::{InstanceId, MessageId};
use latchkey_base::rng::SystemRng;
use latchkey_base::time::Clock;
use latchkey_kernel::environment::Environment;
use latchkey_kernel::instances::store;
use latchkey_kernel::limits::RateLimits;
use latchkey_kernel::settings::{SealedSetting, Settings};
use latchkey_messaging::post::Post;
use latchkey_testkit::TestServer;
use serde_json::json;

/// Seals a secret for a path.
pub(crate) type Secret<'a> = &'a dyn Fn(&str, &str) -> SealedSetting;

/// A server and what sends its messages.
pub(crate) struct Office {
    pub(crate) t: TestServer,
    pub(crate) post: Arc<Post>,
}

/// What became of a message.
#[derive(Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) status: String,
    pub(crate) attempts: i64,
    pub(crate) next_in_ms: Option<i64>,
    pub(crate) failure: Option<String>,
}

impl Row {
    pub(crate) fn sent(attempts: i64) -> Row {
        Row { status: "sent".to_owned(), attempts, next_in_ms: None, failure: None }
    }
}

impl Office {
    /// Starts a server whose development instance has other settings.
    pub(crate) async fn start(
        root: Option<PathBuf>,
        change: impl FnOnce(&mut Settings, Secret<'_>),
    ) -> Office {
        let t = TestServer::start_with(RateLimits::Off, Settings::default()).await;
        let post = t.post_office(root);
        let office = Office { t, post };
        office.change(change).await;
        office
    }

    pub(crate) async fn change(&self, change: impl FnOnce(&mut Settings, Secret<'_>)) {
        self.change_of(&self.t.tenant.id, change).await;
    }

    pub(crate) async fn change_of(&self, id: &InstanceId, change: impl FnOnce(&mut Settings, Secret<'_>)) {
        let mut settings =
            store::find(&mut self.t.db().read().await.unwrap(), id).await.unwrap().unwrap().settings;
        change(&mut settings, &|path, plain| SealedSetting::seal(&self.t.master, id, path, plain).unwrap());
        assert_eq!(settings.problems(), []);
        let id = id.clone();
        let work = self
            .t
            .db()
            .write(move |tx| Box::pin(async move { store::save_settings(tx, &id, &settings).await }));
        work.await.unwrap();
    }

    /// One more development instance that sends through a mail server on this port.
    pub(crate) async fn other_mail_instance(&self, port: u16) -> InstanceId {
        let tenant = self.t.new_tenant(Environment::Development, Settings::default()).await;
        self.change_of(&tenant.id, |settings, _| {
            let email = &mut settings.messages.email;
            email.transport = latchkey_kernel::settings::EmailTransport::Smtp;
            email.from_domain = Some("other.example.com".to_owned());
            (email.smtp.host, email.smtp.port) = ("localhost".to_owned(), port);
            email.smtp.tls = latchkey_kernel::settings::SmtpTls::None;
        })
        .await;
        tenant.id
    }

    pub(crate) async fn queue_email(&self, to: &str) -> String {
        self.queue_for(&self.t.tenant.id, "email", to).await
    }

    pub(crate) async fn queue_sms(&self, to: &str) -> String {
        self.queue_for(&self.t.tenant.id, "sms", to).await
    }

    /// Puts a message with a code, good for ten minutes, where messages wait.
    pub(crate) async fn queue_for(&self, instance: &InstanceId, channel: &'static str, to: &str) -> String {
        let now = self.t.clock.now();
        let id = MessageId::new(now, &SystemRng);
        let content = json!({
            "subject": "424242 is your verification code",
            "html": if channel == "email" { Some("<p>Your code: 424242</p>") } else { None },
            "text": "Your code: 424242\n.hidden dot\n",
            "from_email_name": "hello",
            "reply_to_email_name": null,
            "code": "424242",
            "link": null,
        });
        let sealed = self.t.master.seal(id.as_str(), content.to_string().as_bytes()).unwrap();
        let sql = "INSERT INTO messages (instance_id, id, channel, recipient, slug, content_sealed, status, attempts, \
                   next_at, leased_until, expire_at, created_at) \
                   VALUES ($1, $2, $3, $4, 'verification_code', $5, 'queued', 0, $6, 0, $7, $6)";
        let end = now.plus_ms(600_000);
        let params = vec![
            instance.into(),
            (&id).into(),
            channel.into(),
            to.into(),
            sealed.into(),
            now.into(),
            end.into(),
        ];
        self.t.run_sql(sql, params).await;
        id.to_string()
    }

    pub(crate) async fn row(&self, id: &str) -> Row {
        let mut tx = self.t.db().read().await.unwrap();
        let sql = "SELECT status, attempts, next_at, failure FROM messages WHERE id = $1";
        let read = |row: &latchkey_db::Row<'_>| {
            Ok((row.text(0)?, row.int(1)?, row.maybe_time(2)?, row.maybe_text(3)?))
        };
        let (status, attempts, next_at, failure) =
            tx.maybe(&[sql], &[id.into()], read).await.unwrap().unwrap();
        let now = self.t.clock.now();
        Row { status, attempts, next_in_ms: next_at.map(|at| at.ms_since(now)), failure }
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
