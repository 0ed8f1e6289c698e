"""What is written about the package outside its code agrees with the code."""

import os
import re
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import write_address
from comparisons import needs

import skgeom

ROOT = Path(__file__).parents[1]


def test_minimum_versions_are_the_floors_of_pyproject():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    tested = ["dask", "plot", "test"]
    floors = [*project["dependencies"], *(f for name in tested for f in extras[name])]
    floors = [re.sub(r"\[.*\]", "", f) for f in floors if "skgeom[" not in f]
    floors = dict(floor.split(">=") for floor in floors)
    minimum = (ROOT / ".github" / "minimum.txt").read_text().splitlines()
    pins = dict(pin.split("==") for pin in minimum if not pin.startswith("#"))
    assert pins.keys() == floors.keys()
    # Trailing zeros do not make another version: 2.0.0 is 2.0.
    assert all(re.fullmatch(rf"{floors[name]}(\.0)*", pins[name]) for name in floors)


def test_conda_recipe_needs_what_pyproject_needs():
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    recipe = (ROOT / ".github" / "conda" / "recipe.yaml").read_text()
    run = recipe.split("  run:\n")[1].split("\ntests:")[0]
    found = [line.strip("- ").replace(" ", "") for line in run.split("\n") if line]
    needed = [f"python{project['requires-python']}", *project["dependencies"]]
    assert found == needed


def test_files_have_the_address_and_version_of_the_project():
    texts = write_address.written()
    assert len(texts) == 2
    for path, text in texts.items():
        assert path.read_text() == text, "run python tools/write_address.py"


def test_readme_of_a_package_index_has_absolute_links():
    pytest.importorskip("hatchling")
    from hatch_build import absolute

    text = absolute(
        (ROOT / "README.md").read_text(),
        "https://github.com/me/skgeom",
        "v1.2.0",
        "https://me.github.io/skgeom",
    )
    links = re.findall(r'\]\(([^)]+)\)|(?:src|srcset)="([^"]+)"', text)
    assert len(links) > 10 and "first release" not in text
    assert all("".join(link).startswith("https://") for link in links)
    assert "](https://github.com/me/skgeom/blob/v1.2.0/CONTRIBUTING.md)" in text
    assert "](https://github.com/me/skgeom/actions/workflows/tests.yml)" in text
    assert "](https://me.github.io/skgeom/user_guide/lvq.html)" in text


@pytest.mark.parametrize("name", ["README.md", "paper/paper.md", "SECURITY.md"])
def test_claims_name_tests_and_results_that_exist(name):
    text = (ROOT / name).read_text()
    paths = re.findall(r"(?:tests|benchmarks|tools|doc)/[\w/.-]+", text)
    paths += re.findall(r"\]\(([\w.]+)\)", text)
    assert len(paths) > 3
    assert all((ROOT / path).exists() for path in paths)


def test_pre_commit_runs_the_commands_of_the_lint_job():
    job = (ROOT / ".github/workflows/lint.yml").read_text().split("[lint,examples]")[1]
    commands = re.findall(r"- run: (.+)", job)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    hooks = hooks.replace(" --force-exclude", "")
    assert len(commands) > 5
    for command in commands:
        command = re.sub(r" --pythonpath .*|\"", "", command)
        assert f"entry: {command}, language" in hooks


@pytest.mark.skipif(os.name == "nt", reason="the script is for bash")
@pytest.mark.parametrize(
    "tag, owner, date, code",
    [
        ("v1.2.0", "me", "(2026-12-01)", 0),
        ("v1.2.1", "me", "(2026-12-01)", 1),  # differs from __version__
        ("v1.2.0", "me", "(unreleased)", 1),
        ("v1.2.0", "OWNER", "(2026-12-01)", 1),
    ],
)
def test_release_checks_tag_address_and_changelog(tag, owner, date, code, tmp_path):
    script = ROOT / ".github" / "check_tag.sh"
    for workflow in ("release.yml", "docs.yml"):  # before they publish a tag
        steps = (ROOT / ".github" / "workflows" / workflow).read_text()
        assert steps.index("bash .github/check_tag.sh") < steps.index("publish:")
    files = {"skgeom/_version.py": '__version__ = "1.2.0"\n'}
    files["doc/changelog.rst"] = f"{tag[1:]} {date}\n"
    for name in ("pyproject.toml", "CITATION.cff", ".github/conda/recipe.yaml"):
        files[name] = re.sub("([/@])OWNER", r"\1me", (ROOT / name).read_text())
    files["CITATION.cff"] += f"# https://github.com/{owner}\n"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shell = {"cwd": tmp_path, "env": os.environ | {"GITHUB_REF_NAME": tag}}
    assert subprocess.run(["bash", script], **shell).returncode == code


@pytest.mark.exhaustive
@needs("mnist.npz")
def test_readme_prints_what_it_shows(capsys):
    text = (ROOT / "README.md").read_text()
    pairs = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert len(pairs) == text.count("```python") == 1
    for snippet, shown in pairs:
        exec(compile(snippet, "README.md", "exec"), {})
        assert capsys.readouterr().out == shown


@pytest.mark.parametrize("name", ["fetch_heart", "fetch_mnist", "fetch_pima"])
def test_downloads_use_https_and_wrong_contents_are_errors(name, monkeypatch, tmp_path):
    urls = []

    def fetch_file(url, **parameters):
        urls.append(url)
        (tmp_path / "wrong").write_text("1,2,3\n")
        return tmp_path / "wrong"

    monkeypatch.delenv("SKGEOM_DATA", raising=False)
    monkeypatch.setattr("skgeom.datasets._files.fetch_file", fetch_file)
    with pytest.raises(OSError, match="wrong"):
        getattr(skgeom.datasets, name)(data_home=tmp_path)
    assert [url.partition(":")[0] for url in urls] == ["https"]


@pytest.mark.exhaustive
def test_distributions_hold_files_of_the_package_only(tmp_path):
    builders = pytest.importorskip("hatchling.builders.sdist")
    wheel = pytest.importorskip("hatchling.builders.wheel")
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".git", ".venv", "_build", "cache", "*.lock")
    shutil.copytree(ROOT, copy, ignore=ignored)
    for name in ("skgeom/big.npz", "tests/.env", "tests/.hypothesis/a.py", "doc/a.log"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).touch()
    sdist, installed = (
        next(builder(str(copy)).build(directory=str(tmp_path), versions=["standard"]))
        for builder in (builders.SdistBuilder, wheel.WheelBuilder)
    )
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"skgeom/py.typed", "CODE_OF_CONDUCT.md", ".ci/run", "LICENSE"} <= names
    names |= {*zipfile.ZipFile(installed).namelist()}
    assert not [name for name in names if re.search(r"npz|/\.|\.log|cache", name)]
