//! `latchkey webhooks`: the endpoints of an instance. They are managed in the database itself, so it works
//! while the server runs and while it does not.

use clap::ArgMatches;
use latchkey_base::kinds::{InstanceId, WebhookEndpointId};
use latchkey_base::page::Paging;
use latchkey_base::patch::Patch;
use latchkey_base::rng::SystemRng;
use latchkey_base::secret::Secret;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_base::{Error, Id, Problem, Result};
use latchkey_events::webhooks::input::{CreateWebhookEndpoint, RotateWebhookSecret, UpdateWebhookEndpoint};
use latchkey_events::webhooks::model::{Endpoint, Health, SigningSecret};
use latchkey_events::webhooks::{endpoints, not_found, rules, secrets, store, view};
use latchkey_kernel::events::Event;
use latchkey_kernel::signing_secrets;
use latchkey_outbound::reach::Reach;

use super::{change_origin, instances, signing_keys, webhook_deliveries};
use crate::config::Config;
use crate::failure::Failure;
use crate::provision::Storage;
use crate::show::{self, rfc3339};

/// More than an instance may have.
const ALL: Paging = Paging { limit: 500, offset: 0 };

/// As the API allows.
const LONGEST_OVERLAP_SECONDS: i64 = 7 * 24 * 3600;

/// The database and whose webhooks are meant.
pub(super) struct Desk<'a> {
    pub(super) config: &'a Config,
    pub(super) storage: Storage,
    pub(super) instance: Whose,
    pub(super) line: &'a ArgMatches,
}

/// The instance that is meant.
pub(super) struct Whose {
    pub(super) id: InstanceId,
    pub(super) reach: Reach,
}

/// Runs the subcommand of that name.
pub(crate) async fn run(name: &str, config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let wanted = line.get_one::<String>("instance").map(String::as_str);
    let found = instances::select(&storage, wanted)?;
    let reach = found.settings.events.reach(found.environment);
    let instance = Whose { id: found.id.clone(), reach };
    let desk = Desk { config, storage, instance, line };
    match name {
        "list" => desk.list().await,
        "create" => desk.create().await,
        "show" => desk.show().await,
        "update" => desk.update(desk.changes()).await,
        "enable" => desk.update(desk.switched(false)).await,
        "disable" => desk.update(desk.switched(true)).await,
        "delete" => desk.delete().await,
        "secret" => desk.secret().await,
        "rotate" => desk.rotate().await,
        "test" => webhook_deliveries::test(&desk).await,
        "deliveries" => webhook_deliveries::list(&desk).await,
        _ => webhook_deliveries::replay(&desk).await,
    }
}

/// Lists the types of events. They are the same for every instance, and need no database.
pub(crate) fn list_event_types(line: &ArgMatches) {
    if line.get_flag("json") {
        let types: Vec<_> = Event::ALL.iter().map(|event| view::event_type(*event)).collect();
        return show::json(&types);
    }
    let row = |event: &Event| {
        let mark = if event.is_emitted() { "" } else { " (not yet)" };
        vec![event.name().to_owned(), format!("{}{mark}", event.meaning().trim())]
    };
    let rows: Vec<Vec<String>> = Event::ALL.iter().map(row).collect();
    show::result(&show::table(&["TYPE", "MEANING"], &rows));
    show::note("what is marked (not yet) can be asked for, and comes with groups that are still to be built");
}

