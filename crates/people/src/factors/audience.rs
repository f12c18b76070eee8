//! Which client factors are offered to.

use latchkey_web::version::Version;

/// The client that factors are offered to. Older clients reject strategies that they do not know.
#[derive(Clone, Copy, Debug)]
pub struct FactorAudience {
    /// The API version that the client asks for.
    pub version: Version,
    /// Whether the client is a native app.
    pub is_native: bool,
}

impl FactorAudience {
    /// Returns whether the client knows passkeys as second factors.
    pub fn knows_second_passkeys(self) -> bool {
        self.version >= Version::V2026_08_20
    }

    /// Returns whether the client knows trusted devices as factors of a reverification.
    pub fn can_reverify_by_device(self) -> bool {
        self.is_native && self.version >= Version::V2026_08_20
    }
}
