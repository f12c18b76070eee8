"""The SDK knows claims as an object without fields and sends none; claims are tested elsewhere."""

import pytest
from clerk_backend_api import models

from support import assert_has, clerk, connect_to_new_instance, is_id, other_clerk, refused, unique, unknown_id

SECRET = "0123456789abcdef" * 4


def new_name():
    return f"template-{unique()}"


def create(**params):
    return clerk.jwt_templates.create(request={"name": new_name(), "claims": {}, **params})


def test_a_new_template_has_defaults_and_is_found_again():
    name = new_name()
    created = create(name=name)
    assert is_id("jtmp", created.id)
    assert_has(created, object="jwt_template", name=name, lifetime=60, allowed_clock_skew=5)
    assert_has(created, custom_signing_key=False, signing_algorithm="RS256", updated_at=created.created_at)
    assert clerk.jwt_templates.get(template_id=created.id) == created
    assert created in clerk.jwt_templates.list(limit=500)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_template_can_have_a_key_of_its_own(algorithm):
    created = create(custom_signing_key=True, signing_algorithm=algorithm, signing_key=SECRET)
    assert_has(created, custom_signing_key=True, signing_algorithm=algorithm)
    assert SECRET not in created.model_dump_json()


def test_an_update_changes_what_is_given():
    template = create(lifetime=600, allowed_clock_skew=None)

    def update(**params):
        return clerk.jwt_templates.update(template_id=template.id, name=template.name, claims={}, **params)

    assert update() == template
    assert_has(update(allowed_clock_skew=0), lifetime=600, allowed_clock_skew=0)
    assert_has(update(lifetime=None), lifetime=60, allowed_clock_skew=0)
    own = update(custom_signing_key=True, signing_algorithm="HS256", signing_key=SECRET)
    assert_has(own, custom_signing_key=True, signing_algorithm="HS256")
    assert_has(update(custom_signing_key=False), custom_signing_key=False, signing_algorithm="RS256")
    name = new_name()
    assert clerk.jwt_templates.update(template_id=template.id, name=name, claims={}).name == name


def test_a_list_has_the_templates_of_the_instance():
    empty = connect_to_new_instance()
    assert empty.jwt_templates.list() == []
    created = [empty.jwt_templates.create(request={"name": name, "claims": {}}) for name in ("one", "two", "three")]
    listed = empty.jwt_templates.list()
    assert sorted(template.id for template in listed) == sorted(template.id for template in created)
    assert empty.jwt_templates.list(limit=1, offset=1) == listed[1:2]


def test_a_deleted_template_is_gone_and_its_name_is_free():
    template = create()
    assert_has(clerk.jwt_templates.delete(template_id=template.id), object="jwt_template", id=template.id, deleted=True)
    with refused(404, "resource_not_found"):
        clerk.jwt_templates.get(template_id=template.id)
    with refused(404, "resource_not_found"):
        clerk.jwt_templates.delete(template_id=template.id)
    create(name=template.name)


def test_templates_belong_to_their_instance():
    template = create()
    with refused(404, "resource_not_found"):
        other_clerk.jwt_templates.get(template_id=template.id)
    other_clerk.jwt_templates.create(request={"name": template.name, "claims": {}})


def test_malformed_requests_are_refused():
    template = create()
    with refused(422, "form_already_exists", "name"):
        create(name=template.name)
    with refused(422, "form_param_format_invalid", "name"):
        create(name="a/b")
    with refused(422, "form_param_value_invalid", "lifetime"):
        create(lifetime=29)
    with refused(422, "form_param_value_too_large", "allowed_clock_skew"):
        create(allowed_clock_skew=301)
    with refused(422, "form_conditional_param_missing", "signing_key"):
        create(custom_signing_key=True, signing_algorithm="HS256")
    with refused(422, "form_param_value_invalid", "signing_key"):
        create(custom_signing_key=True, signing_algorithm="RS256", signing_key=SECRET)
    with refused(404, "resource_not_found", kind=models.SDKError):
        clerk.jwt_templates.update(template_id=unknown_id("jtmp"), name=new_name(), claims={})
