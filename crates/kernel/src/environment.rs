//! Development or production: what an instance is for.

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Trying things out: test identifiers, an inbox, lower limits.
    Development,
    /// The real thing.
    Production,
}

impl Environment {
    /// Reads `development` or `production`.
    pub fn parse(text: &str) -> Option<Environment> {
        [Environment::Development, Environment::Production]
            .into_iter()
            .find(|environment| environment.name() == text)
    }

    /// The name in the table and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }

    /// The part of a key that tells the environment.
    pub fn key_part(self) -> &'static str {
        match self {
            Environment::Development => "test",
            Environment::Production => "live",
        }
    }
}
