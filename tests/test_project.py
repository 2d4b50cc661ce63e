"""Dependencies, hooks and CI fit together."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
EXTRAS = PROJECT['optional-dependencies']


def floors(requirements: list[str]) -> dict[str, str]:
    pairs = [line.split('>=') for line in requirements if '[' not in line]
    return {canonicalize_name(name): version for name, version in pairs}


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    pairs = [line.split('==') for line in lines if not line.startswith('#')]
    return {canonicalize_name(name): version for name, version in pairs}


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


def needed_by(requirement: Requirement, known: set[str]) -> None:
    """Adds what an installed package needs, and what that needs."""
    name = canonicalize_name(requirement.name)
    key = f'{name}[{",".join(sorted(requirement.extras))}]'
    if key in known:
        return
    known.add(key)
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:  # of another platform
        return
    for one in map(Requirement, lines):
        extras = requirement.extras or {''}
        if one.marker is None or any(
            one.marker.evaluate({'extra': extra}) for extra in extras
        ):
            needed_by(one, known)


def test_all_that_setup_installs_is_pinned():
    text = (ROOT / 'Makefile').read_text()
    extras = set(re.findall(r"--editable '\.\[(.*?)\]'", text))
    assert 'docs' in extras and len(extras) == 2
    wanted = [*PROJECT['dependencies'], *EXTRAS['scatter']]
    for extra in ','.join(extras).split(','):
        wanted += [line for line in EXTRAS[extra] if 'bcm_pyg' not in line]
    known: set[str] = set()
    for line in wanted + EXTRAS['test']:
        needed_by(Requirement(line), known)
    names = {key.partition('[')[0] for key in known}
    pinned = {canonicalize_name(name) for name in pins('constraints.txt')}
    assert {'numpy', 'sympy', 'execnet'} < names
    assert sorted(names - pinned - {'bcm-pyg'}) == []


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
