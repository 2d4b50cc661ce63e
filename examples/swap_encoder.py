"""Swapping the node encoder: four of those built in, and one of your own."""

import argparse

import torch
from torch_geometric import seed_everything

from bcm_pyg import BCM, FitConfig, Planner, Report, evaluate, fit
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.nn import NodeEncoder, check_encoder, register_encoder
from bcm_pyg.planning import VisitedGreedy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--side', type=int, default=20)
parser.add_argument('--budget', type=float, default=30, help='seconds each')
parser.add_argument('--queries', type=int, default=500)
parser.add_argument('--seed', type=int, default=42)
args = parser.parse_args()


@register_encoder('mlp')  # the name makes maps with it savable
class MLPEncoder(NodeEncoder):
    """Coordinates through a small network."""

    per_node = True

    def __init__(self, span: float, out_channels: int = 128):
        super().__init__()
        self.span, self.out_channels = span, out_channels
        self.lin1 = torch.nn.Linear(2, 256)
        self.lin2 = torch.nn.Linear(256, out_channels)

    def forward(self, data):
        return self.lin2(torch.sin(self.lin1(8 * data.pos / self.span)))

    def config(self):
        return {'span': self.span, 'out_channels': self.out_channels}


data = weighted_grid('ushape', args.side, 'wide', args.seed)
starts, goals = sample_queries(data, args.queries, seed=args.seed)
print(f'{"encoder":14}{"parameters":>10} {Report.header()}')
seed_everything(args.seed)
own = MLPEncoder(span=float(args.side))
check_encoder(own, data)
for encoder in ['interaction', 'one_hot', 'k_hot', 'gnn', own]:
    seed_everything(args.seed)
    model = BCM.from_data(data, encoder=encoder)
    fit(model, data, FitConfig(time_budget=args.budget))
    planner = Planner(model, data, VisitedGreedy())  # the map and no search
    report = evaluate(planner, data, starts, goals)
    name = encoder if isinstance(encoder, str) else type(encoder).__name__
    print(f'{name:14}{model.num_parameters():10,} {report.row()}')
