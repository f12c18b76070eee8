import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from clerk_backend_api import models

from support import (
    assert_has,
    clerk,
    connect_to_new_instance,
    connect_to_new_production,
    is_id,
    other_clerk,
    refused,
    unique,
)


def primary_of(client):
    return next(domain for domain in client.domains.list().data if not domain.is_satellite)


def test_a_satellite_is_added_renamed_and_deleted():
    own_clerk = connect_to_new_instance()
    primary = own_clerk.domains.list().data[0]
    assert is_id("dmn", primary.id)
    first, second = f"{unique()}.localhost:4125", f"{unique()}.localhost:4126"
    added = own_clerk.domains.add(request={"name": first, "is_satellite": True})
    assert_has(added, object="domain", name=first, is_satellite=True, accounts_portal_url=None)
    renamed = own_clerk.domains.update(domain_id=added.id, name=second)
    assert_has(renamed, id=added.id, name=second)
    assert [domain.id for domain in own_clerk.domains.list().data] == [added.id, primary.id]
    assert_has(own_clerk.domains.delete(domain_id=added.id), id=added.id, deleted=True)
    with refused(403, "operation_not_allowed_on_primary_domain"):
        own_clerk.domains.delete(domain_id=primary.id)
    with refused(404, "resource_not_found"):
        other_clerk.domains.delete(domain_id=primary.id)
    with refused(400, "domain_update_forbidden", "proxy_url"):
        own_clerk.domains.update(domain_id=primary.id, proxy_url="https://example.com/__clerk")


def test_the_domain_of_a_production_instance_changes_and_so_does_its_proxy():
    own_clerk = connect_to_new_production()
    before = primary_of(own_clerk)
    first, second = f"{unique()}.example.net", f"{unique()}.example.net"
    own_clerk.instance_settings.change_domain(request={"home_url": f"https://{first}", "is_secondary": True})
    assert_has(primary_of(own_clerk), id=before.id, name=first, frontend_api_url=f"https://clerk.{first}")
    own_clerk.beta_features.update_production_instance_domain(
        request={"home_url": f"https://{second}", "is_secondary": True}
    )
    assert primary_of(own_clerk).name == second
    url = f"https://www.{second}/__clerk"
    assert own_clerk.domains.update(domain_id=before.id, proxy_url=url).proxy_url == url
    assert own_clerk.domains.update(domain_id=before.id, proxy_url=None).proxy_url is None
    with refused(422, "form_param_value_invalid", "home_url"):
        own_clerk.instance_settings.change_domain(request={"home_url": "https://co.uk"})
    with refused(400, "domain_update_forbidden"):
        connect_to_new_instance().instance_settings.change_domain(request={"home_url": f"https://{first}"})


@contextmanager
def proxy_that_says(body):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/__clerk"
    finally:
        server.shutdown()
        server.server_close()


def test_a_proxy_is_tried_by_a_real_request():
    domain = primary_of(clerk).id
    with proxy_that_says(b'{"status": "healthy", "x_forwarded_for": "127.0.0.1"}') as url:
        check = clerk.proxy_checks.verify(request={"domain_id": domain, "proxy_url": url})
        assert_has(check, object="proxy_check", domain_id=domain, proxy_url=url, successful=True)
        assert is_id("proxchk", check.id)
    with proxy_that_says(b"<html>") as url, refused(422, "invalid_proxy_configuration", "proxy_url"):
        clerk.proxy_checks.verify(request={"domain_id": domain, "proxy_url": url})
    with refused(422, "form_resource_not_found", "domain_id", kind=models.ClerkErrors):
        clerk.proxy_checks.verify(request={"domain_id": "dmn_unknown", "proxy_url": url})
