//! From the text of a setting to its value, or to what is wrong with it.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use latchkey_base::secret::Secret;
use latchkey_db::Location;
use latchkey_jose::seal::MasterKey;
use latchkey_kernel::hosts;

use super::problem::nearest;

/// What is wrong with a value, and what would be right.
pub(super) struct Wrong {
    pub(super) what: String,
    pub(super) right: String,
}

impl Wrong {
    pub(super) fn new(what: impl Into<String>, right: impl Into<String>) -> Wrong {
        Wrong { what: what.into(), right: right.into() }
    }
}

pub(super) fn address(text: &str) -> Result<SocketAddr, Wrong> {
    text.parse().map_err(|_| {
        Wrong::new(
            format!("{text:?} is not an address and a port."),
            "Write ADDRESS:PORT, such as 127.0.0.1:3400 or [::1]:3400. Names are not looked up.",
        )
    })
}

/// Nothing when it is not set.
pub(super) fn maybe_address(text: &str) -> Result<Option<SocketAddr>, Wrong> {
    if text.is_empty() { Ok(None) } else { address(text).map(Some) }
}

/// Nothing when it is not set. Never repeated.
pub(super) fn token(text: &str) -> Result<Option<Secret>, Wrong> {
    let right = "Write at least 16 letters and digits, as `openssl rand -hex 32` prints them.";
    match text.len() {
        0 => Ok(None),
        _ if !text.chars().all(|c| c.is_ascii_graphic()) => {
            Err(Wrong::new("It has a space, or a character that no header can have.", right))
        }
        1..16 => Err(Wrong::new("It is so short that it can be guessed.", right)),
        _ => Ok(Some(Secret::new(text.to_owned()))),
    }
}

pub(super) fn path(text: &str) -> Result<PathBuf, Wrong> {
    match text.is_empty() {
        true => Err(Wrong::new("It is empty.", "Write the path of a directory, such as ./data.")),
        false => Ok(text.into()),
    }
}

/// Nothing when it follows from the data directory. The text may hold a password: it is not repeated.
pub(super) fn database(text: &str) -> Result<Option<Location>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    Location::parse(text).map(Some).map_err(|reason| {
        Wrong::new(
            format!("It cannot be understood: {reason}."),
            "Write sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE.",
        )
    })
}

/// Nothing when it follows from the listening address.
pub(super) fn url(text: &str) -> Result<Option<String>, Wrong> {
    let right = "Write it as callers do, such as https://api.example.com.";
    let trimmed = text.trim_end_matches('/');
    let rest = match trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://")) {
        Some(rest) => rest,
        None if text.is_empty() => return Ok(None),
        None => return Err(Wrong::new("It does not start with https:// or http://.", right)),
    };
    if rest.is_empty() || rest.starts_with('/') {
        return Err(Wrong::new("It has no host.", right));
    }
    // Not repeated: what stands before an @ may be a password.
    if rest.contains(|c: char| "?#@\\\"<>".contains(c) || c.is_whitespace() || c.is_control()) {
        return Err(Wrong::new("It has more than scheme, host, port and path.", right));
    }
    Ok(Some(trimmed.to_owned()))
}

/// Nothing when it follows from the listening address.
pub(super) fn host(text: &str) -> Result<Option<String>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    if text.contains("://") || text.contains('/') {
        let host = hosts::authority(text);
        let host = if hosts::checked(host).is_ok() { host } else { "clerk.example.com" };
        return Err(Wrong::new(
            format!("{text:?} is a URL, and this setting is a host."),
            format!("Write only the host, without https:// and without a path: {host}"),
        ));
    }
    hosts::checked(text).map(Some).map_err(|reason| {
        Wrong::new(
            format!("{text:?} cannot be used: {reason}."),
            "Write the host alone, with a port if it needs one: clerk.example.com.",
        )
    })
}

/// Nothing when it is not set.
pub(super) fn directory(text: &str) -> Result<Option<PathBuf>, Wrong> {
    match (text, std::path::Path::new(text).is_dir()) {
        ("", _) => Ok(None),
        (_, true) => Ok(Some(text.into())),
        (_, false) => Err(Wrong::new(
            format!("{text:?} is not a directory."),
            "Write the path of a directory that exists, or leave it empty.",
        )),
    }
}

/// Paths of files, which may not have commas.
pub(super) fn files(text: &str) -> Result<Vec<PathBuf>, Wrong> {
    Ok(text.split(',').map(str::trim).filter(|path| !path.is_empty()).map(PathBuf::from).collect())
}

/// Nothing when it is kept in the data directory. Never repeated.
pub(super) fn master_key(text: &str) -> Result<Option<Secret>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    match MasterKey::from_base64(text) {
        Ok(_) => Ok(Some(Secret::new(text.to_owned()))),
        Err(_) => Err(Wrong::new(
            "It is not 32 bytes in base64.",
            "Write 44 characters, as `openssl rand -base64 32` prints them.",
        )),
    }
}

pub(super) fn number<N: FromStr + PartialOrd + Display>(
    text: &str,
    range: RangeInclusive<N>,
) -> Result<N, Wrong> {
    match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(Wrong::new(
            format!("{text:?} is not a number in its range."),
            format!("Write a whole number from {} to {}.", range.start(), range.end()),
        )),
    }
}

pub(super) fn one_of<T: Clone>(text: &str, choices: &[(&str, T)]) -> Result<T, Wrong> {
    match choices.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(value.clone()),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let meant = nearest(text, names.iter().copied());
            let meant = meant.map(|name| format!(" Did you mean {name}?")).unwrap_or_default();
            Err(Wrong::new(
                format!("{text:?} is not a choice.{meant}"),
                format!("Write one of: {}.", names.join(", ")),
            ))
        }
    }
}

pub(super) fn addresses(text: &str) -> Result<Vec<IpAddr>, Wrong> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            part.parse().map_err(|_| {
                Wrong::new(
                    format!("{part:?} is not an address."),
                    "Write addresses with commas between them, such as 10.0.0.1, 10.0.0.2. Names and ranges are not looked up.",
                )
            })
        })
        .collect()
}
