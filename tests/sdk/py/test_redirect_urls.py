from support import assert_has, clerk, is_id, other_clerk, refused, unique, unknown_id


def new_url():
    return f"myapp://callback/{unique()}"


def create(url):
    return clerk.redirect_urls.create(request={"url": url})


def test_a_new_redirect_url_is_found_again_until_it_is_deleted():
    url = new_url()
    created = create(url)
    assert is_id("ru", created.id)
    assert_has(created, object="redirect_url", url=url, updated_at=created.created_at)
    assert clerk.redirect_urls.get(id=created.id) == created
    assert created in clerk.redirect_urls.list(limit=500)
    with refused(400, "duplicate_record", "url"):
        create(url)
    assert_has(clerk.redirect_urls.delete(id=created.id), id=created.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.redirect_urls.get(id=created.id)


def test_what_cannot_be_a_redirect_is_refused():
    for url in ["/callback", "javascript:/alert(1)"]:
        with refused(422, "form_param_format_invalid", "url"):
            create(url)


def test_ids_of_other_instances_are_unknown():
    created = create(new_url())
    for call in [other_clerk.redirect_urls.get, other_clerk.redirect_urls.delete]:
        with refused(404, "resource_not_found"):
            call(id=created.id)
    with refused(404, "resource_not_found"):
        clerk.redirect_urls.get(id=unknown_id("ru"))
    clerk.redirect_urls.get(id=created.id)
