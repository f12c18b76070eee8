#!/usr/bin/env python3
"""Checks every dependency against deny.toml: licence, source, bans. Needs nothing installed."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    policy = tomllib.loads((ROOT / "deny.toml").read_text())
    # What is compiled here, rather than everything the lock file knows for other platforms.
    host = re.search(r"host: (\S+)", subprocess.check_output(["rustc", "-vV"], text=True)).group(1)
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", host]
    metadata = json.loads(subprocess.check_output(command, cwd=ROOT))
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    packages = [package for package in metadata["packages"] if package["id"] in used]
    allowed = set(policy["licenses"]["allow"])
    banned = {entry["name"]: entry["reason"] for entry in policy["bans"]["deny"]}
    problems = []
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if package["source"] is None:
            continue
        if not package["source"].startswith("registry+"):
            problems.append(f"{name}: comes from {package['source']}, not from the registry")
        if package["name"] in banned:
            problems.append(f"{name}: banned, {banned[package['name']]}")
        if not is_allowed(package["license"] or "", allowed):
            problems.append(f"{name}: licence {package['license']!r} is not allowed by deny.toml")
    for problem in problems:
        print(problem)
    outside = sum(package["source"] is not None for package in packages)
    print(f"dependency policy: {outside} packages, {len(problems)} problems")
    if shutil.which("cargo-deny"):
        return subprocess.call(["cargo", "deny", "--offline", "check"], cwd=ROOT) or bool(problems)
    return bool(problems)


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied: AND needs all of its sides, OR one of them."""
    tokens = re.findall(r"[()]|[^()\s/]+(?: WITH [^()\s/]+)?", expression.replace("/", " OR "))

    def either(position: int) -> tuple[bool, int]:
        good, position = both(position)
        while position < len(tokens) and tokens[position] == "OR":
            other, position = both(position + 1)
            good = good or other
        return good, position

    def both(position: int) -> tuple[bool, int]:
        good, position = one(position)
        while position < len(tokens) and tokens[position] == "AND":
            other, position = one(position + 1)
            good = good and other
        return good, position

    def one(position: int) -> tuple[bool, int]:
        if tokens[position] == "(":
            good, position = either(position + 1)
            return good, position + 1
        return tokens[position] in allowed, position + 1

    return bool(tokens) and either(0)[0]


if __name__ == "__main__":
    sys.exit(main())
