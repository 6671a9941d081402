# SPDX-License-Identifier: MIT
"""What a release is made by: project.json and its check, the scripts in .github/release, and what the workflows promise. The
steps of release.yml run in make test-packages."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import support

ROOT = Path(support.ROOT).resolve()
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
VERSION = re.search(r'CUCKOO_VERSION "(.*)"', (ROOT / "src/include/version.h").read_text())[1]
FILLED = {"repository": "https://example.org/someone/cuckoo", "homepage": "https://example.org", "owner": "someone", "author": "A. Maker",
          "email": "maker@example.org", "security": "security@example.org", "pypi": "sqlite-cuckoo", "npm": "@someone/sqlite-cuckoo"}


PERSON = {f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def said_by(*command, **environment):
    """The exit code, and what it said."""
    given = {**os.environ, **PERSON, "PYTHONDONTWRITEBYTECODE": "1", "PYTHON": sys.executable, "GITHUB_REPOSITORY": "", **environment}
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=given)
    return done.returncode, done.stdout


# ---- addresses, authors and names ----

def project(tmp_path, *words, **values):
    path = tmp_path / "project.json"
    path.write_text(json.dumps({**FILLED, **values}))
    return said_by(sys.executable, ROOT / "ext/packages/project.py", path, *words)


def test_what_is_filled_in_is_ready(tmp_path):
    assert project(tmp_path) == (0, "")
    assert project(tmp_path, "repository") == (0, "https://example.org/someone/cuckoo\n")


@pytest.mark.parametrize("key", FILLED)
def test_a_placeholder_is_named(tmp_path, key):
    code, said = project(tmp_path, **{key: "<the right words>"})
    assert code == 1 and said.count("\n") == 2 and f"    {key}: fill in <the right words>\n" in said
    assert project(tmp_path, key, **{key: "<the right words>"}) == (0, "\n")
    code, said = project(tmp_path, **{key: ""})
    assert code == 1 and f"    {key}: fill in it\n" in said


@pytest.mark.parametrize("key, value", [
    ("repository", "https://example.org/cuckoo/"), ("repository", "git@example.org:cuckoo"), ("repository", "https://example.org"),
    ("homepage", "example.org"), ("owner", "some one"), ("author", "A. Maker <maker@example.org>"),
    ("email", "A. Maker <maker@example.org>"), ("security", "ask us"),
    ("pypi", "SQLite Cuckoo"), ("npm", "@someone/")])
def test_another_form_is_refused(tmp_path, key, value):
    code, said = project(tmp_path, **{key: value})
    assert code == 1 and f"    {key}: {value} is not of the form" in said


def test_a_key_too_few_or_too_many_is_named(tmp_path):
    path = tmp_path / "project.json"
    path.write_text(json.dumps({**FILLED, "repositry": "https://example.org/a"}))
    code, said = said_by(sys.executable, ROOT / "ext/packages/project.py", path)
    assert code == 1 and "its keys are to be repository," in said and "repositry" in said


@pytest.mark.parametrize("words, person, url", [
    (FILLED, "A. Maker <maker@example.org>", "https://example.org"),
    (dict.fromkeys(FILLED, "<something>"), "The maintainers of cuckoo <cuckoo@example.org>", "https://example.org/cuckoo")])
def test_make_reads_them_too(tmp_path, words, person, url):
    path = tmp_path / "project.json"
    path.write_text(json.dumps(words, indent=4))
    said = said_by("make", "-s", "-C", ROOT, f"PROJECT={path}", "SKIP_DEPS=1",
                   "--eval=what-it-says: ; @echo '$(PROJECT_MAINTAINER) $(PROJECT_URL)'", "what-it-says", MAKEFLAGS="", MAKELEVEL="")
    assert said == (0, f"{person} {url}\n")


def test_this_project_has_these_keys():
    assert list(json.loads((ROOT / "ext/packages/project.json").read_text())) == list(FILLED)


# ---- what CHANGES says of a version ----

CHANGES = """# Changes

## 1.2.30

Another one.

## 1.2.3, 4 May 2026

A sentence that
*goes on*.
- an item
  that goes on