impl Desk<'_> {
    async fn list(&self) -> Result<(), Failure> {
        let mut tx = self.storage.db.read().await?;
        let mut found = Vec::new();
        for endpoint in store::list(&mut tx, &self.instance.id, ALL).await? {
            let health = endpoints::health(&mut tx, &endpoint).await?;
            found.push((endpoint, health));
        }
        if self.is_json() {
            let views: Vec<_> = found.iter().map(|(it, health)| view::endpoint(it, health)).collect();
            show::json(&views);
        } else if found.is_empty() {
            show::note("there is no endpoint yet; `latchkey webhooks create URL` makes one");
        } else {
            let rows: Vec<Vec<String>> =
                found.iter().map(|(endpoint, health)| row(endpoint, health)).collect();
            show::result(&show::table(&["ID", "STATE", "WAITING", "EVENTS", "URL"], &rows));
        }
        Ok(())
    }

    async fn create(&self) -> Result<(), Failure> {
        let input = CreateWebhookEndpoint {
            url: self.text("url").unwrap_or_default(),
            description: self.text("description"),
            event_types: self.kinds(),
            secret: self.own_secret()?,
            disabled: self.line.get_flag("disabled"),
        };
        rules::check_new(&input, self.instance.reach).map_err(refused)?;
        let master = self.storage.master_key(self.config).await?;
        let origin = change_origin(&self.instance.id);
        let (endpoint, signing) = self
            .storage
            .db
            .write(move |tx| {
                Box::pin(async move {
                    let made = endpoints::create(tx, &origin, input, &master).await?;
                    let signing = secrets::open(&made, &master)?;
                    Ok((made, signing))
                })
            })
            .await
            .map_err(refused)?;
        show::note(&format!("events from now on go to {}", endpoint.url));
        if self.is_json() {
            let health = endpoints::health(&mut self.storage.db.read().await?, &endpoint).await?;
            show::json(&view::new_endpoint(&endpoint, &health, &signing));
            return Ok(());
        }
        self.print(&endpoint, signing.first().map(|it| it.secret.expose())).await
    }

    async fn show(&self) -> Result<(), Failure> {
        let endpoint = self.endpoint().await?;
        self.print(&endpoint, None).await
    }

    async fn update(&self, input: UpdateWebhookEndpoint) -> Result<(), Failure> {
        rules::check_change(&input, self.instance.reach).map_err(refused)?;
        let (origin, id) = (change_origin(&self.instance.id), self.id()?);
        let endpoint = endpoints::update(&self.storage.db, &origin, &id, input).await.map_err(refused)?;
        self.print(&endpoint, None).await
    }

    /// What `update` is asked to change.
    fn changes(&self) -> UpdateWebhookEndpoint {
        UpdateWebhookEndpoint {
            url: self.text("url"),
            description: self.text("description").map_or(Patch::Absent, Patch::Value),
            event_types: match self.line.get_flag("all-events") {
                true => Patch::Null,
                false => self.kinds().map_or(Patch::Absent, Patch::Value),
            },
            disabled: None,
            skip_missed: false,
        }
    }

    /// What `enable` and `disable` change.
    fn switched(&self, disabled: bool) -> UpdateWebhookEndpoint {
        UpdateWebhookEndpoint {
            url: None,
            description: Patch::Absent,
            event_types: Patch::Absent,
            disabled: Some(disabled),
            skip_missed: !disabled && self.line.get_flag("skip-missed"),
        }
    }

    async fn delete(&self) -> Result<(), Failure> {
        let endpoint = self.endpoint().await?;
        if !self.line.get_flag("yes") {
            return Err(Failure::usage(
                format!(
                    "{} sends to {} and would be deleted with its deliveries.",
                    endpoint.id, endpoint.url
                ),
                "Add --yes if that is meant. `latchkey webhooks disable` only stops sending.",
            ));
        }
        let origin = change_origin(&self.instance.id);
        endpoints::delete(&self.storage.db, &origin, vec![endpoint.id.clone()]).await?;
        show::note(&format!("{} was deleted", endpoint.id));
        Ok(())
    }

    async fn secret(&self) -> Result<(), Failure> {
        let endpoint = self.endpoint().await?;
        self.print_secrets(&endpoint).await
    }

    async fn rotate(&self) -> Result<(), Failure> {
        let overlap = signing_keys::duration(self.line, "overlap")? / 1000;
        if overlap > LONGEST_OVERLAP_SECONDS {
            return Err(Failure::usage(
                "Two secrets sign side by side for a week at most.",
                "Choose at most --overlap 7d.",
            ));
        }
        let own = RotateWebhookSecret { secret: self.own_secret()?, expire_old_in_seconds: Some(overlap) };
        rules::check_rotation(&own).map_err(refused)?;
        let secret = own.secret.unwrap_or_else(|| signing_secrets::generate(&SystemRng));
        let master = self.storage.master_key(self.config).await?;
        let (origin, id) = (change_origin(&self.instance.id), self.id()?);
        let work = self.storage.db.write(move |tx| {
            Box::pin(async move { endpoints::rotate(tx, &origin, &id, secret, Some(overlap), &master).await })
        });
        let endpoint = work.await.map_err(refused)?;
        self.print_secrets(&endpoint).await
    }

    async fn print_secrets(&self, endpoint: &Endpoint) -> Result<(), Failure> {
        let master = self.storage.master_key(self.config).await?;
        let (all, now) = (secrets::open(endpoint, &master)?, SystemClock.now());
        if self.is_json() {
            show::json(&view::secrets(&all, now));
            return Ok(());
        }
        let row = |it: &SigningSecret| {
            vec![it.secret.expose().to_owned(), it.expire_at.map_or_else(|| "-".to_owned(), rfc3339)]
        };
        let rows: Vec<Vec<String>> = all.iter().filter(|it| it.is_good(now)).map(row).collect();
        show::result(&show::table(&["SECRET", "SIGNS UNTIL"], &rows));
        Ok(())
    }

    async fn print(&self, endpoint: &Endpoint, secret: Option<&str>) -> Result<(), Failure> {
        let health = endpoints::health(&mut self.storage.db.read().await?, endpoint).await?;
        if self.is_json() {
            show::json(&view::endpoint(endpoint, &health));
            return Ok(());
        }
        let failing = endpoint.failing_since.map_or_else(|| "-".to_owned(), rfc3339);
        let (events, waiting, recent) =
            (kinds(endpoint, usize::MAX), waiting(&health), health.recent.join(" "));
        let created = rfc3339(endpoint.created_at);
        let mut rows = vec![("id", endpoint.id.as_str()), ("url", &endpoint.url)];
        rows.extend(secret.map(|secret| ("secret", secret)));
        rows.extend([
            ("description", endpoint.description.as_str()),
            ("events", &events),
            ("state", state(endpoint)),
            ("failing since", &failing),
            ("waiting", &waiting),
            ("recent", &recent),
            ("created", &created),
        ]);
        show::result(&show::aligned(&rows));
        Ok(())
    }

    pub(super) async fn endpoint(&self) -> Result<Endpoint, Failure> {
        let id = self.id()?;
        let found = store::find(&mut self.storage.db.read().await?, &self.instance.id, &id).await?;
        found.ok_or_else(|| refused(not_found(&id)))
    }

    pub(super) fn id(&self) -> Result<WebhookEndpointId, Failure> {
        let text = self.text("id").unwrap_or_default();
        Id::parse(&text).ok_or_else(|| {
            Failure::usage(
                format!("{text:?} is not the id of an endpoint."),
                "`latchkey webhooks list` shows the ids; they begin with ep_.",
            )
        })
    }

    pub(super) fn is_json(&self) -> bool {
        self.line.get_flag("json")
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.line.get_one::<String>(name).cloned()
    }

    fn kinds(&self) -> Option<Vec<String>> {
        let given = self.line.get_many::<String>("event-types")?;
        Some(given.map(|kind| kind.trim().to_owned()).collect())
    }

    fn own_secret(&self) -> Result<Option<Secret>, Failure> {
        let Some(path) = self.text("secret-file") else { return Ok(None) };
        let text = super::settings::text_of(&path)?;
        Ok(Some(Secret::new(text.trim().to_owned())))
    }
}

