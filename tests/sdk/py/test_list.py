from datetime import datetime, timezone

import pytest

from support import connect_to_new_instance, refused, unknown_id


def ms(*date):
    return int(datetime(*date, tzinfo=timezone.utc).timestamp() * 1000)


PEOPLE = [
    ("Anna", "Zimmer", "walnut", "m.one@delta.example", "+14155552001", "d1", 2020),
    ("Bert", "Young", "xylophone", "l.two@gamma.example", "+13125552002", "c2", 2021),
    ("Carl", "Xavier", "yodel", "k.three@beta.example", "+12125552003", "b3", 2022),
    ("Dora", "Winter", "zebra", "j.four@alpha.example", "+16175552004", "a4", 2023),
]


def wallet(digits):
    return "0x" + digits * 20


@pytest.fixture(scope="module")
def clerk():
    """A client of an instance with four users, Anna the oldest and Dora the newest."""
    clerk = connect_to_new_instance()
    for first_name, last_name, username, email, phone, digits, year in PEOPLE:
        clerk.users.create(
            first_name=first_name,
            last_name=last_name,
            username=username,
            email_address=[email],
            phone_number=[phone],
            web3_wallet=[wallet(digits)],
            external_id=f"external-{first_name}",
            created_at=f"{year}-06-01T00:00:00Z",
            banned=first_name == "Carl",
        )
    return clerk


@pytest.fixture(scope="module")
def ids(clerk):
    return {user.first_name: user.id for user in clerk.users.list()}


def names(users):
    return " ".join(user.first_name for user in users)


def test_users_are_listed_newest_first(clerk):
    users = clerk.users.list()
    assert names(users) == "Dora Carl Bert Anna"
    assert users[0] == clerk.users.get(user_id=users[0].id)


def test_the_count_of_all(clerk):
    count = clerk.users.count()
    assert (count.object, count.total_count) == ("total_count", 4)


def test_limit_and_offset_cut_a_page_out_of_the_list(clerk):
    assert names(clerk.users.list(request={"limit": 2})) == "Dora Carl"
    assert names(clerk.users.list(request={"limit": 2, "offset": 2})) == "Bert Anna"
    assert names(clerk.users.list(request={"limit": 2, "offset": 3})) == "Anna"
    assert names(clerk.users.list(request={"offset": 4})) == ""
    assert names(clerk.users.list(request={"limit": 500})) == "Dora Carl Bert Anna"


@pytest.mark.parametrize(("name", "value"), [("limit", 0), ("limit", 501), ("limit", -1), ("offset", -1)])
def test_limits_and_offsets_out_of_range_are_refused(clerk, name, value):
    with refused(422, param_name=name):
        clerk.users.list(request={name: value})


@pytest.mark.parametrize(
    ("field", "ascending"),
    [
        ("created_at", "Anna Bert Carl Dora"),
        ("first_name", "Anna Bert Carl Dora"),
        ("last_name", "Dora Carl Bert Anna"),
        ("username", "Anna Bert Carl Dora"),
        ("email_address", "Dora Carl Bert Anna"),
        ("phone_number", "Carl Bert Anna Dora"),
        ("web3wallet", "Dora Carl Bert Anna"),
    ],
)
def test_the_list_is_ordered_by_each_field_in_both_directions(clerk, field, ascending):
    assert names(clerk.users.list(request={"order_by": field})) == ascending
    assert names(clerk.users.list(request={"order_by": "+" + field})) == ascending
    assert names(clerk.users.list(request={"order_by": "-" + field})) == " ".join(reversed(ascending.split()))


@pytest.mark.parametrize("field", ["updated_at", "last_active_at", "last_sign_in_at"])
def test_the_list_is_ordered_by_times(clerk, field):
    def times(order_by):
        return [getattr(user, field) for user in clerk.users.list(request={"order_by": order_by})]

    ascending = times(field)
    assert len(ascending) == 4
    assert ascending == sorted(ascending, key=lambda time: time or 0)
    assert times("-" + field) == list(reversed(ascending))


def test_an_unknown_order_is_refused(clerk):
    with refused(422, param_name="order_by"):
        clerk.users.list(request={"order_by": "password"})


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"email_address": ["M.ONE@delta.example", "j.four@alpha.example", "nobody@example.com"]}, "Dora Anna"),
        ({"email_address": ["nobody@example.com"]}, ""),
        ({"phone_number": ["+13125552002", "+16175552004"]}, "Dora Bert"),
        ({"username": ["yodel", "nobody"]}, "Carl"),
        ({"web3_wallet": [wallet("c2")]}, "Bert"),
        ({"user_id": [unknown_id("user")]}, ""),
        ({"external_id": ["external-Carl"]}, "Carl"),
        ({"external_id": ["+external-Carl", "+external-Dora"]}, "Dora Carl"),
        ({"external_id": ["-external-Carl"]}, "Dora Bert Anna"),
        ({"organization_id": [unknown_id("org")]}, ""),
        ({"query": "GAMMA"}, "Bert"),
        ({"query": "3125552"}, "Bert"),
        ({"query": "b3b3b3"}, "Carl"),
        ({"query": "imme"}, "Anna"),
        ({"query": "z_b"}, ""),
        ({"email_address_query": "ONE@DEL"}, "Anna"),
        ({"email_address_query": "walnut"}, ""),
        ({"phone_number_query": "2003"}, "Carl"),
        ({"username_query": "ODE"}, "Carl"),
        ({"name_query": "CARL"}, "Carl"),
        ({"name_query": "inte"}, "Dora"),
        ({"banned": True}, "Carl"),
        ({"banned": False}, "Dora Bert Anna"),
        ({"created_at_before": ms(2022, 1, 1)}, "Bert Anna"),
        ({"created_at_after": ms(2022, 1, 1)}, "Dora Carl"),
        ({"last_active_at_after": 1}, ""),
        ({"last_active_at_before": ms(2100, 1, 1)}, ""),
        ({"last_active_at_since": 1}, ""),
        ({"last_sign_in_at_after": 1}, ""),
        ({"last_sign_in_at_before": ms(2100, 1, 1)}, ""),
        ({"provider": "oauth_google", "provider_user_id": ["12345"]}, ""),
        ({"query": "example", "banned": True}, "Carl"),
    ],
    ids=str,
)
def test_the_list_and_the_count_are_filtered_alike(clerk, filters, expected):
    users = clerk.users.list(request=filters)
    assert names(users) == expected
    assert clerk.users.count(request=filters).total_count == len(users)


def test_users_are_included_and_excluded_by_id(clerk, ids):
    assert names(clerk.users.list(request={"user_id": [ids["Anna"], ids["Bert"]]})) == "Bert Anna"
    assert names(clerk.users.list(request={"user_id": ["+" + ids["Anna"]]})) == "Anna"
    assert names(clerk.users.list(request={"user_id": ["-" + ids["Anna"], "-" + ids["Bert"]]})) == "Dora Carl"
    assert names(clerk.users.list(request={"query": ids["Dora"]})) == "Dora"


def test_a_list_of_filter_values_may_have_100_entries_and_not_more(clerk):
    nobodies = [f"nobody{number}@example.com" for number in range(101)]
    assert clerk.users.list(request={"email_address": nobodies[:100]}) == []
    with refused(422, "form_param_array_size_exceeded", "email_address"):
        clerk.users.list(request={"email_address": nobodies})
    with refused(422, "form_param_array_size_exceeded", "email_address"):
        clerk.users.count(request={"email_address": nobodies})


def test_a_provider_without_its_user_ids_is_refused(clerk):
    with refused(422):
        clerk.users.list(request={"provider": "oauth_google"})
