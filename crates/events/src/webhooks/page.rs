//! The page where people manage webhooks. It knows nothing itself: the token in its address, which only
//! the browser sees, lets it call the operations.

use axum::response::Response;
use latchkey_kernel::page::closed_page;
use latchkey_web::reply::Failure;

const PAGE: &str = include_str!("page.html");

/// `GET /webhooks/portal`
pub async fn show() -> Result<Response, Failure> {
    Ok(closed_page(PAGE)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_needs_nothing_from_elsewhere() {
        for word in ["http://", "https://cdn", "src=", "href=\"http", "style=\"", "onclick=\"", "innerHTML"] {
            assert!(!PAGE.contains(word), "{word}");
        }
        assert_eq!((PAGE.matches("<script>").count(), PAGE.matches("<style>").count()), (1, 1));
    }
}
