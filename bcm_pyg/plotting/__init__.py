"""Pictures of routes, of value fields, of training and of results."""

from .charts import plot_history, plot_scaling
from .field import plot_field
from .route import plot_route

__all__ = ['plot_field', 'plot_history', 'plot_route', 'plot_scaling']
