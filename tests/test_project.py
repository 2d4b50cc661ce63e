"""Dependencies, hooks and CI fit together."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
EXTRAS = PROJECT['optional-dependencies']


def floors(requirements: list[str]) -> dict[str, str]:
    pairs = [line.split('>=') for line in requirements if '[' not in line]
    return {name.lower(): version for name, version in pairs}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    pairs = [line.split('==') for line in lines if not line.startswith('#')]
    return {name.lower(): version for name, version in pairs}


def targets() -> set[str]:
    text = (ROOT / 'Makefile').read_text()
    return set(re.findall(r'^([a-z]+):', text, flags=re.MULTILINE))


def test_every_floor_is_installed_by_a_job():
    needed = PROJECT['dependencies'] + EXTRAS['plot']
    needed += EXTRAS['peers'] + EXTRAS['test'] + EXTRAS['geo'] + EXTRAS['osm']
    assert floors(needed) == pins('constraints-lowest.txt')
    tools = EXTRAS['dev'] + EXTRAS['docs'] + EXTRAS['scatter']
    pinned = pins('constraints.txt')
    assert floors(tools).items() <= pinned.items()
    assert floors(needed).keys() <= pinned.keys()


def test_ci_calls_make_targets():
    text = (ROOT / '.github' / 'workflows' / 'ci.yml').read_text()
    jobs = yaml.safe_load(text)['jobs']
    runs = {
        step['run']
        for job in jobs.values()
        for step in job['steps']
        if 'run' in step
    }
    assert all(run.startswith('make ') for run in runs)
    called = {run.removeprefix('make ') for run in runs}
    assert called <= targets()
    local = re.findall(r'^make (\w+)', (ROOT / '.ci' / 'run').read_text(), re.M)
    assert {*local, 'floors', 'newest', 'coverage'} == called
    versions = jobs['test']['strategy']['matrix']['python-version']
    assert f'>={versions[0]}' == PROJECT['requires-python']


def test_hooks_run_the_tools_of_the_project():
    config = yaml.safe_load((ROOT / '.pre-commit-config.yaml').read_text())
    hooks = {
        hook['id']: hook for repo in config['repos'] for hook in repo['hooks']
    }
    assert {'ruff', 'ruff-format', 'mypy', 'end-of-file-fixer'} <= hooks.keys()
    for name in ('ruff', 'ruff-format', 'mypy'):
        assert hooks[name]['language'] == 'system'
        assert hooks[name]['entry'].startswith('.venv/bin/')
