#!/usr/bin/env python3
"""Opens the page whose URL is the goal, on a phone of the bridge webdriver.

It keeps a screenshot as the artifact page.png, and leaves the page's title as the output "title" and in the result. It needs
Python 3.8 and nothing else: a WebDriver command is an HTTP request with JSON in it.
"""

import base64
import json
import os
import sys
import urllib.error
import urllib.request

SERVER = os.environ["WEBDRIVER_URL"]

# The phone is on this machine: a proxy of the environment has no part in it.
LOCAL = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Refused(Exception):
    """What WebDriver says of a command that it would not or could not do."""


def command(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(SERVER + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with LOCAL.open(request) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        value = json.load(error)["value"]
        raise Refused(f"{value['error']}: {value['message'].splitlines()[0]}") from None


def visit(url):
    """Opens a browser and the page in it; returns its title and a picture of it."""
    browser = "/session/" + command("POST", "/session", {"capabilities": {}})["sessionId"]
    try:
        print("opening", url, flush=True)
        command("POST", browser + "/url", {"url": url})
        return command("GET", browser + "/title"), base64.b64decode(command("GET", browser + "/screenshot"))
    finally:
        command("DELETE", browser)


def leave(result):
    """Leaves the result. The file is there whole or not at all."""
    path = os.environ["PHONEBOOTH_RESULT"]
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(path + ".new", path)


def main():
    url = os.environ["PHONEBOOTH_GOAL"]
    if not url.startswith(("http://", "https://")):
        leave({"outcome": "failed", "code": "invalid_task", "message": "the goal must be the URL of a page"})
        return 1
    try:
        title, picture = visit(url)
    except Refused as error:
        leave({"outcome": "failed", "code": "page_failed", "message": str(error)})
        return 1
    with open(os.path.join(os.environ["PHONEBOOTH_ARTIFACTS"], "page.png"), "wb") as file:
        file.write(picture)
    leave({"outcome": "done", "result": {"title": title}, "outputs": {"title": title}})
    return 0


if __name__ == "__main__":
    sys.exit(main())
