//! How much slow work there is at once, and how much waits.

use crate::slow::LaneSize;

/// Uploads that wait to be decoded. Each is held in memory meanwhile (`IMAGE_BYTES`), so all of them are at most
/// 240 MB; a third of the places is kept for other tenants.
pub const UPLOADS_LANE: LaneSize = LaneSize { slots: 1, waiting: 24, per_tenant: 16, per_person: 4 };
/// Stored pictures that wait to be made smaller. They have at most a megapixel, so this is quick; a person may ask
/// for a page full of them (`RESIZED_IMAGES`). Some hundred are made in a second, so nobody waits longer than a few.
pub const RESIZING_LANE: LaneSize = LaneSize { slots: 1, waiting: 300, per_tenant: 200, per_person: 50 };
/// Answers about clients with many people that wait to be written. With 100 people of 100 organizations each, whose
/// metadata is as large as it may be, one takes 100 MB.
pub const CROWDED_CLIENTS_LANE: LaneSize =
    LaneSize { slots: 2, waiting: 120, per_tenant: 80, per_person: 20 };
/// Tokens that wait to be signed with a long key of an application, some 5 ms each, and keys of applications that wait
/// to be checked or opened, which takes less. So nobody waits longer than some seconds. A third of the places is kept for
/// other tenants.
pub const SIGNING_LANE: LaneSize = LaneSize { slots: 1, waiting: 300, per_tenant: 200, per_person: 20 };

/// Searches and filtered lists that wait where `slots` run at once. A page of a large table takes some milliseconds, a
/// walk over all of it a second. A third of the places is kept for other tenants.
pub const fn long_reads(slots: usize) -> LaneSize {
    LaneSize { slots, waiting: 300, per_tenant: 200, per_person: 20 }
}

/// Passwords that wait to be hashed where `slots` are hashed at once, 30 to 100 ms each: nobody waits longer than some
/// seconds. A third of the places is kept for other tenants. Somebody who is not signed in is counted by network;
/// the rates of an address (`SIGN_IN_ATTEMPTS`) let far fewer through, so no office meets the bound of a quarter of the
/// tenant's places. A backend has half of them (`LaneSize::per_backend`).
pub const fn hashing(slots: usize) -> LaneSize {
    LaneSize { slots, waiting: 96 * slots, per_tenant: 64 * slots, per_person: 16 * slots }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_at_most_a_quarter_of_a_tenants_places_and_a_backend_half() {
        let pictures = [UPLOADS_LANE, RESIZING_LANE];
        let others = [CROWDED_CLIENTS_LANE, SIGNING_LANE, hashing(1), hashing(4), long_reads(4)];
        for lane in pictures.into_iter().chain(others) {
            assert!(lane.per_person * 4 <= lane.per_tenant, "{lane:?}");
            assert!(lane.per_backend() * 2 <= lane.per_tenant, "{lane:?}");
            assert!(lane.per_tenant * 3 <= lane.waiting * 2, "{lane:?}");
        }
    }
}
