"""The modules of the page, in node."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bcm_pyg.explorer.export import script

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / 'bcm_pyg' / 'explorer'
NODE = shutil.which('node')


def run(*command: str, stdin: str | None = None) -> str:
    done = subprocess.run(
        command, cwd=ROOT, input=stdin, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.skipif(NODE is None, reason='node is not installed')
def test_modules():
    out = run('node', '--test', *map(str, sorted(HERE.glob('*.test.mjs'))))
    assert '# fail 0' in out


@pytest.mark.skipif(NODE is None, reason='node is not installed')
def test_all_modules_are_one_script():
    run('node', '--input-type=module', '--check', stdin=script())


def test_the_script_holds_all_modules():
    source = script()
    assert 'import ' not in source.replace('import.meta', '')
    assert '\nexport ' not in source
    for path in FOLDER.glob('*.js'):
        names = [
            line.split()[2].split('(')[0]
            for line in path.read_text().splitlines()
            if line.startswith(('export function ', 'export class '))
        ]
        assert all(f' {name}' in source for name in names), path


@pytest.mark.skipif(
    shutil.which('wat2wasm') is None, reason='wat2wasm is not installed'
)
def test_compiled_functions_are_made_of_their_source(tmp_path):
    out = tmp_path / 'kernel.wasm'
    run('wat2wasm', str(FOLDER / 'kernel.wat'), '-o', str(out))
    assert out.read_bytes() == (FOLDER / 'kernel.wasm').read_bytes()
