"""One map trained by several processes, and a large query set planned by them.

    torchrun --nproc_per_node=2 examples/train_distributed.py

Every process holds the graph and takes a share of the goals of each step. A
step is that of a single process up to rounding; over many steps differences
grow, so it is not, bit for bit, the map that one process would learn. Process 0
alone prints and writes. Killed, it goes on from its checkpoint when started
again, with any number of processes. Without torchrun it trains in one process.
"""

import argparse
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch_geometric import seed_everything

from bcm_pyg import BCM, FitConfig, Planner, evaluate, fit
from bcm_pyg.datasets import sample_queries, weighted_grid
from bcm_pyg.planning import VisitedGreedy, plan_distributed

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument('--side', type=int, default=40)
parser.add_argument('--costs', default='wide')
parser.add_argument('--budget', type=float, default=300, help='seconds')
parser.add_argument('--steps', type=int, default=None, help='not a budget')
parser.add_argument('--goals', type=int, default=32, help='of a step, in all')
parser.add_argument('--queries', type=int, default=10_000)
parser.add_argument('--seed', type=int, default=42)
parser.add_argument('--timeout', type=float, default=300, help='seconds')
parser.add_argument('--out', type=Path, default=Path('out/distributed'))
args = parser.parse_args()

device, processes, leads = torch.device('cpu'), 1, True
if torch.cuda.is_available():
    device = torch.device('cuda', int(os.environ.get('LOCAL_RANK', 0)))
    torch.cuda.set_device(device)
if 'RANK' in os.environ:  # started by torchrun
    # A process that dies ends the others; one that hangs, after the timeout.
    dist.init_process_group(
        'gloo' if device.type == 'cpu' else 'nccl',
        timeout=timedelta(seconds=args.timeout),
    )
    processes, leads = dist.get_world_size(), dist.get_rank() == 0

seed_everything(args.seed)
data = weighted_grid('ushape', args.side, args.costs, args.seed).to(device)
model = BCM.from_data(data)
config = FitConfig(
    time_budget=args.budget if args.steps is None else None,
    steps=args.steps,
    goals=args.goals,
    seed=args.seed,
)
# It finds the process group by itself.
history = fit(
    model,
    data,
    config,
    progress=True,
    checkpoint=args.out / 'run.checkpoint',
)

planner = Planner(model, data, VisitedGreedy())
starts, goals = sample_queries(data, args.queries, seed=args.seed)
report = evaluate(
    lambda *queries: plan_distributed(planner, *queries), data, starts, goals
)
if leads:
    print(
        f'{processes} processes, {history.steps} steps, '
        f'{history.rows_per_second:,.0f} pairs a second'
    )
    print(report)
    model.save(args.out / 'map')
    print(f'wrote the map to {args.out / "map"}')
if processes > 1:
    dist.destroy_process_group()
