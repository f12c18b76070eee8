//! The tickets and link tokens that secret keys made: their list, and what a revoked key leaves behind.

use std::collections::BTreeMap;

use clap::ArgMatches;
use latchkey_app::GROUPS;
use latchkey_base::Id;
use latchkey_base::kinds::{InstanceId, SecretKeyId};
use latchkey_base::time::{Clock, SystemClock};
use latchkey_db::Db;
use latchkey_events::feed::by_key;
use latchkey_events::feed::model::{Data, StoredEvent};
use latchkey_kernel::cx::Act;
use latchkey_kernel::instances::model::SecretKeyState;
use latchkey_kernel::key_tickets::{self, PendingTicket};
use serde_json::{Value, json};

use super::instances;
use crate::config::Config;
use crate::failure::Failure;
use crate::provision::Storage;
use crate::show::{self, rfc3339};

/// A pending ticket with the name of its kind.
type NamedTicket = (&'static str, PendingTicket);

/// Lists the pending tickets of an instance.
pub(crate) async fn list(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let key = line.get_one::<String>("key").map(|text| key_id(text)).transpose()?;
    let now = SystemClock.now();
    let tickets = key_tickets::pending(&storage.db, GROUPS, &instance.id, key.as_ref(), now).await?;
    if line.get_flag("json") {
        show::json(&tickets.iter().map(as_json).collect::<Vec<Value>>());
        return Ok(());
    }
    if tickets.is_empty() {
        show::note(&format!("{} has no ticket that can still be used", instance.id));
        return Ok(());
    }
    show::result(&ticket_table(&tickets));
    Ok(())
}

fn key_id(text: &str) -> Result<SecretKeyId, Failure> {
    Id::parse(text).ok_or_else(|| {
        Failure::usage(
            // A secret is not repeated in messages, which end up in logs.
            "--key takes the id of a secret key.",
            "`latchkey keys list` shows the ids; they begin with key_.",
        )
    })
}

/// What an operator learns when a key is revoked.
pub(super) struct RevocationReport<'a> {
    instance: &'a InstanceId,
    key: &'a SecretKeyState,
    keeps_tickets: bool,
    /// The tickets that ended, or those that were kept.
    tickets: Vec<NamedTicket>,
    /// How many pending tickets name no key.
    unnamed: usize,
    /// The changes of the configuration that were made with the key.
    changes: Vec<StoredEvent>,
    /// How many events of each other kind it caused.
    others: BTreeMap<String, u64>,
}

impl<'a> RevocationReport<'a> {
    /// Ends the tickets of a key that was deleted, unless they are kept, and finds what else was done with the key.
    pub(super) async fn new(
        db: &Db,
        act: &'a Act,
        key: &'a SecretKeyState,
        keeps_tickets: bool,
    ) -> Result<RevocationReport<'a>, Failure> {
        let instance = &act.instance;
        let tickets = if keeps_tickets {
            key_tickets::pending(db, GROUPS, instance, Some(&key.id), act.now).await?
        } else {
            key_tickets::end(db, GROUPS, act, &key.id).await?
        };
        let pending = key_tickets::pending(db, GROUPS, instance, None, act.now).await?;
        let unnamed = pending.iter().filter(|(_, ticket)| ticket.key.is_none()).count();
        let by_key::KeyEvents { changes, others } = by_key::find(db, instance, &key.id).await?;
        Ok(RevocationReport { instance, key, keeps_tickets, tickets, unnamed, changes, others })
    }

    pub(super) fn print(&self, as_json: bool) {
        if as_json {
            show::json(&self.as_json());
        } else {
            show::result(&self.in_words());
        }
        if self.unnamed > 0 {
            show::note(&format!(
                "{} tickets that can still be used name no key, because an earlier version made them; \
                 `latchkey keys tickets --instance {}` lists them",
                self.unnamed, self.instance
            ));
        }
    }

    fn as_json(&self) -> Value {
        json!({
            "id": self.key.id,
            "key": self.key.hint,
            "instance_id": self.instance,
            "tickets_kept": self.keeps_tickets,
            "tickets": self.tickets.iter().map(as_json).collect::<Vec<Value>>(),
            "changes": self.changes.iter().map(change_as_json).collect::<Vec<Value>>(),
            "other_events": self.others,
        })
    }

    fn in_words(&self) -> String {
        let SecretKeyState { id, hint, .. } = self.key;
        let mut text = format!("The secret key {id} ({hint}) of {} was revoked.", self.instance);
        let outcome = if self.keeps_tickets { "These of its tickets stay good" } else { "Its tickets ended" };
        if self.tickets.is_empty() {
            text.push_str("\nIt had no tickets that could still be used.");
        } else {
            text.push_str(&format!("\n\n{outcome}:\n{}", ticket_table(&self.tickets)));
        }
        if self.changes.is_empty() {
            text.push_str("\nThe feed has no change of the configuration that was made with it.");
        } else {
            let rows: Vec<Vec<String>> = self.changes.iter().map(change_row).collect();
            let table = show::table(&["TIME", "CHANGE", "ID"], &rows);
            text.push_str(&format!("\n\nThese changes were made with it and stay:\n{table}"));
        }
        if !self.others.is_empty() {
            let row = |(kind, count): (&String, &u64)| vec![kind.clone(), count.to_string()];
            let rows: Vec<Vec<String>> = self.others.iter().map(row).collect();
            let table = show::table(&["EVENT", "COUNT"], &rows);
            text.push_str(&format!(
                "\n\nIt caused these other events (`key_id` in GET /v1/events):\n{table}"
            ));
        }
        text
    }
}

fn ticket_table(tickets: &[NamedTicket]) -> String {
    let row = |(kind, ticket): &NamedTicket| {
        vec![
            (*kind).to_owned(),
            ticket.id.clone(),
            ticket.subject.clone().unwrap_or_else(|| "-".to_owned()),
            ticket.key.as_ref().map_or_else(|| "-".to_owned(), SecretKeyId::to_string),
            rfc3339(ticket.created_at),
            rfc3339(ticket.expire_at),
        ]
    };
    let rows: Vec<Vec<String>> = tickets.iter().map(row).collect();
    show::table(&["KIND", "ID", "FOR", "KEY", "CREATED", "EXPIRES"], &rows)
}

fn as_json((kind, ticket): &NamedTicket) -> Value {
    json!({
        "kind": kind,
        "id": ticket.id,
        "for": ticket.subject,
        "key_id": ticket.key,
        "created_at": ticket.created_at,
        "expire_at": ticket.expire_at,
    })
}

fn change_row(event: &StoredEvent) -> Vec<String> {
    let changed = changed(event);
    let names = if changed.is_empty() { String::new() } else { format!(": {}", changed.join(", ")) };
    vec![rfc3339(event.created_at), format!("{}{names}", event.kind), event.subject.clone()]
}

fn change_as_json(event: &StoredEvent) -> Value {
    json!({
        "seq": event.seq,
        "created_at": event.created_at,
        "type": event.kind,
        "id": event.subject,
        "changed": changed(event),
    })
}

/// The names of what a change of the configuration changed.
fn changed(event: &StoredEvent) -> Vec<String> {
    let Data::Plain(text) = &event.data else { return Vec::new() };
    let data: Value = serde_json::from_str(text).unwrap_or_default();
    let names = data["changed"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}
