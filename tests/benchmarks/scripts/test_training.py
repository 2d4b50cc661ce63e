"""The ablation of training goes on where it was."""

import json

from benchmarks.scripts import training


def test_ablation(folders, monkeypatch, capsys):
    changes = {'default': {}, 'lr: half': {'lr': 3e-3}}
    flags = '--quick --pairs 5 --budget 0.1'.split()
    for count in (1, 2, 2):
        some = dict([*changes.items()][:count])
        monkeypatch.setattr(training, 'ABLATIONS', some)
        training.main(flags)
    path = folders / 'quick' / 'training_ablation.json'
    rows = json.loads(path.read_text())['rows']
    assert {row['name']: row['change'] for row in rows} == changes
    assert len(rows) == 2 and rows[0]['steps'] > 0
    assert capsys.readouterr().out.count('steps') == 2
