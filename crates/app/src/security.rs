//! What callers of either API show, for the OpenAPI documents.

use latchkey_door::cookies;
use latchkey_web::openapi::Security;
use serde_json::json;

/// What applications show.
pub(crate) fn shown_by_applications() -> Security {
    let key = json!({ "type": "http", "scheme": "bearer", "bearerFormat": "sk_<environment>_<secret key>" });
    Security { ways: json!([{ "bearerAuth": [] }]), schemes: json!({ "bearerAuth": key }) }
}

/// What browsers and apps on devices show. Nothing is one of the ways: a browser without a client gets one.
pub(crate) fn shown_by_browsers() -> Security {
    Security {
        ways: json!([
            {},
            { "DevBrowser": [] },
            { "ProductionBrowser": [] },
            { "ProductionNativeApp": [], "ProductionNativeFlag": [] },
        ]),
        schemes: json!({
            "DevBrowser": {
                "type": "apiKey",
                "in": "query",
                "name": cookies::DEV_BROWSER,
                "description": "The token of a developer's browser, in development instances. `POST /v1/dev_browser` \
                                makes one. `__dev_session` is another name for it.",
            },
            "ProductionBrowser": {
                "type": "apiKey",
                "in": "cookie",
                "name": cookies::CLIENT,
                "description": "The token of a client, as browsers get and send it.",
            },
            "ProductionNativeApp": {
                "type": "http",
                "scheme": "bearer",
                "description": "The token of a client, as apps on devices get and send it.",
            },
            "ProductionNativeFlag": {
                "type": "apiKey",
                "in": "query",
                "name": "_is_native",
                "description": "`1` or `true`: the token of the client is in the header `Authorization`.",
            },
        }),
    }
}
