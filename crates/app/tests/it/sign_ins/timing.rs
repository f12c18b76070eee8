//! Temporary.
use super::{EMAIL, ada, begin, server};
use serde_json::json;
use std::time::Instant;

#[tokio::test]
async fn timing_probe() {
    let t = server(|s| {
        s.attack_protection.enumeration_protection = true;
        s.lockout.max_attempts = 1_000_000;
    })
    .await;
    ada(&t).await;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..150 {
        for (which, who) in [EMAIL, "eve@example.com"].iter().enumerate() {
            let mut b = t.browser();
            let at = Instant::now();
            begin(&mut b, json!({"identifier": who, "password": "wrong-password"})).await;
            if round > 10 {
                times[which].push(at.elapsed().as_micros() as i64);
            }
        }
    }
    for v in &mut times {
        v.sort();
        println!("min {} p25 {} median {} p75 {}", v[0], v[v.len() / 4], v[v.len() / 2], v[v.len() * 3 / 4]);
    }
}