/// A refusal in the words of the API, with what to do next.
pub(super) fn refused(error: Error) -> Failure {
    if error.status() >= 500 {
        return error.into();
    }
    let sentence =
        |problem: &Problem| problem.detail.clone().unwrap_or_else(|| problem.code.spec().2.to_owned());
    let sentences: Vec<String> = error.problems().iter().map(sentence).collect();
    Failure::usage(
        sentences.join("\n"),
        "`latchkey webhooks list` shows the endpoints, and `latchkey webhooks --help` what can be done.",
    )
}

fn row(endpoint: &Endpoint, health: &Health) -> Vec<String> {
    vec![
        endpoint.id.to_string(),
        state(endpoint).to_owned(),
        waiting(health),
        kinds(endpoint, 2),
        endpoint.url.clone(),
    ]
}

fn state(endpoint: &Endpoint) -> &'static str {
    match (endpoint.is_disabled, endpoint.failing_since) {
        (true, _) => "disabled",
        (false, Some(_)) => "failing",
        (false, None) => "enabled",
    }
}

fn waiting(health: &Health) -> String {
    (health.pending + health.unread).to_string()
}

/// The kinds of events, shortened to so many.
fn kinds(endpoint: &Endpoint, most: usize) -> String {
    match endpoint.kinds.len() {
        0 => "all".to_owned(),
        count if count > most => format!("{} and {} more", endpoint.kinds[..most].join(","), count - most),
        _ => endpoint.kinds.join(","),
    }
}
