//! What a user agent tells: the browser, and the kind of device.

/// Browsers by the word that tells them, most specific first: nearly all also call themselves the ones
/// further down.
const BROWSERS: &[(&str, &str)] = &[
    ("Edg/", "Microsoft Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("FxiOS/", "Firefox"),
    ("Firefox/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Version/", "Safari"),
];

/// Devices by the word that tells them, and whether they are carried around.
const DEVICES: &[(&str, &str, bool)] = &[
    ("iPhone", "iPhone", true),
    ("iPad", "iPad", true),
    ("Android", "Android", true),
    ("Macintosh", "Macintosh", false),
    ("Windows", "Windows", false),
    ("CrOS", "ChromeOS", false),
    ("Linux", "Linux", false),
];

/// What a client says it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// What it is called.
    pub device_type: Option<String>,
    /// Whether it is carried around.
    pub is_mobile: bool,
    pub browser_name: Option<String>,
    pub browser_version: Option<String>,
}

impl Device {
    /// Reads a user agent.
    pub fn of(user_agent: &str) -> Device {
        let browser = BROWSERS.iter().find_map(|(word, name)| {
            let (_, version) = user_agent.split_once(word)?;
            let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
            Some((*name, &version[..end]))
        });
        let device = DEVICES.iter().find(|(word, _, _)| user_agent.contains(word));
        let version = browser.map(|(_, version)| version.to_owned());
        Device {
            device_type: device.map(|(_, name, _)| (*name).to_owned()),
            is_mobile: device.is_some_and(|(_, _, is_mobile)| *is_mobile),
            browser_name: browser.map(|(name, _)| name.to_owned()),
            browser_version: version.filter(|version| !version.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tell(user_agent: &str) -> (String, String, String, bool) {
        let seen = Device::of(user_agent);
        let text = |part: Option<String>| part.unwrap_or_default();
        (text(seen.browser_name), text(seen.browser_version), text(seen.device_type), seen.is_mobile)
    }

    #[test]
    fn browsers_and_devices_are_told_by_their_most_specific_word() {
        let is = |name: &str, version: &str, device: &str, mobile: bool| {
            (name.to_owned(), version.to_owned(), device.to_owned(), mobile)
        };
        assert_eq!(
            tell(
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.7390.54 Safari/537.36"
            ),
            is("Chrome", "141.0.7390.54", "Linux", false)
        );
        assert_eq!(
            tell(
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
            ),
            is("Safari", "18.0", "iPhone", true)
        );
        assert_eq!(
            tell("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0"),
            is("Microsoft Edge", "140.0", "Windows", false)
        );
        assert_eq!(tell("curl/8.0"), is("", "", "", false));
    }
}
