//! Settings that count on one kind of instance only. On the other they are refused, so that nobody relies on what does
//! nothing.

use super::{EmailTransport, Settings, SettingsFault, SmsTransport, social_faults};
use crate::environment::Environment;

const LOG: &str = "Only development instances write messages to the log: they have codes in them.";

impl Settings {
    /// What has no effect on an instance of this kind.
    pub fn problems_on(&self, environment: Environment) -> Vec<SettingsFault> {
        let rows = match environment {
            Environment::Production => vec![
                (
                    "development.any_origin",
                    self.development.any_origin,
                    "Only development instances allow it.",
                ),
                (
                    "development.unknown_hosts",
                    self.development.unknown_hosts,
                    "Only development instances allow it.",
                ),
                (
                    "display.show_devmode_warning",
                    !self.display.show_devmode_warning,
                    "Pages of production instances never have the warning: leave it true.",
                ),
                ("messages.email.transport", self.messages.email.transport == EmailTransport::Log, LOG),
                ("messages.sms.transport", self.messages.sms.transport == SmsTransport::Log, LOG),
            ],
            Environment::Development => vec![
                (
                    "proxy_url",
                    self.proxy_url.is_some(),
                    "Only production instances have one: pages of a development instance ask its own host.",
                ),
                (
                    "events.allow_private_targets",
                    self.events.allow_private_targets,
                    "Development instances may send to private addresses anyway: leave it false.",
                ),
            ],
        };
        let wrong = rows.into_iter().filter(|(_, is_wrong, _)| *is_wrong);
        let fault = |(path, _, text): (&str, bool, &str)| SettingsFault {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        wrong.map(fault).chain(social_faults::check_on(environment, &self.social)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_elsewhere_only_is_refused() {
        let mut settings = Settings::default();
        for environment in [Environment::Production, Environment::Development] {
            assert_eq!(settings.problems_on(environment), []);
        }
        (settings.development.any_origin, settings.development.unknown_hosts) = (true, true);
        settings.display.show_devmode_warning = false;
        settings.messages.email.transport = EmailTransport::Log;
        settings.messages.sms.transport = SmsTransport::Log;
        assert_eq!(settings.problems_on(Environment::Development), []);
        let paths = |environment| -> Vec<String> {
            settings.problems_on(environment).into_iter().map(|fault| fault.path).collect()
        };
        let expected = [
            "development.any_origin",
            "development.unknown_hosts",
            "display.show_devmode_warning",
            "messages.email.transport",
            "messages.sms.transport",
        ];
        assert_eq!(paths(Environment::Production), expected);
        let mut settings =
            Settings { proxy_url: Some("https://example.com/__clerk".into()), ..Settings::default() };
        settings.events.allow_private_targets = true;
        assert_eq!(settings.problems_on(Environment::Production), []);
        assert_eq!(settings.problems_on(Environment::Development).len(), 2);
    }
}
