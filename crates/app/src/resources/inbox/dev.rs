//! `GET /dev/inbox`

use axum::response::Response;
use latchkey_base::kinds::MessageId;
use latchkey_base::page::Paging;
use latchkey_base::{Code, Error, Id, Result, Time};
use latchkey_db::{DbError, List, Row};
use latchkey_web::query::Query;
use latchkey_web::reply::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::SecretKey;
use crate::cx::Cx;
use crate::limits::INBOX_MESSAGES;
use crate::outbox::Content;
use crate::resources::instances::model::Environment;
use crate::resources::users::view::ListView;

/// Which messages.
#[derive(Deserialize, JsonSchema)]
pub struct InboxQuery {
    /// Only to this address or number.
    to: Option<String>,
}

/// A message as the inbox shows it.
#[derive(Serialize, JsonSchema)]
struct MessageView {
    id: MessageId,
    channel: String,
    to: String,
    slug: String,
    subject: String,
    body: String,
    code: Option<String>,
    link: Option<String>,
    created_at: Time,
}

struct Sealed {
    id: MessageId,
    channel: String,
    to: String,
    slug: String,
    content: Vec<u8>,
    created_at: Time,
}

/// The newest messages of a development instance.
pub async fn list(cx: Cx, key: SecretKey, Query(query): Query<InboxQuery>) -> Result<Response, Failure> {
    if key.environment != Environment::Development {
        return Err(Error::new(Code::RequestInvalidForEnvironment)
            .saying("Only development instances have an inbox.")
            .into());
    }
    let select = "SELECT id, channel, recipient, slug, content_sealed, created_at FROM messages";
    let sealed = List::new(select)
        .filter("instance_id = ?", vec![(&key.instance).into()])
        .maybe("recipient = ?", query.to.map(|to| to.to_lowercase()))
        .order("created_at DESC, id DESC")
        .page(Paging { limit: INBOX_MESSAGES, offset: 0 })
        .fetch(&mut cx.app.db.read().await?, read)
        .await?;
    let open = |sealed: Sealed| -> Result<MessageView> {
        let plain = cx.app.master.open(sealed.id.as_str(), &sealed.content).map_err(Error::internal)?;
        let Content { subject, body, code, link } =
            serde_json::from_slice(&plain).map_err(Error::internal)?;
        let Sealed { id, channel, to, slug, created_at, .. } = sealed;
        Ok(MessageView { id, channel, to, slug, subject, body, code, link, created_at })
    };
    let data: Vec<MessageView> = sealed.into_iter().map(open).collect::<Result<_>>()?;
    cx.reply(&ListView { total_count: data.len() as i64, data })
}

fn read(row: &Row<'_>) -> Result<Sealed, DbError> {
    Ok(Sealed {
        id: Id::parse(row.str(0)?).ok_or_else(|| DbError::Failed("a message without id".into()))?,
        channel: row.text(1)?,
        to: row.text(2)?,
        slug: row.text(3)?,
        content: row.bytes(4)?,
        created_at: row.time(5)?,
    })
}
