//! Values to try a template with.

use serde_json::{Value, json};

/// Something for every variable of every template.
pub fn data(app: &Value) -> Value {
    json!({
        "app": app,
        "current_year": 2026,
        "user": {
            "id": "user_2bXYdLLi0ERyyNfrPdBLKKMNNNO",
            "first_name": "Ada",
            "last_name": "Lovelace",
            "username": "ada",
            "primary_email_address": "ada@example.com",
            "public_metadata": {},
            "unsafe_metadata": {},
        },
        "otp_code": "424242",
        "ttl_minutes": 10,
        "magic_link": "https://example.com/v1/verify?token=sample",
        "action_url": "https://example.com/accept?ticket=sample",
        "requested_from": "Firefox on Linux, 203.0.113.7",
        "requested_at": "1 January 2026, 09:30 UTC",
        "requested_by": "Firefox on Linux",
        "greeting_name": "Ada",
        "primary_email_address": "ada@example.com",
        "new_email_address": "lovelace@example.com",
        "email_address": "charles@example.com",
        "support_email": "support@example.com",
        "inviter_name": "Charles Babbage",
        "inviter": { "name": "Charles Babbage" },
        "invitation": { "expires_in_days": 30, "public_metadata": {} },
        "org": { "name": "Analytical Engines", "logo_image_url": "", "public_metadata": {} },
        "device_type": "Linux",
        "browser_name": "Firefox",
        "operating_system": "Linux",
        "ip_address": "203.0.113.7",
        "location": "",
        "sign_in_method": "Password",
        "session_created_at": "1 January 2026, 09:30 UTC",
        "revoke_session_url": "",
        "failed_attempts": 100,
        "lockout_duration": "1 hour",
        "locked_date": "1 January 2026, 09:30 UTC",
        "passkey_name": "Laptop",
    })
}