- `code`:
```sql
SELECT 1;
SELECT 2;
```
| a | b |
|---|---|

### Smaller
1. one
2. two
## 1.2

The last one."""


def test_notes_are_the_section_of_the_version(tmp_path):
    path = tmp_path / "CHANGES.md"
    path.write_text(CHANGES)

    def notes(version):
        return said_by(sys.executable, ROOT / ".github/release/notes.py", version, path)
    assert notes("1.2.3") == (0, "A sentence that *goes on*.\n- an item that goes on\n- `code`:\n```sql\nSELECT 1;\nSELECT 2;\n```\n"
                                 "| a | b |\n|---|---|\n\n### Smaller\n1. one\n2. two\n")
    assert notes("1.2") == (0, "The last one.\n") and notes("1.2.30") == (0, "Another one.\n")
    for version in ("1", "1.2.4", "2.3", "1.2.3.0"):
        code, said = notes(version)
        assert code == 1 and f"says nothing of {version}" in said
    path.write_text("## 1.0.0\n\n## 0.9\n\ntext\n")
    assert notes("1.0.0")[0] == 1


HEADINGS = {"undated": "## {}", "dated": "## {}, 12 December 2026", "unreleased": "## Unreleased\n\n- Another.\n\n## {}, today",
            "the next": "## 99.0.0\n\n- Another.\n\n## {}"}


@pytest.mark.parametrize("heading", HEADINGS.values(), ids=HEADINGS)
def test_this_version_has_notes(tmp_path, heading):
    path = tmp_path / "CHANGES.md"
    text, found = re.subn(rf"^## {re.escape(VERSION)}(, .*)?$", heading.format(VERSION), (ROOT / "ext/CHANGES.md").read_text(),
                          flags=re.M)
    assert found == 1
    path.write_text(text)
    code, said = said_by(sys.executable, ROOT / ".github/release/notes.py", VERSION, path)
    assert code == 0 and len(said) > 100


# ---- a tree that is ready, and its tag ----

@pytest.fixture
def tree(tmp_path):
    """A repository with what the scripts read."""
    if not shutil.which("git"):
        pytest.skip("git is not there")
    folder = tmp_path / "tree"
    for name in (".github", "ext", "src"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "LICENSE", folder)
    (folder / "ext/CHANGES.md").write_text(f"# Changes\n\n## {VERSION}, 12 December 2026\n\nThe first one.\n")
    (folder / "ext/packages/project.json").write_text(json.dumps(FILLED))
    said = git(folder, "init", "-q"), commit(folder)
    assert said == ("", "")
    return folder


def git(folder, *words):
    return said_by("git", "-C", folder, *words)[1]


def commit(folder):
    return git(folder, "add", "-A") + git(folder, "commit", "-q", "-m", "all")


def tag(folder):
    return said_by("sh", folder / ".github/release/tag.sh")


def ready(folder, *words, **environment):
    return said_by("sh", folder / ".github/release/ready.sh", *words, **environment)


def test_the_tag_is_the_commit_and_has_the_licence_at_its_root(tree):
    before = git(tree, "rev-parse", "HEAD")
    code, said = tag(tree)
    assert code == 0 and f"git push origin v{VERSION}" in said
    assert git(tree, "rev-parse", "HEAD") == before and git(tree, "status", "--porcelain") == ""
    assert git(tree, "show", f"v{VERSION}:LICENSE") == (ROOT / "LICENSE").read_text()
    assert git(tree, "rev-parse", f"v{VERSION}^{{}}") == before and git(tree, "cat-file", "-t", f"v{VERSION}") == "tag\n"
    git(tree, "checkout", "-q", f"v{VERSION}")
    assert ready(tree, f"v{VERSION}") == (0, "")
    assert "already exists" in tag(tree)[1]


def test_a_tag_of_another_version_is_refused(tree):
    code, said = ready(tree, "v9.9.9")
    assert code == 1 and f"The tag is v9.9.9, and src/include/version.h says {VERSION}" in said


def test_a_tree_that_is_not_ready_gets_no_tag(tree):
    (tree / "ext/packages/project.json").write_text(json.dumps({**FILLED, "email": "<an address>"}))
    assert "without a commit" in tag(tree)[1]
    changes = tree / "ext/CHANGES.md"
    text = changes.read_text()
    changes.write_text(text.replace(f"## {VERSION}", "## Next"))
    commit(tree)
    code, said = tag(tree)
    assert code == 1 and "email: fill in <an address>" in said and f"says nothing of {VERSION}" in said  # both at once
    changes.write_text(text.replace(f"## {VERSION}", f"## Unreleased\n\n- More.\n\n## {VERSION}"))
    commit(tree)
    code, said = tag(tree)
    assert code == 1 and "lines under ## Unreleased" in said and "says nothing" not in said
    assert git(tree, "tag") == ""


def test_the_address_is_that_of_the_repository_where_it_runs(tree):
    where = {"GITHUB_SERVER_URL": "https://example.org", "GITHUB_REPOSITORY": "someone/cuckoo"}
    assert ready(tree, **where) == (0, "")
    code, said = ready(tree, **{**where, "GITHUB_REPOSITORY": "another/cuckoo"})
    assert code == 1 and "is to be https://example.org/another/cuckoo" in said


# ---- the workflows ----

def test_an_action_is_the_commit_of_the_version_behind_it(tree):
    (tree.parent / "owner").mkdir()
    tree.rename(tree.parent / "owner/action")
    action = tree.parent / "owner/action"
    hashes = [git(action, "rev-parse", "HEAD").strip()]
    git(action, "tag", "v1.0.0")
    (action / "more").write_text("")
    commit(action)
    hashes.append(git(action, "rev-parse", "HEAD").strip())
    git(action, "tag", "-a", "-m", "two", "v2.0.0")

    def pins(*uses):
        file = tree.parent / "some.yml"
        file.write_text("".join(f"      - uses: owner/action{use}\n" for use in uses))
        return said_by("sh", ROOT / ".github/release/pins.sh", file, FROM=str(tree.parent))
    assert pins(f"@{hashes[0]} # v1.0.0", f"@{hashes[1]} # v2.0.0") == (0, "")
    for use, error in ((f"@{hashes[0]} # v2.0.0", "another commit for v2.0.0"), (f"@{hashes[0]} # v3.0.0", "another commit for v3.0.0"),
                       ("@v1", "in full"), (f"@{hashes[0]}", "in full"), (f"@{hashes[0][:12]} # v1.0.0", "in full")):
        code, said = pins(f"@{hashes[1]} # v2.0.0", use)
        assert code == 1 and error in said and said.count("\n") == 1, use


def test_all_actions_are_named_by_hash():
    for path in WORKFLOWS:
        for use in re.findall(r"uses: *(.*)", path.read_text()):
            assert re.fullmatch(r"[\w-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use), (path.name, use)


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def workflow(request):
    return pytest.importorskip("yaml").safe_load(request.param.read_text())


def test_jobs_end_and_may_do_little(workflow):
    default = workflow["permissions"]
    for name, job in workflow["jobs"].items():
        rights = job.get("permissions", default)
        assert 0 < job["timeout-minutes"] <= 90, name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False and rights["contents"] in ("read", "write"), name
            assert "${{" not in step.get("run", ""), (name, "a value from outside belongs in env")
        if "write" in rights.values():
            assert job["if"] == "github.event_name == 'push' && github.ref_type == 'tag'", name


def test_nothing_is_published_before_all_packages_are_tried():
    jobs = pytest.importorskip("yaml").safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]

    def before(name):
        needs = jobs[name].get("needs", [])
        needs = [needs] if isinstance(needs, str) else needs
        return {*needs, *(one for need in needs for one in before(need))}
    for name in ("attested", "github", "pypi", "npm"):
        assert {"ready", "sources", "linux", "macos", "windows", "packages", "installed"} <= before(name)
    assert jobs["pypi"]["environment"] == "pypi" and jobs["npm"]["environment"] == "npm"
    assert {"attested", "github"} <= before("pypi") & before("npm")
    names = json.loads((ROOT / "ext/packages/project.json").read_text())
    assert any(f"packages/{names['pypi'].replace('-', '_')}-*.tar.gz" in str(step) for step in jobs["packages"]["steps"])
