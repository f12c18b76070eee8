import httpx
from clerk_backend_api import models

from support import assert_has, clerk, new_user, png, refused, unknown_id


def file(content):
    return {"file_name": "image.png", "content": content, "content_type": "image/png"}


def fetch_image(url):
    response = httpx.get(url)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("image/")
    assert response.content


def test_an_uploaded_profile_image_is_served_until_it_is_deleted():
    user = new_user()
    fetch_image(user.image_url)
    uploaded = clerk.users.set_profile_image(user_id=user.id, file=file(png(64, 32)))
    assert_has(uploaded, id=user.id, has_image=True)
    assert uploaded.image_url != user.image_url
    fetch_image(uploaded.image_url)
    assert clerk.users.get(user_id=user.id) == uploaded
    deleted = clerk.users.delete_profile_image(user_id=user.id)
    assert_has(deleted, id=user.id, has_image=False)
    fetch_image(deleted.image_url)


def test_what_is_not_an_image_is_refused():
    user = new_user()
    with refused(400, "request_body_invalid"):
        clerk.users.set_profile_image(user_id=user.id, file=file(b"not an image"))
    # The description of the SDK does not name 413 for this operation.
    with refused(413, "image_too_large", kind=models.SDKError):
        clerk.users.set_profile_image(user_id=user.id, file=file(png(8, 8) + bytes(10 * 1024 * 1024)))
    assert clerk.users.get(user_id=user.id).has_image is False


def test_the_image_of_an_unknown_user_is_not_found():
    with refused(404, "resource_not_found"):
        clerk.users.set_profile_image(user_id=unknown_id("user"), file=file(png(8, 8)))
    with refused(404, "resource_not_found"):
        clerk.users.delete_profile_image(user_id=unknown_id("user"))
