//! What can be told from a request: the browser, the kind of device, the address.

use latchkey_base::Time;
use latchkey_base::kinds::SessionActivityId;
use latchkey_base::rng::Rng;
use latchkey_kernel::device::Device;

use super::model::Activity;

/// What a request tells about where it comes from.
pub fn seen(user_agent: &str, ip_address: &str, now: Time, rng: &dyn Rng) -> Activity {
    let Device { device_type, is_mobile, browser_name, browser_version } = Device::of(user_agent);
    Activity {
        id: SessionActivityId::new(now, rng),
        device_type,
        is_mobile,
        browser_name,
        browser_version,
        ip_address: Some(ip_address.to_owned()).filter(|ip| !ip.is_empty()),
    }
}
