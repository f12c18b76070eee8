//! The providers the server knows by name.

/// A provider the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownProvider {
    /// Such as `google`.
    pub key: &'static str,
    /// What people know it as.
    pub name: &'static str,
    pub standing: ProviderStanding,
}

/// Whether a provider can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderStanding {
    Usable,
    /// It still works for those who have it; there is a newer one.
    Deprecated,
    /// It cannot be used any more, or not by everybody, for this reason.
    Closed(&'static str),
}

impl KnownProvider {
    /// The one of this key.
    pub fn find(key: &str) -> Option<&'static KnownProvider> {
        KNOWN_PROVIDERS.iter().find(|provider| provider.key == key)
    }

    pub fn is_deprecated(&self) -> bool {
        self.standing != ProviderStanding::Usable
    }
}

const fn usable(key: &'static str, name: &'static str) -> KnownProvider {
    KnownProvider { key, name, standing: ProviderStanding::Usable }
}

const fn closed(key: &'static str, name: &'static str, why: &'static str) -> KnownProvider {
    KnownProvider { key, name, standing: ProviderStanding::Closed(why) }
}

/// All of them, in the order of the alphabet.
pub const KNOWN_PROVIDERS: [KnownProvider; 31] = [
    usable("apple", "Apple"),
    usable("atlassian", "Atlassian"),
    usable("bitbucket", "Bitbucket"),
    usable("box", "Box"),
    usable("coinbase", "Coinbase"),
    usable("discord", "Discord"),
    usable("dropbox", "Dropbox"),
    closed(
        "enstall",
        "Enstall",
        "It is the provider of one company, and nobody else can be registered there.",
    ),
    closed(
        "expressen",
        "Expressen",
        "It is the provider of one company, and nobody else can be registered there.",
    ),
    usable("facebook", "Facebook"),
    usable("github", "GitHub"),
    usable("gitlab", "GitLab"),
    usable("google", "Google"),
    usable("hubspot", "HubSpot"),
    usable("huggingface", "Hugging Face"),
    closed("instagram", "Instagram", "Instagram has closed the interface that signing in needs."),
    usable("line", "LINE"),
    usable("linear", "Linear"),
    KnownProvider { key: "linkedin", name: "LinkedIn", standing: ProviderStanding::Deprecated },
    usable("linkedin_oidc", "LinkedIn"),
    usable("microsoft", "Microsoft"),
    usable("mock", "Mock provider"),
    usable("notion", "Notion"),
    usable("slack", "Slack"),
    usable("spotify", "Spotify"),
    usable("tiktok", "TikTok"),
    usable("twitch", "Twitch"),
    closed(
        "twitter",
        "Twitter",
        "It is the older interface of X (OAuth 1.0a), which new applications do not get: use x.",
    ),
    usable("vercel", "Vercel"),
    usable("x", "X / Twitter"),
    usable("xero", "Xero"),
];
