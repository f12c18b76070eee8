//! `latchkey signing-keys`: the keys that sign tokens, and the change from one to the next.

use clap::ArgMatches;
use latchkey_base::kinds::InstanceId;
use latchkey_base::rng::SystemRng;
use latchkey_base::time::{Clock, SystemClock};
use latchkey_base::{Error, Time};
use latchkey_jose::jwk::Jwk;
use latchkey_kernel::instances::model::SigningKeyState;
use latchkey_kernel::instances::{rules, store};
use serde_json::{Value, json};

use super::instances;
use crate::config::Config;
use crate::failure::Failure;
use crate::provision::Storage;
use crate::show::{self, rfc3339};

/// Longest time a change may take; nobody means more.
const LONGEST_MS: i64 = 366 * DAY_MS;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Lists the signing keys of an instance.
pub(crate) async fn list(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let keys = store::signing_keys(&mut storage.db.read().await?, &instance.id).await?;
    print(&keys, line.get_flag("json"));
    Ok(())
}

/// Prints the public half of the key that signs now.
pub(crate) async fn public(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let now = SystemClock.now();
    let mut tx = storage.db.read().await?;
    let signing = store::signing_key(&mut tx, &instance.id, now).await?;
    let published = store::public_keys(&mut tx, &instance.id, now).await?;
    let mut published = published.iter().filter_map(|text| serde_json::from_str::<Jwk>(text).ok());
    let found = published.find(|key| signing.as_ref().is_some_and(|(kid, _)| *kid == key.kid));
    let Some(pem) = found.and_then(|key| key.to_pem()) else {
        return Err(Failure::new(
            "No key signs at the moment.",
            "`latchkey signing-keys list` shows from when on one does.",
        ));
    };
    show::result(pem.trim_end());
    Ok(())
}

/// Makes a new signing key that takes over from the present one.
pub(crate) async fn rotate(config: &Config, line: &ArgMatches) -> Result<(), Failure> {
    let ahead = duration(line, "publish-ahead")?;
    let overlap = duration(line, "overlap")?;
    let storage = Storage::existing(config).await?;
    let instance = instances::select(&storage, line.get_one::<String>("instance").map(String::as_str))?;
    let master = storage.master_key(config).await?;
    let now = SystemClock.now();
    // Made before the transaction, because it takes long.
    let key = rules::signing_key(&InstanceId::new(now, &SystemRng), &master)?;
    let id = instance.id.clone();
    let keys = storage.db.write(move |tx| {
        Box::pin(async move {
            store::lock(tx, &id).await?.ok_or_else(|| Error::not_found("instance", &id))?;
            let plan = rules::rotate(&store::signing_keys(tx, &id).await?, ahead, overlap, now);
            store::retire_signing_keys(tx, &id, plan.others_until, now).await?;
            store::insert_signing_key(tx, &id, &key, plan.active_from, plan.created_at).await?;
            store::signing_keys(tx, &id).await
        })
    });
    let keys = keys.await?;
    if let Some(key) = keys.first() {
        show::note(&format!(
            "{} is published now and signs from {} on; earlier keys are published until {}",
            key.kid,
            rfc3339(key.active_from),
            rfc3339(key.active_from.plus_ms(overlap)),
        ));
    }
    if overlap < instance.settings.session.token_lifetime_seconds * 1000 {
        show::note("that is less than a session token lives: some will be refused before their time");
    }
    print(&keys, line.get_flag("json"));
    Ok(())
}

fn print(keys: &[SigningKeyState], as_json: bool) {
    let now = SystemClock.now();
    if as_json {
        let list: Vec<Value> = keys.iter().map(|key| as_object(key, state(key, keys, now))).collect();
        return show::json(&list);
    }
    let row = |key: &SigningKeyState| {
        vec![
            key.kid.clone(),
            state(key, keys, now).to_owned(),
            rfc3339(key.active_from),
            key.not_after.map_or_else(|| "-".to_owned(), rfc3339),
        ]
    };
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    show::result(&show::table(&["KID", "STATE", "SIGNS FROM", "PUBLISHED UNTIL"], &rows));
}

fn as_object(key: &SigningKeyState, state: &str) -> Value {
    json!({
        "kid": key.kid,
        "state": state,
        "active_from": key.active_from,
        "not_after": key.not_after,
        "created_at": key.created_at,
    })
}

/// What a key does now. Keys are in order, the newest first.
fn state(key: &SigningKeyState, keys: &[SigningKeyState], now: Time) -> &'static str {
    let signing = keys.iter().find(|key| key.active_from <= now);
    if key.not_after.is_some_and(|end| end <= now) {
        "ended"
    } else if signing.is_some_and(|signing| signing.kid == key.kid) {
        "signing"
    } else if key.active_from > now {
        "announced"
    } else {
        "fading out"
    }
}

/// A time such as `90s`, `10m`, `1h` or `2d` in milliseconds.
pub(super) fn duration(line: &ArgMatches, flag: &str) -> Result<i64, Failure> {
    let text = line.get_one::<String>(flag).map(String::as_str).unwrap_or_default();
    parse(text).ok_or_else(|| {
        Failure::usage(
            format!("--{flag} is {text:?}, which is not a time of at most 366 days."),
            "Write a number and a unit: 90s, 10m, 1h or 2d; or 0.",
        )
    })
}

pub(super) fn parse(text: &str) -> Option<i64> {
    let (number, unit) = match text.char_indices().last()? {
        (_, '0'..='9') if text == "0" => (text, 1),
        (at, 's') => (&text[..at], 1000),
        (at, 'm') => (&text[..at], 60 * 1000),
        (at, 'h') => (&text[..at], 60 * 60 * 1000),
        (at, 'd') => (&text[..at], DAY_MS),
        _ => return None,
    };
    let number: i64 = number.parse().ok().filter(|number| *number >= 0)?;
    number.checked_mul(unit).filter(|time| *time <= LONGEST_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_a_number_and_a_unit() {
        for (text, time) in
            [("0", 0), ("90s", 90_000), ("10m", 600_000), ("1h", 3_600_000), ("2d", 2 * DAY_MS)]
        {
            assert_eq!(parse(text), Some(time), "{text}");
        }
        for text in ["", "h", "10", "-1h", "1.5h", "367d", "9999999999999999d", "1w", "1ü"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_newest_key_that_may_sign_does() {
        let at = Time::from_ms;
        let key = |kid: &str, created_at, active_from, not_after: Option<i64>| SigningKeyState {
            kid: kid.to_owned(),
            created_at: at(created_at),
            active_from: at(active_from),
            not_after: not_after.map(at),
        };
        let keys = [key("c", 3, 50, None), key("b", 2, 10, Some(90)), key("a", 1, 1, Some(20))];
        let states = |now| keys.iter().map(|key| state(key, &keys, at(now))).collect::<Vec<_>>();
        assert_eq!(states(5), ["announced", "announced", "signing"]);
        assert_eq!(states(15), ["announced", "signing", "fading out"]);
        assert_eq!(states(60), ["signing", "fading out", "ended"]);
    }
}
