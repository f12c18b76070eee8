//! What the commands print: results to standard output, remarks to standard error.
//!
//! A reader that goes away (`latchkey openapi | head`) is no failure, so nothing here panics or fails
//! when a pipe is closed.

use std::io::Write;

use latchkey_app::resources::instances::keys::publishable_key;
use latchkey_app::resources::instances::model::Environment;
use latchkey_base::kinds::InstanceId;
use latchkey_base::secret::Secret;
use serde::Serialize;

use crate::config::Config;

/// Prints a result.
pub(crate) fn result(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// Prints a remark.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Prints a result as JSON.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => result(&text),
        Err(error) => note(&format!("the result cannot be written as JSON: {error}")),
    }
}

/// Labels and values, one line each, the values below each other.
pub(crate) fn aligned(rows: &[(&str, &str)]) -> String {
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or_default();
    let lines: Vec<String> = rows.iter().map(|(label, value)| format!("  {label:width$}  {value}")).collect();
    lines.join("\n")
}

/// The keys of an instance, as `keys` and `instances create` print them.
#[derive(Serialize)]
pub(crate) struct Keys {
    instance_id: InstanceId,
    environment: &'static str,
    secret_key: String,
    publishable_key: String,
    api_url: String,
    frontend_api: String,
}

impl Keys {
    /// The keys of an instance of the server that `config` describes.
    pub(crate) fn new(
        config: &Config,
        instance: &InstanceId,
        environment: Environment,
        secret: &Secret,
    ) -> Keys {
        let frontend_api = config.frontend_api();
        Keys {
            instance_id: instance.clone(),
            environment: environment.name(),
            secret_key: secret.expose().to_owned(),
            publishable_key: publishable_key(environment, &frontend_api),
            api_url: config.api_url(config.listen),
            frontend_api,
        }
    }

    /// Prints them for people or as one JSON object.
    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            return json(self);
        }
        result(&aligned(&[
            ("api url", &self.api_url),
            ("secret key", &self.secret_key),
            ("publishable key", &self.publishable_key),
            ("frontend api", &self.frontend_api),
            ("instance", &format!("{} ({})", self.instance_id, self.environment)),
        ]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_below_each_other() {
        assert_eq!(aligned(&[("a", "1"), ("long", "2")]), "  a     1\n  long  2");
    }
}
